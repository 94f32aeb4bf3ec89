package views

import (
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// planLevels decides how a new index begins.
func (v *Views) planLevels(s *storage.Snapshot, m *member) error { return nil }

// applyRows writes what w collected, and what is kept above the rows.
func (v *Views) applyRows(ctx context.Context, w *indexWriter) error {
	w.write()
	return nil
}

// prepareLevels takes the levels off indexes that are going to change so much that making them anew costs less.
func (p *pass) prepareLevels(ctx context.Context, pending int64) error { return nil }

// finishLevels makes the levels of indexes without.
func (p *pass) finishLevels(ctx context.Context) error { return nil }

// countRows counts the rows of a range by reading them.
func (m *member) countRows(r kv.ReadTx, sp span) (int64, error) {
	it := m.rows(r, sp, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var n int64
	for it.Next() {
		n++
	}
	return n, it.Err()
}

// count counts the rows of a range.
func (m *member) count(r kv.ReadTx, sp span) (int64, error) { return m.countRows(r, sp) }

// countBefore counts the rows before a place; nil is the first one.
func (m *member) countBefore(r kv.ReadTx, place []byte) (int64, error) {
	if len(place) == 0 {
		return 0, nil
	}
	return m.count(r, span{hi: place})
}

// selectRow gives the place of the row with n rows before it; it must be there.
func (m *member) selectRow(r kv.ReadTx, n int64) ([]byte, error) { return nil, corrupt("levels") }
