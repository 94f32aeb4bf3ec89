package views

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// interactiveUpdate collects the documents that a transaction changes, and indexes them together.
type interactiveUpdate struct {
	v    *Views
	list interactiveList
	maps []interactiveMap // of list; made when the first document is mapped
	docs []source         // with rows for each index of list
	took int              // bytes of the transaction, about
}

// entrySize is about what an index takes in the list of them, which is written anew with each
// design document.
const entrySize = 300

// take counts bytes of the transaction. One that would hold too many is begun again by its writer,
// with fewer documents.
func (u *interactiveUpdate) take(bytes int) error {
	if u.took > 0 && u.took+bytes > u.v.opts.transactionBudget() {
		return kv.ErrTooLarge
	}
	u.took += bytes
	return nil
}

// interactiveMap maps the documents of a transaction for one index.
type interactiveMap struct {
	program *program
	rows    *collector // of a map function in this process
	err     error      // it cannot be compiled
}

// add is the storage.IndexFunc. A document goes through the map functions before anything is
// written of it: those in JavaScript are asked between the runs of the transaction.
func (u *interactiveUpdate) add(ctx context.Context, tx *storage.Tx, id string, before, after *docread.Document) error {
	if compat.IsDesignID(id) {
		if err := u.designChanged(ctx, tx, id, before, after); err != nil {
			return err
		}
	}
	if len(u.list) == 0 {
		return nil
	}
	if err := u.take(len(u.list) * readSize); err != nil {
		return err
	}
	src := source{id: id, doc: after, seq: storage.Seq{Incarnation: 0xff}} // after all that is indexed
	src.byIndex = make([]docRows, len(u.list))
	pending := false
	for i := range u.list {
		var err error
		src.byIndex[i], err = u.mapDocument(tx, i, &src)
		if err != nil && !errors.Is(err, storage.ErrPending) {
			return err
		}
		pending = pending || err != nil
	}
	if pending {
		return storage.ErrPending
	}
	src.doc, src.text = nil, nil
	if len(u.docs) == 0 {
		tx.BeforeCommit(func() error { return u.flush(ctx, tx) })
	}
	u.docs = append(u.docs, src)
	return nil
}

// designChanged makes and removes interactive indexes after a change of a design document. The
// documents before it were mapped for the indexes as they were.
func (u *interactiveUpdate) designChanged(
	ctx context.Context, tx *storage.Tx, id string, before, after *docread.Document,
) error {
	if err := u.take(len(u.list) * entrySize); err != nil {
		return err
	}
	if err := u.flush(ctx, tx); err != nil {
		return err
	}
	if err := u.v.designChanged(tx, id, before, after); err != nil {
		return err
	}
	if u.v.designChangedHook != nil {
		if err := u.v.designChangedHook(tx); err != nil {
			return err
		}
	}
	var err error
	u.list, err = readInteractive(tx.KV(), spaceOf(tx.Snapshot()))
	u.maps = nil
	return err
}

// flush writes the rows of the documents collected.
func (u *interactiveUpdate) flush(ctx context.Context, tx *storage.Tx) error {
	if len(u.docs) == 0 {
		return nil
	}
	for i := range u.list {
		if err := u.index(ctx, tx, i); err != nil {
			return err
		}
	}
	u.docs = u.docs[:0]
	return nil
}

// index brings the documents' rows in one index to what the documents are now.
func (u *interactiveUpdate) index(ctx context.Context, tx *storage.Tx, n int) error {
	e := &u.list[n]
	s := tx.Snapshot()
	ix := &index{def: &e.def, keys: spaceOf(s).keysOf(e.record.number), rec: e.record, tenant: tx.Name()}
	w := indexWriter{tx: tx.KV(), order: tx.NextOrder, ix: ix, n: n, limits: u.v.limits}
	if err := w.collect(u.docs); err != nil {
		return err
	}
	if err := u.v.aggregates.apply(ctx, &w); err != nil || len(w.changes) == 0 {
		return err
	}
	stamp := storage.Seq{Incarnation: s.Incarnation()}
	stamp.Versionstamp[kv.VersionstampSize], stamp.Versionstamp[kv.VersionstampSize+1] = 0xff, 0xff
	tx.KV().SetVersionstampedValue(ix.keys.changed, keyspace.AppendSeq(nil, stamp), 1)
	return nil
}

