package mango_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/indexers"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// Whatever a selector is answered from, an index over all fields by each of the ways that it
// offers, a JSON index, a text index, all documents, or what the planner takes of these, it finds
// what brute force finds: whole and in pages, in the order of a sort, counted, covered by the
// index, in a partition.

var fromSeed = flag.Uint64("from", 0, "TestQueriesAgree goes on from this seed until it fails; 0: some seeds")

// trouble is everything that a question may meet: what the store is, which indexes there are, and
// what is asked.
type trouble struct {
	seed        uint64
	limits      kv.Limits // of the store
	partitioned bool
	late        bool     // indexes are made when the documents are there
	text        bool     // documents have one type a field, and there is a text index
	collated    bool     // ids are compared as CouchDB 3.6 compares them
	indexes     []string // as they are asked for
	docs        []string // bodies; the id is the place
	asked
}

// asked is one question.
type asked struct {
	selector   string
	sort       []string
	descending bool
	partition  string
	page       int // documents on a page; 0: it is not asked for in pages
}

func (a *asked) request(more string) string {
	direction := map[bool]string{true: "desc", false: "asc"}[a.descending]
	request := `{"selector":` + a.selector + `,"sort":[`
	for i, field := range a.sort {
		request += []string{"", ","}[min(i, 1)] + `{"` + field + `":"` + direction + `"}`
	}
	return request + "]" + more + "}"
}

// anyTrouble are the indexes and documents of a seed.
func anyTrouble(seed uint64) (c trouble, pool []string) {
	r := rand.New(rand.NewPCG(seed, 1))
	c = trouble{
		seed: seed, partitioned: r.IntN(4) == 0, late: r.IntN(2) == 0, text: r.IntN(6) == 0, collated: r.IntN(2) == 0,
	}
	if r.IntN(3) == 0 {
		c.limits = shortKeys
		c.limits.TransactionSize = 150_000 // larger documents are not broken down
	}
	auto := chance(r, `{}`, `{}`, `{}`, `{"depth":2}`, `{"exclude":["b","c.z"]}`, `{"max_values":12}`)
	c.indexes = []string{`"type":"auto","index":` + auto}
	for range 1 + r.IntN(3) {
		c.indexes = append(c.indexes, `"index":`+chance(r, definitions...))
	}
	if c.text {
		c.indexes = append(c.indexes, `"type":"`+chance(r, "text", "nouveau")+`","index":{}`)
	}
	if c.partitioned {
		c.indexes = append(c.indexes, `"partitioned":false,"index":{"fields":["a"]}`)
	}
	for range 4 + r.IntN(20) {
		pool = append(pool, edgeValue(r, 0))
	}
	count := 1 + r.IntN(30)
	if r.IntN(25) == 0 {
		count = 400
	}
	for range count {
		if c.text {
			c.docs = append(c.docs, textObject(r))
		} else {
			c.docs = append(c.docs, edgeDocument(r, pool))
		}
	}
	return c, pool
}

// ask draws a question.
func (c *trouble) ask(r *rand.Rand, pool []string) {
	c.asked = asked{page: max(0, 12-r.IntN(24))}
	if c.text {
		c.selector = textSelector(r, 0)
	} else {
		c.selector = edgeSelector(r, pool, 0)
	}
	if fields := []string{"a", "b", "c.d", "t"}; r.IntN(3) == 0 {
		if c.text {
			fields = []string{"n", "s", "o.x", "v"}
		}
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		c.sort, c.descending = fields[:1+r.IntN(2)], r.IntN(2) == 0
	}
	if c.partitioned && r.IntN(2) == 0 {
		c.partition = chance(r, "p0", "p1")
	}
}

// id is that of a document; every other one is in the second partition.
func (c *trouble) id(n int) string {
	id := fmt.Sprint(edgeIDs[n%len(edgeIDs)], n)
	if n == 7 && c.seed%3 == 0 && c.limits == (kv.Limits{}) {
		id += strings.Repeat("x", allfields.MaxID)
	}
	if c.partitioned {
		return fmt.Sprintf("p%d:%s", n%2, id)
	}
	return id
}

// opened is a database as trouble has it.
type opened struct {
	*world
	c    trouble
	list []*mango.Index
}

// tester is testing.T, or what stands for it where a question is asked again to find a shorter one.
type tester interface {
	fatal
	Cleanup(func())
}

