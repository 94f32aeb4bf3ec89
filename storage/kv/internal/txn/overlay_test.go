package txn_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// model is the store as a plain map: each operation takes effect at once.
type model map[string]string

func (m model) keys(begin, end string, reverse bool) []string {
	var keys []string
	for k := range m {
		if begin <= k && k < end {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	if reverse {
		slices.Reverse(keys)
	}
	return keys
}

func (m model) clearRange(begin, end string) {
	for _, k := range m.keys(begin, end, false) {
		delete(m, k)
	}
}

func (m model) atomic(op kv.AtomicOp, key string, param []byte) {
	var existing []byte
	if v, ok := m[key]; ok {
		existing = append([]byte{}, v...)
	}
	if v := txn.Eval(op, existing, param); v != nil {
		m[key] = string(v)
	} else {
		delete(m, key)
	}
}

func genKey() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 3, -1)
}

func genRange(t *rapid.T) (begin, end string) {
	begin, end = genKey().Draw(t, "begin"), genKey().Draw(t, "end")
	if begin > end {
		begin, end = end, begin
	}
	return begin, end
}

// step runs one random operation on both and compares what reads tell.
func step(t *rapid.T, tx kv.Tx, m model) {
	switch rapid.IntRange(0, 7).Draw(t, "op") {
	case 0, 1:
		k, v := genKey().Draw(t, "key"), rapid.StringN(0, 2, -1).Draw(t, "value")
		m[k] = v
		scribbled(k, v, func(k, v []byte) { tx.Set(k, v) })
	case 2:
		k := genKey().Draw(t, "key")
		delete(m, k)
		scribbled(k, "", func(k, _ []byte) { tx.Clear(k) })
	case 3:
		begin, end := genRange(t)
		m.clearRange(begin, end)
		scribbled(begin, end, tx.ClearRange)
	case 4:
		op := kv.AtomicOp(rapid.IntRange(int(kv.Add), int(kv.CompareAndClear)).Draw(t, "atomic"))
		k, p := genKey().Draw(t, "key"), rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "param")
		m.atomic(op, k, p)
		scribbled(k, string(p), func(k, p []byte) { tx.Atomic(op, k, p) })
	case 5:
		k := genKey().Draw(t, "key")
		got, err := tx.Get([]byte(k))
		want, present := m[k]
		if err != nil || present != (got != nil) || string(got) != want {
			t.Fatalf("Get(%q) = %q, %v, want %q, %v", k, got, err, want, present)
		}
	default:
		begin, end := genRange(t)
		opts := kv.RangeOptions{Limit: rapid.IntRange(0, 3).Draw(t, "limit"), Reverse: rapid.Bool().Draw(t, "reverse")}
		compareRange(t, tx, m, begin, end, opts)
	}
}

// scribbled calls f with copies of a and b that are overwritten afterwards.
func scribbled(a, b string, f func(a, b []byte)) {
	x, y := []byte(a), []byte(b)
	f(x, y)
	for i := range x {
		x[i] = '#'
	}
	for i := range y {
		y[i] = '#'
	}
}

func compareRange(t *rapid.T, tx kv.ReadTx, m model, begin, end string, opts kv.RangeOptions) {
	var it kv.Iterator
	scribbled(begin, end, func(b, e []byte) { it = tx.Range(b, e, opts) })
	defer it.Close()
	want := m.keys(begin, end, opts.Reverse)
	if opts.Limit > 0 && len(want) > opts.Limit {
		want = want[:opts.Limit]
	}
	for _, k := range want {
		if !it.Next() {
			t.Fatalf("range %q..%q %+v ends before %q: %v", begin, end, opts, k, it.Err())
		}
		if string(it.Key()) != k || string(it.Value()) != m[k] || it.Value() == nil {
			t.Fatalf("range %q..%q %+v: %q=%q, want %q=%q", begin, end, opts, it.Key(), it.Value(), k, m[k])
		}
	}
	if it.Next() || it.Err() != nil {
		t.Fatalf("range %q..%q %+v goes on with %q, %v", begin, end, opts, it.Key(), it.Err())
	}
}

