package mango

import (
	"bytes"
	"slices"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/storage/docread"
)

// FuzzBookmark: no text does harm, and what is a bookmark is written the same again.
func FuzzBookmark(f *testing.F) {
	for _, seed := range []string{
		"", "nil", "g1AAAA", "gQ", "!!!",
		string(appendBookmark(nil, []byte(`["a",1]`), "id", nil)),
		string(appendBookmark(nil, []byte(`{}`), `"`, []string{"auto", "", "x"})),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := parseBookmark(text)
		if err != nil {
			return
		}
		again := string(appendBookmark(nil, b.key.AppendJSON(nil), b.id, b.origin))
		c, err := parseBookmark(again)
		if err != nil || c.id != b.id || !slices.Equal(c.origin, b.origin) || collate.Compare(b.key, c.key) != 0 {
			t.Fatalf("%q becomes %q: %v", text, again, err)
		}
	})
}

// fuzzIndexes are some indexes for plans of any request.
func fuzzIndexes(t testing.TB) []*Index {
	body := parsed(t, `{"language":"query","views":{
		"a":{"map":{"fields":{"a":"asc"}},"options":{}},"ab":{"map":{"fields":{"a":"asc","b":"asc"}},"options":{}},
		"id":{"map":{"fields":{"_id":"asc"}},"options":{}},"none":{"map":{"fields":{}},"options":{}},
		"p":{"map":{"fields":{"b":"desc"},"partial_filter_selector":{"a":1}},"options":{}}}}`)
	text := parsed(t, `{"language":"query","indexes":{"text":{"index":{"fields":"all_fields"}},"some":{"index":{
		"fields":[{"name":"a","type":"string"}],"partial_filter_selector":{"a":"x"}}}}}`)
	all := append([]*Index{AllDocs}, IndexesOf("_design/d", body, false)...)
	return append(all, IndexesOf("_design/t", text, false)...)
}

// FuzzRequest: any request is refused or explained, and the explanation is JSON; keys of its range,
// or a query of a text index, can be made.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"selector":{"a":1,"b":{"$gt":1,"$lt":1}},"sort":["a"]}`, `{"selector":{"_id":{"$beginsWith":"x"}},"use_index":["d","p"],"fields":["a.b"]}`,
		`{"selector":{"$or":[]},"limit":99999999999999999999,"skip":0,"r":2,"stale":"ok"}`, `{"selector":{},"sort":[{"a":"desc","b":1}]}`,
		`{"selector":{"a":{"$eq":1,"$gt":1}},"bookmark":"x","partition":"p","count":true}`, `{"selector":{"$text":"x"}}`, `{"selector":{"a":1,"b..c":{"":{"$gt":2}},"":3},"fields":["_id"]}`, `{"selector":{"a.0":{"$in":[1,[2],{"b":3},{}]},"b":{"$not":{"$all":[[1]]}}},"use_index":["t","text"]}`, `{"sort":[[[1,2,{"a":"\u0001b"}]]]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ejson.Parse([]byte(text))
		if err != nil || v.Kind() != ejson.Object {
			return
		}
		r, err := ParseRequest(v, Defaults{Limit: 25})
		if err != nil {
			return
		}
		p, err := NewPlan(r, fuzzIndexes(t), false, true)
		if err != nil {
			return
		}
		explained, err := p.AppendExplain(t.Context(), new(Source), nil, "db")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ejson.Parse(explained); err != nil {
			t.Fatalf("%s: %v", explained, err)
		}
		if p.text != nil {
			phrase := func(field, text string) (query.Node, error) { return &query.Term{Field: field, Term: text}, nil }
			q := &textQuery{textDefinition: p.index.text, kind: p.index.Kind.SearchKind(), phrase: phrase}
			q.over(p.text.tree)
		}
		if p.Index() != nil && p.Index().Kind == KindJSON {
			if start, end := p.keyRange(); !p.Nothing() && bytes.Compare(start, end) > 0 {
				t.Fatalf("%s: range %x to %x", text, start, end)
			}
		}
	})
}

// FuzzDefinition: any definition is refused, or its index is in the design document and can be
// taken out again.
func FuzzDefinition(f *testing.F) {
	for _, seed := range []string{
		`{"index":{"fields":["a"]}}`, `{"index":{"fields":[{"a.b":"desc"},{"c":"desc"}],"partial_filter_selector":{"a":{"$regex":"x"}}},"ddoc":"d","name":"n"}`,
		`{"index":{"fields":[]},"partitioned":true,"w":3}`, `{"index":{"fields":["a","a",""]},"type":"text"}`, `{"index":{"fields":["\"\\"]},"name":"\u0000"}`, `{"index":{"fields":["a"],"partial_filter_selector":{"b..c":1,"":{"a\\":{"b":2}}}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ejson.Parse([]byte(text))
		if err != nil || v.Kind() != ejson.Object {
			return
		}
		d, err := ParseDefinition(v, false)
		if err != nil {
			return
		}
		next, err := d.AddTo(ejson.Value{}, false)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		body := parsed(t, string(next))
		list := IndexesOf(d.DDoc, body, false)
		if len(list) != 1 || list[0].Name != d.Name {
			t.Fatalf("%s makes %s", text, next)
		}
		if again, err := d.AddTo(body, true); again != nil || err != nil {
			t.Fatalf("%s is added twice to %s: %s, %v", text, next, again, err)
		}
		if _, empty, err := RemoveFrom(body, true, list[0].Kind, d.Name); err != nil ||
			empty != (d.partitioned == nil) {
			t.Fatalf("%s stays in %s: %v", text, next, err)
		}
		if len(list[0].def) == 0 || list[0].Kind != KindJSON {
			return
		}
		views, _ := body.Get("views")
		view, _ := views.Get(d.Name)
		definition, _ := view.Get("map")
		if _, err := newMapper(definition.AppendJSON(nil)); err != nil {
			t.Fatalf("%s cannot be read: %v", next, err)
		}
	})
}