// mapDocument gives the rows of a document in an index. What fails the build of other indexes is an
// error of the document here: a map function must not keep documents from being written.
func (u *interactiveUpdate) mapDocument(tx *storage.Tx, n int, src *source) (docRows, error) {
	e := &u.list[n]
	if src.doc == nil || compat.IsDesignID(src.id) && (!e.def.withDesign || e.def.partitioned) {
		return docRows{}, nil
	}
	m := u.mapOf(tx.Name(), n)
	if m.err != nil {
		return failedRows(m.err)
	}
	doc, text, readers := src.doc, src.text, []string(nil)
	if e.def.byPrincipal {
		doc, readers = ownSource(src.doc)
	}
	if m.rows != nil {
		m.rows.readers = readers
		return mapOne(m.rows, m.program.mappers[0], doc), nil
	}
	if text == nil || doc != src.doc {
		text = appendSource(nil, doc, false, 0)
	}
	if doc == src.doc {
		src.text = text
	}
	h := sha256.New()
	h.Write(e.signature[:])
	h.Write(text)
	rows, err := tx.Defer(storage.CallbackKey(h.Sum(nil)), m.program,
		func() any { return source{id: src.id, text: text, readers: readers, mapped: true} })
	if err != nil {
		return docRows{}, err
	}
	return rows.(docRows), nil
}

// mapOf is the map function of an index. Documents share its collector, which takes memory in large
// pieces.
func (u *interactiveUpdate) mapOf(tenant string, n int) *interactiveMap {
	if u.maps == nil {
		u.maps = make([]interactiveMap, len(u.list))
	}
	m := &u.maps[n]
	if m.program == nil && m.err == nil {
		if m.program, m.err = u.v.interactiveProgram(tenant, &u.list[n]); m.err == nil && m.program.mappers[0] != nil {
			m.rows = m.program.collector(0)
		}
	}
	return m
}

// failedRows makes what a map function failed with an error of the document.
func failedRows(err error) (docRows, error) {
	if _, ok := compat.AsError(err); !ok {
		return docRows{}, err
	}
	return docRows{failure: err.Error()}, nil
}

// singlyTime bounds how long the documents of a call that broke off are mapped one by one.
const singlyTime = 10 * time.Second

// RunDeferred implements storage.Callback: it maps documents for an interactive index in
// JavaScript, between the runs of the transaction. If the whole call fails, the documents are
// mapped one by one for a while, so that only the document that is to blame gets the error.
func (p *program) RunDeferred(ctx context.Context, args []any) ([]any, error) {
	docs := make([]source, len(args))
	for i, arg := range args {
		docs[i] = arg.(source)
	}
	done, err := p.run(ctx, docs, math.MaxInt)
	deadline := time.Now().Add(singlyTime)
	results := make([]any, len(docs))
	for i := range docs {
		one := err
		switch {
		case i < done:
			one = nil
		case len(docs) > 1 && time.Now().Before(deadline):
			_, one = p.run(ctx, docs[i:i+1], math.MaxInt)
		}
		if one == nil {
			results[i] = docs[i].byIndex[0]
			continue
		}
		rows, fatal := failedRows(one)
		if fatal != nil {
			return nil, fatal
		}
		results[i] = rows
	}
	return results, nil
}

// interactiveProgram compiles the map function of an interactive index, once.
func (v *Views) interactiveProgram(tenant string, e *interactiveEntry) (*program, error) {
	return v.programs.Load(e.signature, func() (*program, error) {
		def := e.def
		return v.program(tenant, []*definition{&def})
	})
}
