package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

const testDesign = `{"_id":"_design/d","_rev":"1-a","note":"N","lib":{"t":"exports.hi = function (n) { return 'hi ' + n + require('./u').x; };","u":"exports.x = '!';"},
"shows":{"str":"function(doc, req){ return 'hello ' + (doc ? doc._id : 'nobody') + this.note + require('lib/t').hi('x'); }",
"num":"function(){ return 5; }","none":"function(){}","arr":"function(){ return [1]; }","err":"function(doc){ throw new Error('boom'); }","nul":"function(doc){ return doc.x; }",
"tnull":"function(){ throw null; }","str2":"function(){ throw 'text'; }","big":"function(){ return {json: 10n}; }","cyc":"function(){ var a = {}; a.a = a; return {json: a}; }",
"syn":"function(){ return","obj":{"x":"y"},"empty":"","sur":"function(){ return 'a\\ud800b'; }",
"prov":"function(doc, req){ provides('json', function(){ return {json: {n: 1}}; }); provides('html', function(){ return '<b>' + this.note; }); }",
"send":"function(){ start({'X-A': 'b'}); send('1'); send(2); return '3'; }","loop":"function(){ while (true); }"},
"updates":{"u":"function(doc, req){ return [{_id: 'x'}, 'ok']; }","null":"function(){ return null; }"},
"rewrites":"function(req){ return req.to; }",
"filters":{"odd":"function(doc, req){ return doc.n % 2 == req.rest; }","thr":"function(doc){ if (doc.n > 2) throw {forbidden: 'x'}; return 1; }"},
"views":{"v":{"map":"function(doc){ if (doc.n > 1) emit(null); }"}},
"lists":{"all":"function(head, req){ send(toJSON(head)); var r; while (r = getRow()) send(r.id); return 'end'; }","none":"function(){ return 'only'; }","late":"function(){ getRow(); start({code: 202}); send('x'); getRow(); throw ['error', 'not_found', 'nf']; }"},
"validate_doc_update":"function(n, o, u, s){ if (n.slow) while (true); if (n.err) throw new TypeError('x'); if (n.two) throw {a: 1, b: 2}; if (n.one) throw {other: 'o'}; if (n.ok) throw 1; if (n.mutate) { u.name = 'mallory'; throw {forbidden: {u: u.name}}; } if (n.bad) throw {forbidden: [n.bad, o && o.n, u.name, s.x]}; }"}`

