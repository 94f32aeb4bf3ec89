package views

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/views/keyrange"
)

// oversizedWorld is a database with an index of a language, and what its documents emit.
type oversizedWorld struct {
	*bench
	ix      *View
	emitted map[string][]string // keys as JSON, by document
}

func newOversizedWorld(t testing.TB, engine kv.Store, o storage.CreateOptions) *oversizedWorld {
	w := &oversizedWorld{bench: newBench(t, engine, o), emitted: map[string][]string{}}
	w.bench.put(t, "_design/q", designBody(languageQuery, `{"v":{"map":"a"}}`))
	w.open(t)
	return w
}

func (w *oversizedWorld) open(t testing.TB) {
	var err error
	w.ix, err = w.views.View(t.Context(), w.db, "_design/q", "v")
	must(t, err)
	must(t, w.ix.Wait(t.Context()))
}

// put writes a document that emits keys; with none it deletes it.
func (w *oversizedWorld) put(t tester, id string, keys ...string) {
	rows := make([]string, len(keys))
	for i, key := range keys {
		rows[i] = "[" + key + ",null]"
	}
	body := `{"emit":[` + strings.Join(rows, ",") + `]}`
	if len(keys) == 0 {
		body = ""
	}
	w.bench.put(t, id, body)
	if w.emitted[id] = keys; len(keys) == 0 {
		delete(w.emitted, id)
	}
}

// rows are the places in a range, with ids and keys, as they should be.
func (w *oversizedWorld) rows(t tester, scan Scan) (rows []string) {
	type rowKey struct {
		key []byte
		row string
	}
	var all []rowKey
	for id, keys := range w.emitted {
		if scan.Partition != "" && keyrange.PartitionName(id) != scan.Partition {
			continue
		}
		for _, key := range keys {
			v, err := ejson.Parse([]byte(key))
			must(t, err)
			p := AppendRowKey(nil, collate.AppendKey(nil, v), id)
			if bytes.Compare(p, scan.Start) >= 0 && (scan.End == nil || bytes.Compare(p, scan.End) < 0) {
				all = append(all, rowKey{p, id + " " + key})
			}
		}
	}
	slices.SortFunc(all, func(a, b rowKey) int { return bytes.Compare(a.key, b.key) })
	for i := range all {
		rows = append(rows, all[i].row)
	}
	if scan.Descending {
		slices.Reverse(rows)
	}
	return rows
}

// check compares a scan with what it should give.
func (w *oversizedWorld) check(t tester, scan Scan) {
	t.Helper()
	var got []string
	_, err := w.ix.Scan(context.Background(), scan, func(row *ScanRow) error {
		got = append(got, string(row.ID)+" "+string(row.Key))
		if scan.Docs && (row.Doc == nil || row.Doc.ID != string(row.ID)) {
			t.Errorf("%s comes without its document", row.ID)
		}
		return nil
	})
	must(t, err)
	if want := w.rows(t, scan); !slices.Equal(got, want) {
		t.Errorf("%+v:\ngot  %s\nwant %s", scan, short(got), short(want))
	}
}

func short(rows []string) (out []string) {
	for _, r := range rows {
		if len(r) > 60 {
			r = fmt.Sprintf("%s…%s(%d)", r[:30], r[len(r)-20:], len(r))
		}
		out = append(out, r)
	}
	return out
}

// shortKeys are FoundationDB's limits with shorter keys, so that documents beyond them are quickly
// made.
var shortKeys = kv.Limits{KeySize: 3000, ValueSize: 100_000, TransactionSize: 10_000_000, ReadTime: 5_000}

// anyLongKey is a key below, at or above what fits a row, or beyond what is kept of one.
func anyLongKey() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := func() string {
			n := rapid.SampledFrom([]int{0, 1, 480, 500, 900, 1100, 1400, 1500, 2600, 4000}).Draw(t, "length")
			return fmt.Sprintf(
				"%q",
				strings.Repeat(
					rapid.SampledFrom([]string{"a", "b"}).Draw(t, "letter"),
					n,
				)+rapid.SampledFrom(
					[]string{"", "x", "y", "é"},
				).Draw(
					t,
					"end",
				),
			)
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return fmt.Sprintf("[%d,%s]", rapid.IntRange(0, 1).Draw(t, "first"), text())
		case 1:
			return fmt.Sprintf("[%s,%d]", text(), rapid.IntRange(0, 3).Draw(t, "second"))
		}
		return text()
	})
}

