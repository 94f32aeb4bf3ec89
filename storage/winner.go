package storage

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// lastRead is a read of the entry of a document in TagDocs that sorts last: the winner's, unless the winner is
// a tombstone without a body. It is on its way.
type lastRead struct {
	prefix int // length of the part of the key that the document's entries share
	it     kv.Iterator
}

func (d *dbRead) askLast(id string) lastRead {
	prefix := d.keys.doc(make([]byte, 0, 64), TagDocs, id)
	begin, end := children(prefix)
	return lastRead{len(prefix), d.r.Range(begin, end, kv.RangeOptions{Reverse: true, Limit: 1})}
}

// read ends the read. found is false if the document has no entry. The entry is in the memory of the iterator.
func (l lastRead) read() (rev compat.Rev, deleted, found bool, e entry, err error) {
	if !l.it.Next() {
		return rev, false, false, e, l.it.Err()
	}
	if deleted, rev, _, err = parseLeafKey(l.it.Key()[l.prefix:]); err != nil {
		return rev, deleted, false, e, err
	}
	e, err = parseEntry(l.it.Value())
	return rev, deleted, true, e, err
}

// openWinner reads the current revision. The body of the result belongs to the caller.
func (d *dbRead) openWinner(id string, o OpenOptions) (*Document, error) {
	if o.needsTree() {
		leaves, err := d.heads(id)
		if err != nil {
			return nil, err
		}
		return d.openWinnerOf(id, leaves, o)
	}
	last := d.askLast(id)
	defer last.it.Close()
	rev, deleted, found, e, err := last.read()
	if err == nil {
		e, err = d.completed(!o.NoBody, e)
	}
	if err != nil {
		return nil, err
	}
	if found && !deleted {
		e.body = owned(e.body) // the iterator's memory ends with it
		return newDocument(id, rev, false, e), nil
	}
	leaves, err := d.heads(id)
	if err != nil {
		return nil, err
	}
	return d.openWinnerOf(id, leaves, o)
}

// needsTree reports whether the leaves have to be read.
func (o *OpenOptions) needsTree() bool {
	return o.Revs || o.RevsInfo || o.Conflicts || o.DeletedConflicts || o.LocalSeq
}

func (d *dbRead) openWinnerOf(id string, leaves []leafRecord, o OpenOptions) (*Document, error) {
	if len(leaves) == 0 {
		return nil, compat.ErrMissing
	}
	winner := &leaves[len(leaves)-1]
	if winner.Deleted && !o.Deleted {
		return nil, compat.ErrDeleted
	}
	doc, err := d.openLeaf(id, winner, o)
	if err != nil {
		return nil, err
	}
	if o.RevsInfo {
		if doc.RevsInfo, err = d.revsInfo(id, winner); err != nil {
			return nil, err
		}
	}
	doc.addConflicts(leaves, o.Conflicts, o.DeletedConflicts)
	if o.LocalSeq {
		if doc.LocalSeq, err = d.seqNumber(winner.seq); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// openLeaf reads a leaf.
func (d *dbRead) openLeaf(id string, l *leafRecord, o OpenOptions) (*Document, error) {
	e, err := d.leafEntry(id, l)
	if err == nil {
		e, err = d.completed(!o.NoBody, e)
	}
	if err != nil {
		return nil, err
	}
	e.body = owned(e.body)
	doc := newDocument(id, l.Rev, l.Deleted, e)
	if o.Revs {
		doc.Revs = d.visibleRevs(l, l.Rev)
	}
	return doc, nil
}

// leafEntry reads the entry of a leaf, but nothing that is apart.
func (d *dbRead) leafEntry(id string, l *leafRecord) (entry, error) {
	if !l.stored {
		return entry{body: emptyBody}, nil
	}
	value, err := d.r.Get(d.keys.leaf(nil, TagDocs, id, l.Deleted, l.Rev))
	if err != nil {
		return entry{}, err
	}
	if value == nil {
		return entry{}, corrupt("leaf without its entry", nil)
	}
	return parseEntry(value)
}

// visibleRevs is the line from rev to the root, cut to revs_limit as CouchDB does when it reads (couch_db:make_doc).
func (d *dbRead) visibleRevs(l *leafRecord, rev compat.Rev) compat.RevPath {
	path := l.PathTo(rev)
	if limit := d.rec.revsLimit; int64(len(path.IDs)) > limit {
		path.IDs = path.IDs[:limit]
	}
	return path
}

// newDocument makes a revision's document, with the body `{}` if that has not been read.
func newDocument(id string, rev compat.Rev, deleted bool, e entry) *Document {
	if e.body == nil {
		e.body = emptyBody
	}
	return &Document{ID: id, Rev: rev, Deleted: deleted, Body: e.body, Attachments: e.atts}
}

// revsInfo tells what is left of each revision of a leaf's line.
func (d *dbRead) revsInfo(id string, l *leafRecord) ([]RevInfo, error) {
	infos := make([]RevInfo, 1, 1+l.Ancestors.Len())
	infos[0] = RevInfo{Rev: l.Rev, Status: RevAvailable}
	if l.Deleted {
		infos[0].Status = RevDeleted
	}
	kept, err := d.historyStatus(id)
	if err != nil {
		return nil, err
	}
	for i, hash := range l.Ancestors.All() {
		rev := compat.Rev{Pos: l.Rev.Pos - 1 - int64(i), Hash: hash}
		infos = append(infos, RevInfo{Rev: rev, Status: kept[rev]})
	}
	return infos, nil
}

// historyStatus lists the replaced revisions whose bodies are stored.
func (d *dbRead) historyStatus(id string) (map[compat.Rev]RevStatus, error) {
	prefix := d.keys.doc(nil, TagHistory, id)
	begin, end := children(prefix)
	it := d.r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	kept := make(map[compat.Rev]RevStatus)
	for it.Next() {
		rev, _, err := ParseRevision(it.Key()[len(prefix):])
		if err != nil {
			return nil, err
		}
		e, err := parseEntry(it.Value())
		if err != nil {
			return nil, err
		}
		kept[rev] = RevAvailable
		if e.deleted {
			kept[rev] = RevDeleted
		}
	}
	return kept, it.Err()
}
