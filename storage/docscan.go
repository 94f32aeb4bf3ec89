package storage

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// winnerScan walks over the leaves and gives the winner of each document that has one that is not
// deleted. Entries that are not in the records of the leaves come from a second walk beside the
// first one; bodies that are apart are read ahead, many in a round trip.
type winnerScan struct {
	d       *dbRead
	o       *RangeOptions
	it      kv.Iterator // over TagRevs
	prefix  int         // length of the part that all keys of a subspace share
	reverse bool
	// conflicts says that documents are given with theirs.
	conflicts bool
	pushed    bool   // the iterator's current row has not been looked at
	passed    int    // tombstones, one after the other
	ended     bool   // only tombstones are left
	body      []byte // of the winner that was read last
	others    []compat.Rev

	docs       kv.Iterator // over TagDocs, nil: not begun
	prefetched []*docread.Document
	apart      []docread.Apart // of the last of them
	// window is how many documents are read ahead.
	window docread.Window
	room   docread.BodyRoom
	entry  formats.Entry // of the document that was read last
}

// mostPassed is how many tombstones a scan walks over before it looks for the next document in the
// list of ids.
const mostPassed = 64

// scanWinners begins a scan of the winners in a range of ids.
func (d *dbRead) scanWinners(o *RangeOptions) *winnerScan {
	s := &winnerScan{
		d:         d,
		o:         o,
		prefix:    len(d.Keys.Sub(nil, keyspace.TagRevs)),
		reverse:   o.Descending,
		conflicts: o.Conflicts,
	}
	s.it = s.walk(keyspace.TagRevs, o.Start, 0)
	s.window.Begin(0)
	return s
}

// walk begins a walk over what a subspace has of the range from an id on.
func (s *winnerScan) walk(tag keyspace.Tag, from Bound, limit int) kv.Iterator {
	rest := *s.o
	rest.Start = from
	begin, end := rest.keys(s.d.Keys.Sub(nil, tag))
	return s.d.R.Range(begin, end, kv.RangeOptions{Reverse: s.reverse, Limit: limit})
}

func (s *winnerScan) close() {
	_ = s.it.Close()
	if s.docs != nil {
		_ = s.docs.Close()
	}
}

// next gives the next winner, nil at the end. It is valid until the next call.
func (s *winnerScan) next() (*docread.Document, error) {
	if len(s.prefetched) == 0 {
		doc, e, err := s.winner()
		if err != nil || doc == nil || e.Whole() {
			return doc, err
		}
		if err := s.goAhead(doc, e); err != nil {
			return nil, err
		}
	}
	if len(s.prefetched) == len(s.apart) {
		if err := s.complete(); err != nil {
			return nil, err
		}
	}
	doc := s.prefetched[0]
	s.prefetched = s.prefetched[1:]
	return doc, nil
}

// goAhead collects rows from one on whose body is apart, to be completed together.
func (s *winnerScan) goAhead(doc *docread.Document, e *formats.Entry) error {
	s.apart = s.apart[:0]
	rows := s.window.Rows
	if left := s.o.scanLimit(); left > 0 {
		rows = min(rows, left)
	}
	size := 0
	for doc != nil {
		own := *e
		own.Body = docread.Owned(own.Body)
		a := docread.Apart{Entry: &own, Members: s.o.Members}
		s.apart, s.prefetched = append(s.apart, a), append(s.prefetched, doc)
		if size += a.Weight(); size > docread.LargeAhead || len(s.apart) == rows {
			break
		}
		var err error
		if doc, e, err = s.winner(); err != nil {
			return err
		}
	}
	return nil
}

// complete reads what the first ones of the rows have apart.
func (s *winnerScan) complete() error {
	n, err := s.d.CompleteIn(&s.room, 0, s.apart)
	if err != nil {
		return err
	}
	size := 0
	for i, a := range s.apart[:n] {
		size += int(a.Size)
		doc := s.prefetched[i]
		doc.Body, doc.Partial, doc.Attachments = a.Body, a.Partial(), a.Atts
	}
	s.window.Took(size)
	s.apart = s.apart[n:]
	return nil
}

