package views

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// modelRow is a row as brute force finds it.
type modelRow struct {
	id         string
	key, value ejson.Value
}

func (r modelRow) String() string { return fmt.Sprintf("%s %s=%s", r.id, r.key.Raw(), r.value.Raw()) }

// bruteForce maps all documents and sorts their rows.
func (b *bench) bruteForce(t tester, raw bool) []modelRow {
	t.Helper()
	var rows []modelRow
	o := storage.RangeOptions{Limit: -1, IncludeDocs: true}
	must(
		t,
		b.db.AllDocs(
			context.Background(),
			o,
			func(storage.ListHeader) error { return nil },
			func(row *storage.ListRow) error {
				if compat.IsDesignID(row.ID) {
					return nil
				}
				return emitter{}.mapInto(row.Doc, func(key, value []byte) {
					k, _ := ejson.Parse(bytes.Clone(key))
					v, _ := ejson.Parse(bytes.Clone(value))
					rows = append(rows, modelRow{row.ID, k, v})
				})
			},
		),
	)
	compare := collate.Compare
	if raw {
		compare = collate.CompareRaw
	}
	slices.SortStableFunc(rows, func(x, y modelRow) int {
		return cmp.Or(
			compare(x.key, y.key),
			cmp.Compare(x.id, y.id),
			collate.CompareRaw(x.key, y.key),
			collate.CompareRaw(x.value, y.value),
		)
	})
	return rows
}

// mapInto is Map for documents that do not fail.
func (e emitter) mapInto(doc *docread.Document, emit func(key, value []byte)) error {
	if bytes.Contains(doc.Body, []byte(`"fail"`)) {
		return nil
	}
	return e.Map(doc, emit)
}

var (
	someKeys = []string{
		`null`,
		`false`,
		`1`,
		`1.5`,
		`-3`,
		`"a"`,
		`"A"`,
		`"b"`,
		`"a\u0000"`,
		`[]`,
		`[1]`,
		`[1,"x"]`,
		`[2]`,
		`{}`,
		`{"a":1}`,
		`9007199254740993`,
	}
	someValues = []string{`null`, `1`, `2`, `-7`, `0.5`, `"s"`, `{"x":1}`, `[1,2]`}
	someIDs    = []string{"a", "b", "c", "d", "e", "f", "é", "z z"}
)

func someBody(t *rapid.T) string {
	if rapid.IntRange(0, 15).Draw(t, "fails") == 0 {
		return `{"fail":"no"}`
	}
	var rows []string
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		rows = append(
			rows,
			fmt.Sprintf(
				"[%s,%s]",
				rapid.SampledFrom(someKeys).Draw(t, "key"),
				rapid.SampledFrom(someValues).Draw(t, "value"),
			),
		)
	}
	return fmt.Sprintf(`{"emit":[%s],"n":%d}`, strings.Join(rows, ","), rapid.IntRange(0, 3).Draw(t, "n"))
}

// TestModel compares an index with brute force after random changes of documents, on every kind of
// store.
func TestModel(t *testing.T) {
	onEngines(t, func(t *testing.T, b *bench) {
		names := 0
		rapid.Check(t, func(rt *rapid.T) {
			names++
			db := fmt.Sprintf("db%d", names)
			must(rt, b.store.Create(context.Background(), db, storage.CreateOptions{}))
			m := &bench{b.store, b.views, b.store.DB(db)}
			runModel(rt, m)
		})
	})
}

func runModel(rt *rapid.T, b *bench) {
	language := rapid.SampledFrom([]string{"emitter", languageQuery}).Draw(rt, "language")
	raw := rapid.Bool().Draw(rt, "raw")
	options := ""
	if raw {
		options = `,"options":{"collation":"raw"}`
	}
	for range rapid.IntRange(0, 5).Draw(rt, "before") {
		b.put(rt, rapid.SampledFrom(someIDs).Draw(rt, "id"), someBody(rt))
	}
	b.put(
		rt,
		"_design/d",
		designBody(language, `{"v":{"map":"a","reduce":"_count"`+options+`},"w":{"map":"a"`+options+`}}`),
	)
	rt.Repeat(map[string]func(*rapid.T){
		"put":        func(rt *rapid.T) { b.put(rt, rapid.SampledFrom(someIDs).Draw(rt, "id"), someBody(rt)) },
		"delete":     func(rt *rapid.T) { b.put(rt, rapid.SampledFrom(someIDs).Draw(rt, "id"), "") },
		"conflict":   b.modelConflict,
		"purge":      b.modelPurge,
		"query":      func(rt *rapid.T) { b.modelQuery(rt, raw) },
		"reductions": func(rt *rapid.T) { b.modelCount(rt, raw) },
		"groups":     func(rt *rapid.T) { b.modelGroups(rt, raw) },
	})
	b.modelQuery(rt, raw)
}

