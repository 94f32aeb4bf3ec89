package views

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// TestTwoBuilders lets two Views build the same indexes while documents change, as two processes on
// one store would: no row may be missing or there twice, and counters and sums must fit.
func TestTwoBuilders(t *testing.T) {
	onEngines(t, func(t *testing.T, b *bench) {
		b.views.opts.largeUpdate = 20 // levels come and go
		o := b.views.opts
		o.Workers = 3
		other, err := Open(o)
		must(t, err)
		defer other.Close()
		b.put(
			t,
			"_design/d",
			designBody(
				"emitter",
				`{"v":{"map":"a","reduce":"_sum"},"w":{"map":"b","reduce":"_stats"},"x":{"map":"c"}}`,
			),
		)
		b.put(
			t,
			"_design/q",
			designBody(languageQuery, `{"v":{"map":"a","reduce":"_sum"},"w":{"map":"b","reduce":"_count"}}`),
		)
		var wg sync.WaitGroup
		for n := range 3 {
			wg.Go(func() { b.changeDocuments(t, rand.New(rand.NewPCG(1, uint64(n))), 150) })
		}
		for _, v := range []*Views{b.views, other} {
			wg.Go(func() {
				mine := &bench{b.store, v, b.db}
				for range 60 {
					for _, view := range []string{"d v", "d w", "q v"} {
						if err := mine.tryQuery(view[:1], view[2:], "", discard{}); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		b.compareAll(t)
	})
}

// changeDocuments writes, deletes and purges documents at random.
func (b *bench) changeDocuments(t *testing.T, rng *rand.Rand, n int) {
	for range n {
		id := fmt.Sprintf("doc%02d", rng.IntN(40))
		switch rng.IntN(8) {
		case 0:
			b.put(t, id, "")
		case 1:
			b.purge(t, id)
		default:
			body := fmt.Sprintf(`{"emit":[[%d,%d],[["g",%d],%d]]}`, rng.IntN(30), rng.IntN(9), rng.IntN(3), rng.IntN(9))
			b.put(t, id, body)
		}
	}
}

// purge removes a document altogether.
func (b *bench) purge(t tester, id string) {
	request := storage.IDRevs{ID: id}
	err := b.db.OpenRevs(
		context.Background(),
		id,
		docread.OpenRevsOptions{All: true},
		func(revs []docread.RevResult) error {
			for _, leaf := range revs {
				request.Revs = append(request.Revs, leaf.Rev)
			}
			return nil
		},
	)
	if errors.Is(err, compat.ErrMissing) {
		return
	}
	must(t, err)
	_, err = b.db.Purge(context.Background(), []storage.IDRevs{request})
	must(t, err)
}

// compareAll compares all views of the design documents d and q with brute force, and what is
// stored with itself.
func (b *bench) compareAll(t *testing.T) {
	t.Helper()
	rows := b.bruteForce(t, false)
	sum := int64(0)
	for _, r := range rows {
		n, _ := r.value.Int()
		sum += n
	}
	for _, ddoc := range []string{"d", "q"} {
		c := b.query(t, ddoc, "v", "reduce=false")
		want(t, "rows of "+ddoc, c.rows, rows)
		want(t, "total of "+ddoc, c.head.TotalRows, len(rows))
		want(t, "sum of "+ddoc, b.query(t, ddoc, "v", "").rows, fmt.Sprintf("[null=%d]", sum))
		for _, key := range []string{"5", `["g",1]`} {
			want(
				t,
				"offset of "+key,
				b.query(t, ddoc, "v", "reduce=false&startkey="+escape(key)).head.Offset,
				offsetOf(rows, key),
			)
		}
	}
	b.checkStored(t)
}

func offsetOf(rows []modelRow, key string) int {
	n := 0
	for n < len(rows) && compareTexts(string(rows[n].key.Raw()), key) < 0 {
		n++
	}
	return n
}

// checkStored runs Check.
func (b *bench) checkStored(t *testing.T) {
	t.Helper()
	violations, err := Check(context.Background(), b.views.opts.KV, b.store)
	must(t, err)
	for _, v := range violations {
		t.Error(v)
	}
}
