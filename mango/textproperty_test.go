package mango_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/indexers"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// openTextWorld is a world with one text index. kind is its type, definition its `index`.
func openTextWorld(t testing.TB, engine kv.Store, kind, definition string) *world {
	w := openWorld(t, engine)
	w.src.Search = search.New(search.Options{
		Store: w.store, KV: engine, Languages: map[string]search.Language{mango.Language: mango.Texts{}},
	})
	t.Cleanup(w.src.Search.Close)
	w.store.SetHooks(storage.Hooks{Indexer: indexers.Join(w.src.Views, w.src.Search)})
	w.begin(t, "db")
	w.textIndex(t, kind, definition)
	return w
}

// textIndex makes the text index.
func (w *world) textIndex(t testing.TB, kind, definition string) {
	request := `{"ddoc":"text","name":"text","type":"` + kind + `","index":` + definition + "}"
	v, err := ejson.Parse([]byte(request))
	check(t, err)
	d, err := mango.ParseDefinition(v, false)
	check(t, err)
	body, err := d.AddTo(ejson.Value{}, false)
	check(t, err)
	w.put(t, d.DDoc, string(body))
}

// textWords are strings that queries could take for something else.
var textWords = []string{"", "a", "B", "b c", "1", "1.5", "NaN", `x"1`, `\`, "é", "*", "true", "null", "\uffff", "AND",
	"u1", "zz", strings.Repeat("long ", 300), strings.Repeat("long ", 300) + "1"}

// textObject is a document whose fields have one type each, since a text index compares values of
// one type: n numbers, s strings, b booleans, o objects, l lists of numbers, t lists of strings, p
// lists of objects, v anything.
func textObject(r *rand.Rand) string {
	number := func() string {
		return []string{"0", "1", "-1", "2.5", "9007199254740993", "9007199254740992"}[r.IntN(6)]
	}
	text := func() string { return string(ejson.AppendString(nil, textWords[r.IntN(len(textWords))])) }
	boolean := func() string { return []string{"true", "false"}[r.IntN(2)] }
	list := func(of func() string) string {
		var all []string
		for range r.IntN(4) {
			all = append(all, of())
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	pair := func() string { return `{"x":` + number() + `,"y.z":` + text() + "}" }
	fields := map[string]func() string{
		"n": number, "s": text, "b": boolean, "o": pair, `odd $.name`: number, "": text,
		"l": func() string { return list(number) }, "t": func() string { return list(text) },
		"p": func() string { return list(pair) },
		"v": func() string { return []string{"null", "{}", "[]", number(), text(), "[[]]"}[r.IntN(6)] },
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if r.IntN(4) > 0 {
			members = append(members, `"`+name+`":`+fields[name]())
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// textSelector is a selector that means the same for a text index as for any.
func textSelector(r *rand.Rand, depth int) string {
	if depth < 2 && r.IntN(3) == 0 {
		var kids []string
		for range 1 + r.IntN(3) {
			kids = append(kids, textSelector(r, depth+1))
		}
		switch o := r.IntN(4); o {
		case 3:
			return `{"$not":` + kids[0] + "}"
		default:
			return `{"` + []string{"$and", "$or", "$nor"}[o] + `":[` + strings.Join(kids, ",") + "]}"
		}
	}
	number := func() string {
		return []string{"0", "1", "2.5", "1.0", "9007199254740992", "9007199254740993"}[r.IntN(6)]
	}
	text := func() string { return string(ejson.AppendString(nil, textWords[r.IntN(len(textWords))])) }
	order := func() string { return []string{"$lt", "$lte", "$gt", "$gte", "$eq", "$ne"}[r.IntN(6)] }
	field, condition := "", ""
	switch r.IntN(9) {
	case 0, 1:
		field = []string{"n", "o.x", `odd $\\.name`}[r.IntN(3)]
		condition = []string{
			`{"` + order() + `":` + number() + "}", `{"$in":[` + number() + "," + number() + "]}",
			`{"$nin":[` + number() + `,"x"]}`, `{"$mod":[2,0]}`,
		}[r.IntN(4)]
	case 2, 3:
		field = []string{"s", "", `o.y\\.z`}[r.IntN(3)]
		if field == "" {
			field = "s"
		}
		condition = []string{
			`{"` + order() + `":` + text() + "}", `{"$in":[` + text() + "," + text() + "]}",
			`{"$nin":[` + text() + "]}",
			`{"$regex":"a|1"}`, `{"$not":{"$regex":"^l"}}`, `{"$beginsWith":` + text() + "}",
			`{"$not":{"$beginsWith":` + text() + "}}",
		}[r.IntN(7)]
	case 4:
		field, condition = "b", []string{"true", "false", `{"$ne":true}`, `{"$gt":false}`, `{"$lte":true}`}[r.IntN(5)]
	case 5:
		field = "l"
		condition = []string{
			`{"$size":2}`, `{"$not":{"$size":1}}`, `{"$elemMatch":{"$gt":0}}`, `{"$not":{"$elemMatch":{"$eq":1}}}`,
			`{"$allMatch":{"$lte":1}}`, `{"$all":[1]}`, `{"$all":[1,0]}`, `{"$all":[[1]]}`, "[1,0]", "[]", `{"$ne":[1]}`,
			`{"$in":[1,[0]]}`, `{"$nin":[1]}`, `{"$not":{"$all":[1]}}`,
		}[r.IntN(14)]
	case 6:
		field, condition = "t", `{"$elemMatch":{"$in":[`+text()+","+text()+"]}}"
		if r.IntN(2) == 0 {
			field, condition = "t.0", `{"$`+[]string{"eq", "ne"}[r.IntN(2)]+`":`+text()+"}"
		}
	case 7:
		field = "p"
		condition = []string{
			`{"$elemMatch":{"x":1,"y\\.z":` + text() + "}}", `{"$not":{"$elemMatch":{"x":1,"y\\.z":"a"}}}`,
			`{"$allMatch":{"x":{"$ne":0}}}`, `{"$elemMatch":{"$or":[{"x":0},{"y\\.z":{"$regex":"a"}}]}}`,
			`{"$in":[{"x":1,"y.z":"a"}]}`, `{"$all":[{"x":1,"y.z":"a"}]}`,
		}[r.IntN(6)]
	default:
		field = []string{"v", "n", "o", "l", "nowhere", "o.x", "v.0"}[r.IntN(7)]
		condition = []string{
			`{"$exists":true}`, `{"$exists":false}`, `{"$type":"array"}`, `{"$type":"null"}`, "null", `{"$ne":null}`,
			`{"$not":{"$type":"object"}}`, "{}", `{"$gt":[]}`, `{"$gte":null}`,
		}[r.IntN(10)]
		if condition == "{}" {
			condition = `{"$eq":{}}`
		}
	}
	return `{"` + field + `":` + condition + "}"
}

// Each selector finds by a text index what passes it, in pages and at once, in the order of a sort,
// while documents are written; whatever part of the documents the index has.
func TestTextIndexFindsWhatPasses(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	for name, definition := range map[string]string{
		"all fields": `{}`,
		"no lengths": `{"index_array_lengths":false,"default_field":false}`,
		"some fields": `{"fields":[{"name":"n","type":"number"},{"name":"s","type":"string"},{"name":"l.[]","type":"number"},` +
			`{"name":"o.x","type":"number"},{"name":"b","type":"boolean"}]}`,
		"filter": `{"partial_filter_selector":{"n":{"$lt":2}}}`,
	} {
		for _, kind := range []string{"text", "nouveau"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				var engine kv.Store = memkv.New()
				if name == "all fields" {
					engine = faultkv.New(engine, faultkv.Random(1, faultkv.Rates{
						Conflict: 0.02, UnknownCommitted: 0.01, TooOld: 0.02,
					}))
				}
				findTexts(t, openTextWorld(t, engine, kind, definition), name)
			})
		}
	}
}

func findTexts(t *testing.T, w *world, name string) {
	r := rand.New(rand.NewPCG(16, uint64(len(name))))
	for i := range 120 {
		w.put(t, fmt.Sprintf("doc%03d", i), textObject(r))
	}
	used, found := 0, 0
	for range 50 {
		w.put(t, fmt.Sprintf("doc%03d", r.IntN(130)), []string{"", textObject(r)}[min(r.IntN(5), 1)])
		selector := textSelector(r, 0)
		if name == "no lengths" && strings.Contains(selector, "$size") {
			continue // such an index finds no array by its length, as CouchDB's
		}
		request := `{"selector":` + selector + `,"fields":["_id"],"use_index":"text"}`
		plan, err := w.plan(t, request)
		check(t, err)
		if plan.Index().DDoc != "_design/text" {
			continue
		}
		used++
		want := w.passing(t, selector, name == "filter")
		found += len(want)
		for _, limit := range []int{1000, 1 + r.IntN(20)} {
			docs, _, err := w.find(t, request, limit)
			check(t, err)
			if slices.Sort(docs); !slices.Equal(docs, want) {
				t.Fatalf("%s finds, %d at a time,\n%v instead of\n%v", selector, limit, docs, want)
			}
		}
		w.sorted(t, selector, 1+r.IntN(30), len(want))
	}
	if used < 15 || found < 200 {
		t.Errorf("the index was used %d times and found %d", used, found)
	}
}

// passing are the documents that pass, as a query of their ids shows them.
func (w *world) passing(t fatal, selector string, filtered bool) (want []string) {
	v, err := ejson.Parse([]byte(selector))
	check(t, err)
	filter, err := ejson.Parse([]byte(`{"n":{"$lt":2}}`))
	check(t, err)
	for _, id := range slices.Sorted(maps.Keys(w.docs)) {
		if brute(v, w.docs[id], false) && (!filtered || brute(filter, w.docs[id], false)) {
			want = append(want, `{"_id":"`+id+`"}`)
		}
	}
	return want
}

// sorted checks the order of an answer in pages: numbers ascending, strings by their bytes
// descending, and each document once.
func (w *world) sorted(t fatal, selector string, limit, want int) {
	request := `{"selector":` + selector + `,"use_index":"text","sort":`
	docs, _, err := w.find(t, request+`["n:number"]}`, limit)
	check(t, err)
	last, ids := -1e99, map[string]bool{}
	for _, text := range docs {
		doc, err := ejson.Parse([]byte(text))
		check(t, err)
		n, _ := doc.Get("n")
		f, _ := n.Float()
		id, _ := doc.Get("_id")
		if f < last {
			t.Fatalf("%s: %v comes after %v", selector, f, last)
		}
		last, ids[id.Text()] = f, true
	}
	if len(docs) != want || len(ids) != want {
		t.Fatalf("%s finds %d documents, %d of them different, instead of %d", selector, len(docs), len(ids), want)
	}
	if docs, _, err = w.find(t, request+`[{"s:string":"desc"}]}`, limit); err != nil || len(docs) != want {
		t.Fatalf("%s finds %d documents instead of %d: %v", selector, len(docs), want, err)
	}
	before := strings.Repeat("\U0010ffff", 3)
	for _, text := range docs {
		doc, err := ejson.Parse([]byte(text))
		check(t, err)
		s, _ := doc.Get("s")
		if at := s.Text()[:min(len(s.Text()), 1024)]; at > before {
			t.Fatalf("%s: %q comes after %q", selector, at, before)
		} else {
			before = at
		}
	}
}

// Selectors that compare values of other types, which a text index has in fields of their own, and
// those whose answer CouchDB's own query would cut short.
func TestTextIndexComparesValuesOfOneType(t *testing.T) {
	w := openTextWorld(t, memkv.New(), "text", `{}`)
	for id, body := range map[string]string{
		"number": `{"a":7}`, "text": `{"a":"x"}`, "above": `{"a":"zebra"}`, "null": `{"a":null}`, "list": `{"a":[9]}`,
		"digits": `{"a":"say \"7\""}`, "object": `{"a":{}}`, "capital": `{"a":"Y"}`,
	} {
		w.put(t, id, body)
	}
	for selector, want := range map[string]string{
		`{"a":{"$gt":5}}`:                  "number",
		`{"a":{"$gt":null}}`:               "above capital digits list number object text",
		`{"a":{"$gt":"u"}}`:                "above capital text",
		`{"a":{"$lte":"y"}}`:               "digits text",
		`{"a":"say \"7\""}`:                "digits",
		`{"a":{"$not":{"$regex":"^x"}}}`:   "above capital digits list null number object",
		`{"a":{"$exists":true}}`:           "above capital digits list null number object text",
		`{"a":{"$ne":7}}`:                  "above capital digits list null object text",
		`{"a":{"$keyMapMatch":{"$eq":1}}}`: "",
		`{"a":{"$in":[9,7]}}`:              "list number",
		`{"$and":[]}`:                      "",
	} {
		docs, plan, err := w.find(t, `{"selector":`+selector+`,"fields":["_id"]}`, 1000)
		check(t, err)
		if plan.Index().Kind != mango.KindText {
			t.Errorf("%s is answered by %v", selector, plan.Index().Kind)
		}
		var ids []string
		for _, doc := range docs {
			ids = append(ids, strings.TrimSuffix(strings.TrimPrefix(doc, `{"_id":"`), `"}`))
		}
		if slices.Sort(ids); strings.Join(ids, " ") != want {
			t.Errorf("%s finds %v instead of %s", selector, ids, want)
		}
	}
}

// A document that stays as it is comes once on the pages of a sort, whatever is written between
// them.
func TestTextPagesAmongWrites(t *testing.T) {
	for _, kind := range []string{"text", "nouveau"} {
		w := openTextWorld(t, memkv.New(), kind, `{}`)
		r := rand.New(rand.NewPCG(3, 16))
		for i := range 200 {
			w.put(t, fmt.Sprintf("doc%03d", i), fmt.Sprintf(`{"n":%d,"stays":%t}`, r.IntN(20), i%2 == 0))
		}
		seen, bookmark := map[string]int{}, ""
		for {
			plan, err := w.plan(t, `{"selector":{"n":{"$gte":0}},"sort":["n"],"limit":7,"bookmark":"`+bookmark+`"}`)
			check(t, err)
			rows := 0
			answer, err := plan.Find(t.Context(), w.src, func(doc []byte) error {
				v, err := ejson.Parse(doc)
				id, _ := v.Get("_id")
				seen[id.Text()]++
				rows++
				return err
			})
			check(t, err)
			if bookmark = answer.Bookmark; rows < 7 {
				break
			}
			for range 5 {
				other := fmt.Sprintf("doc%03d", 2*r.IntN(100)+1)
				w.put(t, other, []string{"", fmt.Sprintf(`{"n":%d}`, r.IntN(20))}[r.IntN(2)])
			}
		}
		for i := 0; i < 200; i += 2 {
			if id := fmt.Sprintf("doc%03d", i); seen[id] != 1 {
				t.Errorf("%s: %s comes %d times", kind, id, seen[id])
			}
		}
	}
}

// A bookmark goes on in the order that it is of.
func TestTextBookmarks(t *testing.T) {
	w := openTextWorld(t, memkv.New(), "text", `{}`)
	for i := range 5 {
		w.put(t, fmt.Sprint("doc", i), fmt.Sprintf(`{"a":%d}`, i))
	}
	const request = `{"selector":{"a":{"$gte":0}},"sort":["a"],"limit":2}`
	plan, err := w.plan(t, request)
	check(t, err)
	answer, err := plan.Find(t.Context(), w.src, func([]byte) error { return nil })
	check(t, err)
	for request, word := range map[string]string{
		`{"selector":{"a":{"$gte":0}},"sort":["a"],"bookmark":"` + answer.Bookmark + `"}`:          "",
		`{"selector":{"a":{"$gte":0}},"sort":[{"a":"desc"}],"bookmark":"` + answer.Bookmark + `"}`: "invalid_bookmark",
		`{"selector":{"a":{"$gte":0}},"sort":["a"],"bookmark":"x` + answer.Bookmark + `"}`:         "invalid_bookmark",
	} {
		plan, err := w.plan(t, request)
		n := 0
		if err == nil {
			_, err = plan.Find(t.Context(), w.src, func([]byte) error { n++; return nil })
		}
		told, _ := compat.AsError(err)
		switch {
		case word == "" && (err != nil || n != 3):
			t.Errorf("%s: %d documents, %v", request, n, err)
		case word != "" && (told == nil || told.Word() != word):
			t.Errorf("%s: %v", request, err)
		}
	}
}
