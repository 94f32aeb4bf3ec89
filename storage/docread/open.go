package docread

import (
	"bytes"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
)

// OpenDoc reads one revision. With a revision asked for it is open_revs of one: of several leaves
// that descend from it (Latest) the one that wins among them is returned, and the body is copied,
// as the results of revisions are valid only during the callback.
func (d *Reader) OpenDoc(id string, o OpenOptions) (*Document, error) {
	if compat.IsLocalID(id) {
		return d.openLocal(id, o)
	}
	if o.Rev.IsZero() {
		return d.OpenWinner(id, o)
	}
	var best *Document
	r := Revisions{
		next: OneRequest(id, OpenRevsOptions{Revs: []compat.Rev{o.Rev}, Latest: o.Latest, Open: o}),
		fn: func(_ int, revs []RevResult, _ bool) error {
			for i := range revs {
				if doc := revs[i].Doc; doc != nil && (best == nil || best.losesTo(doc)) {
					doc.Body = Owned(doc.Body)
					best = doc
				}
			}
			return nil
		},
	}
	if err := r.Run(d); err != nil {
		return nil, err
	}
	if best == nil {
		return nil, compat.ErrMissing
	}
	return best, nil
}

// losesTo reports whether another leaf of the same document comes before this one in the order of
// winners.
func (doc *Document) losesTo(other *Document) bool {
	if doc.Deleted != other.Deleted {
		return doc.Deleted
	}
	return doc.Rev.Compare(other.Rev) < 0
}

// openLocal reads a local document; local documents are never found by a revision.
func (d *Reader) openLocal(id string, o OpenOptions) (*Document, error) {
	value, err := d.R.Get(d.LocalKey(d.Keys, id))
	if err != nil {
		return nil, err
	}
	if value == nil || !o.Rev.IsZero() {
		return nil, compat.ErrMissing
	}
	return d.Local(id, value)
}

// Local completes a local document whose own value is at hand. The body is in memory of its own.
func (d *Reader) Local(id string, value []byte) (*Document, error) {
	rev, body, chunked, length, err := formats.ParseLocal(value)
	if err != nil {
		return nil, err
	}
	if !chunked {
		return &Document{ID: id, Rev: rev, Body: bytes.Clone(body)}, nil
	}
	if d.Memory != nil {
		if err := d.Memory.Hold(d.Ctx, length); err != nil {
			return nil, err
		}
	}
	body, err = d.readChunks(d.LocalKey(d.Keys, id), length)
	return &Document{ID: id, Rev: rev, Body: body}, err
}

// OpenWinners reads the winners of documents that are whole in their entries, and calls fn with
// each of them, in no order, with compat.ErrMissing or compat.ErrDeleted for those without a
// winner. It does not call fn for documents with parts under keys of their own. Entries that are
// not in the records of the leaves are read together.
func (d *Reader) OpenWinners(ids []string, fn func(i int, doc *Document, err error)) error {
	asked := make([]lastRead, len(ids))
	for i, id := range ids {
		asked[i] = d.askLast(id)
		defer asked[i].it.Close()
	}
	reads := make([]EntryRead, len(ids))
	revs := make([]compat.Rev, len(ids))
	for i, id := range ids {
		switch l, err := asked[i].read(false); {
		case errors.Is(err, compat.ErrMissing) || errors.Is(err, compat.ErrDeleted):
			fn(i, nil, err)
		case err == nil:
			reads[i], revs[i] = d.LeafRead(id, &l), l.Rev
		case err != errLongRecord:
			return err
		}
	}
	values, err := d.EntryValues(reads)
	if err != nil {
		return err
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		e, err := formats.ParseEntry(value)
		if err != nil {
			return err
		}
		if e.Whole() {
			e.Body = Owned(e.Body)
			fn(i, NewDocument(ids[i], revs[i], false, e), nil)
		}
	}
	return nil
}
