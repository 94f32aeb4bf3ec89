package views

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// rowBatch collects rows for the sink.
type rowBatch struct {
	rows  []Row
	mem   []byte
	taken int64 // rows that the sink has used
	wide  int   // rows whose documents are read together, if that is more than batchRows
}

const (
	batchRows  = 128
	wideBatch  = 1024 // where many reads are best asked for at once
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

func (b *rowBatch) full() bool {
	return len(b.rows) >= max(batchRows, b.wide) || len(b.mem) >= batchBytes
}

// flush gives the rows to the sink. If that fails those stay that it has not used, to come again.
func (b *rowBatch) flush(s *storage.Snapshot, sink Sink) error {
	if len(b.rows) == 0 {
		return nil
	}
	taken, err := sink.Rows(s, b.rows)
	if err != nil {
		b.taken += int64(taken)
		b.rows = slices.Delete(b.rows, 0, taken)
		return err
	}
	b.taken += int64(len(b.rows))
	b.rows, b.mem = b.rows[:0], b.mem[:0]
	return nil
}

// dupGroup collects, reading backwards, the rows that one document has at one key: their values
// come in ascending order in both directions, while keys that are equal but not the same are
// reversed (couch_mrview_util:expand_dups).
type dupGroup struct{ rows []storedRow }

// add takes a row; done tells that it was the last one of its group.
func (g *dupGroup) add(rowKey []byte, r *storedRow) (done bool, err error) {
	_, rest, err := tuple.ReadText(rowKey[r.keyed:])
	if err != nil {
		return false, err
	}
	number, _, err := tuple.ReadInt(rest)
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
func (g *dupGroup) each(fn func(*storedRow) error) error {
	defer func() { g.rows = g.rows[:0] }()
	for from := 0; from < len(g.rows); {
		to := from + 1
		for to < len(g.rows) && bytes.Equal(g.rows[to].key, g.rows[from].key) {
			to++
		}
		for i := to - 1; i >= from; i-- {
			if err := fn(&g.rows[i]); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// groupEnd gives the row key after the group that a row belongs to, and how many rows the group has
// from that row on.
func (ix *index) groupEnd(r kv.ReadTx, rowKey []byte) (end []byte, rows int64, err error) {
	value, err := r.Get(append(ix.keys.rows[:len(ix.keys.rows):len(ix.keys.rows)], rowKey...))
	if err != nil {
		return nil, 0, err
	}
	row, err := parseRow(rowKey, value)
	if err != nil {
		return nil, 0, err
	}
	_, rest, err := tuple.ReadText(rowKey[row.keyed:])
	if err != nil {
		return nil, 0, err
	}
	if number, _, err := tuple.ReadInt(rest); err != nil || number == 0 {
		return rowKey, 0, err
	}
	end = append(bytes.Clone(rowKey[:len(rowKey)-len(rest)]), 0xff)
	rows, err = ix.countRows(r, span{Lo: rowKey, Hi: end})
	return end, rows, err
}
