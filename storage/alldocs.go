package storage

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// AllDocs lists the documents whose winner is not deleted: it calls header once, then row for each row, in order of the ids'
// bytes. On a store that limits the age of snapshots a long list goes on in a newer one.
func (db *DB) AllDocs(ctx context.Context, o RangeOptions, header func(ListHeader) error, row func(*ListRow) error) error {
	o.clamp()
	started := false
	return db.viewOn(ctx, func(d *dbRead) error {
		if !started {
			h, err := d.listHeader(&o)
			if err != nil {
				return err
			}
			started = true
			if err := header(h); err != nil {
				return err
			}
		}
		if o.IncludeDocs {
			return d.listDocs(&o, row)
		}
		return d.listIDs(&o, row)
	})
}

// AllDocs is DB.AllDocs on this snapshot alone and without a header. In a transaction it conflicts with changes to what it read.
func (s *Snapshot) AllDocs(o RangeOptions, row func(*ListRow) error) error {
	o.clamp()
	if o.IncludeDocs {
		return s.d.listDocs(&o, row)
	}
	return s.d.listIDs(&o, row)
}

// listHeader counts the rows before the range with the rank index.
func (d *dbRead) listHeader(o *RangeOptions) (h ListHeader, err error) {
	prefix := d.keys.sub(nil, TagAllDocs)
	before := func(key []byte) (int64, error) {
		w, err := d.idRanks().Before(d.r, key[len(prefix):])
		return w.Rows, err
	}
	counts, err := d.stats(statDocCount)
	if err != nil {
		return h, err
	}
	h.Total = counts[0]
	if o.Namespace == NamespaceDesign {
		first, err := before(kv.AppendString(prefix[:len(prefix):len(prefix)], compat.DesignPrefix))
		if err != nil {
			return h, err
		}
		behind, err := before(kv.AppendString(prefix[:len(prefix):len(prefix)], designEnd))
		if err != nil {
			return h, err
		}
		h.Total = behind - first
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
	prefix := d.keys.sub(nil, TagAllDocs)
	begin, end := o.keys(prefix)
	it := d.r.Range(begin, end, kv.RangeOptions{Reverse: o.Descending, Limit: o.scanLimit()})
	defer it.Close()
	var r ListRow
	for o.Limit != 0 && it.Next() {
		id, _, err := kv.ReadString(it.Key()[len(prefix):])
		if err != nil {
			return corrupt("list of ids", err)
		}
		if !o.take(id) {
			continue
		}
		rev, err := parseWinner(it.Value())
		if err != nil {
			return err
		}
		r = ListRow{ID: id, Found: true, Rev: rev}
		if err := row(&r); err != nil {
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

// listDocs lists with documents, from TagDocs alone.
func (d *dbRead) listDocs(o *RangeOptions, row func(*ListRow) error) error {
	if o.Limit == 0 {
		return nil
	}
	s := d.scanWinners(o)
	defer s.it.Close()
	var r ListRow
	for o.Limit != 0 {
		doc, err := s.next()
		if err != nil || doc == nil {
			return err
		}
		if !o.take(doc.ID) {
			continue
		}
		if o.Conflicts {
			if err := d.addConflicts(doc); err != nil {
				return err
			}
		}
		r = ListRow{ID: doc.ID, Found: true, Rev: doc.Rev, Doc: doc}
		if err := row(&r); err != nil {
			return err
		}
	}
	return nil
}

// addConflicts fills in a winner's conflicts.
func (d *dbRead) addConflicts(doc *Document) error {
	leaves, err := d.leaves(doc.ID)
	if err != nil {
		return err
	}
	for i := len(leaves) - 2; i >= 0; i-- {
		if !leaves[i].Deleted {
			doc.Conflicts = append(doc.Conflicts, leaves[i].Rev)
		}
	}
	return nil
}

// DocsByID lists the documents with the given ids, in that order (backwards with Descending), double ones too. Unknown ones have
// a row with Found false, deleted ones the tombstone's revision; local documents are found as well. Ids outside o.Namespace
// have no row. Skip and Limit cut the list; Start and End are ignored. The header's Offset is 0.
func (db *DB) DocsByID(ctx context.Context, ids []string, o RangeOptions, header func(ListHeader) error, row func(*ListRow) error) error {
	ids = o.chosen(ids)
	started := false
	return db.viewOn(ctx, func(d *dbRead) error {
		if !started {
			h, err := d.listHeader(&RangeOptions{Namespace: o.Namespace, WithSeq: o.WithSeq})
			if err != nil {
				return err
			}
			started = true
			if err := header(h); err != nil {
				return err
			}
		}
		for len(ids) > 0 {
			n, err := d.rowsByID(ids[:min(len(ids), editWindow)], &o, row)
			ids = ids[n:]
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// chosen applies namespace, direction, skip and limit to a list of ids.
func (o *RangeOptions) chosen(ids []string) []string {
	if o.Namespace == NamespaceDesign {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !compat.IsDesignID(id) })
	}
	if o.Descending {
		ids = slices.Clone(ids)
		slices.Reverse(ids)
	}
	ids = ids[min(int64(len(ids)), o.Skip):]
	if o.Limit >= 0 {
		ids = ids[:min(int64(len(ids)), o.Limit)]
	}
	return ids
}

// rowsByID makes the rows of a few ids; done counts those that were shown.
func (d *dbRead) rowsByID(ids []string, o *RangeOptions, row func(*ListRow) error) (done int, err error) {
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		keys[i] = d.keys.allDocs(nil, id)
	}
	winners, err := d.r.GetMany(keys)
	if err != nil {
		return 0, err
	}
	for done < len(ids) {
		r, err := d.rowByID(ids[done], winners[done], o)
		if err != nil {
			return done, err
		}
		if err := row(&r); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// rowByID makes the row of an id; winner is its value in TagAllDocs.
func (d *dbRead) rowByID(id string, winner []byte, o *RangeOptions) (ListRow, error) {
	r := ListRow{ID: id}
	var err error
	switch {
	case compat.IsLocalID(id):
		doc, err := d.openLocal(id, OpenOptions{})
		if err == compat.ErrMissing {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		r.Found, r.Rev = true, doc.Rev
		if o.IncludeDocs {
			r.Doc = doc
		}
	case winner != nil:
		r.Found = true
		if r.Rev, err = parseWinner(winner); err == nil && o.IncludeDocs {
			r.Doc, err = d.openWinner(id, OpenOptions{Conflicts: o.Conflicts})
		}
	default:
		var leaves []leafRecord
		if leaves, err = d.leaves(id); len(leaves) > 0 {
			r.Found, r.Deleted, r.Rev = true, true, leaves[len(leaves)-1].Rev
		}
	}
	return r, err
}
