package eventing

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/keyspace"
)

// deadLetter writes an event whose handler has failed for good to the function's database for such,
// if it has one: what happened, to what, and why, together with everything else that the batch
// stores.
func (b *batch) deadLetter(it *item) {
	database := b.f.settings.DeadLetters
	if database == "" || it.undeliverable || it.event.Kind == js.EventHTTP { // whose client is told
		return
	}
	failure := it.failure
	if failure == nil {
		failure = it.result.Failure
	}
	if failure == nil {
		failure = &js.EventFailure{Name: "Error", Message: "the handler took too long"}
	}
	id := b.f.ref.Name + ":"
	if it.timer != nil {
		id += "timer:" + it.timer.Callback + ":" + it.timer.Reference + ":" + hex.EncodeToString(it.timer.Nonce)
	} else {
		id += hex.EncodeToString(keyspace.AppendSeq(nil, it.seq))
	}
	b.docs[docKey{database, id}] = &docState{
		written: true, dead: true, by: it, after: appendDeadLetter(nil, b.f, it, failure),
	}
}

// appendDeadLetter appends the document of a dead letter: a JSON object with the function, the
// event as the handler got it, the error of its last run, the number of runs and the time.
// docs/eventing.md describes the members.
func appendDeadLetter(dst []byte, f *function, it *item, failure *js.EventFailure) []byte {
	dst = ejson.AppendString(append(dst, `{"function":`...), f.ref.Name)
	switch it.event.Kind {
	case js.EventTimer:
		dst = ejson.AppendString(append(dst, `,"event":"timer","callback":`...), it.event.Callback)
		dst = ejson.AppendString(append(dst, `,"reference":`...), it.timer.Reference)
		dst = strconv.AppendInt(append(dst, `,"due":`...), it.timer.Due, 10)
		if it.event.Context != nil {
			dst = append(append(dst, `,"context":`...), it.event.Context...)
		}
	case js.EventDelete:
		dst = append(append(dst, `,"event":"delete","meta":`...), it.event.Meta...)
	default:
		dst = append(append(dst, `,"event":"update","meta":`...), it.event.Meta...)
		dst = append(append(dst, `,"doc":`...), it.event.Doc...)
	}
	dst = ejson.AppendString(append(dst, `,"error":{"name":`...), failure.Name)
	dst = ejson.AppendString(append(dst, `,"message":`...), failure.Message)
	if failure.Stack != "" {
		dst = ejson.AppendString(append(dst, `,"stack":`...), failure.Stack)
	}
	dst = strconv.AppendInt(append(dst, `},"attempts":`...), int64(it.attempt+1), 10)
	dst = ejson.AppendString(append(dst, `,"time":`...), f.engine.now().UTC().Format(time.RFC3339Nano))
	return append(dst, '}')
}
