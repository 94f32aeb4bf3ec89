package storage

import (
	"cmp"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// lastRead is a read of the record of a document's winner, which sorts last. It is on its way.
type lastRead struct {
	prefix int // length of the part of the key that the document's leaves share
	it     kv.Iterator
}

func (d *dbRead) askLast(id string) lastRead {
	prefix := d.Keys.Doc(make([]byte, 0, 64), keyspace.TagRevs, id)
	begin, end := keyspace.Children(prefix)
	return lastRead{len(prefix), d.R.Range(begin, end, kv.RangeOptions{Reverse: true, Limit: 1})}
}

// read ends the read: the winner without its line, in the memory of the iterator. It is
// compat.ErrMissing or compat.ErrDeleted where there is no winner, or it is a tombstone that is not
// wanted, and errLongRecord if the last row is not the winner's own.
func (l lastRead) read(deleted bool) (winner formats.Leaf, err error) {
	if !l.it.Next() {
		return winner, cmp.Or(l.it.Err(), error(compat.ErrMissing))
	}
	suffix := l.it.Key()[l.prefix:]
	if _, _, chunk, err := keyspace.ParseLeafKey(suffix); err == nil && len(chunk) > 0 {
		return winner, errLongRecord
	}
	if winner, _, err = formats.ParseLeafHead(suffix, l.it.Value()); err == nil && winner.Deleted && !deleted {
		err = compat.ErrDeleted
	}
	return winner, err
}

// errLongRecord: a record goes on in further rows, which come after it.
var errLongRecord = errors.New("storage: a leaf's record has several rows")

// openWinner reads the current revision. The body of the result belongs to the caller.
func (d *dbRead) openWinner(id string, o OpenOptions) (*Document, error) {
	if !o.needsTree() {
		last := d.askLast(id)
		defer last.it.Close()
		winner, err := last.read(o.Deleted)
		if err == nil {
			return d.openLeaf(id, &winner, o)
		}
		if err != errLongRecord {
			return nil, err
		}
	}
	leaves, err := d.Heads(id)
	if err != nil {
		return nil, err
	}
	return d.openWinnerOf(id, leaves, o)
}

// needsTree reports whether the leaves have to be read.
func (o *OpenOptions) needsTree() bool {
	return o.Revs || o.RevsInfo || o.Conflicts || o.DeletedConflicts || o.LocalSeq
}

// openWinnerOf makes the winner's document when all leaves have been read, with what the options
// ask about the others.
func (d *dbRead) openWinnerOf(id string, leaves []formats.Leaf, o OpenOptions) (*Document, error) {
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
		if doc.LocalSeq, err = d.SeqNumber(winner.Seq); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// openLeaf reads a leaf.
func (d *dbRead) openLeaf(id string, l *formats.Leaf, o OpenOptions) (*Document, error) {
	e, err := d.leafEntry(id, l)
	if err == nil {
		e, err = d.Completed(!o.NoBody, e)
	}
	if err != nil {
		return nil, err
	}
	e.Body = docread.Owned(e.Body)
	doc := newDocument(id, l.Rev, l.Deleted, e)
	if o.Revs {
		doc.Revs = d.visibleRevs(l, l.Rev)
	}
	return doc, nil
}

// leafEntry reads the entry of a leaf, but nothing that is apart.
func (d *dbRead) leafEntry(id string, l *formats.Leaf) (formats.Entry, error) {
	switch {
	case !l.Stored:
		return formats.Entry{Body: formats.EmptyBody}, nil
	case l.Entry != nil:
		return formats.ParseEntry(l.Entry)
	}
	value, err := d.R.Get(d.Keys.Leaf(nil, keyspace.TagDocs, id, l.Deleted, l.Rev))
	if err != nil {
		return formats.Entry{}, err
	}
	if value == nil {
		return formats.Entry{}, keyspace.Corrupt("leaf without its entry", nil)
	}
	return formats.ParseEntry(value)
}

// visibleRevs is the line from rev to the root, cut to revs_limit as CouchDB does when it reads
// (couch_db:make_doc).
func (d *dbRead) visibleRevs(l *formats.Leaf, rev compat.Rev) compat.RevPath {
	path := l.PathTo(rev)
	if limit := d.Rec.RevsLimit; int64(len(path.IDs)) > limit {
		path.IDs = path.IDs[:limit]
	}
	return path
}

// newDocument makes a revision's document, with the body `{}` if that has not been read.
func newDocument(id string, rev compat.Rev, deleted bool, e formats.Entry) *Document {
	if e.Body == nil {
		e.Body = formats.EmptyBody
	}
	return &Document{ID: id, Rev: rev, Deleted: deleted, Body: e.Body, Attachments: e.Atts}
}

// revsInfo tells what is left of each revision of a leaf's line.
func (d *dbRead) revsInfo(id string, l *formats.Leaf) ([]RevInfo, error) {
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
	prefix := d.Keys.Doc(nil, keyspace.TagHistory, id)
	begin, end := keyspace.Children(prefix)
	it := d.R.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	kept := make(map[compat.Rev]RevStatus)
	for it.Next() {
		rev, _, err := keyspace.ParseRevision(it.Key()[len(prefix):])
		if err != nil {
			return nil, err
		}
		e, err := formats.ParseEntry(it.Value())
		if err != nil {
			return nil, err
		}
		kept[rev] = RevAvailable
		if e.Deleted {
			kept[rev] = RevDeleted
		}
	}
	return kept, it.Err()
}