// A transaction's reads see its own writes, and what is committed is what they saw.
func TestReadYourWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, m := memkv.New(), model{}
		for range rapid.IntRange(1, 4).Draw(t, "transactions") {
			_, err := store.Update(context.Background(), func(tx kv.Tx) error {
				for range rapid.IntRange(0, 20).Draw(t, "steps") {
					step(t, tx, m)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			err = store.View(context.Background(), func(tx kv.ReadTx) error {
				compareRange(t, tx, m, "", "d", kv.RangeOptions{})
				compareRange(t, tx, m, "", "d", kv.RangeOptions{Reverse: true})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// An iterator over a range that is written to goes on in order, and shows each key that was not
// written to.
func TestWritesDuringIteration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := memkv.New()
		untouched := map[string]bool{}
		put := func(tx kv.Tx, name string) {
			for _, k := range rapid.SliceOf(genKey()).Draw(t, name) {
				tx.Set([]byte(k), []byte(k))
				untouched[k] = true
			}
		}
		_, err := store.Update(context.Background(), func(tx kv.Tx) error { put(tx, "stored"); return nil })
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Update(context.Background(), func(tx kv.Tx) error {
			put(tx, "written")
			tx.Set([]byte("~"), nil) // so that there is an overlay from the start
			reverse := rapid.Bool().Draw(t, "reverse")
			it := tx.Range(nil, []byte("d"), kv.RangeOptions{Reverse: reverse})
			defer it.Close()
			var last []byte
			for it.Next() {
				key := bytes.Clone(it.Key())
				if c := bytes.Compare(key, last); last != nil && (c == 0 || c < 0 != reverse) {
					t.Fatalf("%q after %q", key, last)
				}
				last = key
				delete(untouched, string(key))
				switch k := genKey().Draw(t, "written"); rapid.IntRange(0, 3).Draw(t, "write") {
				case 0:
					tx.Clear([]byte(k))
					delete(untouched, k)
				case 1:
					tx.Set([]byte(k), []byte("new"))
					delete(untouched, k)
				case 2:
					begin, end := genRange(t)
					tx.ClearRange([]byte(begin), []byte(end))
					for k := range untouched {
						if begin <= k && k < end {
							delete(untouched, k)
						}
					}
				}
			}
			if it.Err() != nil || len(untouched) > 0 {
				t.Fatalf("%v, not seen: %v", it.Err(), untouched)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// The set of ranges holds the keys of the ranges put into it, whichever way they came in.
func TestRangeSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []txn.KeyRange
		var added txn.RangeSet
		for range rapid.IntRange(0, 12).Draw(t, "ranges") {
			begin, end := genRange(t)
			if begin == end {
				end += "\x00"
			}
			all = append(all, txn.KeyRange{Begin: []byte(begin), End: []byte(end)})
			added.Add(all[len(all)-1])
		}
		built := txn.NewRangeSet(slices.Clone(all))
		for range 20 {
			key := []byte(genKey().Draw(t, "key"))
			want := slices.ContainsFunc(all, func(r txn.KeyRange) bool { return r.Contains(key) })
			begin, end := genRange(t)
			probe := txn.KeyRange{Begin: []byte(begin), End: []byte(end + "\x00")}
			overlaps := slices.ContainsFunc(all, probe.Overlaps)
			for _, set := range []txn.RangeSet{added, built} {
				if _, got := set.Find(key); got != want {
					t.Fatalf("%q in %q: %v", key, set.Ranges(), got)
				}
				if got := set.Overlaps(probe); got != overlaps {
					t.Fatalf("%q overlaps %q: %v", probe, set.Ranges(), got)
				}
			}
		}
		if !slices.EqualFunc(added.Ranges(), built.Ranges(), func(a, b txn.KeyRange) bool {
			return bytes.Equal(a.Begin, b.Begin) && bytes.Equal(a.End, b.End)
		}) {
			t.Fatalf("added %q, built %q", added.Ranges(), built.Ranges())
		}
	})
}

// Integers of eight bytes are those of the machine.
func TestEvalIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		bytesOf := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
		for op, want := range map[kv.AtomicOp]uint64{kv.Add: a + b, kv.Max: max(a, b), kv.Min: min(a, b)} {
			if got := txn.Eval(op, bytesOf(a), bytesOf(b)); !bytes.Equal(got, bytesOf(want)) {
				t.Fatalf("op %d of %d and %d = %x, want %d", op, a, b, got, want)
			}
		}
	})
}
