package storage

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// winnerScan walks over TagDocs and gives the winner of each document that has one that is not deleted. That needs no other
// subspace: the winner's entry is the last one of its document.
type winnerScan struct {
	it      kv.Iterator
	prefix  int
	reverse bool
	// conflicts says that documents are given with theirs: every leaf that is not deleted has an entry.
	conflicts bool
	pushed    bool // the iterator's current row has not been looked at

	current []byte // id that is being read; reverse: whose winner is known
	leaf    []byte // key of the entry that chunks belong to
	chunks  [][]byte
	body    []byte
}

func (d *dbRead) scanWinners(o *RangeOptions) *winnerScan {
	prefix := d.keys.sub(nil, TagDocs)
	begin, end := o.keys(prefix)
	return &winnerScan{
		it:        d.r.Range(begin, end, kv.RangeOptions{Reverse: o.Descending}),
		prefix:    len(prefix),
		reverse:   o.Descending,
		conflicts: o.Conflicts,
	}
}

func (s *winnerScan) step() bool {
	if s.pushed {
		s.pushed = false
		return true
	}
	return s.it.Next()
}

// next gives the next winner, nil at the end. It is valid until the next call.
func (s *winnerScan) next() (*Document, error) {
	if s.reverse {
		return s.previousWinner()
	}
	for {
		doc, err := s.nextDocument()
		if err != nil || doc == nil {
			return nil, err
		}
		if doc.Deleted {
			continue
		}
		if n := len(doc.Conflicts); n > 0 { // ascending, the winner is the last one
			doc.Conflicts = doc.Conflicts[:n-1]
			slices.Reverse(doc.Conflicts)
		}
		return doc, nil
	}
}

// nextDocument reads the entries of one document and gives the last one, nil at the end.
func (s *winnerScan) nextDocument() (*Document, error) {
	var doc *Document
	for s.step() {
		key := s.it.Key()
		id, rest, err := kv.ReadText(key[s.prefix:])
		if err != nil {
			return nil, corrupt("entry's key", err)
		}
		if doc != nil && !bytes.Equal(id, s.current) {
			s.pushed = true
			return doc, nil
		}
		deleted, rev, _, err := parseLeafKey(rest)
		if err != nil {
			return nil, err
		}
		if doc == nil {
			s.current = append(s.current[:0], id...)
			doc = &Document{ID: string(id)}
		}
		doc.Rev, doc.Deleted = rev, deleted
		if s.conflicts && !deleted {
			doc.Conflicts = append(doc.Conflicts, rev)
		}
		if err := s.readForward(doc); err != nil {
			return nil, err
		}
	}
	return doc, s.it.Err()
}

// readForward reads the entry at the iterator and what is below it.
func (s *winnerScan) readForward(doc *Document) error {
	e, head, err := parseEntry(s.it.Value())
	if err != nil {
		return err
	}
	if head.format == entryInline {
		s.body = append(s.body[:0], e.body...)
		doc.Body, doc.Attachments = s.body, e.atts
		return nil
	}
	s.leaf = append(s.leaf[:0], s.it.Key()...)
	s.chunks = s.chunks[:0]
	for s.it.Next() {
		if !isChild(s.it.Key(), s.leaf) {
			s.pushed = true
			break
		}
		s.collect()
	}
	if err := s.it.Err(); err != nil {
		return err
	}
	return s.assemble(doc, head)
}

// isChild tells whether key extends the tuple parent by further elements.
func isChild(key, parent []byte) bool {
	return len(key) > len(parent) && key[len(parent)] != behindID && bytes.HasPrefix(key, parent)
}

// collect keeps a row below the entry s.leaf.
func (s *winnerScan) collect() { s.chunks = append(s.chunks, bytes.Clone(s.it.Value())) }

// assemble makes body and attachments of what was collected.
func (s *winnerScan) assemble(doc *Document, head entryHead) (err error) {
	if s.reverse {
		slices.Reverse(s.chunks)
	}
	payload := bytes.Join(s.chunks, nil)
	if len(payload) != head.length {
		return corrupt("chunks", nil)
	}
	doc.Attachments, doc.Body, err = parsePayload(payload, head.flags)
	return err
}

// previousWinner is next for a descending scan: a document's last entry comes first, but what is below an entry comes before
// it.
func (s *winnerScan) previousWinner() (*Document, error) {
	for s.step() {
		key := s.it.Key()
		id, rest, err := kv.ReadText(key[s.prefix:])
		if err != nil {
			return nil, corrupt("entry's key", err)
		}
		if s.current != nil && bytes.Equal(id, s.current) {
			continue
		}
		deleted, rev, below, err := parseLeafKey(rest)
		if err != nil {
			return nil, err
		}
		own := key[:len(key)-len(below)]
		if len(below) > 0 {
			s.collectBefore(own)
			continue
		}
		s.current = append(s.current[:0], id...)
		doc, err := s.readBackward(string(id), rev, deleted)
		if err != nil {
			return nil, err
		}
		if deleted {
			continue
		}
		if s.conflicts {
			err = s.readConflicts(doc)
		}
		return doc, err
	}
	return nil, s.it.Err()
}

// collectBefore keeps a row of an entry whose own key is still to come.
func (s *winnerScan) collectBefore(own []byte) {
	if !bytes.Equal(s.leaf, own) {
		s.leaf = append(s.leaf[:0], own...)
		s.chunks = s.chunks[:0]
	}
	s.collect()
}

func (s *winnerScan) readBackward(id string, rev compat.Rev, deleted bool) (*Document, error) {
	doc := &Document{ID: id, Rev: rev, Deleted: deleted}
	e, head, err := parseEntry(s.it.Value())
	if err != nil {
		return nil, err
	}
	if head.format == entryInline {
		doc.Body, doc.Attachments = e.body, e.atts
		return doc, nil
	}
	if !bytes.Equal(s.leaf, s.it.Key()) {
		s.chunks = s.chunks[:0]
	}
	return doc, s.assemble(doc, head)
}

// readConflicts reads what a descending scan has of a document behind its winner.
func (s *winnerScan) readConflicts(doc *Document) error {
	s.body = append(s.body[:0], doc.Body...) // the memory may be the iterator's
	doc.Body = s.body
	for s.it.Next() {
		id, rest, err := kv.ReadText(s.it.Key()[s.prefix:])
		if err != nil {
			return corrupt("entry's key", err)
		}
		if !bytes.Equal(id, s.current) {
			s.pushed = true
			return nil
		}
		deleted, rev, below, err := parseLeafKey(rest)
		if err != nil {
			return err
		}
		if len(below) == 0 && !deleted {
			doc.Conflicts = append(doc.Conflicts, rev)
		}
	}
	return s.it.Err()
}
