package txn_test

import (
	"encoding/binary"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// noSnapshot is an empty store.
type noSnapshot struct{}

func (noSnapshot) Version() uint64                                  { return 1 }
func (noSnapshot) Get([]byte) ([]byte, error)                       { return nil, nil }
func (noSnapshot) Range(_, _ []byte, _ kv.RangeOptions) kv.Iterator { return noIterator{} }
func (noSnapshot) SizeEstimate(begin, end []byte) (int64, error)    { return 0, nil }

type noIterator struct{}

func (noIterator) Next() bool    { return false }
func (noIterator) Key() []byte   { return nil }
func (noIterator) Value() []byte { return nil }
func (noIterator) Err() error    { return nil }
func (noIterator) Close() error  { return nil }

// BenchmarkBatch is a transaction of 15,000 writes in the pattern of a bulk edit: per document a
// few scattered keys, a counter and a range read.
func BenchmarkBatch(b *testing.B) {
	tx, value, key, one := txn.New(noSnapshot{}), make([]byte, 100), make([]byte, 24), []byte{1, 0, 0, 0, 0, 0, 0, 0}
	b.ReportAllocs()
	for b.Loop() {
		tx.Reset(noSnapshot{})
		for doc := range uint64(5000) {
			for space := range uint64(3) {
				binary.BigEndian.PutUint64(key, space)
				binary.BigEndian.PutUint64(key[8:], doc*0x9e3779b97f4a7c15)
				tx.Set(key, value)
			}
			tx.Atomic(kv.Add, []byte("counter"), one)
			it := tx.Range(key[:16], key, kv.RangeOptions{Reverse: true, Limit: 1})
			it.Next()
			it.Close()
		}
		if err := tx.Finish(); err != nil {
			b.Fatal(err)
		}
	}
}
