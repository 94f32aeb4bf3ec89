package documents

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage/docread"
)

// Designs reads the design documents of a database whose functions are to be called, and makes the
// arguments of these functions.
type Designs struct{ d *Database }

// Designs are those of the database.
func (d *Database) Designs() Designs { return Designs{d} }

// Functions is a design document whose functions are called.
type Functions struct {
	Doc  *docread.Document
	Body ejson.Value
	d    *Database
}

// Functions reads the design document of a name, for whoever may use the database: it need not be
// shown to be used. The memory of it and of its parsed form counts against the caller's
// documents.Origin.
func (f Designs) Functions(ctx context.Context, name string) (*Functions, error) {
	doc, err := f.d.db.Open(ctx, compat.DesignPrefix+name, docread.OpenOptions{})
	if err != nil {
		return nil, err
	}
	if err := hold(ctx, f.d, doc.Body); err != nil {
		return nil, err
	}
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return nil, err
	}
	return &Functions{doc, body, f.d}, nil
}

// Require makes sure that there is a design document of that name. The error is
// compat.ErrMissing or the like.
func (f Designs) Require(ctx context.Context, name string) error {
	_, err := f.d.db.Open(ctx, compat.DesignPrefix+name, docread.OpenOptions{Members: docread.NoMembers})
	return err
}

// Member finds a value below objects (couch_util:get_nested_json_value).
func (f *Functions) Member(path ...string) (ejson.Value, error) {
	v := f.Body
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

// Compile gives the functions, ready to be called; an error where they are in a language that this
// server does not run.
func (f *Functions) Compile() (*js.Design, error) {
	return compile(f.d.store.o.JS, f.d.Name(), f.Doc, f.Body)
}

// compile gives the functions of a design document to the pool, which keeps what it has compiled by
// the text. A document of a language that this server does not have, or a server without
// JavaScript, is an error of the request.
func compile(pool *js.Pool, db string, doc *docread.Document, body ejson.Value) (*js.Design, error) {
	if language, given := body.Get("language"); given {
		if _, known := js.LanguageNamed(language.Text()); !known {
			return nil, compat.Named(compat.KindError, "unknown_query_language", compat.ErlangText(language))
		}
	}
	if pool == nil {
		return nil, compat.NewError(compat.KindNotImplemented, "This server runs without JavaScript.")
	}
	source := compat.AppendDocument(make([]byte, 0, len(doc.Body)+128), View(doc, &ReadOptions{}))
	return pool.Design(db, source), nil
}

// FunctionError is an error of the pool as callers of functions see it: without the number that
// views add.
func FunctionError(err error) error {
	var e *compat.Error
	if errors.As(err, &e) && e.Kind == compat.KindUnknown && e.Name == "os_process_error" {
		return compat.Named(compat.KindError, e.Name, e.Reason)
	}
	return err
}

// Argument opens a document and prints it for a function: null where there is none, and for local
// ones.
func (f Designs) Argument(ctx context.Context, id string) (*docread.Document, []byte, error) {
	if compat.IsLocalID(id) {
		return nil, []byte("null"), nil
	}
	doc, err := f.d.Open(ctx, id, docread.OpenOptions{Revs: true, Conflicts: true})
	if errors.Is(err, compat.KindNotFound) {
		return nil, []byte("null"), nil
	}
	if err != nil {
		return nil, nil, err
	}
	return doc, appendForFunction(nil, doc, f.d.rules.FunctionRevs), nil
}

// appendForFunction prints a document for a function, with at most so many of its revisions
// (couch_query_servers:json_doc).
func appendForFunction(b []byte, doc *docread.Document, revs int64) []byte {
	view := View(doc, &ReadOptions{Revs: true})
	if ids := view.Revisions.IDs; int64(len(ids)) > revs {
		view.Revisions.IDs = ids[:max(0, revs)]
	}
	return compat.AppendDocument(b, view)
}

// appendUser prints a principal as functions see it (couch_util:json_user_ctx).
func appendUser(b []byte, db string, who principal.Principal) []byte {
	b = ejson.AppendString(append(b, `{"db":`...), db)
	b = append(b, `,"name":`...)
	if who.Name == "" {
		b = append(b, "null"...)
	} else {
		b = ejson.AppendString(b, who.Name)
	}
	b = append(b, `,"roles":`...)
	return append(appendTexts(b, who.Roles), '}')
}

// securityOf is a _security object, nil for none, as functions see it.
func securityOf(object []byte) []byte {
	if object == nil {
		return []byte(compat.DefaultSecurity)
	}
	return object
}
