package aggregate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// world is a database with indexes.
type world struct {
	src     *mango.Source
	indexes []*mango.Index
	revs    map[string]compat.Rev
	summed  int // requests that sums of an index answered
}

func open(t testing.TB, partitioned bool) *world { return openOn(t, memkv.New(), partitioned) }

func openOn(t testing.TB, engine kv.Store, partitioned bool) *world {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{KV: engine})
	check(t, err)
	v, err := views.Open(views.Options{
		Store: store, KV: engine, Languages: map[string]views.Language{mango.Language: mango.Views{}},
	})
	check(t, err)
	t.Cleanup(func() { v.Close(); store.Close(); engine.Close() })
	store.SetHooks(storage.Hooks{Indexer: v})
	check(t, store.Create(t.Context(), "db", storage.CreateOptions{Partitioned: partitioned}))
	return &world{
		src:     &mango.Source{DB: store.DB("db"), Views: v},
		indexes: []*mango.Index{mango.AllDocs},
		revs:    make(map[string]compat.Rev),
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, json string) ejson.Value {
	t.Helper()
	v, err := ejson.Parse([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return v
}

// put stores a document, which may be there; with no body it is deleted.
func (w *world) put(t testing.TB, id, body string) {
	t.Helper()
	doc := &compat.Document{ID: id, HasID: true, Deleted: body == ""}
	if rev, ok := w.revs[id]; ok {
		doc.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	}
	if doc.Deleted {
		body = "{}"
	}
	var err error
	doc.Body, err = compat.NewBody([]byte(body))
	check(t, err)
	results, err := w.src.DB.Update(context.Background(), []*compat.Document{doc}, storage.UpdateOptions{})
	check(t, err)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	w.revs[id] = results[0].Rev
	if doc.Deleted {
		delete(w.revs, id)
	}
}

// index makes a JSON index.
func (w *world) index(t testing.TB, name string, fields ...string) {
	t.Helper()
	w.define(t, name, `{"fields":`+string(ejson.AppendStrings(nil, fields))+`}`)
}

func (w *world) define(t testing.TB, name, index string) {
	t.Helper()
	definition, err := mango.ParseDefinition(parse(t, `{"index":`+index+`,"name":"`+name+`","ddoc":"`+name+`"}`), false)
	check(t, err)
	design, err := definition.AddTo(ejson.Value{}, false)
	check(t, err)
	w.put(t, "_design/"+name, string(design))
	catalogue := mango.Catalogue{}
	w.indexes, _, err = catalogue.Indexes(context.Background(), w.src.DB)
	check(t, err)
}

// result is an answer as the oracle compares it: each group by its sortable key.
type result struct {
	groups    []ejson.Value
	ungrouped int64
}

// run answers a request page by page.
func (w *world) run(t testing.TB, request string, kind planKind, forced bool) (res result, took planKind) {
	t.Helper()
	bookmark := ""
	for pages := 0; ; pages++ {
		body := request[:len(request)-1] + `,"bookmark":"` + bookmark + `"}`
		r, err := Parse(parse(t, body), mango.Defaults{Limit: 1 << 40})
		check(t, err)
		p, err := NewPlan(r, w.indexes, false)
		check(t, err)
		took = p.kind
		if took == hashed && p.inOrder != nil {
			took = inOrder
		}
		if forced {
			p.kind = kind
		}
		answer, err := p.Run(t.Context(), w.src, func(group []byte) error {
			res.groups = append(res.groups, parse(t, string(group)))
			return nil
		})
		check(t, err)
		if p.kind.rowless() && len(res.groups) > 0 {
			done, err := p.runRowless(t.Context(), w.src, new(Answer), func([]byte) error { return nil })
			if check(t, err); !done && p.kind == counted {
				t.Fatal("the index was not asked")
			}
			if done && p.kind == summed {
				w.summed++
			}
		}
		if res.ungrouped = answer.Ungrouped; answer.Bookmark == "" {
			return res, took
		}
		if bookmark = answer.Bookmark; pages > 1000 {
			t.Fatal("the pages do not end")
		}
	}
}

// brute computes an answer from the documents alone: no index, no accumulator, numbers as fractions.
type brute struct {
	docs     map[string]ejson.Value
	selector *selector.Selector
}

func at(doc ejson.Value, field string) (ejson.Value, bool) {
	for _, part := range strings.Split(field, ".") {
		if doc.Kind() != ejson.Object {
			return doc, false
		}
		var ok bool
		if doc, ok = doc.Get(part); !ok {
			return doc, false
		}
	}
	return doc, true
}

func rat(v ejson.Value) *big.Rat {
	if v.Kind() == ejson.Int {
		return new(big.Rat).SetInt(v.BigInt())
	}
	f, _ := v.Float()
	return new(big.Rat).SetFloat64(f)
}

// groupsOf gives the documents of each group, in the order of ids, by the collation key of the group.
func (b *brute) groupsOf(t testing.TB, r *Request) (groups map[string][]string, ungrouped int64) {
	groups = make(map[string][]string)
	for id, doc := range b.docs {
		passes, err := b.selector.Match(doc)
		check(t, err)
		if !passes {
			continue
		}
		key, ok := "", true
		for _, g := range r.groups {
			v, has := at(doc, g.name)
			switch {
			case !has:
				ok = false
			case g.prefix > 0:
				ok = ok && v.Kind() == ejson.String
				letters := []rune(v.Text())
				v = parse(t, string(ejson.AppendString(nil, string(letters[:min(g.prefix, len(letters))]))))
			case g.floor.Kind() != ejson.Invalid:
				if ok = ok && isNumber(v); ok {
					x, _ := v.Float()
					step, _ := g.floor.Float()
					text := string(ejson.AppendFloat(nil, math.Floor(x/step)*step))
					if v.Kind() == ejson.Int && g.floor.Kind() == ejson.Int {
						q := new(big.Rat).Quo(rat(v), rat(g.floor))
						whole := new(big.Int).Div(q.Num(), q.Denom())
						text = whole.Mul(whole, g.floor.BigInt()).String()
					}
					v = parse(t, text)
				}
			}
			if !ok {
				break
			}
			key += string(collate.AppendKey(nil, v))
		}
		if !ok {
			ungrouped++
			continue
		}
		groups[key] = append(groups[key], id)
	}
	if len(r.groups) == 0 && len(groups) == 0 {
		groups[""] = nil
	}
	return groups, ungrouped
}

// number is a number as brute force compares it: exactly, but where doubles were added up.
func number(n *big.Rat, doubles bool) string {
	if !doubles {
		return n.RatString()
	}
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'g', 9, 64)
}

// value computes a value of a group as fractions or texts; doubles says that some of the numbers are.
func (b *brute) value(t testing.TB, r *Request, a accumulation, ids []string) (value string, doubles bool) {
	if a.op == countOp {
		return fmt.Sprint(len(ids)), false
	}
	type entry struct {
		v     ejson.Value
		order string
	}
	var have []entry
	sum, squares, numbers := new(big.Rat), new(big.Rat), 0
	var least, most *big.Rat
	different := make(map[string]bool)
	for _, id := range ids {
		v, ok := at(b.docs[id], r.fields[a.field])
		if !ok {
			continue
		}
		order := ""
		for _, g := range r.groups {
			raw, _ := at(b.docs[id], g.name)
			order += string(collate.AppendKey(nil, raw))
		}
		have = append(have, entry{v, order + id})
		different[string(collate.AppendKey(nil, v))] = true
		if isNumber(v) {
			n := rat(v)
			numbers++
			doubles = doubles || v.Kind() == ejson.Double
			sum.Add(sum, n)
			squares.Add(squares, new(big.Rat).Mul(n, n))
			if least == nil || n.Cmp(least) < 0 {
				least = n
			}
			if most == nil || n.Cmp(most) > 0 {
				most = n
			}
		}
	}
	switch a.op {
	case "$sum":
		return number(sum, doubles), doubles
	case "$avg", "$stats":
		if numbers == 0 {
			return "null", false
		}
		if a.op == "$avg" {
			f, _ := new(big.Rat).Quo(sum, big.NewRat(int64(numbers), 1)).Float64()
			return number(new(big.Rat).SetFloat64(f), doubles), doubles
		}
		return fmt.Sprint(number(sum, doubles), strconv.Itoa(numbers), number(least, doubles), number(most, doubles),
			number(squares, doubles)), doubles
	case "$distinct":
		return fmt.Sprint(len(different)), false
	}
	if len(have) == 0 {
		return "null", false
	}
	best := have[0]
	for _, e := range have[1:] {
		byValue, byOrder := collate.Compare(e.v, best.v), cmp.Compare(e.order, best.order)
		if a.op == "$min" && byValue < 0 || a.op == "$max" && byValue > 0 || a.op == "$first" && byOrder < 0 ||
			a.op == "$last" && byOrder > 0 {
			best = e
		}
	}
	return string(collate.AppendKey(nil, best.v)), false
}

// shown is a value of an answer in the form of brute.value.
func shown(a accumulation, v ejson.Value, doubles bool) string {
	number := func(v ejson.Value) string { return number(rat(v), doubles) }
	member := func(name string) ejson.Value { m, _ := v.Get(name); return m }
	switch a.op {
	case countOp, "$distinct", "$sum":
		return number(v)
	case "$avg", "$stats":
		if v.IsNull() {
			return "null"
		}
		if a.op == "$avg" {
			return number(v)
		}
		return fmt.Sprint(number(member("sum")), rat(member("count")).RatString(), number(member("min")),
			number(member("max")), number(member("sumsqr")))
	}
	if v.IsNull() {
		return "null"
	}
	return string(collate.AppendKey(nil, v))
}

// compare tells where an answer differs from brute force, "" for nowhere.
func (b *brute) compare(t testing.TB, request string, res result) string {
	r, err := Parse(parse(t, request), mango.Defaults{Limit: 1 << 40})
	check(t, err)
	b.selector = r.query.Selector
	groups, ungrouped := b.groupsOf(t, r)
	if res.ungrouped != ungrouped {
		return fmt.Sprintf("%d documents without a group, not %d", res.ungrouped, ungrouped)
	}
	if len(res.groups) != len(groups) {
		return fmt.Sprintf("%d groups, not %d", len(res.groups), len(groups))
	}
	var before []byte
	for _, g := range res.groups {
		key, _ := g.Get("key")
		var sortable []byte
		for e := range key.Elements() {
			sortable = collate.AppendKey(sortable, e)
		}
		ids, ok := groups[string(sortable)]
		if !ok {
			return "unknown group " + text(key)
		}
		delete(groups, string(sortable))
		if len(r.order) == 0 && before != nil && bytes.Compare(before, sortable) >= 0 {
			return "the groups are not in order"
		}
		before = sortable
		for _, a := range r.values {
			v, _ := g.Get(a.name)
			want, doubles := b.value(t, r, a, ids)
			if v.IsNull() && want == string(collate.AppendKey(nil, v)) {
				want = "null" // the value of the field
			}
			if got := shown(a, v, doubles); got != want {
				return fmt.Sprintf("%s of %s: %q, not %q: %s", a.op, text(key), got, want, text(v))
			}
		}
	}
	return ""
}

var pool = []string{
	`null`, `true`, `false`, `0`, `-0.0`, `1`, `1.0`, `2`, `-7`, `2.5`, `1.0e2`, `100`, `9007199254740993`,
	`18446744073709551616`, `-0.125`,
	`""`, `"a"`, `"A"`, `"b"`, `"a-b"`, `"ab"`, `"é"`, `"e\u0301"`, `"2026-11-27"`, `"2026-11-28"`, `"2026-12"`,
	`"𝄞x"`,
	`[]`, `[1]`, `[1.0]`, `{}`, `{"x":1}`, `{"x":2}`,
}

// numbersPool has numbers up to the longest that an index adds up, and one that is longer.
var numbersPool = append(slices.Repeat(pool[3:15], 20), "1"+strings.Repeat("0", 63), "1"+strings.Repeat("0", 64),
	"null", `"a"`)

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

func anyDocument(r *rand.Rand) string {
	var members []string
	for _, field := range []string{"a", "b", "c", "n"} {
		if r.IntN(5) > 0 {
			members = append(members, `"`+field+`":`+pick(r, pool))
		}
	}
	if r.IntN(2) == 0 {
		members = append(members, `"o":{"x":`+pick(r, pool)+`}`)
	}
	if r.IntN(5) > 0 {
		members = append(members, `"m":`+pick(r, numbersPool))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func anyRequest(r *rand.Rand) string {
	field := func() string { return pick(r, []string{"a", "b", "c", "n", "o.x"}) }
	selectors := []string{
		`{}`, `{"a":{"$exists":true}}`, `{"a":{"$exists":true},"b":{"$exists":true}}`,
		`{"` + field() + `":` + pick(r, pool[:26]) + `}`, `{"a":` + pick(r, pool[:26]) + `,"b":{"$exists":true}}`,
		`{"a":{"$gt":null},"b":{"$gte":` + pick(r, pool) + `}}`, `{"` + field() + `":{"$exists":false}}`,
		`{"$or":[{"a":1},{"b":{"$gt":"a"}}]}`, `{"a":{"$gt":` + pick(r, pool) + `}}`,
		`{"a":` + pick(r, pool[:26]) + `,"b":{"$exists":true},"c":{"$exists":true}}`,
	}
	var groups []string
	used := make(map[string]bool)
	for range r.IntN(4) {
		f := field()
		if used[f] {
			continue
		}
		used[f] = true
		switch r.IntN(6) {
		case 0:
			groups = append(groups, fmt.Sprintf(`{"field":%q,"prefix":%d}`, f, 1+r.IntN(8)))
		case 1:
			step := pick(r, []string{"1", "2", "50", "0.5", "4.0"})
			groups = append(groups, fmt.Sprintf(`{"field":%q,"floor":%s}`, f, step))
		default:
			groups = append(groups, `"`+f+`"`)
		}
	}
	values := []string{`"rows":{"$count":true}`}
	if r.IntN(2) == 0 {
		for i, op := range []string{"$sum", "$avg", "$stats", "$min", "$max", "$first", "$last", "$distinct"} {
			if r.IntN(3) == 0 {
				values = append(values, fmt.Sprintf(`"v%d":{%q:%q}`, i, op, pick(r, []string{"n", "a", "o.x"})))
			}
		}
	}
	selector := pick(r, selectors)
	if r.IntN(2) == 0 { // what an index can answer
		groups = nil
		if values = values[:1+r.IntN(len(values))/2]; r.IntN(2) == 0 {
			values = values[:1]
		}
		for i, op := range []string{"$sum", "$avg", "$stats", "$min", "$max"} {
			if r.IntN(4) == 0 {
				f := pick(r, []string{"m", "m", "m", "m", "n", "o.x"})
				values = append(values, fmt.Sprintf(`"w%d":{%q:%q}`, i, op, f))
			}
		}
		asked := []string{`"` + field() + `":{"$exists":true}`}[:r.IntN(2)]
		if r.IntN(2) == 0 {
			asked = append(asked, `"a":`+pick(r, pool[:26]))
		}
		for _, f := range [][]string{{"a"}, {"b"}, {"b", "c"}, {"b", "a"}, {"o.x"}, {"n"}, {"a", "b", "c"}}[r.IntN(7)] {
			groups = append(groups, `"`+f+`"`)
			if r.IntN(6) > 0 {
				asked = append(asked, `"`+f+`":{"$exists":true}`)
			}
		}
		selector = `{"$and":[{` + strings.Join(asked, "},{") + `}]}`
		if len(asked) == 0 || r.IntN(8) == 0 {
			selector = "{}"
		}
	}
	request := `{"selector":` + selector + `,"group_by":[` + strings.Join(groups, ",") + `],"values":{` +
		strings.Join(values, ",") + "}"
	switch r.IntN(5) {
	case 0:
		request += `,"sort":[{"rows":"desc"}]`
	case 1:
		request += `,"sort":[{"key":"desc"}]`
	}
	if r.IntN(2) == 0 {
		request += fmt.Sprintf(`,"limit":%d`, 1+r.IntN(4))
	}
	return request + "}"
}

// change edits or deletes some document.
func (b *brute) change(t testing.TB, w *world, r *rand.Rand) {
	id := pick(r, slices.Sorted(maps.Keys(b.docs)))
	if len(b.docs) > 5 && r.IntN(2) == 0 {
		w.put(t, id, "")
		delete(b.docs, id)
		return
	}
	body := anyDocument(r)
	w.put(t, id, body)
	b.docs[id] = parse(t, body)
}

// Whatever plan answers a request, in one page or in many, the answer is that of brute force.
func TestPlansAgree(t *testing.T) {
	rounds, requests := 12, 80
	if testing.Short() {
		rounds = 4
	}
	taken := make(map[planKind]int)
	answered := 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 42))
		w := open(t, false)
		b := &brute{docs: make(map[string]ejson.Value)}
		late := r.IntN(2) == 0
		makeIndexes := func() {
			for i, fields := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"a", "b", "c"}, {"o.x"}, {"b", "n"}} {
				if r.IntN(3) > 0 {
					w.index(t, fmt.Sprint("i", i), fields...)
				}
				if values := [][]string{{"m"}, {"n", "m"}, {"o.x", "m", "n", "none"}}; r.IntN(4) > 0 {
					w.define(t, fmt.Sprint("v", i), fmt.Sprintf(`{"fields":%s,"values":%s}`,
						ejson.AppendStrings(nil, fields), ejson.AppendStrings(nil, values[r.IntN(3)])))
				}
			}
		}
		if !late {
			makeIndexes()
		}
		for n := range 10 + r.IntN(120) {
			id, body := fmt.Sprintf("d%d", n), anyDocument(r)
			w.put(t, id, body)
			b.docs[id] = parse(t, body)
		}
		if late {
			makeIndexes()
		}
		for asked := range requests {
			if asked%4 == 0 {
				b.change(t, w, r)
			}
			request := anyRequest(r)
			res, took := w.run(t, request, 0, false)
			taken[took]++
			if diff := b.compare(t, request, res); diff != "" {
				t.Fatalf("seed %d, plan %s: %s\n%s", seed, planNames[took], diff, request)
			}
			for _, other := range []planKind{hashed, inOrder} {
				if other == inOrder && took != inOrder {
					continue
				}
				again, _ := w.run(t, request, other, true)
				if diff := b.compare(t, request, again); diff != "" {
					t.Fatalf("seed %d, %s instead of %s: %s\n%s",
						seed, planNames[other], planNames[took], diff, request)
				}
			}
		}
		answered += w.summed
	}
	if t.Logf("sums of indexes: %d requests", answered); answered < rounds {
		t.Error("hardly any request was answered by the sums of an index")
	}
	for kind, name := range planNames {
		if t.Logf("%s: %d requests", name, taken[planKind(kind)]); taken[planKind(kind)] < rounds {
			t.Errorf("plan %s was hardly taken", name)
		}
	}
}

// An order by values has every group once, on however many pages, with ties.
func TestPagesHaveEachGroupOnce(t *testing.T) {
	w := open(t, false)
	for n := range 60 {
		w.put(t, fmt.Sprintf("d%d", n), fmt.Sprintf(`{"g":%d,"n":%d}`, n%20, n%3))
	}
	for _, sort := range []string{`["rows"]`, `[{"top":"desc"},{"key":"desc"}]`, `[{"top":"asc"}]`, `["key"]`} {
		for _, limit := range []int{1, 3, 7, 20, 21} {
			request := `{"group_by":["g"],"values":{"rows":{"$count":true},"top":{"$max":"n"}},"sort":` + sort
			whole, _ := w.run(t, request+`,"limit":1000}`, 0, false)
			paged, _ := w.run(t, request+fmt.Sprintf(`,"limit":%d}`, limit), 0, false)
			equal := slices.EqualFunc(whole.groups, paged.groups, func(a, b ejson.Value) bool {
				return text(a) == text(b)
			})
			if len(whole.groups) != 20 || !equal {
				t.Errorf("sort %s, limit %d: pages differ from the whole", sort, limit)
			}
		}
	}
}