// modelConflict replicates another first revision of a document.
func (b *bench) modelConflict(rt *rapid.T) {
	d := newDoc(rt, rapid.SampledFrom(someIDs).Draw(rt, "id"), "", someBody(rt))
	d.Revs = compat.RevPath{Start: 1, IDs: []string{rapid.StringMatching(`[0-9a-f]{4}`).Draw(rt, "rev")}}
	_, err := b.db.Update(context.Background(), []*compat.Document{d}, storage.UpdateOptions{Replicated: true})
	must(rt, err)
}

// modelPurge purges one leaf of a document, or all.
func (b *bench) modelPurge(rt *rapid.T) {
	ctx := context.Background()
	id := rapid.SampledFrom(someIDs).Draw(rt, "id")
	var revs []compat.Rev
	err := b.db.OpenRevs(ctx, id, docread.OpenRevsOptions{All: true}, func(leaves []docread.RevResult) error {
		for _, leaf := range leaves {
			revs = append(revs, leaf.Rev)
		}
		return nil
	})
	if err != nil {
		return
	}
	if rapid.Bool().Draw(rt, "one") {
		revs = revs[:1]
	}
	_, err = b.db.Purge(ctx, []storage.IDRevs{{ID: id, Revs: revs}})
	must(rt, err)
}

// modelQuery compares a random map query.
func (b *bench) modelQuery(rt *rapid.T, raw bool) {
	rows := b.bruteForce(rt, raw)
	compare := collate.Compare
	if raw {
		compare = collate.CompareRaw
	}
	var params []string
	descending := rapid.Bool().Draw(rt, "descending")
	start, end := "", ""
	if rapid.Bool().Draw(rt, "has start") {
		start = rapid.SampledFrom(someKeys).Draw(rt, "start")
	}
	if rapid.Bool().Draw(rt, "has end") {
		end = rapid.SampledFrom(someKeys).Draw(rt, "end")
	}
	inclusive := rapid.Bool().Draw(rt, "inclusive")
	skip, limit := rapid.IntRange(0, 5).Draw(rt, "skip"), rapid.IntRange(0, 30).Draw(rt, "limit")
	if descending {
		params = append(params, "descending=true")
		rows = reversedRows(rows, compare)
	}
	if !inclusive {
		params = append(params, "inclusive_end=false")
	}
	sign := 1
	if descending {
		sign = -1
	}
	total := len(rows)
	before := 0
	if start != "" {
		params = append(params, "startkey="+escape(start))
		k, _ := ejson.Parse([]byte(start))
		for len(rows) > 0 && sign*compare(rows[0].key, k) < 0 {
			rows = rows[1:]
			before++
		}
	}
	if end != "" {
		params = append(params, "endkey="+escape(end))
		k, _ := ejson.Parse([]byte(end))
		for len(rows) > 0 {
			c := sign * compare(rows[len(rows)-1].key, k)
			if c < 0 || c == 0 && inclusive {
				break
			}
			rows = rows[:len(rows)-1]
		}
	}
	rows = rows[min(skip, len(rows)):]
	rows = rows[:min(limit, len(rows))]
	params = append(params, fmt.Sprintf("skip=%d&limit=%d&reduce=false", skip, limit))
	c := &collected{}
	err := b.tryQuery("d", "v", strings.Join(params, "&"), c)
	if err != nil {
		if e, ok := compat.AsError(err); ok && e.Kind == compat.KindQueryParse {
			return
		}
		rt.Fatal(err)
	}
	want(rt, strings.Join(params, "&"), c.rows, rows)
	want(rt, "total", c.head.TotalRows, total)
	want(rt, "offset of "+strings.Join(params, "&"), c.head.Offset, min(before+skip, total))
}

// reversedRows reverses rows, but not those with the same key of one document.
func reversedRows(rows []modelRow, compare func(a, b ejson.Value) int) []modelRow {
	out := slices.Clone(rows)
	slices.Reverse(out)
	for i := 0; i < len(out); {
		j := i + 1
		key := out[i].key.AppendJSON(nil)
		for j < len(out) && out[j].id == out[i].id && bytes.Equal(out[j].key.AppendJSON(nil), key) {
			j++
		}
		slices.Reverse(out[i:j])
		i = j
	}
	return out
}

// modelCount compares a reduction by exact groups.
func (b *bench) modelCount(rt *rapid.T, raw bool) {
	counts := len(b.bruteForce(rt, raw))
	c := b.query(rt, "d", "v", "")
	if counts == 0 {
		want(rt, "no rows", c.rows, "[]")
		return
	}
	want(rt, "count", c.rows, fmt.Sprintf("[null=%d]", counts))
}

func escape(text string) string {
	return strings.NewReplacer(`%`, `%25`, `&`, `%26`, `+`, `%2B`, `#`, `%23`, `\`, `%5C`).Replace(text)
}

func compareTexts(a, b string) int {
	x, _ := ejson.Parse([]byte(a))
	y, _ := ejson.Parse([]byte(b))
	return collate.Compare(x, y)
}
