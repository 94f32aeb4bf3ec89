package n1ql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

// fake is a keyspace in memory. It finds documents with Mango's own selectors.
type fake struct {
	t    testing.TB
	docs map[string]*Document
	// ignoreSelector finds all documents.
	ignoreSelector bool
	sorts          bool
	indexed        bool // an index serves every selector
	// beforeWrite is called with each write; it may change documents as others would.
	beforeWrite func(w Write)
	finds       []Find
	gets        [][]string
	read        int // documents that Find gave
	cas         int
	held, most  int              // bytes that statements hold, and may; 0 for no bound
	others      map[string]*fake // keyspaces with documents of their own
}

func newFake(t testing.TB, docs map[string]string) *fake {
	f := &fake{t: t, docs: map[string]*Document{}}
	for id, body := range docs {
		f.put(id, body)
	}
	return f
}

func (f *fake) put(id, body string) {
	f.cas++
	f.docs[id] = &Document{ID: id, Cas: strconv.Itoa(f.cas), Body: []byte(body), Exists: true}
}

func (f *fake) Open(_ context.Context, name string) (Keyspace, error) {
	if name == "unknown" {
		return nil, &Error{Kind: KindKeyspace, Message: "there is no keyspace unknown", Keyspace: name}
	}
	if other := f.others[name]; other != nil {
		return other, nil
	}
	return f, nil
}

func (f *fake) Hold(bytes int) error {
	if f.held += bytes; f.most > 0 && f.held > f.most {
		return limitf("more than %d bytes", f.most)
	}
	return nil
}

func (f *fake) Get(_ context.Context, ids []string) ([]Document, error) {
	f.gets = append(f.gets, ids)
	var docs []Document
	for _, id := range ids {
		if d := f.docs[id]; d != nil {
			docs = append(docs, *d)
		} else {
			docs = append(docs, Document{ID: id})
		}
	}
	return docs, nil
}

func (f *fake) Find(_ context.Context, find Find) error {
	f.finds = append(f.finds, find)
	if find.Sort != nil && !f.sorts {
		return &Error{Kind: KindUnsorted, Message: "not sorted"}
	}
	if find.Indexed && !f.indexed {
		return &Error{Kind: KindUnindexed, Message: "not indexed"}
	}
	var ids []string
	for id := range f.docs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if find.Sort != nil && find.Sort[0].Descending {
		slices.Reverse(ids)
	}
	for _, id := range ids {
		d := f.docs[id]
		if d == nil || !f.ignoreSelector && !f.passes(find.Selector, d) {
			continue
		}
		f.read++
		if more, err := find.Each(d); err != nil || !more {
			return err
		}
	}
	return nil
}

func (f *fake) passes(text []byte, d *Document) bool {
	if text == nil {
		return true
	}
	parsed, err := ejson.Parse(text)
	if err != nil {
		f.t.Fatalf("%s: %v", text, err)
	}
	s, err := selector.ParseSelector(parsed)
	if err != nil {
		f.t.Fatalf("%s: %v", text, err)
	}
	body := strings.TrimPrefix(string(d.Body), "{")
	if body != "}" {
		body = "," + body
	}
	whole := fmt.Sprintf(`{"_id":%s,"_rev":%q%s`, ejson.AppendString(nil, d.ID), d.Cas, body)
	doc, err := ejson.Parse([]byte(whole))
	if err != nil {
		f.t.Fatalf("%s: %v", whole, err)
	}
	ok, err := s.Match(doc)
	if err != nil {
		f.t.Fatalf("%s: %v", text, err)
	}
	return ok
}

func (f *fake) Write(_ context.Context, w Write) error {
	if f.beforeWrite != nil {
		f.beforeWrite(w)
	}
	d := f.docs[w.ID]
	switch {
	case w.Expect == ExpectMissing && d != nil:
		return &Error{Kind: KindDuplicate, Message: "duplicate key", ID: w.ID}
	case w.Expect == ExpectCas && d == nil:
		return &Error{Kind: KindMissing, Message: "missing", ID: w.ID}
	case w.Expect == ExpectCas && d.Cas != w.Cas:
		return &Error{Kind: KindConflict, Message: "conflict", ID: w.ID}
	}
	if w.Delete {
		delete(f.docs, w.ID)
		return nil
	}
	f.put(w.ID, string(w.Body))
	f.docs[w.ID].Expiry = w.Expiry
	return nil
}

// rows are all rows of a statement, or the error.
func rows(t testing.TB, f *fake, text, params string) ([]string, error) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	q, err := s.Bind([]byte(params))
	if err != nil {
		return nil, err
	}
	r, err := q.Rows(t.Context(), f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []string
	for {
		row, ok, err := r.Next()
		if err != nil || !ok {
			return all, err
		}
		all = append(all, string(row))
	}
}

// wantRows compares the rows of a statement.
func wantRows(t testing.TB, f *fake, text string, want ...string) {
	t.Helper()
	have, err := rows(t, f, text, "")
	if err != nil {
		t.Errorf("%s: %v", text, err)
	} else if !slices.Equal(have, want) {
		t.Errorf("%s\nhas %s\nwanted %s", text, have, want)
	}
}
