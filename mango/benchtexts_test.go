//go:build unix

package mango_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// BenchmarkWriteTexts writes beside a text index over all fields: batches of 500 documents, which a
// query finds in the end, and single ones, each with a query for it.
func BenchmarkWriteTexts(b *testing.B) {
	open := func(b *testing.B) *world {
		store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
		check(b, err)
		w := openTextWorld(b, store, "text", "{}")
		w.write(b, 0, 1000)
		w.finds(b, 999)
		return w
	}
	b.Run("batches", func(b *testing.B) {
		w := open(b)
		written, cpu := 1000, processorTime()
		for b.Loop() {
			w.write(b, written, 500)
			written += 500
		}
		docs := float64(written - 1000)
		b.ReportMetric(float64((processorTime()-cpu).Microseconds())/docs, "cpu-µs/write")
		w.finds(b, written-1)
		b.ReportMetric(float64((processorTime()-cpu).Microseconds())/docs, "cpu-µs/found")
	})
	b.Run("write+query", func(b *testing.B) {
		w := open(b)
		written, cpu := 1000, processorTime()
		for b.Loop() {
			w.write(b, written, 1)
			w.finds(b, written)
			written++
		}
		b.ReportMetric(float64((processorTime()-cpu).Microseconds())/float64(written-1000), "cpu-µs/op")
	})
}

// processorTime is what the process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// finds looks for a document by the text index.
func (w *world) finds(b *testing.B, n int) {
	docs, _, err := w.find(b, fmt.Sprintf(`{"selector":{"n":%d},"use_index":"text"}`, n), 10)
	if check(b, err); len(docs) != 1 {
		b.Fatalf("%d: %v", n, docs)
	}
}
