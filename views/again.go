package views

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/again"
	"github.com/settee-db/settee/storage/docread"
)

// A document with which a map function filled the memory of its worker is tried again where workers
// have more (package again).

// indexKey names an index to what this process remembers of it.
type indexKey struct {
	database  [16]byte
	signature Signature
}

// documentsLacking are the documents of an index that lacked memory; nil if they need no looking
// at, because this process has done so, or because no worker maps them.
func (v *Views) documentsLacking(db *storage.DB, uuid [16]byte, ix *index) *again.Documents {
	if v.opts.JS == nil || !isScript(ix.def.language) {
		return nil
	}
	if _, tried := v.tried.Get(indexKey{uuid, ix.def.signature}); tried {
		return nil
	}
	return &again.Documents{DB: db, Notes: ix.keys.lacks, Moved: errMoved, Memory: func(of byte) int64 {
		if of == again.Worker {
			return v.opts.WorkerMemory
		}
		return 0
	}}
}

// lacking tells whether an index that a query uses has documents to be tried again.
func (v *Views) lacking(db *storage.DB, s *storage.Snapshot, ix *index) (bool, error) {
	lacking := v.documentsLacking(db, s.UUID(), ix)
	if lacking == nil {
		return false, nil
	}
	some, err := lacking.Any(s)
	if err == nil && !some {
		v.tried.Add(indexKey{s.UUID(), ix.def.signature}, struct{}{})
	}
	return some, err
}

// tryAgain tries the documents again that lacked memory, once the indexes are built.
func (b *builder) tryAgain(ctx context.Context) error {
	for _, ix := range b.indexes {
		lacking := b.v.documentsLacking(b.db, b.uuid, ix)
		if lacking == nil {
			continue
		}
		if log := b.v.opts.Log; log != nil {
			lacking.Log = log.With("database", b.db.Name(), "design", b.design.id)
		}
		lacking.Index = func(ctx context.Context, id string) error { return b.again(ctx, ix.def, id) }
		if err := lacking.Try(ctx); err != nil {
			return err
		}
		b.v.tried.Add(indexKey{b.uuid, ix.def.signature}, struct{}{})
	}
	return nil
}

// again maps a document anew for one index, unless it has changed since the index was built, or the
// index is not built now: a build maps it then. The error is errMoved if the index has gone on
// meanwhile.
func (b *builder) again(ctx context.Context, def *definition, id string) error {
	program, err := b.v.program(b.db.Name(), []*definition{def})
	if err != nil {
		return err
	}
	p, one := &pass{builder: b, program: program, part: 1, again: true}, &batch{}
	if err := b.db.ViewAgain(ctx, func(s *storage.Snapshot) error { return p.readOne(s, one, def, id) }); err != nil {
		return err
	}
	if len(one.docs) == 0 {
		return nil
	}
	if err := one.run(ctx, program); err != nil {
		return err
	}
	if err := p.indexes[0].checkValues(one.docs, 0); err != nil {
		return err
	}
	_, err = p.commitPart(ctx, one, 0)
	return err
}

// readOne reads a document into a batch that leaves the index where it is.
func (p *pass) readOne(s *storage.Snapshot, b *batch, def *definition, id string) error {
	b.docs = nil
	ix, err := readIndex(s, spaceOf(s), def)
	if err != nil || ix == nil || ix.rec.pieces != 0 {
		return err
	}
	if b.purge, err = s.LastPurge(); err != nil {
		return err
	}
	doc, err := s.Open(id, docread.OpenOptions{LocalSeq: true, Conflicts: true, DeletedConflicts: true})
	if errors.Is(err, compat.KindNotFound) {
		return nil
	}
	if err != nil || !ix.rec.interactive && ix.rec.seq.Before(doc.Seq) {
		return err
	}
	p.indexes, b.end = []*index{ix}, ix.rec.seq
	p.take(b, &storage.Change{ID: id, Seq: storage.UpdateSeq{Seq: doc.Seq, N: doc.LocalSeq}, Doc: doc}, &arena{})
	return nil
}
