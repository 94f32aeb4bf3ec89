package views

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// TestLimits: what a document emits beyond the limits of FoundationDB is an error of that document
// alone.
func TestLimits(t *testing.T) {
	b := newBench(t, wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now), storage.CreateOptions{})
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_count"}}`))
	long := strings.Repeat("x", 9<<10)
	row := func(key, value string) string { return fmt.Sprintf(`{"emit":[[%q,%q]]}`, key, value) }
	b.put(t, "fits", row(long[:8000], strings.Repeat(long, 7)))
	b.put(t, "key", row(long, "v"))
	b.put(t, "value", row("k", strings.Repeat(long, 8)))
	var rows []string
	for i := range 12 {
		rows = append(rows, fmt.Sprintf(`["%d%s",1]`, i, long[:6000]))
	}
	b.put(t, "keys", `{"emit":[`+strings.Join(rows, ",")+`]}`)
	rows = rows[:0]
	for i := range 12000 {
		rows = append(rows, fmt.Sprintf(`[%d,1]`, i))
	}
	b.put(t, "rows", `{"emit":[`+strings.Join(rows, ",")+`]}`)
	want(t, "rows", b.query(t, "d", "v", "").rows, "[null=1]")
	var errors []string
	must(t, b.views.Errors(context.Background(), b.db, "_design/d", "v", func(e MapError) error {
		errors = append(errors, e.ID+": "+e.Message)
		return nil
	}))
	want(
		t,
		"errors",
		strings.Join(errors, ", "),
		"key: the key is too large, keys: the keys are too large together, rows: too many rows, value: the value is too large",
	)
	b.checkStored(t)
}

// TestLargeBatches: a build cuts its transactions to what the store takes.
func TestLargeBatches(t *testing.T) {
	limits := kv.FDBLimits
	limits.TransactionSize = 400_000
	b := newBench(t, wrapkv.WithLimits(memkv.New(), limits, time.Now), storage.CreateOptions{})
	value := strings.Repeat("v", 20_000)
	for i := range 60 {
		b.put(t, fmt.Sprintf("doc%02d", i), fmt.Sprintf(`{"emit":[[%d,%q],[%d,1]]}`, i, value, 1000-i))
	}
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_count"}}`))
	want(t, "rows", b.query(t, "d", "v", "").rows, "[null=120]")
	b.checkStored(t)
}

// TestPartitions: rows of a partitioned index stay in their partition, also where names collate as
// equal.
func TestPartitions(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{Partitioned: true})
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_sum"}}`))
	for i, partition := range []string{"a", "A", "ab", "a\u00ad", "b"} {
		for n := range 3 {
			b.put(t, fmt.Sprintf("%s:%d", partition, n), fmt.Sprintf(`{"emit":[[[%d,1],%d]]}`, n, 1<<i))
		}
	}
	for i, partition := range []string{"a", "A", "ab", "a%C2%AD", "b"} {
		want(t, "sum of "+partition, b.query(t, "d", "v", "partition="+partition).rows, fmt.Sprintf("[null=%d]", 3<<i))
		want(
			t,
			"groups of "+partition,
			b.query(t, "d", "v", "group_level=1&limit=1&partition="+partition).rows,
			fmt.Sprintf("[[0]=%d]", 1<<i),
		)
		c := b.query(t, "d", "v", "reduce=false&startkey=[1]&partition="+partition)
		want(t, "rows of "+partition, len(c.rows), 2)
		want(t, "total", c.head.TotalRows, 15)
	}
	if err := b.tryQuery("d", "v", "", discard{}); !isParseError(err) {
		t.Errorf("without a partition: %v", err)
	}
}

func isParseError(err error) bool {
	e, ok := compat.AsError(err)
	return ok && e.Kind == compat.KindQueryParse
}

// TestLargeDefinitions: what indexes are made of may be longer than a value of the store, one by
// one and together.
func TestLargeDefinitions(t *testing.T) {
	b := newBench(t, latencykv.New(memkv.New(), latencykv.Options{}), storage.CreateOptions{})
	for i := range 10 {
		b.put(t, fmt.Sprint("doc", i), fmt.Sprintf(`{"emit":[[%d,1]]}`, i))
	}
	long := strings.Repeat("x", 45_000)
	for i := range 4 { // the list of them all has some 180 KB
		b.put(
			t,
			fmt.Sprint("_design/q", i),
			designBody(languageQuery, fmt.Sprintf(`{"v":{"map":"%d%s","reduce":"_count"}}`, i, long)),
		)
		b.put(t, "other", fmt.Sprintf(`{"emit":[[%d,1]]}`, i))
		want(t, "count", b.query(t, fmt.Sprint("q", i), "v", "").rows, "[null=11]")
	}
	b.put(
		t,
		"_design/large",
		designBody(languageQuery, fmt.Sprintf(`{"v":{"map":"%s","reduce":"_count"}}`, strings.Repeat(long, 3))),
	)
	want(t, "count", b.query(t, "large", "v", "").rows, "[null=11]")
	b.views.opts.JS = reducesAll{}
	b.put(
		t,
		"_design/d",
		designBody("emitter", fmt.Sprintf(`{"v":{"map":"m","reduce":"%s"},"w":{"map":"m"}}`, strings.Repeat(long, 3))),
	)
	want(t, "reduced", b.query(t, "d", "v", "").rows, "[null=1]")
	b.put(t, "other", `{"emit":[[7,1]]}`)
	b.purge(t, "doc3")
	want(t, "rows", len(b.query(t, "d", "w", "").rows), 10)
	want(t, "reduced", b.query(t, "d", "v", "").rows, "[null=1]")
	b.put(t, "fails", `{"fail":"`+strings.Repeat(long, 4)+`"}`)
	want(t, "rows", len(b.query(t, "d", "w", "").rows), 10)
	b.checkStored(t)
	for _, name := range []string{"q0", "q1", "q2", "q3", "large", "d"} {
		b.put(t, "_design/"+name, "")
	}
	must(t, b.views.Cleanup(t.Context(), b.db))
	must(t, b.db.View(t.Context(), func(s *storage.Snapshot) error {
		for _, tag := range append([]int64{keyInfo, keyInteractive}, indexTags[:]...) {
			begin, end := children(spaceOf(s).sub(nil, tag))
			it := s.KV().Range(begin, end, kv.RangeOptions{})
			defer it.Close()
			if it.Next() {
				t.Errorf("a key of tag %d is left", tag)
			}
			must(t, it.Err())
		}
		return nil
	}))
}

// reducesAll is JavaScript that reduces everything to 1.
type reducesAll struct{ JavaScript }

func (reducesAll) Reduce(
	_ context.Context, _, _ string, _ js.ReduceLimit, groups []js.ReduceGroup,
) ([]js.ReduceResult, error) {
	results := make([]js.ReduceResult, len(groups))
	for i := range results {
		results[i].Value = []byte("1")
	}
	return results, nil
}