// winner gives the next winner with its entry, without parts that are stored under keys of their
// own.
func (s *winnerScan) winner() (*docread.Document, *formats.Entry, error) {
	l, id, err := s.nextLeaf()
	if err != nil || id == nil {
		return nil, nil, err
	}
	doc := &docread.Document{ID: string(id)}
	if s.entry, err = s.entryOf(doc.ID, &l); err != nil {
		return nil, nil, err
	}
	doc.Rev, doc.Body, doc.Attachments = l.Rev, s.entry.Body, s.entry.Atts
	switch {
	case s.conflicts && s.reverse:
		if s.entry.Body != nil { // the iterator goes on
			s.body = append(s.body[:0], s.entry.Body...)
			s.entry.Body, doc.Body = s.body, s.body
		}
		err = s.readConflicts(doc)
	case len(s.others) > 0:
		doc.Conflicts = slices.Clone(s.others)
		slices.Reverse(doc.Conflicts)
	}
	return doc, &s.entry, err
}

// nextLeaf walks to the next winner that is not deleted; id is nil at the end, and belongs to the
// iterator. Its conflicts are in others where they come first.
func (s *winnerScan) nextLeaf() (l formats.Leaf, id []byte, err error) {
	s.others = s.others[:0]
	for s.step() {
		deleted, rev, id, chunk, err := s.leafKey()
		if err != nil {
			return l, nil, err
		}
		if chunk {
			continue
		}
		value := s.it.Value()
		if !formats.IsWinner(value) {
			if s.conflicts && !s.reverse && !deleted {
				s.others = append(s.others, rev)
			}
			continue
		}
		if deleted {
			if s.passed++; s.passed > mostPassed {
				if err := s.pass(id); err != nil {
					return l, nil, err
				}
			}
			continue
		}
		s.passed = 0
		l, _, err = formats.ParseLeafValue(value)
		l.Rev = rev
		return l, id, err
	}
	return l, nil, s.it.Err()
}

func (s *winnerScan) step() bool {
	if s.pushed {
		s.pushed = false
		return true
	}
	return !s.ended && s.it.Next()
}

// leafKey parses the iterator's key.
func (s *winnerScan) leafKey() (deleted bool, rev compat.Rev, id []byte, chunk bool, err error) {
	id, rest, err := tuple.ReadText(s.it.Key()[s.prefix:])
	if err != nil {
		return false, rev, nil, false, keyspace.Corrupt("leaf key", err)
	}
	deleted, rev, rest, err = keyspace.ParseLeafKey(rest)
	return deleted, rev, id, len(rest) > 0, err
}

// pass jumps over a long row of tombstones: it looks up the next document in the list of ids, which
// has no tombstones.
func (s *winnerScan) pass(id []byte) error {
	s.passed = 0
	list := s.walk(keyspace.TagAllDocs, Bound{ID: string(id), Set: true, Exclusive: true}, 1)
	defer list.Close()
	if s.ended = !list.Next(); s.ended {
		return list.Err()
	}
	next, _, err := tuple.ReadString(list.Key()[s.prefix:])
	if err != nil {
		return keyspace.Corrupt("list of ids", err)
	}
	s.close()
	s.it, s.docs = s.walk(keyspace.TagRevs, Bound{ID: next, Set: true}, 0), nil
	return nil
}

// entryOf gives the entry of the winner that the scan stands at. TagDocs has the keys in the same
// order.
func (s *winnerScan) entryOf(id string, l *formats.Leaf) (formats.Entry, error) {
	if l.Entry != nil {
		return formats.ParseEntry(l.Entry)
	}
	if s.docs == nil {
		s.docs = s.walk(keyspace.TagDocs, Bound{ID: id, Set: true}, 0)
	}
	for s.docs.Next() {
		order := bytes.Compare(s.docs.Key()[s.prefix:], s.it.Key()[s.prefix:])
		if order == 0 {
			return formats.ParseEntry(s.docs.Value())
		}
		if (order > 0) != s.reverse {
			break
		}
	}
	return formats.Entry{}, cmp.Or(s.docs.Err(), keyspace.Corrupt("leaf without its entry", nil))
}

// readConflicts reads the other leaves of a document, which in a descending scan come after its
// winner.
func (s *winnerScan) readConflicts(doc *docread.Document) error {
	for s.it.Next() {
		deleted, rev, _, chunk, err := s.leafKey()
		if err != nil {
			return err
		}
		if chunk {
			continue
		}
		if formats.IsWinner(s.it.Value()) {
			s.pushed = true
			return nil
		}
		if !deleted {
			doc.Conflicts = append(doc.Conflicts, rev)
		}
	}
	return s.it.Err()
}
