package js

import (
	"bytes"
	"encoding/base64"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat/ejson"
)

// maxHeld bounds the documents that a batch remembers having read, in bytes.
const maxHeld = 32 << 20

// doc is a document as the running invocation sees it.
func (r *eventRealm) doc(binding int, id string) *eventDoc {
	key := docKey{r.program.Bindings[binding].Database, id}
	if d := r.run.docs[key]; d != nil {
		return d
	}
	if d := r.batch.docs[key]; d != nil {
		return d
	}
	var e encoder
	r.beginAsk(&e, askGet)
	e.uint(uint64(binding))
	e.string(id)
	answer := r.ask(&e, "KVError")
	d := &eventDoc{
		exists: answer.bool(), body: answer.bytes(), cas: answer.string(), expiry: int64(answer.uint() &^ (1 << 63)),
		datatype: answer.string(),
	}
	r.checkAnswer(&answer)
	if d.datatype == "" {
		d.datatype = datatypeOf(d.body)
	}
	r.batch.remember(key, d)
	return d
}

// casOf gives the revision of a document, or a function that asks for it: to know the one which a
// write makes, the host has to read what the write replaces, and then the write stands against
// every other.
func (r *eventRealm) casOf(binding int, id string, d *eventDoc) goja.Value {
	if d.cas != "" {
		return r.vm.ToValue(d.cas)
	}
	return r.vm.ToValue(func(goja.FunctionCall) goja.Value {
		if d.cas == "" {
			var e encoder
			r.beginAsk(&e, askRevision)
			e.uint(uint64(binding))
			e.string(id)
			e.bytes(d.body)
			answer := r.ask(&e, "KVError")
			d.cas = answer.string()
			r.checkAnswer(&answer)
		}
		return r.vm.ToValue(d.cas)
	})
}

// remember keeps a document that was read; when there are too many, those before are asked for
// again.
func (b *eventBatch) remember(key docKey, d *eventDoc) {
	if b.held += len(d.body) + len(key.id) + 200; b.held > maxHeld {
		for k, old := range b.docs {
			if !old.written {
				delete(b.docs, k)
			}
		}
		b.held = 0
	}
	b.docs[key] = d
}

// set writes a value as a document.
func (r *eventRealm) set(binding int, id string, value goja.Value, expiry int64, recursion bool) *eventDoc {
	return r.setBody(binding, id, r.body(value), expiry, recursion)
}

func (r *eventRealm) setBody(binding int, id string, body []byte, expiry int64, recursion bool) *eventDoc {
	b := &r.program.Bindings[binding]
	r.checkWritable(binding, false)
	r.checkRefusal(b.Database, id)
	r.effect(EventEffect{
		Kind: EffectSet, Database: b.Database, ID: id, Body: body, Expiry: expiry, SelfRecursion: recursion,
	}, len(id)+len(body))
	d := &eventDoc{exists: true, body: body, expiry: expiry, datatype: datatypeOf(body), written: true}
	r.run.overlay(docKey{b.Database, id}, d)
	return d
}

// remove deletes a document.
func (r *eventRealm) remove(binding int, id string) {
	b := &r.program.Bindings[binding]
	r.checkWritable(binding, true)
	r.checkRefusal(b.Database, id)
	r.effect(EventEffect{Kind: EffectDelete, Database: b.Database, ID: id}, len(id))
	r.run.overlay(docKey{b.Database, id}, &eventDoc{written: true})
}

// checkWritable throws, with Couchbase's words, where a binding is for reading only.
func (r *eventRealm) checkWritable(binding int, deletes bool) {
	switch {
	case r.program.Bindings[binding].Writable:
	case deletes:
		r.throw("EventingError", "Delete from source bucket is forbidden")
	default:
		r.throw("EventingError", "Writing to source bucket is forbidden")
	}
}

// overlay notes a document as the invocation has written it.
func (v *invocation) overlay(key docKey, d *eventDoc) {
	if v.docs == nil {
		v.docs = map[docKey]*eventDoc{}
	}
	v.docs[key] = d
}

// checkRefusal throws what the host answered when the invocation tried this write before.
func (r *eventRealm) checkRefusal(database, id string) {
	for i := range r.run.refusals {
		if v := &r.run.refusals[i]; v.ID == id && v.Database == database {
			r.throwError("KVError", &v.Err)
		}
	}
}