// FuzzPicker: what is picked of a body is what is in it, and a body that is no JSON does no harm.
func FuzzPicker(f *testing.F) {
	f.Add(`{"a":1,"b":{"a":[1,"}"]},"\"":"\\","é":null}`, "a", `"`)
	f.Add(`{"a":"\\\"","a.b":true}`, `a\.b`, "é.x")
	f.Add(`{"a`, "a", "b")
	f.Add(`\\"`, "a", "b") // no object
	f.Fuzz(func(t *testing.T, text, first, second string) {
		p := newPicker([]selector.Path{selector.ParsePath(first), selector.ParsePath(second)})
		p.append(nil, &docread.Document{ID: "x", Body: []byte(text)})
		v, err := ejson.Parse([]byte(text))
		if err != nil || v.Kind() != ejson.Object {
			return
		}
		picked, err := ejson.Parse(p.append(nil, &docread.Document{ID: "x", Body: v.AppendJSON(nil)}))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{first, second} {
			field := selector.ParsePath(name)
			if _, special := v.Get(field.Parts[0]); !field.Valid ||
				special && field.Parts[0] != "" && field.Parts[0][0] == '_' ||
				field.Parts[0] == "_id" ||
				field.Parts[0] == "_rev" {
				continue
			}
			want, has := v.Get(field.Parts[0])
			got, picked := picked.Get(field.Parts[0])
			if has != picked || has && !bytes.Equal(got.AppendJSON(nil), want.AppendJSON(nil)) {
				t.Fatalf("%s of %s: %s", name, text, got.Raw())
			}
		}
	})
}

// FuzzRule: any selector of a design document is refused or answers about any change, always the
// same, and the normal form of it answers the same.
func FuzzRule(f *testing.F) {
	change := `{"newDoc":{"_id":"a","a":[1,{"b":"x"}],"n":0},"oldDoc":null}`
	for _, seed := range []string{
		`{}`, `{"newDoc":{}}`, `{"newDoc":{"a":{"$elemMatch":{"b":{"$regex":"^x"}}},"n":{"$mod":[0,1]}},"oldDoc":null}`,
		`{"$nor":[{"userCtx":{"$exists":true}}]}`, `{"newDoc.a.1\\.b":{"$not":{"$all":[[1]]}}}`, `{"$text":"x"}`,
		`{"newDoc._id":{"$gt":[]}}`, `{"a":{"$elemMatch":{"$nor":[{"$eq":1}]}}}`, `7`, `"function() {}"`,
		`{"newDoc.s":{"$regex":"(a*)*$"}}`, `{"newDoc":{"$keyMapMatch":{"$in":["a"]}}}`, `{"newDoc":{"$allMatch":{"":1}}}`,
	} {
		f.Add(seed, change)
	}
	f.Fuzz(func(t *testing.T, text, change string) {
		v, err := ejson.Parse([]byte(text))
		if err != nil {
			return
		}
		valid, _, err := Views{}.CompileRule(v, maxFilter)
		if _, wire := compat.AsError(err); err != nil && !wire {
			t.Fatalf("%s: %v", text, err)
		}
		changed, other := ejson.Parse([]byte(change))
		if err != nil || other != nil {
			return
		}
		s, err := selector.ParseSelector(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := selector.ParseSelector35(parsed(t, string(s.AppendJSON(nil))))
		if first := valid(changed); err != nil || valid(changed) != first || allows(again, changed) != first {
			t.Fatalf("%s: of %s it says %t at first: %v", text, change, first, err)
		}
	})
}
