package mango_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// skewed is a document whose values are common to very different degrees.
type skewed struct {
	id, kind, status, user string
	region, date           int
}

func (d *skewed) body() string {
	return fmt.Sprintf(
		`{"aa_kind":%q,"bb_status":%q,"user":%q,"region":%d,"date":%d}`,
		d.kind,
		d.status,
		d.user,
		d.region,
		d.date,
	)
}

// condition is one condition on such documents, with the order that an index has those that pass
// in.
type testCondition struct {
	text  string
	holds func(*skewed) bool
	order func(a, b *skewed) int
}

func byDate(a, b *skewed) int { return cmp.Compare(a.date, b.date) }

func anyCondition(r *rand.Rand, docs []skewed) testCondition {
	d := &docs[r.IntN(len(docs))]
	switch r.IntN(6) {
	case 0:
		return testCondition{fmt.Sprintf(`"aa_kind":%q`, d.kind), func(x *skewed) bool { return x.kind == d.kind }, nil}
	case 1:
		return testCondition{`"bb_status":"open"`, func(x *skewed) bool { return x.status == "open" }, nil}
	case 2:
		return testCondition{fmt.Sprintf(`"user":%q`, d.user), func(x *skewed) bool { return x.user == d.user }, nil}
	case 3:
		return testCondition{
			fmt.Sprintf(`"region":%d`, d.region),
			func(x *skewed) bool { return x.region == d.region },
			nil,
		}
	case 4:
		return testCondition{
			fmt.Sprintf(`"date":{"$gt":%d}`, d.date),
			func(x *skewed) bool { return x.date > d.date },
			byDate,
		}
	}
	return testCondition{
		fmt.Sprintf(`"region":{"$in":[%d,0]}`, d.region),
		func(x *skewed) bool { return x.region == d.region || x.region == 0 },
		func(a, b *skewed) int { return cmp.Compare(a.region, b.region) },
	}
}

// conjunction is some conditions that all have to hold.
type conjunction []testCondition

func anyConjunction(r *rand.Rand, docs []skewed) conjunction {
	var all conjunction
	for range 1 + r.IntN(3) {
		c := anyCondition(r, docs)
		field, _, _ := strings.Cut(c.text, ":")
		if !slices.ContainsFunc(all, func(o testCondition) bool { return strings.HasPrefix(o.text, field) }) {
			all = append(all, c)
		}
	}
	return all
}

func (c conjunction) holds(d *skewed) bool {
	return !slices.ContainsFunc(c, func(o testCondition) bool { return !o.holds(d) })
}

