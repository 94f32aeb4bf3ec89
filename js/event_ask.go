package js

import (
	"mime"
	"net/url"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// beginAsk begins a question: what it is, and how much time is left.
func (r *eventRealm) beginAsk(e *encoder, what byte) {
	e.b = append(e.b, what)
	left := time.Until(r.run.deadline)
	e.uint(uint64(max(0, left.Milliseconds()+1)))
}

// askOverhead is what a question may have besides what an invocation gives: lengths, and names of
// ten thousand effects.
const askOverhead = 4 << 20

// ask sends a question and waits for the answer. What the host lets the handler see is thrown as an
// error of the class.
func (r *eventRealm) ask(e *encoder, class string) decoder {
	if len(e.b) > MaxEventBytes+askOverhead {
		r.throw(class, "what is asked for is longer than "+itoa(MaxEventBytes>>20)+" MB")
	}
	payload, err := r.w.ask(e.b)
	if err != nil || len(payload) == 0 {
		r.breakOff(err)
	}
	if time.Now().After(r.run.deadline) {
		r.vm.Interrupt(errEventTimeout)
	}
	d := decoder{b: payload[1:]}
	if payload[0] != 0 {
		failure := decodeEventError(&d)
		r.checkAnswer(&d)
		switch class {
		case "N1QLError":
			r.run.count("n1ql_op_exception_count", 1)
		case "CurlError":
			curlService{r}.countFailure(failure.Code)
		}
		r.throwError(class, &failure)
	}
	return d
}

// breakOff ends the handler, and the worker after it, where the conversation with the host went
// wrong.
func (r *eventRealm) breakOff(err error) {
	if err == nil {
		err = errFrame
	}
	r.run.broken = err
	r.vm.Interrupt(err)
	r.throw("EventingError", "the worker ends")
}

func (r *eventRealm) checkAnswer(d *decoder) {
	if d.err != nil {
		r.breakOff(d.err)
	}
}

// queryService is the N1QL of a realm: the statements that the running invocation has begun.
type queryService struct{ r *eventRealm }

// prepare brings the host up to date: with all that queries may see.
func (q queryService) prepare() {
	if err := q.r.batch.flush(); err != nil {
		q.r.breakOff(err)
	}
	q.r.run.flushed = true
	if len(q.r.run.effects) == 0 {
		return
	}
	var e encoder
	q.r.beginAsk(&e, askFlush)
	encodeEffects(&e, q.r.run.effects)
	q.r.ask(&e, "KVError")
	q.r.run.effects = nil
}

// begin begins a statement and gives its handle, 0 if it has no rows; with check it only looks at
// it.
func (q queryService) begin(text, params, options string, check bool) uint64 {
	if !check {
		if len(q.r.run.queries) >= maxOpenQueries {
			q.r.run.count("n1ql_op_exception_count", 1)
			q.r.throw("N1QLError", "Connection pool maximum capacity reached")
		}
		q.prepare()
	}
	var e encoder
	q.r.beginAsk(&e, askQuery)
	e.string(text)
	e.string(params)
	e.string(options)
	e.bool(check)
	answer := q.r.ask(&e, "N1QLError")
	handle, changed := answer.uint(), answer.bool()
	q.r.checkAnswer(&answer)
	if changed && !check {
		clear(q.r.run.docs)
		q.r.batch.forget()
	}
	if handle != 0 && !check {
		if q.r.run.queries == nil {
			q.r.run.queries = map[uint64]bool{}
		}
		q.r.run.queries[handle] = true
	}
	return handle
}

// rows gives the next rows of a query. After an error it is closed.
func (q queryService) rows(handle uint64) (rows *goja.Object, done bool) {
	if handle == 0 || !q.r.run.queries[handle] {
		return q.r.vm.NewArray(), true
	}
	ok := false
	defer func() {
		if !ok && q.r.run.broken == nil {
			q.end(handle)
		}
	}()
	var e encoder
	q.r.beginAsk(&e, askRows)
	e.uint(handle)
	answer := q.r.ask(&e, "N1QLError")
	done = answer.bool()
	texts := answer.list()
	q.r.checkAnswer(&answer)
	items := make([]any, len(texts))
	for i, text := range texts {
		v, err := q.r.parse(text, false)
		if err != nil {
			q.r.throw("N1QLError", err.Error())
		}
		items[i] = v
	}
	ok = true
	if done {
		delete(q.r.run.queries, handle)
	}
	return q.r.vm.NewArray(items...), done
}

// end closes a query of the running invocation.
func (q queryService) end(handle uint64) {
	if !q.r.run.queries[handle] {
		return
	}
	delete(q.r.run.queries, handle)
	if err := q.r.batch.closeQuery(handle); err != nil {
		q.r.breakOff(err)
	}
}

// closeQuery tells the host that no more rows are wanted.
func (b *eventBatch) closeQuery(handle uint64) error {
	e := encoder{b: []byte{askClose}}
	e.uint(uint64(time.Second / time.Millisecond))
	e.uint(handle)
	_, err := b.w.ask(e.b)
	return err
}

// curlService is the curl of a realm.
type curlService struct{ r *eventRealm }

// countFailure counts a request that had no response.
func (c curlService) countFailure(code int) {
	switch code {
	case EventCurlTimedOut:
		c.r.run.count("curl_timeout_count", 1)
	case EventCurlTooLarge:
		c.r.run.count("curl_max_resp_size_exceeded", 1)
	default:
		c.r.run.count("curl_failure_count", 1)
	}
}

// send makes a request, and an object of the response.
func (c curlService) send(request *EventRequest) goja.Value {
	var e encoder
	c.r.beginAsk(&e, askCurl)
	e.uint(uint64(request.Binding))
	e.string(request.Method)
	e.string(request.Path)
	encodePairs(&e, request.Params)
	encodePairs(&e, request.Headers)
	e.bool(request.HasBody)
	e.bytes(request.Body)
	e.bool(request.Redirect)
	e.uint(uint64(max(0, request.Timeout.Milliseconds())))
	answer := c.r.ask(&e, "CurlError")
	status, headers, body := answer.uint(), decodePairs(&answer), answer.bytes()
	c.r.checkAnswer(&answer)
	if status >= 200 && status < 300 {
		c.r.run.count("curl_success_count", 1)
	} else {
		c.r.run.count("curl_non_200_response", 1)
	}
	all, content := c.r.vm.NewObject(), ""
	for _, h := range headers {
		_ = all.DefineDataProperty(h[0], c.r.vm.ToValue(h[1]), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		if strings.EqualFold(h[0], "Content-Type") {
			content = h[1]
		}
	}
	o := c.r.vm.NewObject()
	_ = o.Set("status", int64(status))
	_ = o.Set("headers", all)
	_ = o.Set("body", c.content(content, body))
	return o
}

// content is the body of a response as its type says.
func (c curlService) content(kind string, body []byte) goja.Value {
	media, _, err := mime.ParseMediaType(kind)
	if err != nil {
		media, _, _ = strings.Cut(kind, ";")
	}
	switch media = strings.ToLower(strings.TrimSpace(media)); {
	case media == "application/json":
		if len(body) == 0 {
			return goja.Undefined()
		}
		v, err := c.r.parse(body, false)
		if err != nil {
			c.r.throw("CurlError", "the body of the response is not JSON")
		}
		return v
	case media == "application/x-www-form-urlencoded":
		o := c.r.vm.NewObject()
		for pair := range strings.SplitSeq(string(body), "&") {
			name, value, _ := strings.Cut(pair, "=")
			name, _ = url.QueryUnescape(name)
			value, _ = url.QueryUnescape(value)
			if name != "" {
				_ = o.DefineDataProperty(name, c.r.vm.ToValue(value), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
			}
		}
		return o
	case strings.HasPrefix(media, "text/"):
		return c.r.vm.ToValue(strings.ToValidUTF8(string(body), "\uFFFD"))
	}
	return c.r.vm.ToValue(c.r.vm.NewArrayBuffer(body))
}