func callText(t *testing.T, d *Design, path []string, args ...string) string {
	t.Helper()
	var list [][]byte
	for _, a := range args {
		list = append(list, []byte(a))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	v, err := d.Call(ctx, anyLength, path, list...)
	if err != nil {
		return errorText(err)
	}
	return string(v.AppendJSON(nil))
}

func errorText(err error) string {
	var e *compat.Error
	if !errors.As(err, &e) {
		return "! " + err.Error()
	}
	text, _, _ := strings.Cut(string(e.AppendReason(nil)), `\nstacktrace`)
	return fmt.Sprintf("%d %s %s", e.Status(), e.Word(), text)
}

func TestDesignCall(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	d := p.Design("db", []byte(testDesign))
	req := `{"method":"POST","path":["db","_design","d","_show","x"],"headers":{"Accept":"text/html"},"query":{}}`
	for _, c := range []struct{ path, doc, want string }{
		{"shows/str", `{"_id":"a"}`, `["resp",{"body":"hello aNhi x!"}]`},
		{"shows/str", `null`, `["resp",{"body":"hello nobodyNhi x!"}]`},
		{"shows/num", `{}`, `500 render_error "undefined response from show function"`},
		{"shows/none", `{}`, `["resp",{}]`},
		{"shows/arr", `{}`, `["resp",[1]]`},
		{"shows/err", `{}`, `500 render_error "function raised error: (new Error(\"boom\", \"<unknown>\", 2)) `},
		{"shows/nul", `null`, `500 render_error "function raised error: (new TypeError(\"can't access property \\\"x\\\", it is null or undefined\", \"<unknown>\", 2)) `},
		{"shows/tnull", `{}`, `500 TypeError "{[]}"`},
		{"shows/str2", `{}`, `500 render_error "function raised error: (new String(\"text\")) `},
		{"shows/syn", `{}`, `500 compilation_error "(new Error(\"Line 1: Unexpected end of input\", \"./share/server/main.js\", 1)) (function(){ return)"`},
		{"shows/obj", `{}`, `500 compilation_error "(new TypeError(\"this.source.charCodeAt is not a function\", \"./share/server/main.js\", 5356)) ([object Object])"`},
		{"shows/empty", `{}`, `404 not_found "missing shows function empty on design doc _design/d"`},
		{"shows/sur", `{}`, `["resp",{"body":"a` + "\uFFFD" + `b"}]`},
		{"shows/prov", `{}`, `["resp",{"body":"<b>N","headers":{"Content-Type":"text/html; charset=utf-8"}}]`},
		{"shows/send", `{}`, `["resp",{"body":"123","headers":{"X-A":"b"}}]`},
		{"updates/u", `null`, `["up",{"_id":"x"},{"body":"ok"}]`},
		{"updates/null", `null`, `500 render_error "function raised error: (new TypeError(\"result is null\", \"./share/server/main.js\", 7419)) `},
	} {
		got := callText(t, d, strings.Split(c.path, "/"), c.doc, req)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
	for _, c := range []struct{ req, want string }{
		{`{"method":"PUT","to":"a/b"}`, `["ok",{"path":"a/b","method":"PUT"}]`},
		{`{"to":{"code":404}}`, `["ok",{"code":404}]`},
		{`{"to":""}`, `["no_dispatch_rule"]`},
	} {
		require.Equal(t, c.want, callText(t, d, []string{"rewrites"}, c.req))
	}
	p.SetTimeout(300 * time.Millisecond)
	for _, name := range []string{"cyc", "loop"} {
		require.Equal(
			t,
			`500 os_process_error "OS process timed out."`,
			callText(t, d, []string{"shows", name}, `{}`, req),
		)
	}
}

// TestThrownValues has the answers of CouchDB 3.5.0 to what functions throw.
func TestThrownValues(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	for _, c := range []struct{ value, want string }{
		{`['error', null, null]`, `500 unknown_error "null"`},
		{`['error', function () {}, 1]`, `500 null "1"`},
		{`['error', true, 'x']`, `500 true "x"`},
		{`['error', undefined, 'x', 1]`, `["error",null,"x",1]`},
		{`{a: function () {}}`, `500 render_error "function raised error: ({a:(function () {\n        })}) `},
		{`{toSource: function () { return 'it'; }}`, `500 render_error "function raised error: it `},
		{`Object.create(null)`, `500 TypeError "{[]}"`},
		{`-0`, `500 render_error "function raised error: (new Number(0)) `},
	} {
		source, err := json.Marshal(`function () { throw ` + c.value + `; }`)
		require.NoError(t, err)
		d := p.Design("db", []byte(`{"_id":"_design/d","shows":{"f":`+string(source)+`}}`))
		require.Equal(t, c.want, callText(t, d, []string{"shows", "f"}, `{}`, `{"path":[]}`), c.value)
	}
}

func TestDesignFilter(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	d := p.Design("db", []byte(testDesign))
	docs := [][]byte{[]byte(`{"n":1}`), []byte(`{"n":2}`), []byte(`{"n":3}`)}
	passes, err := d.Filter(t.Context(), []string{"filters", "odd"}, docs, []byte(`{"rest":1}`))
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true}, passes)
	passes, err = d.Filter(t.Context(), []string{"views", "v", "map"}, docs, nil)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, true}, passes)
	_, err = d.Filter(t.Context(), []string{"filters", "thr"}, docs, []byte(`{}`))
	require.Equal(t, `500 unnamed_error "({forbidden:\"x\"})"`, errorText(err))
	_, err = d.Filter(t.Context(), []string{"views", "w", "map"}, docs, nil)
	require.Equal(t, `404 not_found "missing views function map on design doc _design/d"`, errorText(err))
}

func TestDesignList(t *testing.T) {
	p := newTestPool(t, Options{})
	d := p.Design("db", []byte(testDesign))
	run := func(name string, rows ...string) (out string) {
		left := rows
		err := d.List(t.Context(), name, []byte(`{"total_rows":2}`), []byte(`{}`), ListIO{
			Output: func(m ejson.Value) error { out += string(m.AppendJSON(nil)); return nil },
			Rows: func() ([][]byte, error) {
				if len(left) == 0 {
					return nil, nil
				}
				row := left[0]
				left = left[1:]
				return [][]byte{[]byte(row)}, nil
			},
		})
		if err != nil {
			out += errorText(err)
		}
		return out
	}
	require.Equal(
		t,
		`["start",["{\"total_rows\":2}"],{"headers":{}}]["chunks",["a"]]["chunks",["b"]]["end",["end"]]`,
		run("all", `{"id":"a"}`, `{"id":"b"}`),
	)
	require.Equal(t, `["start",[],{"headers":{}}]["end",["only"]]`, run("none", `{"id":"a"}`))
	require.Equal(
		t,
		`["start",[],{"headers":{}}]["chunks",["x"],{"code":202}]404 not_found "nf"`,
		run("late", `{"id":"a"}`, `{"id":"b"}`),
	)
	broken := errors.New("broken")
	err := d.List(t.Context(), "all", []byte(`{}`), []byte(`{}`), ListIO{
		Output: func(ejson.Value) error { return nil }, Rows: func() ([][]byte, error) { return nil, broken },
	})
	require.ErrorIs(t, err, broken)
}

