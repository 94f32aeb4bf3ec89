package views

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// modelGroups compares the groups of random keys, with the keys as they are asked for or stored.
func (b *bench) modelGroups(rt *rapid.T, raw bool) {
	rows, compare := b.bruteForce(rt, raw), collate.Compare
	if raw {
		compare = collate.CompareRaw
	}
	descending, stored := rapid.Bool().Draw(rt, "descending"), rapid.Bool().Draw(rt, "stored")
	if descending {
		rows = reversedRows(rows, compare)
	}
	keys := rapid.SliceOfN(rapid.SampledFrom(someKeys), 2, 6).Draw(rt, "keys")
	groups := []string{}
	for _, asked := range keys {
		shown, n := asked, 0
		k, _ := ejson.Parse([]byte(asked))
		for _, row := range rows {
			if compare(row.key, k) != 0 {
				continue
			}
			if n++; n == 1 && stored {
				shown = string(row.key.AppendJSON(nil))
			}
		}
		if n > 0 {
			groups = append(groups, fmt.Sprintf("%s=%d", shown, n))
		}
	}
	skip, limit := rapid.IntRange(0, 2).Draw(rt, "skip"), rapid.IntRange(0, 6).Draw(rt, "limit")
	groups = groups[min(skip, len(groups)):]
	groups = groups[:min(limit, len(groups))]
	options := fmt.Sprintf("group=true&descending=%v&stored_keys=%v&skip=%d&limit=%d&keys=[%s]",
		descending, stored, skip, limit, escape(strings.Join(keys, ",")))
	want(rt, options, b.query(rt, "d", "v", options).rows, groups)
}

// TestStoredKeysCost: the keys of groups as they are stored cost a read a group, and keys as they
// are asked for none; across a network those of many groups are read together. Groups have one row
// and more than are reduced row by row.
func TestStoredKeysCost(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	engine := latencykv.New(count, latencykv.Options{})
	b := newBench(t, engine, storage.CreateOptions{})
	for i := range 150 {
		b.put(t, fmt.Sprintf("doc%03d", i), fmt.Sprintf(`{"emit":[["a\u000%d",1],[%d,1]]}`, i%2, i))
	}
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_count"}}`))
	keys := []string{`"a"`, `"none"`}
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("%d.0", i))
	}
	ask := func(options string) (first string, ranges, trips int64) {
		options += "&group=true&keys=[" + strings.Join(keys, ",") + "]"
		b.query(t, "d", "v", options) // what is cached is there
		count.Reset()
		engine.Reset()
		rows := b.query(t, "d", "v", options).rows
		want(t, "groups", len(rows), 101)
		return rows[0] + " " + rows[1], count.Counts().Ranges, engine.Counts().RoundTrips
	}
	_, ranges, trips := ask("")
	for options, answer := range map[string]string{
		"stored_keys=false": `"a"=150 0.0=1`, "descending=true&stored_keys=false": `"a"=150 0.0=1`,
		"stored_keys=true": `"a\u0000"=150 0=1`, "descending=true&stored_keys=true": `"a\u0001"=150 0=1`,
	} {
		got, r, n := ask(options)
		want(t, options, got, answer)
		more, apart := int64(0), int64(0)
		if strings.HasSuffix(options, "true") {
			more, apart = 101, 2 // 64 and 37
		}
		if r-ranges > more || n-trips > apart {
			t.Errorf("%s: %d reads and %d round trips besides %d and %d, at most %d and %d",
				options, r-ranges, n-trips, ranges, trips, more, apart)
		}
	}
}