func (c trouble) open(t tester) *opened {
	ctx := context.Background()
	engine := kv.Store(memkv.New())
	if c.limits != (kv.Limits{}) {
		engine = wrapkv.WithLimits(engine, c.limits, time.Now)
	}
	o := &opened{world: openWorld(t, engine), c: c}
	queue, err := jobs.Open(ctx, jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	check(t, err)
	t.Cleanup(func() { check(t, queue.Close()) })
	o.src.AllFields, err = allfields.New(
		allfields.Options{Store: o.store, Jobs: queue, Split: mango.SplitField, Limits: engine.Limits()},
	)
	check(t, err)
	o.src.Search = search.New(search.Options{
		Store: o.store, KV: engine, Languages: map[string]search.Language{mango.Language: mango.Texts{}},
	})
	t.Cleanup(o.src.Search.Close)
	o.store.SetHooks(storage.Hooks{Indexer: indexers.Join(o.src.Views, o.src.AllFields, o.src.Search)})
	o.beginWith(t, "db", storage.CreateOptions{Partitioned: c.partitioned})
	if !c.late {
		o.create(t)
	}
	for i, body := range c.docs {
		if i%5 == 0 { // is written, is another, or was deleted, before
			o.put(t, c.id(i), c.docs[len(c.docs)-1-i])
		}
		if i%10 == 0 {
			o.put(t, c.id(i), "")
		}
		o.put(t, c.id(i), body)
	}
	if c.late {
		o.create(t)
	}
	o.ready(t)
	return o
}

// create makes the indexes.
func (o *opened) create(t tester) {
	for i, request := range o.c.indexes {
		v, err := ejson.Parse(fmt.Appendf(nil, `{"ddoc":"i%d","name":"i%d",%s}`, i, i, request))
		check(t, err)
		d, err := mango.ParseDefinition(v, false)
		check(t, err)
		body, err := d.AddTo(ejson.Value{}, false)
		check(t, err)
		o.put(t, d.DDoc, string(body))
	}
}

// ready waits until all indexes can be read.
func (o *opened) ready(t tester) {
	o.list = []*mango.Index{mango.AllDocs}
	for id, body := range o.designs {
		v, err := ejson.Parse([]byte(body))
		check(t, err)
		o.list = append(o.list, mango.IndexesOf(id, v, o.c.partitioned)...)
	}
	mango.SortIndexes(o.list)
	ready, err := o.src.AllFields.Wait(context.Background(), o.src.DB)
	if check(t, err); !ready {
		t.Fatal("the index over all fields is not ready")
	}
	for _, ix := range o.list {
		if ix.Kind == mango.KindJSON {
			view, err := o.src.Views.View(context.Background(), o.src.DB, ix.DDoc, ix.Name)
			check(t, err)
			check(t, view.Wait(context.Background()))
		}
	}
}

// agree asks a question in all ways. used counts the answers by the kind of index.
func (o *opened) agree(t tester, a asked, used *kindCounts) {
	selector, err := ejson.Parse([]byte(a.selector))
	if err != nil {
		t.Fatalf("%s: %v", a.selector, err)
	}
	passing := map[string]ejson.Value{}
	for id, doc := range o.docs {
		if strings.HasPrefix(id, a.partition) && passes(selector, doc, o.c.collated) {
			passing[id] = doc
		}
	}
	for _, ix := range append([]*mango.Index{nil}, o.list...) {
		from := o.list
		if ix != nil {
			from = []*mango.Index{ix}
		}
		q := &query{opened: o, asked: a, from: from, parsed: selector, passing: passing}
		plan, err := q.plan(`,"limit":1000`)
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "no_usable_index"),
			err != nil && strings.HasPrefix(err.Error(), "text_sort_error"):
			continue
		case err != nil:
			t.Fatalf("error of %s: %v", a.request(""), err)
		case len(a.sort) > 0 && plan.Index().Kind.IsText():
			continue // it compares strings by their bytes: TestTextIndexFindsWhatPasses
		case plan.Index().Kind == mango.KindJSON && strings.Contains(a.selector, "$beginsWith"):
			continue // it ends at U+FFFF, as in CouchDB (mango_idx_view:range/5): TestFindIsBruteForce
		case plan.Index().Kind == mango.KindJSON && !o.c.collated && slices.Contains(plan.Index().Columns, "_id") &&
			len(idBounds(selector, false, false)) > 0:
			continue // the range is one by collation, what is in it is compared by bytes, as in CouchDB 3.5
		}
		used[plan.Index().Kind]++
		q.check(t, plan)
	}
}

// kindCounts are numbers by mango.Kind.
type kindCounts [mango.KindAllDocs + 1]int

