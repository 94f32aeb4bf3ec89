package mango_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// jsonIndexes are indexes beside the one over all fields.
var jsonIndexes = []string{
	`{"language":"query","views":{"n":{"map":{"fields":{"a":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["a"]}}}}}`,
	`{"language":"query","views":{"n":{"map":{"fields":{"b":"asc","a":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["b","a"]}}}}}`,
}

// TestPagesAmongWrites is the promise of docs/mango.md: a document that passes and stays as it is
// comes exactly once, in the order of the sort, whatever access path the query takes, and whatever
// is written between its pages and its documents, or becomes too old.
func TestPagesAmongWrites(t *testing.T) {
	kvtest.Long(t)
	engines := map[string]func() (kv.Store, func()){
		"memory": func() (kv.Store, func()) { return memkv.New(), func() {} },
		"far": func() (kv.Store, func()) {
			far := latencykv.New(memkv.New(), latencykv.Options{})
			return far, func() { far.Elapse(2 * time.Second) }
		},
		"faults": func() (kv.Store, func()) {
			return faultkv.New(
				memkv.New(),
				faultkv.Random(1, faultkv.Rates{Conflict: 0.05, UnknownCommitted: 0.02, TooOld: 0.02}),
			), func() {}
		},
	}
	paths := map[string]int{}
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			store, pass := open()
			p := &pager{
				allFieldsWorld: newAllFieldsWorld(t, store),
				r:              rand.New(rand.NewPCG(3, 3)),
				time:           pass,
				paths:          paths,
			}
			p.run(t)
		})
	}
	for _, name := range pathsSeen {
		if paths[name] == 0 {
			t.Errorf("no query had %s: %v", name, paths)
		}
	}
}

var pathsSeen = []string{`"auto"`, `"json"`, `"special"`, `"order"`, `"sort"`}

// pager asks for pages while others write.
type pager struct {
	*allFieldsWorld
	r      *rand.Rand
	time   func() // lets some pass
	stable map[string]ejson.Value
	paths  map[string]int // how often documents were read from some access path
	views  *views.Views
	fields *allfields.Indexes
}

func (p *pager) run(t *testing.T) {
	for i, body := range jsonIndexes {
		p.define(t, fmt.Sprintf("_design/json%d", i), body)
	}
	for i := range 200 {
		p.put(t, fmt.Sprintf("doc%03d", i), pagedObject(p.r))
	}
	p.put(t, "huge", `{"a":1,"b":[`+strings.Repeat("1,", 6000)+`1]}`)
	p.ready(t)
	p.build(t)
	p.views, p.fields = p.src.Views, p.src.AllFields
	p.stable = maps.Clone(p.docs)
	for range 40 {
		p.write(t)
	}
	all := p.indexes
	for range 25 {
		p.indexes = all[:1+p.r.IntN(len(all))]
		if p.r.IntN(3) == 0 { // without that over all fields
			p.indexes = slices.DeleteFunc(slices.Clone(all), func(ix *mango.Index) bool { return ix == p.index })
		}
		limit := 1 + p.r.IntN(30)
		if p.r.IntN(3) == 0 {
			limit = 1000
		}
		p.check(t, pagedSelector(p.r), p.r.IntN(7), limit)
	}
}

// pagedObject has fields that many documents share.
func pagedObject(r *rand.Rand) string {
	parts := []string{
		`"all":1`,
		fmt.Sprintf(`"half":%d`, r.IntN(2)),
		fmt.Sprintf(`"tags":["t%d","t%d"]`, r.IntN(3), r.IntN(3)),
	}
	return "{" + strings.Join(
		parts,
		",",
	) + "," + strings.TrimPrefix(
		strings.Replace(anyFieldsObject(r, 0), "{}", `{"c":1}`, 1),
		"{",
	)
}

// write changes a document that is not stable.
func (p *pager) write(t *testing.T) {
	id := fmt.Sprintf("doc%03d-%d", p.r.IntN(200), p.r.IntN(2))
	if p.r.IntN(4) == 0 {
		p.put(t, id, "")
	} else {
		p.put(t, id, pagedObject(p.r))
	}
}

func pagedSelector(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf(`{"all":1,"half":%d}`, r.IntN(2))
	case 1:
		return fmt.Sprintf(`{"tags":{"$in":["t0","t%d"]},"half":%d}`, r.IntN(3), r.IntN(2))
	case 2:
		return fmt.Sprintf(`{"$or":[{"all":1,"half":%d},{"tags":{"$elemMatch":{"$eq":"t1"}}}]}`, r.IntN(2))
	case 3:
		return fmt.Sprintf(`{"_id":{"$gt":"doc0%d"},"all":1}`, r.IntN(9))
	}
	return anyFieldsSelector(r, 0)
}

