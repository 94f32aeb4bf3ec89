//go:build unix

package js

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

const benchMap = `function (doc) {
  if (doc.type === "order") {
    emit([doc.customer, doc.date], doc.total);
    emit(doc.status, null);
  }
}`

// benchDocs are documents of about 1 KB with the usual kinds of members.
func benchDocs(n int) [][]byte {
	docs := make([][]byte, n)
	for i := range docs {
		docs[i] = fmt.Appendf(
			nil,
			`{"_id":"order-%08d","_rev":"1-%032x","type":"order","customer":"customer-%04d","date":"2026-%02d-%02dT10:00:00Z",`+
				`"status":"shipped","total":%d.95,"currency":"EUR","items":[{"sku":"A-100","name":"Blue chair","quantity":2,"price":49.5},`+
				`{"sku":"B-200","name":"Round table","quantity":1,"price":249.95},{"sku":"C-300","name":"Lamp","quantity":4,"price":19}],`+
				`"address":{"street":"Main Street 5","city":"Springfield","zip":"12345","country":"US"},"tags":["new","priority","gift"],`+
				`"paid":true,"weight":12.5,"comment":"%s"}`,
			i,
			i,
			i%1000,
			i%12+1,
			i%28+1,
			i%500,
			strings.Repeat("Lorem ipsum dolor sit amet. ", 15),
		)
	}
	return docs
}

// BenchmarkMapInProcess is the worker's side alone.
func BenchmarkMapInProcess(b *testing.B) {
	w := newWorker(&bytes.Buffer{})
	docs := benchDocs(1000)
	b.SetBytes(int64(len(docs[0])))
	f, err := w.newMapFunction(&mapProgram{maps: []string{benchMap}, root: libRoot(nil)}, 0)
	require.NoError(b, err)
	b.ReportAllocs()
	before := cpuTime(syscall.RUSAGE_SELF)
	b.ResetTimer()
	var e encoder
	for i := range b.N {
		e.b = e.b[:0]
		if err := mapDocument(&e, []*mapFunction{f}, docs[i%len(docs)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
	b.ReportMetric(float64((cpuTime(syscall.RUSAGE_SELF)-before).Microseconds())/float64(b.N), "cpu-µs/doc")
}

// BenchmarkParse compares ways to bring a document into a realm, frozen.
func BenchmarkParse(b *testing.B) {
	w := newWorker(&bytes.Buffer{})
	s, err := w.newSandbox(nil)
	require.NoError(b, err)
	doc := benchDocs(1)[0]
	b.Run("builder", func(b *testing.B) {
		before := cpuTime(syscall.RUSAGE_SELF)
		for range b.N {
			_, err := s.parse(doc, true)
			require.NoError(b, err)
		}
		b.ReportMetric(float64((cpuTime(syscall.RUSAGE_SELF)-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/doc")
	})
	b.Run("JSON.parse", func(b *testing.B) {
		vm := goja.New()
		v, err := vm.RunString(
			"(function f(t) { function d(o) { Object.freeze(o); for (var k in o) if (typeof o[k] === 'object' && o[k]) d(o[k]); return o; } return d(JSON.parse(t)); })",
		)
		require.NoError(b, err)
		f, _ := goja.AssertFunction(v)
		text := vm.ToValue(string(doc))
		before := cpuTime(syscall.RUSAGE_SELF)
		for range b.N {
			_, err := f(goja.Undefined(), text)
			require.NoError(b, err)
		}
		b.ReportMetric(float64((cpuTime(syscall.RUSAGE_SELF)-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/doc")
	})
}

// BenchmarkMapWorker is a whole crossing, by the number of documents in it.
func BenchmarkMapWorker(b *testing.B) {
	for _, batch := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			p := NewPool(Options{Workers: 1})
			program := NewMapProgram("db", []string{benchMap}, nil)
			docs := benchDocs(batch)
			run := func() {
				if _, err := p.Map(context.Background(), program, docs); err != nil {
					b.Fatal(err)
				}
			}
			run()
			self, children := cpuTime(syscall.RUSAGE_SELF), cpuTime(syscall.RUSAGE_CHILDREN)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				run()
			}
			b.StopTimer()
			p.Close()
			n := float64(b.N * batch)
			b.ReportMetric(n/b.Elapsed().Seconds(), "docs/s")
			b.ReportMetric(float64((cpuTime(syscall.RUSAGE_SELF)-self).Microseconds())/n, "server-µs/doc")
			b.ReportMetric(float64((cpuTime(syscall.RUSAGE_CHILDREN)-children).Microseconds())/n, "worker-µs/doc")
		})
	}
}

// cpuTime is the time on processors that this process (or its children that have ended) took. The
// machine's load leaves it as it is, more or less.
func cpuTime(who int) time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(who, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkReduce is one crossing with groups of 100 rows.
func BenchmarkReduce(b *testing.B) {
	p := newTestPool(b, Options{})
	groups := make([]ReduceGroup, 100)
	for i := range groups {
		for j := range 100 {
			groups[i].Rows = append(
				groups[i].Rows,
				ReduceRow{Key: []byte(fmt.Sprint(j)), ID: "doc", Value: []byte("5")},
			)
		}
	}
	b.ResetTimer()
	for range b.N {
		_, err := p.Reduce(context.Background(), "db", "function(k, v, r) { return sum(v); }",
			ReduceLimit{On: true, Threshold: 5000, Ratio: 2}, groups)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.N*len(groups))/b.Elapsed().Seconds(), "groups/s")
}

// BenchmarkSandbox is the making of a realm with a compiled function in it.
func BenchmarkSandbox(b *testing.B) {
	w := newWorker(&bytes.Buffer{})
	program := &mapProgram{maps: []string{benchMap}, root: libRoot(nil)}
	b.ReportAllocs()
	for range b.N {
		_, err := w.newMapFunction(program, 0)
		require.NoError(b, err)
	}
}

// BenchmarkStart is the start of a process until its first answer: a function is parsed, and
// compiled.
func BenchmarkStart(b *testing.B) {
	for range b.N {
		p := NewPool(Options{})
		require.NoError(b, p.CheckMap(context.Background(), "db", benchMap))
		p.Close()
	}
}
