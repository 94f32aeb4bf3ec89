package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Locals are the local documents of a database, which have no revisions and are in no feed. They are
// read with DB.Open and written with DB.Update, as others are.
type Locals struct{ db *DB }

// Locals gives the local documents.
func (db *DB) Locals() Locals { return Locals{db} }

// update stores the local documents of a request, in one transaction where they fit. As with
// other documents, one that does not fit any is refused alone.
func (l Locals) update(ctx context.Context, locals []int, docs []*compat.Document, results []EditResult) error {
	full := false // the store is full, and there are only deletions
	writes := func(i int) bool { return !docs[i].Deleted }
	for limit := len(locals); len(locals) > 0; {
		done, runs := 0, 0
		n := min(limit, len(locals))
		ctx := ctx
		if full {
			ctx = kv.UseReserve(ctx)
		}
		err := l.db.update(ctx, func(t *dbTx) error {
			// The store runs the function again after a conflict: each time with half as many
			// documents, which conflict less.
			part := locals[:max(1, n>>runs)]
			runs++
			for done = 0; done < len(part); done++ {
				// Half the limit, since what one more document adds is known only after it is
				// written.
				if limit := l.db.store.limits.TransactionSize; done > 0 && limit > 0 && t.tx.Size() > limit/2 {
					break
				}
				results[part[done]] = t.putLocal(docs[part[done]])
			}
			return nil
		})
		switch {
		case err != nil && outgrown(err) && n > 1:
			limit = n / 2
			continue
		case err != nil && outgrown(err):
			// It is alone and too large: it is refused by itself, and the others go on.
			doc := docs[locals[0]]
			refusal := tooLarge(doc.ID, err)
			if refusal == nil {
				return err
			}
			results[locals[0]] = refused(doc, refusal)
			locals, limit = locals[1:], len(locals)
			continue
		case errors.Is(err, kv.ErrFull) && !full && !slices.ContainsFunc(locals, writes):
			full = true
			continue
		case err != nil:
			return err
		}
		// The window grows again slowly, so that one conflict does not keep it small.
		locals, limit = locals[done:], max(limit, n+n/4+1)
	}
	return nil
}

// Edit replaces a local document by what edit makes of it in one transaction: of nil where there
// is none, and again where others were faster. Where edit returns nil nothing is written.
func (l Locals) Edit(
	ctx context.Context,
	id string,
	edit func(old *docread.Document) (*compat.Document, error),
) (result EditResult, err error) {
	err = l.db.update(ctx, func(t *dbTx) error {
		old, err := t.OpenDoc(id, docread.OpenOptions{})
		if err == nil || errors.Is(err, compat.ErrMissing) {
			var doc *compat.Document
			if doc, err = edit(old); err == nil && doc != nil {
				result = t.putLocal(doc)
			}
		}
		return err
	})
	if outgrown(err) && tooLarge(id, err) != nil {
		err = tooLarge(id, err)
	}
	return result, err
}

// putLocal writes or removes a local document without reading it: there is no history to keep, and
// the new revision follows from the one that was sent. Chunks of a longer body before it are
// cleared first.
func (t *dbTx) putLocal(doc *compat.Document) EditResult {
	rev, refusal := doc.NewLocalRev()
	if refusal != nil {
		return refused(doc, refusal)
	}
	if t.User != nil && *t.User == "" {
		return refused(doc, errWhole)
	}
	key := t.LocalKey(t.Keys, doc.ID)
	t.tx.ClearRange(keyspace.Children(key))
	if doc.Deleted {
		return EditResult{ID: doc.ID, Rev: rev}
	}
	value := packed.AppendText([]byte{formats.LocalInline}, rev.Hash)
	body := doc.Body.JSON
	if len(body) == 0 {
		body = formats.EmptyBody
	}
	if len(value)+len(body) <= keyspace.MaxValue {
		t.tx.Set(key, append(value, body...))
		return EditResult{ID: doc.ID, Rev: rev}
	}
	value[0] = formats.LocalChunked
	t.tx.Set(key, binary.AppendUvarint(value, uint64(len(body))))
	t.putChunks(key, body)
	return EditResult{ID: doc.ID, Rev: rev}
}

// localRow fills in the row of a local document.
func (d *dbRead) localRow(r *ListRow, value []byte, withDoc bool) (err error) {
	r.Found = true
	if !withDoc {
		r.Rev, _, _, _, err = formats.ParseLocal(value)
		return err
	}
	if r.Doc, err = d.Local(r.ID, value); err == nil {
		r.Rev = r.Doc.Rev
	}
	return err
}

// List calls row for the local documents in the range, without a header: nobody counts them.
func (l Locals) List(ctx context.Context, o RangeOptions, row func(*ListRow) error) error {
	return l.db.view(ctx, func(d *dbRead) error {
		s := localScan{reverse: o.Descending, prefix: len(d.LocalKey(d.Keys, ""))}
		begin, end := o.keys(d.LocalKey(d.Keys, ""))
		s.it = d.R.Range(begin, end, kv.RangeOptions{Reverse: o.Descending})
		defer s.it.Close()
		var r ListRow
		for o.Limit != 0 {
			doc, err := s.next(o.IncludeDocs)
			if err != nil || doc == nil {
				return err
			}
			r = ListRow{ID: doc.ID, Found: true, Rev: doc.Rev}
			if o.IncludeDocs {
				r.Doc = doc
			}
			if err := d.giveRow(&o, &r, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// localScan reads local documents from one range; chunks of a large one are next to its own value.
type localScan struct {
	it      kv.Iterator
	prefix  int
	reverse bool
	pushed  bool // the iterator's current row has not been looked at
	chunks  []byte
	parts   [][]byte // of a descending scan: the chunks seen, whose own value comes next
}

// next gives the next local document, nil at the end. It is valid until the next call.
func (s *localScan) next(withBody bool) (*docread.Document, error) {
	s.parts = s.parts[:0]
	for s.pushed || s.it.Next() {
		s.pushed = false
		id, chunk, err := tuple.ReadString(s.it.Key()[s.prefix:])
		if err != nil {
			return nil, keyspace.Corrupt("local document's key", err)
		}
		if len(chunk) > 0 {
			if withBody && s.reverse {
				s.parts = append(s.parts, bytes.Clone(s.it.Value()))
			}
			continue
		}
		rev, body, chunked, length, err := formats.ParseLocal(s.it.Value())
		if err != nil {
			return nil, err
		}
		doc := &docread.Document{ID: id, Rev: rev, Body: body}
		if chunked && withBody {
			doc.Body, err = s.joined(id, length)
		}
		return doc, err
	}
	return nil, s.it.Err()
}

// joined puts the chunks of a body together.
func (s *localScan) joined(id string, length int) ([]byte, error) {
	s.chunks = s.chunks[:0]
	if s.reverse {
		for i := len(s.parts) - 1; i >= 0; i-- {
			s.chunks = append(s.chunks, s.parts[i]...)
		}
	}
	for !s.reverse && len(s.chunks) < length && s.it.Next() {
		own, chunk, err := tuple.ReadString(s.it.Key()[s.prefix:])
		if err != nil {
			return nil, keyspace.Corrupt("local document's key", err)
		}
		if s.pushed = own != id || len(chunk) == 0; s.pushed {
			break
		}
		s.chunks = append(s.chunks, s.it.Value()...)
	}
	if err := s.it.Err(); err != nil {
		return nil, err
	}
	if len(s.chunks) != length {
		return nil, keyspace.Corrupt("chunks", nil)
	}
	return s.chunks, nil
}