// effect adds a write to those of the invocation, as long as there is room.
func (r *eventRealm) effect(v EventEffect, size int) {
	if r.run.made++; r.run.made > maxEventEffects {
		r.throw("EventingError", "an invocation may make at most "+itoa(maxEventEffects)+" writes and timers")
	}
	if r.run.bytes += size; r.run.bytes > MaxEventBytes {
		r.throw("EventingError", "an invocation may write at most "+itoa(MaxEventBytes>>20)+" MB")
	}
	r.run.effects = append(r.run.effects, v)
}

// body is the document that stands for a value: JSON of an object, or of one with EventValueMember
// or EventBinaryMember.
func (r *eventRealm) body(value goja.Value) []byte {
	switch v := value.(type) {
	case nil, *goja.Symbol:
		r.throw("EventingError", "Invalid data type for value")
	case *goja.Object:
		if _, isFunction := goja.AssertFunction(v); isFunction {
			r.throw("EventingError", "Invalid data type for value")
		}
		if v.ExportType() == arrayBuffer {
			return appendBinary(nil, bytesOf(v))
		}
	}
	var text []byte
	if o := r.partial.object; o != nil && value == goja.Value(o) {
		text = r.partialText()
	} else {
		var ok bool
		if text, ok = r.jsonOf(value); !ok {
			r.throw("EventingError", "Invalid data type for value")
		}
	}
	r.countInexact(text)
	return r.stored(text)
}

// jsonOf is what JSON.stringify makes of a value; ok is false where it makes nothing of it.
func (x *eventValues) jsonOf(value goja.Value) (text []byte, ok bool) {
	made, err := x.stringify(goja.Undefined(), value)
	if err != nil {
		panic(err)
	}
	str, ok := made.(goja.String)
	if !ok {
		return nil, false
	}
	return printed(str), true
}

// stored is the document that stands for a JSON text.
func (x *eventValues) stored(text []byte) []byte {
	switch {
	case text[0] != '{':
		return append(append([]byte(`{"`+EventValueMember+`":`), text...), '}')
	case bytes.Contains(text, []byte(`"_id":`)), bytes.Contains(text, []byte(`"_rev":`)):
		return x.withoutIdentity(text)
	}
	return text
}

var binaryPrefix = []byte(`{"` + EventBinaryMember + `":"`)

// appendBinary makes the document that stands for bytes.
func appendBinary(b, data []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, binaryPrefix...), data), `"}`...)
}

// binaryOf gives the bytes that a document stands for, if it is such a one.
func binaryOf(body []byte) ([]byte, bool) {
	text, ok := bytes.CutPrefix(body, binaryPrefix)
	if ok {
		text, ok = bytes.CutSuffix(text, []byte(`"}`))
	}
	if !ok {
		return nil, false
	}
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	return data, err == nil
}

func isBinary(body []byte) bool {
	_, ok := binaryOf(body)
	return ok
}

func datatypeOf(body []byte) string {
	if isBinary(body) {
		return "binary"
	}
	return "json"
}

// printed is what JSON.stringify gave, as it is stored.
func printed(text goja.String) []byte {
	b := []byte(text.String())
	if bytes.Contains(b, []byte(`\ud`)) {
		return cleanJSON(text)
	}
	return b
}