// query is a question that is asked of some indexes.
type query struct {
	*opened
	asked
	from    []*mango.Index
	parsed  ejson.Value // the selector
	passing map[string]ejson.Value
}

func (q *query) plan(more string) (*mango.Plan, error) {
	v, err := ejson.Parse([]byte(q.request(more)))
	if err != nil {
		return nil, err
	}
	partition := &q.partition
	if q.partition == "" {
		partition = nil
	}
	r, err := mango.ParseRequest(v, mango.Defaults{
		Limit: 25, Partition: partition, Follows36: q.c.collated,
	})
	if err != nil {
		return nil, err
	}
	return mango.NewPlan(r, q.from, q.c.partitioned, false)
}

// check compares the answers of a plan with brute force.
func (q *query) check(t tester, plan *mango.Plan) {
	want, ordered := q.expected(plan.Index())
	same := func(what string, got []string) {
		if !ordered {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s by %s %s, %s:\nfinds %.60q\nnot   %.60q", q.request(""), plan.Index().Kind,
				plan.Index().Columns, what, got, want)
		}
	}
	fields := `"_id"`
	if plan.Index().Kind == mango.KindJSON { // so that the index may cover the query
		for _, column := range plan.Index().Columns {
			fields += `,"` + column + `"`
		}
	}
	some := `,"count":true,"fields":[` + fields + `]`
	got, count, _ := q.find(t, some+`,"limit":1000`)
	same("at once", got)
	if count != int64(len(want)) {
		t.Fatalf("%s by %s counts %d instead of %d", q.request(""), plan.Index().Kind, count, len(want))
	}
	if q.page > 0 {
		skip := 0
		if ordered {
			skip = min(len(want), q.page/2)
		}
		same("in pages", append(slices.Clone(want[:skip]), q.pages(t, skip, len(want))...))
	}
	if plan.Index().Kind != mango.KindAllFields || len(q.sort) > 0 || plan.Nothing() {
		return
	}
	bookmarks, err := plan.EntryPaths(context.Background(), q.src)
	check(t, err)
	for _, bookmark := range bookmarks {
		got, _, _ := q.find(t, `,"fields":["_id"],"limit":1000,"bookmark":"`+bookmark+`"`)
		same("from the bookmark "+bookmark, got)
	}
}

// pages gives the ids of all pages, the first without some; most is how many there can be.
func (q *query) pages(t tester, skip, most int) (ids []string) {
	bookmark := ""
	for more := fmt.Sprintf(`,"skip":%d`, skip); ; more = "" {
		page, _, next := q.find(t, more+fmt.Sprintf(`,"fields":["_id"],"limit":%d,"bookmark":%q`, q.page, bookmark))
		ids = append(ids, page...)
		if bookmark = next; len(page) < q.page || len(ids) > most {
			return ids
		}
	}
}