func (c conjunction) text() string {
	var parts []string
	for _, o := range c {
		parts = append(parts, o.text)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// walk is what it costs to go through documents in an order until limit of them pass: each
// document, and its entry.
func walk(docs []skewed, order func(a, b *skewed) int, in, passes func(*skewed) bool, limit int) int64 {
	var list []*skewed
	for i := range docs {
		if in(&docs[i]) {
			list = append(list, &docs[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *skewed) int {
		if order == nil {
			return strings.Compare(a.id, b.id)
		}
		return cmp.Or(order(a, b), strings.Compare(a.id, b.id))
	})
	cost := int64(0)
	for _, d := range list {
		if cost += 2; passes(d) {
			limit--
		}
		if limit == 0 {
			break
		}
	}
	return cost
}

// dataset makes document number i of count, without its id.
type dataset func(r *rand.Rand, i, count int) skewed

// rare is a number below n, small ones far more often than large ones.
func rare(r *rand.Rand, n int) int { return int(float64(n) * math.Pow(r.Float64(), 4)) }

// datasets are values whose fields say nothing of each other, and values that follow from the date,
// so that nobody can conclude from how many documents have each of two values how many have both.
var datasets = map[string]dataset{
	"independent": func(r *rand.Rand, i, _ int) skewed {
		user := fmt.Sprintf("u%d", rare(r, 1500))
		d := skewed{kind: "order", status: "closed", user: user, region: rare(r, 30), date: i}
		if i%10 == 0 {
			d.kind = "other"
		}
		if i%200 == 1 {
			d.status = "open"
		}
		return d
	},
	"correlated": func(r *rand.Rand, i, count int) skewed {
		user, region := fmt.Sprintf("u%d", rare(r, 1500)), 30*i*i/count/count
		d := skewed{kind: "order", status: "closed", user: user, region: region, date: i}
		if i < count/10 {
			d.kind = "other"
		}
		if i >= count-count/200 {
			d.status = "open"
		}
		return d
	},
}

// TestReadsNearlyTheLeast: on skewed data random queries read at most three times what their best
// plan reads, which is one of a single access path for each branch. Where fields follow from each
// other that holds for queries with a sort: those without may meet the documents that pass in an
// order that no count tells of.
func TestReadsNearlyTheLeast(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	for name, data := range datasets {
		t.Run(name, func(t *testing.T) {
			readsNearlyTheLeast(t, data, func(request string) bool {
				return name == "independent" || strings.Contains(request, `"sort"`)
			})
		})
	}
}

func readsNearlyTheLeast(t *testing.T, data dataset, bounded func(request string) bool) {
	const count, queries = 6000, 200
	store := kvtest.NewCounting(memkv.New())
	w := newAllFieldsWorld(t, store)
	w.ready(t)
	for i, fields := range []string{`"aa_kind":"asc"`, `"region":"asc","date":"asc"`} {
		w.define(
			t,
			fmt.Sprintf("_design/json%d", i),
			`{"language":"query","views":{"n":{"map":{"fields":{`+fields+`},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":[]}}}}}`,
		)
	}
	w.build(t)
	r := rand.New(rand.NewPCG(7, 7))
	docs := make([]skewed, count)
	ids := r.Perm(count)
	var batch []*compat.Document
	for i := range docs {
		docs[i] = data(r, i, count)
		docs[i].id = fmt.Sprintf("d%05d", ids[i])
		body, err := compat.NewBody([]byte(docs[i].body()))
		ok(t, err)
		batch = append(batch, &compat.Document{ID: docs[i].id, HasID: true, Body: body})
	}
	for part := range slices.Chunk(batch, 500) {
		_, err := w.src.DB.Update(context.Background(), part, storage.UpdateOptions{})
		ok(t, err)
	}
	var allRead, allBest, allRows, above int64
	worst := 0.0
	for range queries {
		request, best := anyQuery(r, docs)
		plan := w.plan(t, request)
		store.Reset()
		answer, err := plan.Find(t.Context(), w.src, func([]byte) error { return nil })
		ok(t, err)
		read, rows := answer.Stats.Keys+answer.Stats.Docs, store.Counts().Rows
		if strings.Contains(string(answer.Stats.AccessPaths), `"special"`) { // it has no entries beside its documents
			read = answer.Stats.Docs
		}
		allRead, allBest, allRows = allRead+read, allBest+best, allRows+rows
		if best > 64 {
			worst = max(worst, float64(read)/float64(best))
		}
		if read > 3*best+64 {
			above++
			if bounded(request) {
				t.Errorf("%s reads %d, the best plan %d: %s", request, read, best, answer.Stats.AccessPaths)
			}
		}
		// The estimates read at most some hundred entries of each access path on each level.
		if rows > 3*best+6*2000 {
			t.Errorf("%s reads %d rows, the best plan %d", request, rows, best)
		}
	}
	t.Logf("%d queries read %d entries and documents, their best plans %d; %d read more than three times as much, "+
		"the worst %.1f times; %d rows of the store", queries, allRead, allBest, above, worst, allRows)
}

// anyQuery is a request, and what its best plan of one access path for each branch reads.
func anyQuery(r *rand.Rand, docs []skewed) (request string, best int64) {
	limit := []int{25, 10_000}[r.IntN(2)]
	branches := []conjunction{anyConjunction(r, docs)}
	selector := branches[0].text()
	if r.IntN(4) == 0 {
		branches = append(branches, anyConjunction(r, docs))
		selector = `{"$or":[` + branches[0].text() + "," + branches[1].text() + "]}"
	}
	passes := func(d *skewed) bool {
		return slices.ContainsFunc(branches, func(c conjunction) bool { return c.holds(d) })
	}
	all := func(*skewed) bool { return true }
	request = fmt.Sprintf(`"selector":%s,"limit":%d`, selector, limit)
	if r.IntN(3) > 0 {
		return request, min(walk(docs, nil, all, passes, limit)/2, leastOf(docs, branches, limit))
	}
	in := all
	for _, c := range branches[0] {
		if len(branches) == 1 && strings.HasPrefix(c.text, `"date"`) {
			in = c.holds
		}
	}
	best = min(walk(docs, byDate, in, passes, limit), leastOf(docs, branches, math.MaxInt))
	return request + `,"sort":["date"]`, best
}

// build brings the JSON indexes to where they can be read.
func (w *allFieldsWorld) build(t testing.TB) {
	for _, ix := range w.indexes {
		if ix.Kind == mango.KindJSON {
			index, err := w.src.Views.View(t.Context(), w.src.DB, ix.DDoc, ix.Name)
			ok(t, err)
			ok(t, index.Wait(t.Context()))
		}
	}
}

// leastOf is what the best condition of each branch costs.
func leastOf(docs []skewed, branches []conjunction, limit int) (sum int64) {
	for _, branch := range branches {
		least := int64(math.MaxInt64)
		for _, c := range branch {
			least = min(least, walk(docs, c.order, c.holds, branch.holds, limit))
		}
		sum += least
	}
	return sum
}

// TestRoundTripsOfAQuery: what a query reads of a store across a network is asked for together.
func TestRoundTripsOfAQuery(t *testing.T) {
	far := latencykv.New(memkv.New(), latencykv.Options{})
	w := newAllFieldsWorld(t, far)
	w.ready(t)
	var batch []*compat.Document
	for i := range 1000 {
		body, err := compat.NewBody(fmt.Appendf(nil, `{"n":%d,"half":%d,"fifth":%d}`, i, i%2, i%5))
		ok(t, err)
		batch = append(batch, &compat.Document{ID: fmt.Sprintf("doc%04d", i), HasID: true, Body: body})
	}
	_, err := w.src.DB.Update(context.Background(), batch, storage.UpdateOptions{})
	ok(t, err)
	var numbers []string
	for i := range 100 {
		numbers = append(numbers, fmt.Sprint(7*i))
	}
	for request, most := range map[string]int64{
		`"selector":{"half":1},"limit":25`:                                           12,
		`"selector":{"half":1,"fifth":3},"limit":1000`:                               20,
		`"selector":{"n":{"$in":[` + strings.Join(numbers, ",") + `]}},"limit":1000`: 35,
		`"selector":{"fifth":3},"sort":["n"],"limit":25`:                             25,
	} {
		plan := w.plan(t, request)
		far.Reset()
		_, err := plan.Find(t.Context(), w.src, func([]byte) error { return nil })
		ok(t, err)
		if n := far.Counts().RoundTrips; n > most {
			t.Errorf("%.60s takes %d round trips", request, n)
		} else {
			t.Logf("%.60s takes %d round trips", request, n)
		}
	}
}

// TestExplainShowsAccessPaths: each with its estimate, and the one that is taken.
func TestExplainShowsAccessPaths(t *testing.T) {
	w := newAllFieldsWorld(t, memkv.New())
	w.define(t, "_design/json", jsonIndexes[0])
	for i := range 500 {
		w.put(t, fmt.Sprintf("doc%03d", i), fmt.Sprintf(`{"a":%d,"b":%d,"c":%d}`, i%2, i%100, i))
	}
	w.ready(t)
	w.build(t)
	explain := func(request string) string {
		body, err := ejson.Parse([]byte("{" + request + "}"))
		ok(t, err)
		req, err := mango.ParseRequest(body, mango.Defaults{Limit: 25})
		ok(t, err)
		plan, err := mango.NewPlan(req, w.indexes, false, true)
		ok(t, err)
		answer, err := plan.AppendExplain(t.Context(), w.src, nil, "db")
		ok(t, err)
		v, err := ejson.Parse(answer)
		ok(t, err)
		index, _ := v.Get("index")
		name, _ := index.Get("ddoc")
		allFields, _ := v.Get("auto")
		var list []string
		paths, _ := allFields.Get("ways")
		for e := range paths.Elements() {
			kind, _ := e.Get("type")
			field, there := e.Get("field")
			if !there {
				field, _ = e.Get("fields")
			}
			n, _ := e.Get("estimate")
			chosen, _ := e.Get("chosen")
			list = append(
				list,
				kind.Text()+" "+strings.Trim(string(field.Raw()), `"`)+" "+string(
					n.Raw(),
				)+map[bool]string{true: " chosen"}[string(chosen.Raw()) == "true"],
			)
		}
		ready, _ := allFields.Get("ready")
		return name.Text() + " " + string(ready.Raw()) + " " + strings.Join(list, ", ")
	}
	for request, want := range map[string]string{
		`"selector":{"a":1,"b":1}`:                       "_design/auto true auto a 250, auto b 5 chosen, json  250, special  502",
		`"selector":{"a":1}`:                             "_design/json true auto a 250, json  250 chosen, special  502",
		`"selector":{"b":1},"sort":["c"]`:                "_design/auto true auto c 448, auto b 5 chosen",
		`"selector":{"a":{"$gte":0},"b":1},"sort":["a"]`: "_design/json true json  500, auto b 5 chosen, auto a 448",
		`"selector":{"$or":[{"b":1,"a":1},{"c":3}]}`:     `_design/auto true auto ["a","b","c"] 6 chosen, special  502`,
		`"selector":{"a":{"$elemMatch":{"$eq":1}}}`:      "_design/json true auto a.[] 250, auto a 448, json  500 chosen, special  502",
		`"selector":{"a":{"$elemMatch":{"b.c":1}}}`:      "_design/auto true auto a.[].b.c 0 chosen, auto a 448, json  500, special  502",
	} {
		if got := explain(request); got != want {
			t.Errorf("%s: %s\nwant %s", request, got, want)
		}
	}
	w.src.AllFields = nil
	if got := explain(`"selector":{"a":1,"b":1}`); !strings.HasPrefix(got, "_design/json false ") {
		t.Errorf("while it is built: %s", got)
	}
}
