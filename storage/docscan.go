package storage

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// winnerScan walks over TagDocs and gives the winner of each document that has one that is not deleted. That needs no
// other subspace: the winner's entry is the last one of its document. Bodies that are apart are read ahead, many in a
// round trip.
type winnerScan struct {
	d       *dbRead
	o       *RangeOptions
	it      kv.Iterator
	prefix  int
	reverse bool
	// conflicts says that documents are given with theirs: every leaf that is not deleted has an entry.
	conflicts bool
	pushed    bool // the iterator's current row has not been looked at

	current []byte // id that is being read; reverse: whose winner is known
	ahead   []*Document
	window  readAhead
	room    bodyRoom
	body    []byte
	entry   entry // of the document that was read last
}

func (d *dbRead) scanWinners(o *RangeOptions) *winnerScan {
	prefix := d.keys.sub(nil, TagDocs)
	begin, end := o.keys(prefix)
	s := &winnerScan{
		d:         d,
		o:         o,
		it:        d.r.Range(begin, end, kv.RangeOptions{Reverse: o.Descending}),
		prefix:    len(prefix),
		reverse:   o.Descending,
		conflicts: o.Conflicts,
	}
	s.window.begin(0)
	return s
}

// next gives the next winner, nil at the end. It is valid until the next call.
func (s *winnerScan) next() (*Document, error) {
	if len(s.ahead) == 0 {
		doc, e, err := s.winner()
		if err != nil || doc == nil || e.whole() {
			return doc, err
		}
		if err := s.readAhead(doc, e); err != nil {
			return nil, err
		}
	}
	doc := s.ahead[0]
	s.ahead = s.ahead[1:]
	return doc, nil
}

// readAhead collects rows from one on whose body is apart, and then reads all bodies of them.
func (s *winnerScan) readAhead(doc *Document, e *entry) error {
	var entries []*entry
	rows := s.window.rows
	if left := s.o.scanLimit(); left > 0 {
		rows = min(rows, left)
	}
	size := 0
	for doc != nil {
		own := *e
		own.body = owned(own.body)
		entries, s.ahead = append(entries, &own), append(s.ahead, doc)
		if size += int(e.size); size > largeAhead || len(entries) == rows {
			break
		}
		var err error
		if doc, e, err = s.winner(); err != nil {
			return err
		}
	}
	if err := s.d.completeIn(&s.room, 0, true, entries...); err != nil {
		return err
	}
	s.window.took(size)
	for i, e := range entries {
		s.ahead[i].Body, s.ahead[i].Attachments = e.body, e.atts
	}
	return nil
}

// winner gives the next winner with its entry, without what is apart.
func (s *winnerScan) winner() (*Document, *entry, error) {
	if s.reverse {
		return s.previousWinner()
	}
	for {
		doc, e, err := s.nextDocument()
		if err != nil || doc == nil {
			return nil, nil, err
		}
		if doc.Deleted {
			continue
		}
		if n := len(doc.Conflicts); n > 0 { // ascending, the winner is the last one
			doc.Conflicts = doc.Conflicts[:n-1]
			slices.Reverse(doc.Conflicts)
		}
		return doc, e, nil
	}
}

func (s *winnerScan) step() bool {
	if s.pushed {
		s.pushed = false
		return true
	}
	return s.it.Next()
}

// nextDocument reads the entries of one document and gives the last one, nil at the end.
func (s *winnerScan) nextDocument() (doc *Document, e *entry, err error) {
	e = &s.entry
	for s.step() {
		key := s.it.Key()
		id, rest, err := tuple.ReadText(key[s.prefix:])
		if err != nil {
			return nil, nil, corrupt("entry's key", err)
		}
		if doc != nil && !bytes.Equal(id, s.current) {
			s.pushed = true
			return doc, e, nil
		}
		deleted, rev, _, err := parseLeafKey(rest)
		if err != nil {
			return nil, nil, err
		}
		if doc == nil {
			s.current = append(s.current[:0], id...)
			doc = &Document{ID: string(id)}
		}
		doc.Rev, doc.Deleted = rev, deleted
		if s.conflicts && !deleted {
			doc.Conflicts = append(doc.Conflicts, rev)
		}
		if *e, err = parseEntry(s.it.Value()); err != nil {
			return nil, nil, err
		}
		if e.body != nil {
			s.body = append(s.body[:0], e.body...)
			e.body = s.body
		}
		doc.Body, doc.Attachments = e.body, e.atts
	}
	return doc, e, s.it.Err()
}

// previousWinner is winner for a descending scan: a document's last entry comes first.
func (s *winnerScan) previousWinner() (*Document, *entry, error) {
	for s.step() {
		key := s.it.Key()
		id, rest, err := tuple.ReadText(key[s.prefix:])
		if err != nil {
			return nil, nil, corrupt("entry's key", err)
		}
		if s.current != nil && bytes.Equal(id, s.current) {
			continue
		}
		deleted, rev, _, err := parseLeafKey(rest)
		if err != nil {
			return nil, nil, err
		}
		s.current = append(s.current[:0], id...)
		if deleted {
			continue
		}
		if s.entry, err = parseEntry(s.it.Value()); err != nil {
			return nil, nil, err
		}
		if s.conflicts && s.entry.body != nil { // the iterator goes on
			s.body = append(s.body[:0], s.entry.body...)
			s.entry.body = s.body
		}
		doc := &Document{ID: string(id), Rev: rev, Body: s.entry.body, Attachments: s.entry.atts}
		if s.conflicts {
			err = s.readConflicts(doc)
		}
		return doc, &s.entry, err
	}
	return nil, nil, s.it.Err()
}

// readConflicts reads what a descending scan has of a document after its winner.
func (s *winnerScan) readConflicts(doc *Document) error {
	for s.it.Next() {
		id, rest, err := tuple.ReadText(s.it.Key()[s.prefix:])
		if err != nil {
			return corrupt("entry's key", err)
		}
		if !bytes.Equal(id, s.current) {
			s.pushed = true
			return nil
		}
		deleted, rev, _, err := parseLeafKey(rest)
		if err != nil {
			return err
		}
		if !deleted {
			doc.Conflicts = append(doc.Conflicts, rev)
		}
	}
	return s.it.Err()
}
