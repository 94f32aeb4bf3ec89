package views

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/viewquery"
)

// designKey names a parsed design document in the cache.
type designKey struct {
	database [16]byte
	id       string
	rev      compat.Rev
}

// openDesign reads a design document; uuid is the database's.
func (v *Views) openDesign(ctx context.Context, db *storage.DB, ddocID string) (d *design, uuid [16]byte, err error) {
	err = db.ViewAgain(kv.WithPrefetch(ctx, "design "+ddocID), func(s *storage.Snapshot) error {
		uuid = s.UUID()
		d, err = v.designIn(s, ddocID)
		return err
	})
	return d, uuid, err
}

// designIn is openDesign in a snapshot. Of a design document that is parsed already only the
// revision is read, and it is parsed once for all who ask at the same time.
func (v *Views) designIn(s *storage.Snapshot, ddocID string) (*design, error) {
	rev, err := s.WinnerRev(ddocID)
	if err != nil {
		return nil, err
	}
	return v.designs.Load(designKey{s.UUID(), ddocID, rev}, func() (*design, error) {
		doc, err := s.Open(ddocID, docread.OpenOptions{})
		if err == nil {
			err = s.HoldParsed(doc.Body)
		}
		if err != nil {
			return nil, err
		}
		return parseDocument(doc, kindOf(s))
	})
}

func parseDocument(doc *docread.Document, of databaseKind) (*design, error) {
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return nil, corrupt("design document")
	}
	d := parseDesign(doc.ID, body, of)
	d.bytes = parsedSize*len(doc.Body) + parsedSize*1000
	return d, nil
}

// View is one view of a design document, as it was when it was looked up. It is safe for concurrent
// use.
type View struct {
	v      *Views
	db     *storage.DB
	uuid   [16]byte
	design *design
	def    *viewDef
}

// View looks a view up. The error is that of a missing design document, or 404 missing_named_view.
func (v *Views) View(ctx context.Context, db *storage.DB, ddocID, name string) (w *View, err error) {
	err = db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		w, err = v.viewIn(s, db, ddocID, name)
		return err
	})
	return w, err
}

// viewIn is View in a snapshot of the database.
func (v *Views) viewIn(s *storage.Snapshot, db *storage.DB, ddocID, name string) (*View, error) {
	d, err := v.designIn(s, ddocID)
	if err != nil {
		return nil, err
	}
	def, err := d.find(name)
	if err != nil {
		return nil, err
	}
	return &View{v: v, db: db, uuid: s.UUID(), design: d, def: def}, nil
}

func (w *View) definition() *definition { return &w.design.definitions[w.def.definition] }

// path is the view as texts of errors name it: db/_design/name/_view/name.
func (w *View) path() string { return w.db.Name() + "/" + w.design.id + "/_view/" + w.def.name }

// HasReduce reports whether the view has a reduce function.
func (w *View) HasReduce() bool { return w.def.hasReduce }

// Reduces reports whether a query is answered by reduced values (couch_mrview_util:set_view_type).
func (w *View) Reduces(q *viewquery.Query) bool { return w.def.hasReduce && q.Reduce }

// Partitioned reports whether the index is partitioned.
func (w *View) Partitioned() bool { return w.design.partitioned }
