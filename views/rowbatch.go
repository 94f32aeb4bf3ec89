package views

import (
	"bytes"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// rowBatch collects rows for the sink.
type rowBatch struct {
	rows []Row
	mem  []byte
}

const (
	batchRows  = 128
	batchBytes = 64 << 10
)

func (b *rowBatch) add(r *storedRow) {
	b.rows = append(b.rows, Row{ID: b.copy(r.id), Key: b.copy(r.key), Value: b.copy(r.value)})
}

// copy keeps bytes; when the memory has to grow, earlier rows keep the old one.
func (b *rowBatch) copy(x []byte) []byte {
	if len(b.mem)+len(x) > cap(b.mem) {
		b.mem = make([]byte, 0, max(4<<10, min(2*cap(b.mem), 2*batchBytes), len(x)))
	}
	n := len(b.mem)
	b.mem = append(b.mem, x...)
	return b.mem[n:len(b.mem):len(b.mem)]
}

func (b *rowBatch) full() bool { return len(b.rows) >= batchRows || len(b.mem) >= batchBytes }

// flush gives the rows to the sink. If that fails they stay, to come again.
func (b *rowBatch) flush(s *storage.Snapshot, sink Sink) error {
	if len(b.rows) == 0 {
		return nil
	}
	if err := sink.Rows(s, b.rows); err != nil {
		return err
	}
	b.rows, b.mem = b.rows[:0], b.mem[:0]
	return nil
}

// dupGroup collects, reading backwards, the rows that one document has at one key: their values come in ascending order in both
// directions, while keys that are equal but not the same are reversed (couch_mrview_util:expand_dups).
type dupGroup struct{ rows []storedRow }

// add takes a row; done tells that it was the last one of its group.
func (g *dupGroup) add(place []byte, r *storedRow) (done bool, err error) {
	_, rest, err := kv.ReadText(place[r.keyed:])
	if err != nil {
		return false, err
	}
	number, _, err := kv.ReadInt(rest)
	if err != nil {
		return false, err
	}
	if number == 0 && len(g.rows) == 0 {
		return true, nil
	}
	g.rows = append(g.rows, storedRow{id: bytes.Clone(r.id), key: bytes.Clone(r.key), value: bytes.Clone(r.value)})
	return number == 0, nil
}

// single tells that the group is just the row given last.
func (g *dupGroup) single() bool { return len(g.rows) == 0 }

// each calls fn for the rows in the order they are shown, and empties the group.
func (g *dupGroup) each(fn func(*storedRow)) {
	for from := 0; from < len(g.rows); {
		to := from + 1
		for to < len(g.rows) && bytes.Equal(g.rows[to].key, g.rows[from].key) {
			to++
		}
		for i := to - 1; i >= from; i-- {
			fn(&g.rows[i])
		}
		from = to
	}
	g.rows = g.rows[:0]
}

// groupEnd gives the place behind the group that a row belongs to, and how many rows the group has from that row on.
func (m *member) groupEnd(r kv.ReadTx, place []byte) (end []byte, rows int64, err error) {
	value, err := r.Get(append(m.keys.rows[:len(m.keys.rows):len(m.keys.rows)], place...))
	if err != nil {
		return nil, 0, err
	}
	row, err := parseRow(place, value)
	if err != nil {
		return nil, 0, err
	}
	_, rest, err := kv.ReadText(place[row.keyed:])
	if err != nil {
		return nil, 0, err
	}
	if number, _, err := kv.ReadInt(rest); err != nil || number == 0 {
		return place, 0, err
	}
	end = append(bytes.Clone(place[:len(place)-len(rest)]), 0xff)
	rows, err = m.countRows(r, span{place, end})
	return end, rows, err
}
