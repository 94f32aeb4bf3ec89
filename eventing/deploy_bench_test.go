package eventing

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// BenchmarkDeploy measures how long it takes to store and deploy functions, one after the other, on
// the embedded engine, and what each has in memory when it has no work.
func BenchmarkDeploy(b *testing.B) {
	store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
	require.NoError(b, err)
	defer store.Close()
	n := newNode(b, store, 0)
	defer n.close()
	n.create("src", "dst")
	before, goroutines := inUse()
	b.ResetTimer()
	for i := range b.N {
		name := fmt.Sprintf("f%d", i)
		n.define(name, `function OnUpdate(doc, meta) { dst[meta.id] = doc; }`, "", "+dst=dst")
		n.deploy(name)
	}
	b.StopTimer()
	after, running := inUse()
	b.ReportMetric(float64(after-before)/float64(b.N), "bytes/function")
	b.ReportMetric(float64(running-goroutines)/float64(b.N), "goroutines/function")
}
