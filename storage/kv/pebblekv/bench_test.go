package pebblekv

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
)

func openBench(b testing.TB, opts Options) *Store {
	b.Helper()
	opts.Log = slog.New(slog.DiscardHandler)
	s, err := Open(b.TempDir(), opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func mustUpdate(tb testing.TB, s kv.Store, fn func(kv.Tx) error) kv.Versionstamp {
	tb.Helper()
	stamp, err := s.Update(context.Background(), fn)
	if err != nil {
		tb.Fatal(err)
	}
	return stamp
}

// benchDoc returns about 1 KB that compresses as JSON documents do.
func benchDoc(i int) []byte {
	doc := fmt.Appendf(nil, `{"_id":"doc-%08d","type":"order","customer":"customer-%d","items":[`, i, i%997)
	r := rand.New(rand.NewPCG(uint64(i), 1))
	for n := 0; len(doc) < 1000; n++ {
		doc = fmt.Appendf(
			doc,
			`{"sku":"%08x","name":"article number %d","price":%d.%02d},`,
			r.Uint32(),
			r.IntN(500),
			r.IntN(1000),
			r.IntN(100),
		)
	}
	return append(doc, "]}"...)
}

// writeDoc writes what storage writes for one document, roughly: the body, the revision, two index
// rows, the sequence and four counters.
func writeDoc(tx kv.Tx, i int, body []byte) {
	id := fmt.Appendf(nil, "doc-%08d", i)
	key := func(space byte, parts ...string) []byte {
		k := append([]byte{0x15, space}, id...)
		for _, p := range parts {
			k = append(k, p...)
		}
		return k
	}
	tx.Set(key('d', "\x00\x01\x010123456789abcdef"), body)
	tx.Set(key('r', "\x00\x01\x010123456789abcdef"), make([]byte, 40))
	tx.Set(key('a'), make([]byte, 20))
	seq := append([]byte{0x15, 'c'}, make([]byte, kv.VersionstampSize+2)...)
	binary.BigEndian.PutUint16(seq[12:], uint16(i))
	tx.SetVersionstampedKey(seq, 2, append(id, make([]byte, 20)...))
	tx.SetVersionstampedValue([]byte{0x15, 's'}, make([]byte, kv.VersionstampSize+2), 0)
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	for c := byte(0); c < 4; c++ {
		tx.Atomic(kv.Add, []byte{0x15, 'n', c}, one)
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 8, 64, 512} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openBench(b, Options{})
			var next atomic.Int64
			b.SetParallelism(max(1, writers/2))
			b.ReportAllocs()
			body := benchDoc(1)
			b.ResetTimer()
			commit := func() {
				i := int(next.Add(1))
				_, err := s.Update(context.Background(), func(tx kv.Tx) error {
					lo := fmt.Appendf(nil, "\x15rdoc-%08d\x00", i)
					hi := fmt.Appendf(nil, "\x15rdoc-%08d\xff", i)
					it := tx.Range(lo, hi, kv.RangeOptions{Reverse: true, Limit: 1})
					it.Next()
					if err := it.Close(); err != nil {
						return err
					}
					writeDoc(tx, i, body)
					return nil
				})
				if err != nil {
					b.Error(err)
				}
			}
			if writers == 1 {
				for b.Loop() {
					commit()
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						commit()
					}
				})
			}
			b.StopTimer()
			m := s.Metrics()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
			b.ReportMetric(float64(m.GroupSize.Sum)/float64(m.GroupSize.Count), "tx/group")
			b.ReportMetric(float64(m.Conflicts), "conflicts")
		})
	}
}

// BenchmarkBulk writes 1000 documents per transaction, and the same keys straight into Pebble.
func BenchmarkBulk(b *testing.B) {
	const docs = 1000
	bodies := make([][]byte, docs)
	for i := range bodies {
		bodies[i] = benchDoc(i)
	}
	b.Run("transaction", func(b *testing.B) {
		s := openBench(b, Options{})
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			mustUpdate(b, s, func(tx kv.Tx) error {
				for i, body := range bodies {
					writeDoc(tx, n*docs+i, body)
				}
				return nil
			})
			n++
		}
		b.ReportMetric(float64(n*docs)/b.Elapsed().Seconds(), "docs/s")
	})
	b.Run("pebble", func(b *testing.B) {
		db, err := pebble.Open(
			b.TempDir(),
			Options{Log: slog.New(slog.DiscardHandler)}.withDefaults().fit(0).pebbleOptions(),
		)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			batch := db.NewBatch()
			for i, body := range bodies {
				writeDoc(rawTx{batch: batch}, n*docs+i, body)
			}
			if err := batch.Commit(pebble.Sync); err != nil {
				b.Fatal(err)
			}
			n++
		}
		b.ReportMetric(float64(n*docs)/b.Elapsed().Seconds(), "docs/s")
	})
}