// withoutIdentity drops the members that say which document and revision it was: handlers write
// what they have read.
func (x *eventValues) withoutIdentity(text []byte) []byte {
	doc, err := x.printed.Parse(text)
	if err != nil {
		panic(x.vm.NewGoError(err))
	}
	out := []byte{'{'}
	for name, member := range doc.Members() {
		if name.TextIs("_id") || name.TextIs("_rev") {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(name.AppendJSON(out), ':')
		out = member.AppendJSON(out)
	}
	return append(out, '}')
}

// countInexact counts integers beyond 2^53 in what is written: they may have lost digits when they
// were read.
func (r *eventRealm) countInexact(text []byte) {
	if !hasLongNumber(text) {
		return
	}
	doc, err := r.printed.Parse(text)
	if err != nil {
		return
	}
	if n := inexactIntegers(doc, 0); n > 0 {
		r.run.count("inexact_integers_written", n)
	}
}

// hasLongNumber reports whether there are as many digits in a row as the smallest such integer has.
// One of so many is the last of as many bytes, counted from the beginning.
func hasLongNumber(text []byte) bool {
	const digits = 16
	isDigit := func(i int) bool { return text[i] >= '0' && text[i] <= '9' }
	for i := digits - 1; i < len(text); i += digits {
		if !isDigit(i) {
			continue
		}
		begin, end := i, i+1
		for begin > 0 && isDigit(begin-1) {
			begin--
		}
		for end < len(text) && isDigit(end) {
			end++
		}
		if end-begin >= digits {
			return true
		}
	}
	return false
}

// inexactIntegers counts the integers in a value that a JavaScript number cannot hold exactly: a
// handler that writes such a document back would change them. Below maxDepth nothing is counted;
// such a document is refused elsewhere.
func inexactIntegers(v ejson.Value, depth int) int64 {
	n := int64(0)
	switch v.Kind() {
	case ejson.Int:
		if i, ok := v.Int(); !ok || i > maxSafeInteger || i < -maxSafeInteger {
			n = 1
		}
	case ejson.Array:
		for child := range v.Elements() {
			if depth < maxDepth {
				n += inexactIntegers(child, depth+1)
			}
		}
	case ejson.Object:
		for _, child := range v.Members() {
			if depth < maxDepth {
				n += inexactIntegers(child, depth+1)
			}
		}
	}
	return n
}

// value is the value that a document stands for.
func (r *eventRealm) value(body []byte) goja.Value {
	v, err := r.read(body)
	if err != nil {
		r.throw("EventingError", err.Error())
	}
	return v
}

func (x *eventValues) read(body []byte) (goja.Value, error) {
	if body == nil {
		return goja.Undefined(), nil
	}
	if data, ok := binaryOf(body); ok {
		return x.vm.ToValue(x.vm.NewArrayBuffer(data)), nil
	}
	parsed, err := x.parser.Parse(body)
	if err != nil {
		return nil, err
	}
	return x.build(boxed(parsed), false, 0)
}

// boxed is the value that a document stands for: itself, or what is in EventValueMember.
func boxed(doc ejson.Value) ejson.Value {
	if doc.Kind() == ejson.Object && doc.Len() == 1 {
		if inner, ok := doc.Get(EventValueMember); ok {
			return inner
		}
	}
	return doc
}

// createTimer puts a timer in the place of the one that the callback has for the reference.
func (r *eventRealm) createTimer(callback string, due int64, reference string, context []byte) {
	if most := r.program.TimerContextSize; len(context) > most {
		r.run.count("timer_context_size_exceeded_counter", 1)
		r.throw("EventingError", "The context payload size is more than the configured size: "+itoa(int64(most))+" bytes")
	}
	r.effect(EventEffect{
		Kind: EffectCreateTimer, Callback: callback, Reference: reference, Due: max(0, due), Context: context,
	}, len(callback)+len(reference)+len(context))
	r.run.setTimer(timerKey{callback, reference}, true)
	r.run.count("timer_create_counter", 1)
}

// cancelTimer drops a timer; it tells whether there was one.
func (r *eventRealm) cancelTimer(callback, reference string) bool {
	key := timerKey{callback, reference}
	there, known := r.run.timers[key]
	if !known {
		there, known = r.batch.timers[key]
	}
	if !known {
		var e encoder
		r.beginAsk(&e, askTimer)
		e.string(callback)
		e.string(reference)
		answer := r.ask(&e, "KVError")
		there = answer.bool()
		r.checkAnswer(&answer)
		r.batch.timers[key] = there
	}
	if !there {
		return false
	}
	cancel := EventEffect{Kind: EffectCancelTimer, Callback: callback, Reference: reference}
	r.effect(cancel, len(callback)+len(reference))
	r.run.setTimer(key, false)
	r.run.count("timer_cancel_counter", 1)
	return true
}

// setTimer notes whether there is a timer by now.
func (v *invocation) setTimer(key timerKey, there bool) {
	if v.timers == nil {
		v.timers = map[timerKey]bool{}
	}
	v.timers[key] = there
}