// find gives the ids of an answer, and compares what it shows of the documents.
func (q *query) find(t tester, more string) (ids []string, count int64, bookmark string) {
	plan, err := q.plan(more)
	if check(t, err); plan.Nothing() {
		return nil, 0, ""
	}
	answer, err := plan.Find(context.Background(), q.src, func(text []byte) error {
		shown, err := ejson.Parse(text)
		check(t, err)
		id, _ := shown.Get("_id")
		ids = append(ids, id.Text())
		for _, column := range plan.Index().Columns {
			has, there := lookup(shown, column)
			original, was := lookup(q.docs[id.Text()], column)
			if there && (!was || string(has.AppendJSON(nil)) != string(original.AppendJSON(nil))) {
				t.Fatalf("%s by %s shows %.200s", q.request(more), plan.Index().Kind, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("error of %s: %v", q.request(more), err)
	}
	return ids, answer.Count, answer.Bookmark
}

// expected are the ids of the documents in an answer from an index, and whether their order is
// known.
func (q *query) expected(ix *mango.Index) (ids []string, ordered bool) {
	if _, _, some := idRange(q.parsed); !some && ix.Kind == mango.KindAllDocs {
		return nil, true // in 3.5 others find what is between such ids by their bytes, as in CouchDB
	}
	columns := q.sort
	if ix.Kind == mango.KindJSON {
		columns = ix.Columns
	}
	keys := map[string][]byte{}
	for id, doc := range q.passing {
		sorted := true
		for _, field := range q.sort {
			_, there := lookup(doc, field)
			sorted = sorted && there
		}
		if b, there := lookup(doc, "b"); ix.Filter {
			sorted = sorted && there && collate.Compare(b, number1) > 0
		}
		if sorted {
			ids = append(ids, id)
		}
		for _, column := range columns {
			value, _ := lookup(doc, column)
			keys[id] = collate.AppendKey(keys[id], value)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		if c := bytes.Compare(keys[a], keys[b]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	if q.descending && len(q.sort) > 0 {
		slices.Reverse(ids)
	}
	ordered = len(q.sort) > 0 || len(q.from) == 1 && (ix.Kind == mango.KindJSON || ix.Kind == mango.KindAllDocs)
	if !ordered {
		slices.Sort(ids)
	}
	return ids, ordered
}

// distinct compares the values of fields with brute force.
func (o *opened) distinct(t tester, limit int) {
	for _, field := range []string{"a", "c.d", "t", "l", "v.w.x.y.z", "n", "s", "l"} {
		for _, elements := range []bool{false, true} {
			want := map[string]int64{}
			for _, doc := range o.docs {
				valuesAt(doc, splitName(field), false, func(v ejson.Value, element bool) {
					if element == elements {
						want[string(collate.AppendKey(nil, v))]++
					}
				})
			}
			o.checkDistinct(t, fmt.Sprintf(`{"field":%q,"elements":%t,"limit":%d`, field, elements, limit), want)
		}
	}
}

// valuesAt calls fn with the values of a field: outside arrays, and of elements of the outermost
// array on the way, or that are elements of it.
func valuesAt(v ejson.Value, path []string, element bool, fn func(v ejson.Value, element bool)) {
	if v.Kind() == ejson.Array && !element {
		if len(path) == 0 {
			fn(v, false)
		}
		for e := range v.Elements() {
			valuesAt(e, path, true, fn)
		}
		return
	}
	if len(path) == 0 {
		fn(v, element)
	} else if member, there := v.Get(path[0]); there {
		valuesAt(member, path[1:], element, fn)
	}
}

func (o *opened) checkDistinct(t tester, request string, want map[string]int64) {
	var keys []string
	for more := "}"; more != ""; {
		body, err := ejson.Parse([]byte(request + more))
		check(t, err)
		d, err := mango.ParseDistinct(body, 25)
		check(t, err)
		counts := map[string]int64{}
		answer, err := d.Find(context.Background(), o.src, func(json []byte, count int64) error {
			v, err := ejson.Parse(json)
			check(t, err)
			key := string(collate.AppendKey(nil, v))
			keys, counts[key] = append(keys, key), count
			return nil
		})
		if err != nil && strings.Contains(err.Error(), "no_usable_index") {
			return
		}
		check(t, err)
		if answer.NotCounted > 0 { // nobody knows of which values
			return
		}
		for key, count := range counts {
			if want[key] != count {
				t.Fatalf("%s: %.40q is there %d times, not %d", request, key, count, want[key])
			}
		}
		if more = ""; answer.Bookmark != "" {
			more = fmt.Sprintf(`,"bookmark":%q}`, answer.Bookmark)
		}
	}
	if !slices.Equal(keys, slices.Sorted(maps.Keys(want))) {
		t.Fatalf("%s gives %.40q instead of %.40q", request, keys, slices.Sorted(maps.Keys(want)))
	}
}

const (
	oracleSets      = 200
	questionsPerSet = 100
)

func TestQueriesAgree(t *testing.T) {
	sets, first := oracleSets, uint64(1)
	if testing.Short() {
		sets = oracleSets / 10
	}
	if *fromSeed > 0 {
		sets, first = math.MaxInt, *fromSeed
	}
	var used kindCounts
	for n := range sets {
		c, pool := anyTrouble(first + uint64(n))
		if c, failure := c.search(pool, &used); failure != "" {
			t.Fatalf("seed %d: %s", c.seed, c.shorten(failure))
		}
	}
	for kind, count := range used {
		if count < sets/10 && !testing.Short() { // some kinds are in few sets
			t.Errorf("%d questions were answered by an index of type %s", count, mango.Kind(kind))
		}
	}
	t.Logf("answers by kind of index: %v", used)
}

// search asks the questions of a document set, up to the first one that is answered in different
// ways.
func (c trouble) search(pool []string, used *kindCounts) (trouble, string) {
	r := rand.New(rand.NewPCG(c.seed, 2))
	failure := attempt(func(t tester) {
		o := c.open(t)
		for range questionsPerSet {
			c.ask(r, pool)
			o.agree(t, c.asked, used)
		}
		o.distinct(t, 1+r.IntN(9))
	})
	return c, failure
}
