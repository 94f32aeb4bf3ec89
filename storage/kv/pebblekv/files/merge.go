package files

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// source gives rows in the order of their keys, the newest of a key first.
type source interface {
	// row is the current row, nil at the end.
	row() *row
	next()
}

// logSource gives the rows of the logs.
type logSource struct{ rows []row }

func (s *logSource) row() *row {
	if len(s.rows) == 0 {
		return nil
	}
	return &s.rows[0]
}

func (s *logSource) next() { s.rows = s.rows[1:] }

// tableSource gives the rows of a table, which is open only between its first and last row.
type tableSource struct {
	fs   vfs.FS
	path string
	info TableInfo // of a table that no manifest names: without bounds
	// Blocks of the table that are still to be read.
	blocks []block.Handle
	first  []byte // a key at or before the first one
	// The table while it is open: between its first and its last block.
	t *table
	// Rows of the current block that were not taken yet.
	rows    []row
	last    []byte // key of the last row
	damaged *Damage
	report  func(Damage)
}

func (s *tableSource) row() *row {
	if len(s.rows) == 0 {
		return nil
	}
	return &s.rows[0]
}

// next moves to the next readable row. Adjacent blocks that cannot be read are one Damage, from the
// last key before to the first one after them: the keys that were lost lie in between, and nothing
// tells more.
func (s *tableSource) next() {
	if len(s.rows) > 0 {
		s.last = s.rows[0].key
		s.rows = s.rows[1:]
	}
	for len(s.rows) == 0 && len(s.blocks) > 0 {
		h := s.blocks[0]
		s.blocks = s.blocks[1:]
		rows, err := s.t.rows(h, s.info.Blobs)
		switch {
		case err != nil && s.damaged == nil:
			s.damaged = &Damage{
				File:   s.t.name,
				What:   err.Error(),
				Blocks: 1,
				From:   cmp.Or(string(s.last), string(s.info.Smallest)),
			}
		case err != nil:
			s.damaged.Blocks++
		case s.damaged != nil && len(rows) > 0:
			s.damaged.To = string(rows[0].key)
			s.reportDamage()
		}
		s.rows = rows
	}
	if len(s.rows) == 0 {
		s.reportDamage()
		s.close()
	}
}

// reportDamage reports a stretch of broken blocks.
func (s *tableSource) reportDamage() {
	if s.damaged == nil {
		return
	}
	if s.damaged.To == "" && s.info.Largest != nil {
		s.damaged.To = string(s.info.Largest) + "\x00"
	}
	s.report(*s.damaged)
	s.damaged = nil
}

func (s *tableSource) close() {
	if s.t != nil {
		_ = s.t.file.Close() // was only read
		s.t = nil
	}
}

// open reads the first row. It was opened before, so that an error now is one of the moment.
func (s *tableSource) open() error {
	t, err := openTable(s.fs, s.path)
	if err != nil {
		return err
	}
	s.t, s.blocks = t, t.blocks
	s.next()
	return nil
}

// sources is a heap of those that are not at their end.
type sources []source

func (s sources) Len() int           { return len(s) }
func (s sources) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sources) Push(x any)        { *s = append(*s, x.(source)) }
func (s *sources) Pop() (x any)      { x, *s = (*s)[len(*s)-1], (*s)[:len(*s)-1]; return x }
func (s sources) Less(i, j int) bool { return before(s[i].row(), s[j].row()) }

// before is the order of the merge: by key, and of one key the newest row first, which hides the
// others.
func before(a, b *row) bool {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	if a.seq != b.seq {
		return a.seq > b.seq
	}
	return a.readable() && !b.readable() // the same row in two tables
}

// readable reports whether it is known where the value is.
func (r *row) readable() bool { return !r.apart || r.blobs != nil }

// merge calls each for the newest row of each key, unless that is a deletion.
func merge(tables []*tableSource, logs *logRows, deletions []deletion, each func(*row) error) error {
	slices.SortFunc(tables, func(a, b *tableSource) int { return bytes.Compare(a.first, b.first) })
	open := &sources{}
	if len(logs.rows) > 0 {
		heap.Push(open, &logSource{logs.rows})
	}
	defer func() {
		for _, s := range tables {
			s.close()
		}
	}()
	covering := newCovering(deletions)
	var last []byte
	began := false
	for {
		for len(tables) > 0 && (open.Len() == 0 || bytes.Compare(tables[0].first, (*open)[0].row().key) <= 0) {
			s := tables[0]
			if err := s.open(); err != nil {
				return err
			}
			if s.row() != nil {
				heap.Push(open, s)
			}
			tables = tables[1:]
		}
		if open.Len() == 0 {
			return nil
		}
		s := (*open)[0]
		r := s.row()
		if !began || !bytes.Equal(r.key, last) {
			began, last = true, append(last[:0], r.key...)
			if isSet(r.kind) && covering.newest(r.key) <= r.seq {
				if err := each(r); err != nil {
					return err
				}
			}
		}
		if s.next(); s.row() == nil {
			heap.Pop(open)
		} else {
			heap.Fix(open, 0)
		}
	}
}

func isSet(kind pebble.InternalKeyKind) bool {
	return kind == pebble.InternalKeyKindSet || kind == pebble.InternalKeyKindSetWithDelete
}