// rawTx writes into a Pebble batch what a transaction would.
type rawTx struct {
	kv.Tx
	batch *pebble.Batch
}

func (t rawTx) Set(key, value []byte)                              { t.batch.Set(key, value, nil) }
func (t rawTx) Atomic(_ kv.AtomicOp, _, _ []byte)                  {}
func (t rawTx) SetVersionstampedKey(key []byte, _ int, v []byte)   { t.batch.Set(key, v, nil) }
func (t rawTx) SetVersionstampedValue(key []byte, v []byte, _ int) {}

// fillBench writes docs documents of 1 KB and waits until they are in compacted tables, unless
// fresh.
func fillBench(b *testing.B, s *Store, docs int) {
	b.Helper()
	for n := 0; n < docs; {
		mustUpdate(b, s, func(tx kv.Tx) error {
			for i := n; i < min(docs, n+1000); i++ {
				writeDoc(tx, i, benchDoc(i))
			}
			return nil
		})
		n += 1000
	}
	if err := s.db.Compact(context.Background(), []byte{0}, []byte{0xff}, true); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRawCommit is the floor of BenchmarkCommit/writers=1: Pebble's own commit of one kilobyte
// with a sync.
func BenchmarkRawCommit(b *testing.B) {
	db, err := pebble.Open(
		b.TempDir(),
		Options{Log: slog.New(slog.DiscardHandler)}.withDefaults().fit(0).pebbleOptions(),
	)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	body := benchDoc(1)
	for i := 0; b.Loop(); i++ {
		if err := db.Set(fmt.Appendf(nil, "doc-%08d", i), body, pebble.Sync); err != nil {
			b.Fatal(err)
		}
	}
}

const benchDocs = 100_000

func BenchmarkRead(b *testing.B) {
	s := openBench(b, Options{})
	fillBench(b, s, benchDocs)
	m := s.Metrics()
	b.Logf("disk %d bytes, %d per document", m.TableBytes, m.TableBytes/benchDocs)
	reads := map[string]func(tx kv.ReadTx, i int) error{
		"get": func(tx kv.ReadTx, i int) error {
			_, err := tx.Get(fmt.Appendf(nil, "\x15ddoc-%08d\x00\x01\x010123456789abcdef", i))
			return err
		},
		"get-missing": func(tx kv.ReadTx, i int) error {
			_, err := tx.Get(fmt.Appendf(nil, "\x15xdoc-%08d", i))
			return err
		},
		"winner": func(tx kv.ReadTx, i int) error {
			lo := fmt.Appendf(nil, "\x15ddoc-%08d\x00", i)
			hi := fmt.Appendf(nil, "\x15ddoc-%08d\xff", i)
			it := tx.Range(lo, hi, kv.RangeOptions{Reverse: true, Limit: 1})
			if !it.Next() {
				b.Errorf("document %d is missing", i)
			}
			return it.Close()
		},
	}
	for _, name := range []string{"get", "get-missing", "winner"} {
		b.Run(name+"/one-per-tx", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				i := rand.IntN(benchDocs)
				read := func(tx kv.ReadTx) error { return reads[name](tx, i) }
				if err := s.View(context.Background(), read); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := rand.IntN(benchDocs)
					read := func(tx kv.ReadTx) error { return reads[name](tx, i) }
					if err := s.View(context.Background(), read); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
		b.Run(name+"/100-per-tx-hot", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				err := s.View(context.Background(), func(tx kv.ReadTx) error {
					for i := range 100 {
						if err := reads[name](tx, i); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/read")
		})
	}
	for _, reverse := range []bool{false, true} {
		b.Run(fmt.Sprintf("scan/reverse=%t", reverse), func(b *testing.B) {
			b.ReportAllocs()
			rows, bytes := 0, 0
			for b.Loop() {
				err := s.View(context.Background(), func(tx kv.ReadTx) error {
					it := tx.Range([]byte("\x15d"), []byte("\x15e"), kv.RangeOptions{Reverse: reverse})
					for it.Next() {
						rows++
						bytes += len(it.Value())
					}
					return it.Close()
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
			b.SetBytes(int64(bytes / b.N))
		})
	}
}