func TestValidate(t *testing.T) {
	p := newTestPool(t, Options{})
	d := p.Design("db", []byte(testDesign))
	second := p.Design(
		"db",
		[]byte(
			`{"_id":"_design/e","_rev":"1-b","validate_doc_update":"function(n){ if (n.bad || n.second) throw {unauthorized: 'second'}; }"}`,
		),
	)
	doc := func(s string) ValidatedDoc { return ValidatedDoc{New: []byte(s)} }
	v := &Validation{
		Designs: []*Design{d, second}, User: []byte(`{"name":"jan"}`), Security: []byte(`{"x":1}`),
		Docs: []ValidatedDoc{
			doc(
				`{}`,
			), {New: []byte(`{"bad":"b"}`), Old: []byte(`{"n":7}`)}, doc(`{"err":1}`), doc(`{"two":1}`), doc(`{"one":1}`), doc(`{"ok":1}`),
			doc(`{"mutate":1}`), doc(`{"bad":2}`), doc(`{"second":1}`),
		},
	}
	verdicts, err := p.Validate(t.Context(), v)
	require.NoError(t, err)
	got := make([]string, len(verdicts))
	for i, e := range verdicts {
		if e != nil {
			got[i] = errorText(e)
		}
	}
	require.Equal(t, []string{
		"", `403 forbidden "b\u0007jan\u0001"`, `500 TypeError "{[]}"`, `500 unknown_error "function_clause"`, `500 unknown_error "o"`, "",
		`403 forbidden {"u":"mallory"}`, `403 forbidden "[2,null,<<\"jan\">>,1]"`, `401 unauthorized "second"`,
	}, got)

	if testing.Short() { // endless loops are TestHostile's, too
		return
	}
	p.SetTimeout(hostileTime)
	v.Docs = []ValidatedDoc{doc(`{}`), doc(`{"slow":1}`), doc(`{"second":1}`)}
	verdicts, err = p.Validate(t.Context(), v)
	require.NoError(t, err)
	require.NoError(t, verdicts[0])
	require.Equal(t, `500 os_process_error "OS process timed out."`, errorText(verdicts[1]))
	require.Equal(t, `401 unauthorized "second"`, errorText(verdicts[2]))
}

func BenchmarkValidate(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n, "docs"), func(b *testing.B) {
			p := newTestPool(b, Options{})
			v := &Validation{
				Designs: []*Design{
					p.Design(
						"db",
						[]byte(
							`{"_id":"_design/e","validate_doc_update":"function(n, o, u){ if (n.type !== 'x' || u.roles.indexOf('w') < 0) throw {forbidden: 'type'}; }"}`,
						),
					),
				},
				User: []byte(`{"db":"db","name":"jan","roles":["w"]}`), Security: []byte(compat.DefaultSecurity),
			}
			for range n {
				v.Docs = append(
					v.Docs,
					ValidatedDoc{
						New: []byte(
							`{"_id":"a","type":"x","name":"some name","n":12,"tags":["a","b"],"text":"` + strings.Repeat(
								"x",
								500,
							) + `"}`,
						),
					},
				)
			}
			b.ResetTimer()
			for range b.N {
				if verdicts, err := p.Validate(b.Context(), v); err != nil || verdicts[0] != nil {
					b.Fatal(err, verdicts)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/doc")
		})
	}
}

// FuzzVerdict: no answer of a worker makes its caller panic.
func FuzzVerdict(f *testing.F) {
	for _, s := range []string{"", "1", `{"forbidden":"x"}`, `["error","x",null]`, `["error",5,{}]`, `["log","x"]`, `{"x":null}`, "[[[", `"text"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		if err := decodeVerdict(reply); err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
	})
}

// anyLength is for answers of any length.
func anyLength([]byte) error { return nil }
