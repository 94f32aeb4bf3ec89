package docread

import (
	"cmp"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/revtree"
)

// lastRead is a read of the record of a document's winner, which sorts last. It is on its way.
type lastRead struct {
	prefix int // length of the part of the key that the document's leaves share
	it     kv.Iterator
}

// askLast asks for the last key of a document's leaves, which is the winner's: one row of a reverse
// range.
func (d *Reader) askLast(id string) lastRead {
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

// OpenWinner reads the current revision. The body of the result belongs to the caller.
func (d *Reader) OpenWinner(id string, o OpenOptions) (*Document, error) {
	if !o.needsTree() && d.Who == nil {
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
func (d *Reader) openWinnerOf(id string, leaves []formats.Leaf, o OpenOptions) (*Document, error) {
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
	doc.AddConflicts(leaves, o.Conflicts, o.DeletedConflicts)
	if o.LocalSeq {
		doc.Seq = winner.Seq
		if doc.LocalSeq, err = d.SeqNumber(winner.Seq); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// openLeaf reads a leaf.
func (d *Reader) openLeaf(id string, l *formats.Leaf, o OpenOptions) (*Document, error) {
	e, err := d.LeafEntry(id, l)
	if err == nil {
		e, err = d.completed(e, o.Members)
	}
	if err != nil {
		return nil, err
	}
	e.Body = Owned(e.Body)
	doc := NewDocument(id, l.Rev, l.Deleted, e)
	if o.Revs {
		doc.Revs = d.VisibleRevs(l, l.Rev)
	}
	return doc, nil
}

// LeafEntry reads the entry of a leaf, without parts that are stored under keys of their own.
func (d *Reader) LeafEntry(id string, l *formats.Leaf) (formats.Entry, error) {
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

// VisibleRevs is the line from rev to the root, cut to revs_limit as CouchDB does when it reads
// (couch_db:make_doc).
func (d *Reader) VisibleRevs(l *formats.Leaf, rev compat.Rev) compat.RevPath {
	path := l.PathTo(rev)
	if limit := d.Rec.RevsLimit; int64(len(path.IDs)) > limit {
		path.IDs = path.IDs[:limit]
	}
	return path
}

// NewDocument makes a revision's document, with the body `{}` if that has not been read.
func NewDocument(id string, rev compat.Rev, deleted bool, e formats.Entry) *Document {
	if e.Body == nil {
		e.Body = formats.EmptyBody
	}
	return &Document{
		ID: id, Rev: rev, Deleted: deleted, Body: e.Body, Partial: e.Partial(), Attachments: e.Atts,
	}
}

// revsInfo tells what is left of each revision of a leaf's line.
func (d *Reader) revsInfo(id string, l *formats.Leaf) ([]RevInfo, error) {
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
func (d *Reader) historyStatus(id string) (map[compat.Rev]RevStatus, error) {
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
		if d.Who != nil {
			if e, err = d.completed(e, Members{accessMember}); err != nil {
				return nil, err
			}
			if !d.sees(e.Body) {
				continue
			}
		}
		kept[rev] = RevAvailable
		if e.Deleted {
			kept[rev] = RevDeleted
		}
	}
	return kept, it.Err()
}

// NearestAncestor reads the newest ancestor of a leaf whose body is stored, nil if there is none;
// stored are the leaves that the document has. It mostly is the parent or another leaf; what lies
// beyond is asked for together.
func (d *Reader) NearestAncestor(id string, of *revtree.Leaf, stored []formats.Leaf) (nearest *Document, err error) {
	line := of.Ancestors
	more := func(n int) int { return min(max(2*n, FirstRows), MostRows) }
	for i, n := 0, 1; i < line.Len() && nearest == nil && err == nil; n = more(n) {
		var wanted []wantedRev
		var reads []EntryRead
		for isLeaf := false; len(wanted) < n && i < line.Len() && !isLeaf; i++ {
			ancestor := compat.Rev{Pos: of.Rev.Pos - 1 - int64(i), Hash: line.At(i)}
			w := wantedRev{rev: ancestor, line: lineOf(stored, ancestor)}
			read := w.where(d, id)
			read.Kilobytes = 0 // n are few enough
			wanted, reads = append(wanted, w), append(reads, read)
			isLeaf = w.line != nil && w.line.Rev == ancestor
		}
		err = d.ReadEntries(nil, reads, func(i int, e *formats.Entry, found bool) (err error) {
			if nearest == nil {
				e.Body = Owned(e.Body)
				nearest, err = wanted[i].document(d, id, e, found, OpenOptions{Revs: true})
			}
			return err
		})
	}
	return nearest, err
}