// check asks one query page by page.
func (p *pager) check(t *testing.T, selector string, sorted, limit int) {
	t.Helper()
	request := `"selector":` + selector + `,"fields":["_id"],"execution_stats":true`
	var sort []string
	descending := p.r.IntN(2) == 0
	for _, field := range [][]string{nil, nil, {"a"}, {"b"}, {"half", "a"}, {"all", "tags"}, {"_id"}}[sorted] {
		sort = append(sort, fmt.Sprintf(`{%q:%q}`, field, map[bool]string{true: "desc", false: "asc"}[descending]))
	}
	if sort != nil {
		request += `,"sort":[` + strings.Join(sort, ",") + `]`
	}
	var order []string
	bookmark := ""
	for page := 0; ; page++ {
		if page > 400 {
			t.Fatalf("%s has pages without an end", request)
		}
		rows, next, err := p.page(
			t,
			fmt.Sprintf(`{%s,"limit":%d,"bookmark":%q}`, request, limit, bookmark),
			page == 0,
			func(id string) {
				if _, stays := p.stable[id]; stays {
					order = append(order, id)
				}
			},
		)
		if err != nil {
			if sort != nil && page == 0 && strings.Contains(err.Error(), "no_usable_index") {
				return
			}
			t.Fatalf("%s, page %d: %v", request, page, err)
		}
		if rows < limit {
			break
		}
		bookmark = next
	}
	all := p.docs
	p.docs = p.stable
	only, _, _ := strings.Cut(selector, `,"use_index"`)
	want := p.pass(t, only)
	p.docs = all
	if sort != nil {
		keys := sortKeys(p.stable, request)
		want = slices.DeleteFunc(want, func(id string) bool { return keys[id] == "" })
		if !slices.IsSortedFunc(order, func(a, b string) int {
			if descending {
				a, b = b, a
			}
			return strings.Compare(keys[a], keys[b])
		}) {
			t.Fatalf("%s by pages of %d is out of order: %v", request, limit, order)
		}
	}
	if slices.Sort(order); !slices.Equal(order, want) {
		t.Fatalf("%s by pages of %d:\ngot  %v\nwant %v", request, limit, order, want)
	}
}

// sortKeys are what a request's sort orders documents by, "" for those that lack a field of it.
func sortKeys(docs map[string]ejson.Value, request string) map[string]string {
	v, err := ejson.Parse([]byte("{" + request + "}"))
	if err != nil {
		panic(err)
	}
	list, _ := v.Get("sort")
	keys := map[string]string{}
	for id, doc := range docs {
		var key []byte
		complete := true
		for e := range list.Elements() {
			for name := range e.Members() {
				value, there := doc.Get(name.Text())
				if complete = complete && there; there {
					key = collate.AppendKey(key, value)
				}
			}
		}
		if complete {
			keys[id] = string(key)
		}
	}
	return keys
}

// page asks for one page. What queries find of the indexes changes: they may be about to be built.
func (p *pager) page(
	t *testing.T,
	text string,
	first bool,
	row func(id string),
) (rows int, bookmark string, err error) {
	p.src.Views, p.src.AllFields = p.views, p.fields
	switch p.r.IntN(8) {
	case 0:
		p.src.Views = nil
	case 1: // entries have no order without their index
		if first || strings.Contains(text, `"sort"`) {
			p.src.AllFields = nil
		}
	}
	body, err := ejson.Parse([]byte(text))
	ok(t, err)
	req, err := mango.ParseRequest(body, mango.Defaults{Limit: 25})
	ok(t, err)
	plan, err := mango.NewPlan(req, p.indexes, false, false)
	if err != nil {
		return 0, "", err
	}
	answer, err := plan.Find(t.Context(), p.src, func(doc []byte) error {
		v, err := ejson.Parse(doc)
		ok(t, err)
		id, _ := v.Get("_id")
		row(id.Text())
		if rows++; p.r.IntN(20) == 0 {
			p.time()
			p.write(t)
		}
		return nil
	})
	if err != nil {
		return rows, "", err
	}
	for _, name := range pathsSeen {
		p.paths[name] += strings.Count(string(answer.Stats.AccessPaths), name)
	}
	for range p.r.IntN(6) {
		p.write(t)
	}
	return rows, answer.Bookmark, nil
}

