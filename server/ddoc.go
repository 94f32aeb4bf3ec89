package server

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views/js"
)

// This file is what all functions of design documents have in common. Each kind of function has a file of its own: ddocshow.go,
// ddocupdate.go, ddoclist.go, ddocrewrite.go, ddocvalidate.go, ddocfilter.go.

// designDoc is a design document whose functions are called.
type designDoc struct {
	doc  *storage.Document
	body ejson.Value
}

// openFunctions reads the design document of a name, for whoever may make the request: it need not be shown to be used.
func (c *Call) openFunctions(name string) (*designDoc, error) {
	doc, err := c.db.Open(c.Context(), compat.DesignPrefix+name, storage.OpenOptions{})
	if err != nil {
		return nil, err
	}
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return nil, err
	}
	return &designDoc{doc, body}, nil
}

// member finds a value below objects (couch_util:get_nested_json_value).
func (d *designDoc) member(path ...string) (ejson.Value, error) {
	v := d.body
	for _, key := range path {
		if v.Kind() != ejson.Object {
			return v, compat.NewError(compat.KindNotFound, "json_mismatch")
		}
		var found bool
		if v, found = v.Get(key); !found {
			return v, compat.NewError(compat.KindNotFound, "missing json key: "+key)
		}
	}
	return v, nil
}

// functions gives the document's functions.
func (c *Call) functions(d *designDoc) (*js.Design, error) {
	return c.srv.design(c.db.Name(), d.doc, d.body)
}

// design gives the functions of a design document of a database; an error where it is in a language we do not have.
func (s *Server) design(db string, doc *storage.Document, body ejson.Value) (*js.Design, error) {
	return designOf(s.js, db, doc, body)
}

func designOf(pool *js.Pool, db string, doc *storage.Document, body ejson.Value) (*js.Design, error) {
	if language, given := body.Get("language"); given && !language.TextIs("javascript") {
		return nil, compat.Named(compat.KindError, "unknown_query_language", compat.ErlangText(language))
	}
	if pool == nil {
		return nil, compat.NewError(compat.KindNotImplemented, "This server runs without JavaScript.")
	}
	source := compat.AppendDocument(make([]byte, 0, len(doc.Body)+128), viewOf(doc, &compat.DocOptions{}))
	return pool.Design(db, source), nil
}

// call runs a function and gives what the query server protocol has it answer.
func call(ctx context.Context, d *js.Design, path []string, args ...[]byte) (ejson.Value, error) {
	v, err := d.Call(ctx, path, args...)
	return v, functionError(err)
}

// functionError is an error of the pool as the requests to functions show it: without the number that views add.
func functionError(err error) error {
	var e *compat.Error
	if errors.As(err, &e) && e.Kind == compat.KindUnknown && e.Name == "os_process_error" {
		return compat.Named(compat.KindError, e.Name, e.Reason)
	}
	return err
}

// badMatch is the crash of the real server on an answer it does not expect.
func badMatch(v ejson.Value) *compat.Error {
	return compat.Named(compat.KindUnknown, "badmatch", compat.ErlangText(v))
}

// answer takes an answer apart that must be an array beginning with a word.
func answer(v ejson.Value, word string, values int) ([]ejson.Value, bool) {
	if v.Kind() != ejson.Array || v.Len() != values+1 {
		return nil, false
	}
	list := make([]ejson.Value, 0, values+1)
	for e := range v.Elements() {
		list = append(list, e)
	}
	return list[1:], list[0].TextIs(word)
}

// documentArgument opens the document that the path names and prints it for a function: null where there is none, and for local ones.
func (c *Call) documentArgument(id string) (*storage.Document, []byte, error) {
	if compat.IsLocalID(id) {
		return nil, []byte("null"), nil
	}
	doc, err := c.open(id, storage.OpenOptions{Revs: true, Conflicts: true})
	if errors.Is(err, compat.KindNotFound) {
		return nil, []byte("null"), nil
	}
	if err != nil {
		return nil, nil, err
	}
	return doc, appendFunctionDoc(nil, doc, c.set.functionRevs), nil
}

// appendFunctionDoc prints a document for a function, with at most so many of its revisions (couch_query_servers:json_doc).
func appendFunctionDoc(b []byte, doc *storage.Document, revs int64) []byte {
	view := viewOf(doc, &compat.DocOptions{Revs: true})
	if ids := view.Revisions.IDs; int64(len(ids)) > revs {
		view.Revisions.IDs = ids[:max(0, revs)]
	}
	return compat.AppendDocument(b, view)
}
