package eventing

import (
	"fmt"
	"github.com/settee-db/settee/eventing/histogram"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv/pebblekv"

	"github.com/stretchr/testify/require"
)

// BenchmarkEvents measures events of handlers that do nothing, that write one document elsewhere,
// and that count in one document, each from a feed that is full when the function is deployed, on
// the embedded engine.
func BenchmarkEvents(b *testing.B) {
	for name, code := range map[string]string{
		"nothing": `function OnUpdate(doc, meta) {}`,
		"write":   `function OnUpdate(doc, meta) { dst[meta.id] = doc; }`,
		"count":   `function OnUpdate(doc, meta) { var c = dst["n"] || {n: 0}; dst["n"] = {n: c.n + 1}; }`,
		"timer":   `function OnUpdate(doc, meta) { createTimer(fire, new Date(4e12), meta.id, {}); } function fire() {}`,
	} {
		b.Run(name, func(b *testing.B) {
			store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
			require.NoError(b, err)
			defer store.Close()
			n := newNode(b, store, 0)
			defer n.close()
			n.create("src", "dst")
			for i := range b.N {
				n.put("src", fmt.Sprintf("doc-%08d", i), fmt.Sprintf(`{"type":"order","n":%d,"text":"%0150d"}`, i, i))
			}
			n.define("f", code, "", "+dst=dst")
			b.ResetTimer()
			n.deploy("f")
			n.eventually(func() bool { return n.stat("f", "num_processed_events") >= int64(b.N) }, "all events")
			b.StopTimer()
		})
	}
}

// BenchmarkDelay measures how long it takes from an acknowledged write to the effect of a handler
// that writes one document elsewhere.
func BenchmarkDelay(b *testing.B) {
	store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
	require.NoError(b, err)
	defer store.Close()
	n := newNode(b, store, 0)
	defer n.close()
	n.create("src", "dst")
	n.define("f", `function OnUpdate(doc, meta) { dst[meta.id] = doc; }`, "", "+dst=dst")
	n.deploy("f")
	var h histogram.Histogram
	for i := range b.N {
		id := fmt.Sprint(i)
		n.put("src", id, `{}`)
		began := time.Now()
		for n.get("dst", id) == "" {
			time.Sleep(200 * time.Microsecond)
		}
		h.Add(time.Since(began))
	}
	b.ReportMetric(float64(h.Percentile(0.99))/1000, "p99-ms")
	b.ReportMetric(float64(h.Percentile(0.5))/1000, "p50-ms")
}
