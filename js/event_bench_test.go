//go:build unix

package js

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// eventDocs are documents of 1 KB, as the benchmark has them, with what is usual of their
// descriptions.
func eventDocs(n int) []Event {
	events := make([]Event, n)
	for i := range events {
		events[i] = Event{
			Kind: EventUpdate,
			Doc: fmt.Appendf(nil, `{"type":"order","number":%d,"created":"2025-10-12T10:00:00.123Z","active":true,`+
				`"customer":{"id":"%016x","name":"some body","email":"some.body%d@example.com","score":0.1234},`+
				`"address":{"street":"long street 7","city":"somewhere","zip":"12345","location":{"lat":52.123456,"lon":13.5}},`+
				`"items":[{"sku":"0000000a","title":"red shoe","quantity":2,"price":49.55},{"sku":"0000000b","title":"blue hat",`+
				`"quantity":1,"price":19.09},{"sku":"0000000c","title":"green coat","quantity":7,"price":219.09}],`+
				`"tags":["one","two","three"],"total":%d.95,"parent":null,"note":"%0400d"}`, 100000+i, i, i%1000, i%500, i),
			Meta: fmt.Appendf(nil, `{"id":"order-%08d","cas":"1-%032x","seq":%d,"vb":5,"flags":0,"expiration":0,"datatype":"json",`+
				`"keyspace":{"bucket_name":"source","scope_name":"_default","collection_name":"_default"}}`, i, i, i),
		}
	}
	return events
}

var benchHandlers = []struct{ name, code string }{
	{"noop", `function OnUpdate(doc, meta) {}`},
	{"read", `function OnUpdate(doc, meta) { doc.total + meta.id }`},
	{"write", `function OnUpdate(doc, meta) { dst[meta.id] = doc }`},
	{"upsert", `function OnUpdate(doc, meta) { couchbase.upsert(dst, meta, doc) }`},
	{"enrich", `function OnUpdate(doc, meta) {
  if (doc.type !== "order") return;
  doc.sum = 0;
  for (const item of doc.items) doc.sum += item.price * item.quantity;
  dst[meta.id] = doc;
}`},
	{"derive", `function OnUpdate(doc, meta) { dst[meta.id] = {total: doc.total, who: doc.customer.name, items: doc.items.length} }`},
	{"complete", `function OnUpdate(doc, meta) { dst[meta.id] = Object.assign({}, doc, {seen: meta}) }`},
	{"throw", `function OnUpdate(doc, meta) { throw new Error("x") }`},
}

// BenchmarkEvents is whole crossings with batches of 100 events.
func BenchmarkEvents(b *testing.B) {
	const batch = 100
	for _, h := range benchHandlers {
		b.Run(h.name, func(b *testing.B) {
			p := NewPool(Options{Workers: 1})
			program, events, host := NewEventProgram(eventOptions(h.code)), eventDocs(batch), newEventHost()
			run := func() {
				err := p.RunEvents(b.Context(), program, events, host, func(int, *EventResult) error { return nil })
				require.NoError(b, err)
			}
			run()
			self, children := cpuTime(syscall.RUSAGE_SELF), cpuTime(syscall.RUSAGE_CHILDREN)
			b.ResetTimer()
			for range b.N {
				run()
			}
			b.StopTimer()
			p.Close()
			n := float64(b.N * batch)
			b.ReportMetric(n/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64((cpuTime(syscall.RUSAGE_SELF)-self).Microseconds())/n, "server-µs/event")
			b.ReportMetric(float64((cpuTime(syscall.RUSAGE_CHILDREN)-children).Microseconds())/n, "worker-µs/event")
		})
	}
}

// BenchmarkEventsInProcess is the worker's side alone.
func BenchmarkEventsInProcess(b *testing.B) {
	for _, h := range benchHandlers {
		b.Run(h.name, func(b *testing.B) {
			w := newWorker(&bytes.Buffer{})
			program, err := compileEvents(NewEventProgram(eventOptions(h.code)).encoded)
			require.NoError(b, err)
			batch := newEventBatch(w, program, time.Minute)
			events := eventDocs(1000)
			b.ReportAllocs()
			before := cpuTime(syscall.RUSAGE_SELF)
			b.ResetTimer()
			for i := range b.N {
				r, _, err := batch.invoke(&events[i%len(events)])
				require.NoError(b, err)
				encodeEventResult(&batch.results, r)
				if i%100 == 99 {
					batch.results.b = batch.results.b[:0]
					batch.forget()
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			took := float64((cpuTime(syscall.RUSAGE_SELF) - before).Nanoseconds())
			b.ReportMetric(took/float64(b.N)/1000, "cpu-µs/event")
		})
	}
}

// BenchmarkEventRealm is the making of a realm with a handler in it.
func BenchmarkEventRealm(b *testing.B) {
	w := newWorker(&bytes.Buffer{})
	program, err := compileEvents(NewEventProgram(eventOptions(benchHandlers[0].code)).encoded)
	require.NoError(b, err)
	b.ReportAllocs()
	for range b.N {
		_, err := w.newEventRealm(program)
		require.NoError(b, err)
	}
}