// TestBookmarkOfAnIndexThatIsGone: its order cannot be known, so there is no next page.
func TestBookmarkOfAnIndexThatIsGone(t *testing.T) {
	w := newAllFieldsWorld(t, memkv.New())
	json := w.define(t, "_design/json", jsonIndexes[0])
	for i := range 40 {
		w.put(t, fmt.Sprintf("doc%02d", i), fmt.Sprintf(`{"a":%d,"b":%d}`, i%3, i%2))
	}
	w.ready(t)
	all := w.indexes
	page := func(request, bookmark string) (string, error) {
		body, err := ejson.Parse(fmt.Appendf(nil, `{%s,"limit":5,"bookmark":%q}`, request, bookmark))
		ok(t, err)
		req, err := mango.ParseRequest(body, mango.Defaults{Limit: 25})
		ok(t, err)
		plan, err := mango.NewPlan(req, w.indexes, false, false)
		if err != nil {
			return "", err
		}
		answer, err := plan.Find(t.Context(), w.src, func([]byte) error { return nil })
		if err != nil {
			return "", err
		}
		return answer.Bookmark, nil
	}
	refused := func(err error) bool {
		e, is := compat.AsError(err)
		return is && e.Word() == "invalid_bookmark"
	}
	for request, gone := range map[string]*mango.Index{
		`"selector":{"a":1},"use_index":"json"`:                   json,
		`"selector":{"b":1},"use_index":"auto"`:                   w.index,
		`"selector":{"b":1},"sort":["b"],"use_index":"auto"`:      w.index,
		`"selector":{"a":{"$gt":0}},"sort":["a"]`:                 json,
		`"selector":{"b":1,"a":{"$gt":0}},"sort":["b","a"]`:       w.index,
		`"selector":{"$or":[{"b":1},{"a":1}]},"use_index":"auto"`: w.index,
	} {
		w.indexes = all
		bookmark, err := page(request, "")
		ok(t, err)
		if _, err := page(request, bookmark); err != nil {
			t.Errorf("%s: a second page: %v", request, err)
		}
		other := strings.Replace(strings.Replace(request, `"b":1`, `"b":0`, 1), `"sort":["b"`, `"sort":["c"`, 1)
		if _, err := page(other, bookmark); gone == w.index && !refused(err) {
			t.Errorf("%s: a bookmark of %s: %v", other, request, err)
		}
		w.indexes = slices.DeleteFunc(slices.Clone(all), func(ix *mango.Index) bool { return ix == gone })
		if _, err := page(request, bookmark); !refused(err) && !strings.Contains(fmt.Sprint(err), "no_usable_index") {
			t.Errorf("%s: without the index: %v", request, err)
		}
	}
}

// FuzzHostileBookmark: a bookmark that is whole, whatever it says, is gone on from or refused.
func FuzzHostileBookmark(f *testing.F) {
	w := newAllFieldsWorld(f, memkv.New())
	w.define(f, "_design/json", jsonIndexes[0])
	for i := range 40 {
		w.put(f, fmt.Sprintf("doc%02d", i), fmt.Sprintf(`{"a":%d,"b":["x%d","y"]}`, i%3, i%5))
	}
	w.ready(f)
	w.build(f)
	requests := []string{
		`"selector":{"a":1},"use_index":"json"`, `"selector":{"a":1},"use_index":"auto"`, `"selector":{"a":{"$gt":0}},"sort":[{"a":"desc"}]`, `"selector":{"_id":"doc01"}`,
		`"selector":{"$or":[{"b":{"$elemMatch":{"$eq":"y"}}},{"a":2}]},"use_index":"auto"`, `"selector":{"b":{"$gt":0}},"sort":["b","a"]`,
	}
	find := func(request, bookmark string) (string, error) {
		body, err := ejson.Parse(fmt.Appendf(nil, `{%s,"limit":4,"bookmark":%q}`, request, bookmark))
		if err != nil {
			return "", nil
		}
		req, err := mango.ParseRequest(body, mango.Defaults{Limit: 25})
		if err != nil {
			return "", err
		}
		plan, err := mango.NewPlan(req, w.indexes, false, false)
		if err != nil || plan.Nothing() {
			return "", err
		}
		answer, err := plan.Find(context.Background(), w.src, func([]byte) error { return nil })
		if err != nil {
			return "", err
		}
		return answer.Bookmark, nil
	}
	for _, request := range requests {
		bookmark, err := find(request, "")
		ok(f, err)
		raw, err := base64.RawURLEncoding.DecodeString(bookmark)
		ok(f, err)
		content := string(raw[5:])
		f.Add(content)
		f.Add(strings.Replace(content, "doc", "", 1))
		f.Add(strings.Replace(content, ",", ",-1,", 1))
		f.Add(strings.Replace(content, "[", "[[],", 1))
		f.Add(strings.Replace(content, `["`, `["_`, 1))
	}
	for _, content := range []string{`[]`, `[1]`, `["x","y"]`, `[{},""]`, `[[1,"AAAA"],"","auto","_design/auto","all","x","y"]`, `[[4294967295,""],""]`} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		raw := binary.BigEndian.AppendUint32([]byte{0x81}, crc32.ChecksumIEEE([]byte(content)))
		bookmark := base64.RawURLEncoding.EncodeToString(append(raw, content...))
		for _, request := range requests {
			_, err := find(request, bookmark)
			if e, is := compat.AsError(err); err != nil &&
				(!is || e.Word() != "invalid_bookmark" && e.Word() != "query_parse_error") {
				t.Fatalf("%s with %q: %v", request, content, err)
			}
		}
	})
}