// TestOversizedRows: whatever documents emit and whatever the lengths of their ids, a scan gives
// every row in its range, in order, in both directions, and no other.
func TestOversizedRows(t *testing.T) {
	for name, wrap := range map[string]func(kv.Store) kv.Store{
		"limits": func(s kv.Store) kv.Store { return s },
		"faults": func(s kv.Store) kv.Store {
			return faultkv.New(s, faultkv.Random(1, faultkv.Rates{Conflict: 0.1, UnknownCommitted: 0.05, TooOld: 0.01}))
		},
	} {
		for _, partitioned := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/partitioned=%v", name, partitioned), func(t *testing.T) {
				round := 0
				w := newOversizedWorld(
					t,
					wrap(wrapkv.WithLimits(memkv.New(), shortKeys, time.Now)),
					storage.CreateOptions{Partitioned: partitioned},
				)
				rapid.Check(t, func(rt *rapid.T) {
					if round++; round > 40 {
						return
					}
					w.round(rt, partitioned)
				})
				w.checkStored(t)
			})
		}
	}
}

func (w *oversizedWorld) round(t *rapid.T, partitioned bool) {
	partition := ""
	ids := []string{
		"d0",
		"d1",
		"d2",
		"d3",
		"d4",
		"long" + strings.Repeat("i", 900),
		"longer" + strings.Repeat("i", 2500),
	}
	if partitioned {
		partition = rapid.SampledFrom([]string{"p", "q", strings.Repeat("long", 150)}).Draw(t, "partition")
		for i, id := range ids {
			ids[i] = partition + ":" + id[:min(len(id), 2000)]
		}
	}
	for range rapid.IntRange(1, 5).Draw(t, "writes") {
		keys := rapid.SliceOfNDistinct(
			anyLongKey(),
			0,
			rapid.SampledFrom([]int{1, 1, 1, 3}).Draw(t, "rows"),
			rapid.ID[string],
		).Draw(
			t,
			"keys",
		)
		w.put(t, rapid.SampledFrom(ids).Draw(t, "id"), keys...)
	}
	scan := Scan{
		Partition: partition, Descending: rapid.Bool().Draw(t, "descending"), Docs: rapid.Bool().Draw(t, "docs"),
		Wanted: rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "wanted"),
	}
	for _, bound := range []*[]byte{&scan.Start, &scan.End} {
		if rapid.Bool().Draw(t, "bound") {
			v, err := ejson.Parse([]byte(anyLongKey().Draw(t, "bound")))
			must(t, err)
			*bound = collate.AppendKey(nil, v)
			if rapid.Bool().Draw(t, "id") {
				*bound = AppendRowKey(nil, *bound, rapid.SampledFrom(ids).Draw(t, "bound's id"))
			}
		}
	}
	if scan.End != nil && bytes.Compare(scan.Start, scan.End) > 0 {
		scan.Start, scan.End = scan.End, scan.Start
	}
	w.check(t, scan)
}

// TestManyOversizedRows: more documents than a window or the memory takes come in order, those that
// begin alike, too, and the scan ends when it has enough. An index that is built later is the same.
func TestManyOversizedRows(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	w := newOversizedWorld(t, wrapkv.WithLimits(memkv.New(), shortKeys, time.Now), storage.CreateOptions{})
	same := strings.Repeat("s", 3000)
	const many = maxOversizedRows + 50
	for i := range many {
		w.put(t, fmt.Sprintf("d%04d", i), fmt.Sprintf("%q", fmt.Sprintf("%s%04d", same, i*7%many)))
		if i%50 == 0 {
			w.put(t, fmt.Sprintf("e%04d", i), fmt.Sprintf("%q", fmt.Sprintf("%04d%s", i*7%many, same)))
			w.put(t, fmt.Sprintf("f%04d", i), fmt.Sprintf("%q", fmt.Sprintf("%04d", i*7%many)))
		}
	}
	for _, descending := range []bool{false, true} {
		w.check(t, Scan{Descending: descending})
		w.check(t, Scan{Descending: descending, Docs: true, Wanted: 10})
		n := 0
		_, err := w.ix.Scan(t.Context(), Scan{Descending: descending, Wanted: 5}, func(*ScanRow) error {
			if n++; n == 5 {
				return storage.ErrStop
			}
			return nil
		})
		must(t, err)
		want(t, "rows", n, 5)
	}
	w.bench.put(t, "_design/q", designBody(languageQuery, `{"v":{"map":"built"}}`))
	w.open(t)
	w.check(t, Scan{})
	w.checkStored(t)
	for id := range w.emitted {
		w.put(t, id)
	}
	w.check(t, Scan{})
	w.checkStored(t)
}
