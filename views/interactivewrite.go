package views

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// interactiveUpdate collects the documents that a transaction changes, and indexes them together.
type interactiveUpdate struct {
	v    *Views
	list interactiveList
	docs []source
}

// add is the storage.IndexFunc.
func (u *interactiveUpdate) add(ctx context.Context, tx *storage.Tx, id string, before, after *storage.Document) error {
	if compat.IsDesignID(id) {
		if err := u.v.designChanged(tx, id, before, after); err != nil {
			return err
		}
		if u.v.opts.DesignChanged != nil {
			if err := u.v.opts.DesignChanged(tx); err != nil {
				return err
			}
		}
		var err error
		if u.list, err = readInteractive(tx.KV(), spaceOf(tx.Snapshot())); err != nil {
			return err
		}
	}
	if len(u.list) == 0 {
		return nil
	}
	if len(u.docs) == 0 {
		tx.Defer(func() error { return u.flush(ctx, tx) })
	}
	u.docs = append(u.docs, source{id: id, doc: after, seq: storage.Seq{Incarnation: 0xff}}) // after all that is indexed
	return nil
}

// flush writes the rows of the documents collected.
func (u *interactiveUpdate) flush(ctx context.Context, tx *storage.Tx) error {
	for i := range u.list {
		if err := u.index(ctx, tx, &u.list[i]); err != nil {
			return err
		}
	}
	u.docs = u.docs[:0]
	return nil
}

// index brings the documents' rows in one index to what the documents are now.
func (u *interactiveUpdate) index(ctx context.Context, tx *storage.Tx, e *interactiveEntry) error {
	if err := u.mapDocuments(ctx, tx, e); err != nil {
		return err
	}
	s := tx.Snapshot()
	m := &member{def: &e.def, keys: spaceOf(s).keysOf(e.record.number), rec: e.record, tenant: tx.Name()}
	w := indexWriter{tx: tx.KV(), m: m, limits: u.v.limits}
	if err := w.collect(u.docs); err != nil {
		return err
	}
	if err := u.v.applyRows(ctx, &w); err != nil || len(w.changes) == 0 {
		return err
	}
	stamp := storage.Seq{Incarnation: s.Incarnation()}
	stamp.Versionstamp[kv.VersionstampSize], stamp.Versionstamp[kv.VersionstampSize+1] = 0xff, 0xff
	tx.KV().SetVersionstampedValue(m.keys.changed, appendSeq(nil, stamp), 1)
	return nil
}

// mapDocuments runs the map function of an index. What fails the build of other indexes is an error of the documents here: a map
// function must not keep documents from being written.
func (u *interactiveUpdate) mapDocuments(ctx context.Context, tx *storage.Tx, e *interactiveEntry) error {
	p, err := u.v.interactiveProgram(tx.Name(), e)
	for i := range u.docs {
		src := &u.docs[i]
		src.byIndex = make([]docRows, 1)
		src.mapped = src.doc != nil && (!compat.IsDesignID(src.id) || e.def.withDesign && !e.def.partitioned)
		if src.mapped && err == nil && p.needsText() {
			src.text = appendSource(nil, src.doc, false, 0)
		}
	}
	if err == nil {
		err = p.run(ctx, u.docs)
	}
	if err == nil {
		return nil
	}
	if _, ok := compat.AsError(err); !ok {
		return err
	}
	for i := range u.docs {
		u.docs[i].byIndex = make([]docRows, 1)
		if u.docs[i].mapped {
			u.docs[i].byIndex[0].failure = err.Error()
		}
	}
	return nil
}

// interactiveProgram compiles the map function of an interactive index, once.
func (v *Views) interactiveProgram(tenant string, e *interactiveEntry) (*program, error) {
	if p, ok := v.programs.Get(e.signature); ok {
		return p, nil
	}
	def := e.def
	p, err := v.program(tenant, []*indexDef{&def})
	if err == nil {
		v.programs.Add(e.signature, p)
	}
	return p, err
}
