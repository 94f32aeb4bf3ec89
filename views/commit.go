package views

import (
	"bytes"
	"context"
	"errors"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// idWindow is how many documents' entries of IDS are read together.
const idWindow = 64

// commitPart writes the rows of b.docs[from:], or of the first of them if they do not fit one transaction, and returns where it
// ended. It fails with errMoved if the index is not what the pass took it for.
func (p *pass) commitPart(ctx context.Context, b *batch, from int) (to int, err error) {
	to, last := p.part(b, from)
	seq := b.end
	if !last {
		seq = b.docs[to-1].seq
	}
	written := make([][]byte, len(p.members))
	err = p.db.Transact(ctx, func(tx *storage.Tx) error {
		purged, err := p.fence(tx, b)
		if err != nil {
			return err
		}
		docs, err := p.current(tx, b.docs[from:to], purged)
		if err != nil {
			return err
		}
		for n, m := range p.members {
			w := indexWriter{tx: tx.KV(), m: m, n: n, limits: p.v.limits}
			if err := w.collect(docs); err != nil {
				return err
			}
			if written[n], err = p.finishMember(ctx, &w, seq, b.last && last); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrTooOld) && to-from > 1 {
		return p.shrink(ctx, b, from, to)
	}
	if err != nil {
		return from, err
	}
	for n, m := range p.members {
		m.stored = written[n]
		if m.rec, _, err = parseRecord(m.stored); err != nil { // it changed in its sequence only: m.above stays right
			return from, err
		}
	}
	return to, nil
}

// part chooses what a transaction takes of a batch; last tells that it is all.
func (p *pass) part(b *batch, from int) (to int, last bool) {
	budget := p.v.transactionBudget()
	for to = from; to < len(b.docs); to++ {
		if budget -= b.docs[to].size(); budget < 0 && to > from {
			return to, false
		}
	}
	return to, true
}

// shrink goes on after a transaction that was too large or took too long: with less, down to one document, which is given up at last.
func (p *pass) shrink(ctx context.Context, b *batch, from, to int) (int, error) {
	if to-from > 1 {
		whole := b.docs
		half := *b
		half.docs, half.last = whole[:from+(to-from)/2], false
		half.end = half.docs[len(half.docs)-1].seq
		return p.commitPart(ctx, &half, from)
	}
	if to == from || b.docs[from].size() <= 1000 {
		return from, kv.ErrTooLarge
	}
	b.docs[from].fail("the rows are too large for one transaction", p.program.defs)
	return p.commitPart(ctx, b, from)
}

// fence checks, with conflicts, that nobody else changed the indexes, and tells whether documents were purged since the batch was read.
func (p *pass) fence(tx *storage.Tx, b *batch) (purged bool, err error) {
	if err := p.check(tx.KV()); err != nil {
		return false, err
	}
	purge, err := tx.Snapshot().LastPurge()
	if err != nil {
		return false, err
	}
	keys := make([][]byte, len(p.members))
	for n, m := range p.members {
		keys[n] = m.keys.space.info(m.def.signature)
	}
	values, err := tx.KV().GetMany(keys)
	if err != nil {
		return false, err
	}
	for n, m := range p.members {
		if !bytes.Equal(values[n], m.stored) {
			return false, errMoved
		}
	}
	return purge != b.purge, nil
}

// current leaves out the documents that were changed or purged since they were read, where that matters: if the documents' own
// transactions keep the index they have written what the documents are now, and what was purged must not come back. Any change
// counts, not only one of the winner: map functions see conflicts.
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

// finishMember writes what collect found for one index and its new record, which it returns.
func (p *pass) finishMember(ctx context.Context, w *indexWriter, seq storage.Seq, end bool) ([]byte, error) {
	m := w.m
	if err := p.v.applyRows(ctx, w); err != nil {
		return nil, err
	}
	rec := m.rec
	if seqLess(rec.seq, seq) {
		rec.seq = seq
	}
	rec.ready = rec.ready || rec.interactive && end
	if len(w.changes) > 0 {
		w.tx.Set(m.keys.changed, appendSeq(nil, rec.seq))
	}
	value := rec.encode()
	w.tx.Set(m.keys.space.info(m.def.signature), value)
	return value, nil
}
