package js

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc64"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// natives are the Go functions that the prelude of event functions gets.
func (r *eventRealm) natives() *goja.Object {
	o := r.vm.NewObject()
	r.provideBindings(o)
	r.provideDocuments(o)
	partService{r}.provide(o)
	r.provideServices(o)
	for name, f := range map[string]func(c goja.FunctionCall) goja.Value{
		"enter": func(goja.FunctionCall) goja.Value {
			r.enter()
			return goja.Undefined()
		},
		"leave": func(c goja.FunctionCall) goja.Value {
			r.leave(c.Argument(0).ToBoolean())
			return goja.Undefined()
		},
		"count": func(c goja.FunctionCall) goja.Value {
			r.run.count(c.Argument(0).String(), 1)
			return goja.Undefined()
		},
		"logging": func(goja.FunctionCall) goja.Value { return r.vm.ToValue(len(r.run.logs) < logsPerCall) },
		"log": func(c goja.FunctionCall) goja.Value {
			r.log(c.Argument(0).String())
			return goja.Undefined()
		},
		"isFunction": func(c goja.FunctionCall) goja.Value { return r.vm.ToValue(r.isFunction(c.Argument(0))) },
		"random": func(goja.FunctionCall) goja.Value {
			var b [16]byte
			binary.BigEndian.PutUint64(b[:8], rand.Uint64())
			binary.BigEndian.PutUint64(b[8:], rand.Uint64())
			return r.vm.ToValue(base64.RawURLEncoding.EncodeToString(b[:]))
		},
		"crc64":    func(c goja.FunctionCall) goja.Value { return r.vm.ToValue(checksum(bytesOf(c.Argument(0)))) },
		"encode64": r.encode64,
		"decode64": r.decode64,
	} {
		_ = o.Set(name, f)
	}
	return o
}

// provideBindings gives the prelude the objects for aliases of databases, and the names of those
// for URLs.
func (r *eventRealm) provideBindings(o *goja.Object) {
	aliases, names, urls := make([]any, 0, len(r.program.Bindings)), make([]any, 0, len(r.program.Bindings)), []any{}
	for i, b := range r.program.Bindings {
		v := r.vm.ToValue(r.vm.NewProxy(r.vm.NewObject(), alias{r, i}.traps()))
		aliases, names = append(aliases, v), append(names, b.Alias)
	}
	for _, name := range r.program.Curls {
		urls = append(urls, name)
	}
	_ = o.Set("aliases", r.vm.NewArray(aliases...))
	_ = o.Set("aliasNames", r.vm.NewArray(names...))
	_ = o.Set("urls", r.vm.NewArray(urls...))
}

// enter notes the line that calls a provided function.
func (r *eventRealm) enter() {
	r.run.marks = append(r.run.marks, mark{line: r.line(), began: time.Now()})
}

// leave counts the call that enter noted last.
func (r *eventRealm) leave(ok bool) {
	last := len(r.run.marks) - 1
	if last < 0 {
		return
	}
	m := r.run.marks[last]
	r.run.marks = r.run.marks[:last]
	if m.line == 0 {
		return
	}
	l := r.run.lineOf(m.line)
	l.Calls++
	l.Took += time.Since(m.began)
	if !ok {
		l.Errors++
		l.LastError = cutText(r.run.lastError, 500)
	}
}

// log keeps a text for the log of the function.
func (r *eventRealm) log(text string) {
	if len(r.run.logs) >= logsPerCall {
		return
	}
	text = strings.ToValidUTF8(cutText(text, maxEventLog), "\uFFFD")
	if r.inspected != nil {
		r.inspected.Logged(text)
	}
	r.run.logs = append(r.run.logs, text)
	if line := r.line(); line > 0 {
		l := r.run.lineOf(line)
		l.Calls++
		l.LastLog = cutText(text, 500)
	}
}

// provideDocuments are the operations on documents and timers; the prelude has checked the
// arguments.
func (r *eventRealm) provideDocuments(o *goja.Object) {
	binding := func(c goja.FunctionCall) int { return int(c.Argument(0).ToInteger()) }
	text := func(c goja.FunctionCall, i int) string { return c.Argument(i).String() }
	for name, f := range map[string]func(c goja.FunctionCall) goja.Value{
		"stat": func(c goja.FunctionCall) goja.Value {
			at, id := binding(c), text(c, 1)
			d := r.doc(at, id)
			if !d.exists {
				return goja.Undefined()
			}
			stat := r.vm.NewObject()
			_ = stat.Set("cas", r.casOf(at, id, d))
			_ = stat.Set("expiry", d.expiry)
			_ = stat.Set("datatype", d.datatype)
			return stat
		},
		"checkWritable": func(c goja.FunctionCall) goja.Value {
			r.checkWritable(binding(c), c.Argument(1).ToBoolean())
			return goja.Undefined()
		},
		"value": func(c goja.FunctionCall) goja.Value { return r.value(r.doc(binding(c), text(c, 1)).body) },
		"write": func(c goja.FunctionCall) goja.Value {
			at, id := binding(c), text(c, 1)
			d := r.set(at, id, c.Argument(2), c.Argument(3).ToInteger(), c.Argument(4).ToBoolean())
			return r.casOf(at, id, d)
		},
		"touch": func(c goja.FunctionCall) goja.Value {
			at, id := binding(c), text(c, 1)
			return r.casOf(at, id, r.setBody(at, id, r.doc(at, id).body, c.Argument(2).ToInteger(), false))
		},
		"remove": func(c goja.FunctionCall) goja.Value {
			r.remove(binding(c), text(c, 1))
			return goja.Undefined()
		},
		"createTimer": func(c goja.FunctionCall) goja.Value {
			var context []byte
			if v := c.Argument(3); !goja.IsUndefined(v) {
				context = []byte(v.String())
			}
			r.createTimer(text(c, 0), c.Argument(1).ToInteger(), text(c, 2), context)
			return goja.Undefined()
		},
		"publish": func(c goja.FunctionCall) goja.Value {
			name, id, message := text(c, 0), text(c, 1), []byte(text(c, 2))
			e := EventEffect{Kind: EffectPublish, Callback: name, Reference: id, Context: message}
			r.effect(e, len(name)+len(id)+len(message))
			return goja.Undefined()
		},
		"cancelTimer": func(c goja.FunctionCall) goja.Value {
			return r.vm.ToValue(r.cancelTimer(text(c, 0), text(c, 1)))
		},
	} {
		_ = o.Set(name, f)
	}
}

