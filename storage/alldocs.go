package storage

import (
	"context"
	"iter"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// AllDocs lists the documents whose winner is not deleted: it calls header once, then row for each
// row, in order of the ids' bytes. On a store that limits the age of snapshots a long list goes on
// in a newer one. Without a header, which may be nil, nothing is counted.
func (db *DB) AllDocs(
	ctx context.Context,
	o RangeOptions,
	header func(ListHeader) error,
	row func(*ListRow) error,
) error {
	o.clamp()
	started := false
	return db.view(kv.WithPrefetch(ctx, "ids"), func(d *dbRead) error {
		if o.Snapshots != nil {
			*o.Snapshots++
		}
		if !started && header != nil {
			h, err := d.listHeader(&o)
			if err != nil {
				return err
			}
			started = true
			if err := header(h); err != nil {
				return err
			}
			if err := d.skipRows(&o, &h); err != nil {
				return err
			}
		}
		if d.Who != nil {
			return d.listSlice(&o, row)
		}
		if o.IncludeDocs {
			return d.listDocs(&o, row)
		}
		return d.listIDs(&o, row)
	})
}

// skipRows moves the range past rows to be skipped by their rank, where they are so many that
// reading them would take longer.
func (d *dbRead) skipRows(o *RangeOptions, h *ListHeader) error {
	if o.Skip < d.Sizes.Skipped || o.Namespace != NamespaceAll || d.Who != nil {
		return nil
	}
	row := h.Offset
	if o.Descending {
		row = h.Total - 1 - h.Offset
	}
	id, found, err := d.IDAt(row)
	if err != nil {
		return err
	}
	if !found {
		o.Limit = 0
	}
	o.Start, o.Skip = Bound{ID: id, Set: true}, 0
	return nil
}

// AllDocs is DB.AllDocs on this snapshot alone and without a header. In a transaction it conflicts
// with changes to what it read.
func (s *Snapshot) AllDocs(o RangeOptions, row func(*ListRow) error) error {
	o.clamp()
	if o.IncludeDocs {
		return s.d.listDocs(&o, row)
	}
	return s.d.listIDs(&o, row)
}

// listHeader counts the rows before the range with the rank index.
func (d *dbRead) listHeader(o *RangeOptions) (h ListHeader, err error) {
	if d.Who != nil {
		return d.sliceHeader(o)
	}
	prefix := d.Keys.Sub(nil, keyspace.TagAllDocs)
	before := func(key []byte) (int64, error) {
		return d.IDsBefore(key[len(prefix):])
	}
	stats := d.Stats
	if o.Start.Set || o.Namespace == NamespaceDesign {
		stats = d.StatsBeside
	}
	counts, err := stats(keyspace.DocCount)
	if err != nil {
		return h, err
	}
	h.Total = counts[0]
	if o.Namespace == NamespaceDesign {
		first, err := before(tuple.AppendString(prefix[:len(prefix):len(prefix)], compat.DesignPrefix))
		if err != nil {
			return h, err
		}
		throughDesigns, err := before(tuple.AppendString(prefix[:len(prefix):len(prefix)], designEnd))
		if err != nil {
			return h, err
		}
		h.Total = throughDesigns - first
	}
	if o.Start.Set { // the offset counts the rows of the whole database, whatever the namespace
		begin, end := o.keys(prefix)
		if o.Descending {
			begin = end
		}
		if h.Offset, err = before(begin); err != nil {
			return h, err
		}
		if o.Descending {
			h.Offset = counts[0] - h.Offset
		}
	}
	h.Offset = min(h.Offset+o.Skip, h.Total)
	if o.WithSeq {
		h.UpdateSeq, err = d.updateSeq()
	}
	return h, err
}

// listIDs lists without documents, from TagAllDocs.
func (d *dbRead) listIDs(o *RangeOptions, row func(*ListRow) error) error {
	if o.Limit == 0 {
		return nil
	}
	prefix := d.Keys.Sub(nil, keyspace.TagAllDocs)
	begin, end := o.keys(prefix)
	it := d.R.Range(begin, end, kv.RangeOptions{Reverse: o.Descending, Limit: o.scanLimit()})
	defer it.Close()
	var r ListRow
	for o.Limit != 0 && it.Next() {
		id, _, err := tuple.ReadString(it.Key()[len(prefix):])
		if err != nil {
			return keyspace.Corrupt("list of ids", err)
		}
		rev, err := formats.ParseWinner(it.Value())
		if err != nil {
			return err
		}
		r = ListRow{ID: id, Found: true, Rev: rev}
		if err := d.giveRow(o, &r, row); err != nil {
			return err
		}
	}
	return it.Err()
}

// scanLimit is the limit of a range read in which every key is a row.
func (o *RangeOptions) scanLimit() int {
	if o.Limit < 0 || o.Limit+o.Skip > 1<<30 {
		return 0
	}
	return int(o.Limit + o.Skip)
}

// listDocs lists with documents, in one pass over their leaves.
func (d *dbRead) listDocs(o *RangeOptions, row func(*ListRow) error) error {
	if o.Limit == 0 {
		return nil
	}
	s := d.scanWinners(o)
	defer s.close()
	var r ListRow
	for o.Limit != 0 {
		doc, err := s.next()
		if err != nil || doc == nil {
			return err
		}
		r = ListRow{ID: doc.ID, Found: true, Rev: doc.Rev, Doc: doc}
		if err := d.giveRow(o, &r, row); err != nil {
			return err
		}
	}
	return nil
}

// giveRow skips a row or gives it, and moves the range past it: only then, so that a list that
// failed at a row goes on with it in another snapshot.
func (d *dbRead) giveRow(o *RangeOptions, r *ListRow, row func(*ListRow) error) error {
	if o.Skip == 0 {
		if err := row(r); err != nil {
			return err
		}
	}
	o.took(r.ID)
	d.Advance()
	return nil
}

// DocsByID lists the documents with the given ids, in that order, double ones too. Ids are taken as
// they are needed, so that a million of them need no memory here. Unknown ones have a row with
// Found false, deleted ones the tombstone's revision; local documents are found as well. Of o only
// IncludeDocs, Conflicts, Members and what the header, which may be nil, is about count. The header's
// Offset is 0.
func (db *DB) DocsByID(ctx context.Context, ids iter.Seq[string], o RangeOptions, header func(ListHeader) error,
	row func(*ListRow) error) error {
	next, stop := iter.Pull(ids)
	defer stop()
	l := idList{o: o, next: next, row: row}
	started := false
	return db.view(kv.WithPrefetch(ctx, "keys"), func(d *dbRead) error {
		if !started && header != nil {
			h, err := d.listHeader(&RangeOptions{Namespace: o.Namespace, WithSeq: o.WithSeq})
			if err != nil {
				return err
			}
			started = true
			if err := header(h); err != nil {
				return err
			}
		}
		return l.give(d)
	})
}

// idList is a list of documents by their ids, in the order of those.
type idList struct {
	o        RangeOptions
	next     func() (string, bool)
	ids      []string // ids that were taken and have no row yet
	row      func(*ListRow) error
	prefetch docread.Window
	room     docread.BodyRoom
}

// give gives the remaining rows, window by window.
func (l *idList) give(d *dbRead) error {
	l.prefetch.Begin(d.Wide(docread.MostWide))
	for {
		if l.ids = docread.TakeMore(l.ids, l.next, l.prefetch.Size()); len(l.ids) == 0 {
			return nil
		}
		size, err := l.giveSome(d, l.ids[:l.window()])
		if err != nil {
			return err
		}
		l.prefetch.Took(size)
	}
}

// window is how many of the ids have their rows together. Local documents are read with their
// bodies, so that they are no part of what makes a window wide.
func (l *idList) window() int {
	n := min(len(l.ids), l.prefetch.Size())
	if n <= l.prefetch.Rows {
		return n
	}
	if local := slices.IndexFunc(l.ids[l.prefetch.Rows:n], compat.IsLocalID); local >= 0 {
		return l.prefetch.Rows + local
	}
	return n
}

// giveSome gives the rows of a window, or the first of them, and tells the bytes of its documents.
func (l *idList) giveSome(d *dbRead, ids []string) (size int, err error) {
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		switch {
		case compat.IsLocalID(id):
			keys[i] = d.LocalKey(d.Keys, id)
		case d.Who == nil:
			keys[i] = d.Keys.AllDocs(nil, id)
		}
	}
	values, err := d.GetPresent(keys)
	if err != nil {
		return 0, err
	}
	rows := make([]ListRow, len(ids))
	trees := make([]string, len(ids)) // ids of documents whose leaves are needed
	reads := make([]docread.EntryRead, len(ids))
	for i, id := range ids {
		rows[i] = ListRow{ID: id}
		switch {
		case compat.IsLocalID(id):
			if values[i] != nil {
				err = d.localRow(&rows[i], values[i], false)
			}
		case values[i] == nil: // unknown or deleted, or one of a slice
			trees[i] = id
		default:
			rows[i].Found = true
			var size int
			if rows[i].Rev, size, err = formats.ParseListed(values[i]); err == nil && l.o.IncludeDocs {
				reads[i], _ = d.WinnerRead(nil, id, false, rows[i].Rev, size)
				reads[i].Members = l.o.Members
				if l.o.Conflicts {
					trees[i] = id
				}
			}
		}
		if err != nil {
			return 0, err
		}
	}
	leaves, err := d.LeavesEach(trees, true)
	if err != nil {
		return 0, err
	}
	l.prefetch.Reached(len(leaves), len(ids))
	for i := range leaves {
		if d.Who != nil && trees[i] != "" {
			reads[i] = l.sliceRow(d, &rows[i], leaves[i])
		}
	}
	err = d.ReadEntries(&l.room, reads[:len(leaves)], func(i int, e *formats.Entry, found bool) error {
		r := &rows[i]
		switch {
		case found:
			size += int(e.Size)
			r.Doc = docread.NewDocument(r.ID, r.Rev, false, *e)
			r.Doc.AddConflicts(leaves[i], l.o.Conflicts, false)
		case reads[i].Key != nil:
			return keyspace.Corrupt("winner without its entry", nil)
		case r.Found && l.o.IncludeDocs && values[i] != nil: // a local one
			if err := d.localRow(r, values[i], true); err != nil {
				return err
			}
			size += len(r.Doc.Body)
		case !r.Found && len(leaves[i]) > 0:
			r.Found, r.Deleted, r.Rev = true, true, leaves[i][len(leaves[i])-1].Rev
		}
		if err := l.row(r); err != nil {
			return err
		}
		r.Doc = nil // the next ones need the memory
		l.ids = l.ids[1:]
		d.Advance()
		return nil
	})
	return size, err
}

// splitBoundaries is how many boundaries of the lowest level SplitIDs passes for each id that it
// gives.
const splitBoundaries = 8

// SplitIDs gives ids in a range, at most so many, in its order, that cut it into parts of about a
// thousand documents each; after the last one there may be more than that. Not all of them need be
// of documents that are there now.
func (db *DB) SplitIDs(ctx context.Context, o RangeOptions, most int) (ids []string, err error) {
	o.clamp()
	err = db.view(ctx, func(d *dbRead) error {
		if ids = ids[:0]; d.Who != nil { // what others have would be told
			return nil
		}
		level := d.Keys.Rank(nil, keyspace.TagRankIDs, 1)
		begin, end := o.keys(level)
		it := d.R.Range(begin, end, kv.RangeOptions{Reverse: o.Descending, Limit: most * splitBoundaries})
		defer it.Close()
		for n := 1; it.Next(); n++ {
			key := it.Key()[len(level):]
			if n%splitBoundaries != 0 || len(key) == 0 { // the empty boundary is before all ids
				continue
			}
			id, _, err := tuple.ReadString(key)
			if err != nil {
				return keyspace.Corrupt("boundary of ids", err)
			}
			ids = append(ids, id)
		}
		return it.Err()
	})
	return ids, err
}
