package views

import (
	"bytes"
	"context"
	"errors"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/large"
)

// idWindow is how many documents' entries of IDS are read together.
const idWindow = 1000

// errCrowded ends a transaction that others come in between again and again.
var errCrowded = errors.New("views: too many conflicts")

// commitPart writes the rows of b.docs[from:], or of as many of them as one transaction takes, and
// returns where it ended. It fails with errMoved if the index is not what the pass took it for.
func (p *pass) commitPart(ctx context.Context, b *batch, from int) (to int, err error) {
	leaveStale := false
	for {
		var last bool
		to, last = p.partOf(b, from)
		seq := b.end
		if !last {
			seq = b.docs[to-1].seq
		}
		var written writtenPart
		written, err = p.tryPart(ctx, b, from, to, seq, b.last && last, leaveStale)
		switch size := to - from; {
		case err == nil:
			p.note(written)
			if p.design.interactive { // nobody else may write now and fold it
				err = p.v.Fold(ctx, p.db)
			}
			return to, err
		case size > 1 && (errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrTooOld) || errors.Is(err, errCrowded)):
			p.part = size / 2
		case size == 1 && !leaveStale && (errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrTooOld)):
			leaveStale = true // what is above the row may be too much, or a slow function
		case errors.Is(err, kv.ErrTooLarge) && size == 1 && b.docs[from].size() > 1000:
			b.docs[from].fail("the rows are too large for one transaction", p.program.defs)
		default:
			return from, err
		}
	}
}

// tryPart is one attempt of commitPart.
func (p *pass) tryPart(
	ctx context.Context, b *batch, from, to int, seq storage.Seq, end, leaveStale bool,
) (written writtenPart, err error) {
	written.records = make([]writtenRecord, len(p.indexes))
	runs := 0
	err = p.db.Transact(ctx, func(tx *storage.Tx) error {
		if runs++; runs > commitRuns && to-from > 1 {
			return errCrowded
		}
		purged, err := p.fence(tx, b)
		if err != nil {
			return err
		}
		docs, err := p.current(tx, b.docs[from:to], purged)
		if err != nil {
			return err
		}
		for n, ix := range p.indexes {
			w := indexWriter{tx: tx.KV(), order: tx.NextOrder, ix: ix, n: n, limits: p.v.limits, leaveStale: leaveStale,
				again: p.again}
			if err := w.collect(docs); err != nil {
				return err
			}
			if written.records[n], err = p.finishIndex(ctx, &w, seq, end); err != nil {
				return err
			}
		}
		if p.piece != nil {
			written.piece = p.piece.moved(seq, to-from)
			tx.KV().Set(written.piece.key, written.piece.stored)
		}
		return nil
	})
	return written, err
}

// note takes over what a transaction wrote. Records changed in their sequence only: m.above stays
// right.
func (p *pass) note(written writtenPart) {
	replaced := int64(0)
	for n, ix := range p.indexes {
		replaced += written.records[n].replaced + int64(len(ix.stored))
		ix.stored, ix.rec = written.records[n].stored, written.records[n].rec
	}
	p.piece = written.piece
	p.v.flights.addReplaced(flightKey{p.uuid, p.design.signature}, replaced)
}

// writtenPart is what a transaction of a pass has moved on.
type writtenPart struct {
	records []writtenRecord // by index
	piece   *piece          // of a pass over one
}

// writtenRecord is a record with what its key has.
type writtenRecord struct {
	rec      indexRecord
	stored   []byte
	replaced int64 // see indexWriter
}

// readSize is about what the read of a document's rows in one index takes in a transaction, if
// there are none, too.
const readSize = 150

// partOf chooses what a transaction takes of a batch; last tells that it is all.
func (p *pass) partOf(b *batch, from int) (to int, last bool) {
	budget := p.v.opts.transactionBudget()
	for to = from; to < len(b.docs); to++ {
		budget -= b.docs[to].size() + readSize*len(p.indexes)
		if to > from && (budget < 0 || to-from >= p.part) {
			return to, false
		}
	}
	return to, true
}

// fence checks, with conflicts, that nobody else changed the indexes, or came further with the
// piece, and reports whether documents were purged since the batch was read.
func (p *pass) fence(tx *storage.Tx, b *batch) (purged bool, err error) {
	if err := p.check(tx.KV()); err != nil {
		return false, err
	}
	keys, expected := make([][]byte, len(p.indexes)), make([][]byte, len(p.indexes))
	for n, ix := range p.indexes {
		keys[n], expected[n] = ix.keys.space.info(ix.def.signature), ix.stored
	}
	if p.piece != nil {
		keys, expected = append(keys, p.piece.key), append(expected, p.piece.stored)
	}
	purge, values, err := tx.Snapshot().LastPurgeWith(keys...)
	if err != nil {
		return false, err
	}
	for n, value := range values {
		if !bytes.Equal(value, expected[n]) {
			return false, errMoved
		}
	}
	return purge != b.purge, nil
}

// current leaves out the documents that were changed or purged since they were read, where that
// matters: if the documents' own transactions keep the index they have written what the documents
// are now, and what was purged must not come back. Any change counts, not only one of the winner:
// map functions see conflicts.
func (p *pass) current(tx *storage.Tx, docs []source, purged bool) ([]source, error) {
	if !p.design.interactive && !purged || len(docs) == 0 {
		return docs, nil
	}
	seqs := make([]storage.Seq, len(docs))
	for i := range docs {
		seqs[i] = docs[i].seq
	}
	unchanged, err := tx.Snapshot().InFeed(seqs)
	if err != nil {
		return nil, err
	}
	current := make([]source, 0, len(docs))
	for i := range docs {
		if unchanged[i] && (docs[i].mapped || !p.design.interactive) {
			current = append(current, docs[i])
		}
	}
	return current, nil
}

// finishIndex writes what collect found for one index and its new record, which it returns. While
// there are pieces the record stays as it is.
func (p *pass) finishIndex(
	ctx context.Context, w *indexWriter, seq storage.Seq, end bool,
) (written writtenRecord, err error) {
	ix := w.ix
	if err := p.v.aggregates.apply(ctx, w); err != nil {
		return written, err
	}
	if p.piece != nil {
		return writtenRecord{ix.rec, ix.stored, w.replaced}, nil
	}
	rec := ix.rec
	if rec.seq.Before(seq) {
		rec.seq = seq
	}
	rec.ready = rec.ready || rec.interactive && end
	if w.again { // rows change where the sequence does not
		rec.claims++
	}
	if len(w.changes) > 0 {
		w.tx.Set(ix.keys.changed, keyspace.AppendSeq(nil, rec.seq))
	}
	stored := large.Put(w.tx, ix.keys.space.info(ix.def.signature), ix.stored, rec.encode())
	return writtenRecord{rec, stored, w.replaced}, nil
}