// provideServices are queries and curl.
func (r *eventRealm) provideServices(o *goja.Object) {
	text := func(c goja.FunctionCall, i int) string { return c.Argument(i).String() }
	for name, f := range map[string]func(c goja.FunctionCall) goja.Value{
		"checkQuery": func(c goja.FunctionCall) goja.Value {
			queryService{r}.begin(text(c, 0), text(c, 1), text(c, 2), true)
			return goja.Undefined()
		},
		"query": func(c goja.FunctionCall) goja.Value {
			handle := queryService{r}.begin(text(c, 0), text(c, 1), text(c, 2), false)
			return r.vm.ToValue(int64(handle & maxSafeInteger))
		},
		"rows": func(c goja.FunctionCall) goja.Value {
			rows, done := queryService{r}.rows(uint64(c.Argument(0).ToInteger()))
			page := r.vm.NewObject()
			_ = page.Set("rows", rows)
			_ = page.Set("done", done)
			return page
		},
		"closeQuery": func(c goja.FunctionCall) goja.Value {
			queryService{r}.end(uint64(c.Argument(0).ToInteger()))
			return goja.Undefined()
		},
		"curl": func(c goja.FunctionCall) goja.Value {
			request := &EventRequest{
				Binding: int(c.Argument(0).ToInteger()), Method: text(c, 1), Path: text(c, 2),
				Params: r.pairs(c.Argument(3)), Headers: r.pairs(c.Argument(4)),
				HasBody: !goja.IsUndefined(c.Argument(5)), Redirect: c.Argument(6).ToBoolean(),
				Timeout: time.Duration(c.Argument(7).ToInteger()) * time.Millisecond,
			}
			if request.HasBody {
				request.Body = bytesOf(c.Argument(5))
			}
			return curlService{r}.send(request)
		},
	} {
		_ = o.Set(name, f)
	}
}

// pairs reads an array of arrays of two texts.
func (r *eventRealm) pairs(v goja.Value) [][2]string {
	list := v.ToObject(r.vm)
	pairs := make([][2]string, 0, 4)
	for i := int64(0); i < list.Get("length").ToInteger(); i++ {
		pair := list.Get(itoa(i)).ToObject(r.vm)
		pairs = append(pairs, [2]string{pair.Get("0").String(), pair.Get("1").String()})
	}
	return pairs
}

// arrayBuffer is the type of such objects in Go. To export others would copy them.
var arrayBuffer = reflect.TypeFor[goja.ArrayBuffer]()

// bytesOf are the bytes of an ArrayBuffer, or of a text in UTF-8.
func bytesOf(v goja.Value) []byte {
	if o, ok := v.(*goja.Object); ok && o.ExportType() == arrayBuffer {
		if buffer, ok := o.Export().(goja.ArrayBuffer); ok {
			return buffer.Bytes()
		}
	}
	return []byte(v.String())
}

var isoTable = crc64.MakeTable(crc64.ISO)

func checksum(b []byte) string {
	const digits = "0123456789abcdef"
	var text [16]byte
	sum := crc64.Checksum(b, isoTable)
	for i := range text {
		text[15-i] = digits[sum&15]
		sum >>= 4
	}
	return string(text[:])
}

func (r *eventRealm) encode64(c goja.FunctionCall) goja.Value {
	return r.vm.ToValue(base64.StdEncoding.EncodeToString(bytesOf(c.Argument(0))))
}

// decode64 gives a text, or an ArrayBuffer if the second argument is true.
func (r *eventRealm) decode64(c goja.FunctionCall) goja.Value {
	b, err := base64.StdEncoding.DecodeString(c.Argument(0).String())
	if err != nil {
		r.throw("EventingError", "the text is not base64")
	}
	if c.Argument(1).ToBoolean() {
		return r.vm.ToValue(r.vm.NewArrayBuffer(b))
	}
	return r.vm.ToValue(strings.ToValidUTF8(string(b), "\uFFFD"))
}
