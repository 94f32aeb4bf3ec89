package views

import (
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Rows counts the rows of a scan's range, for those who choose between indexes: up to limit by
// reading them, and if there are more by the levels. Of more in an index without levels, or of one
// that is not there, it tells -1: the number is not known.
func (w *View) Rows(ctx context.Context, scan Scan, limit int) (n int64, err error) {
	c := indexScan{view: w, scan: scan}
	err = w.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		n = -1
		ix, err := readIndex(s, spaceOf(s), w.definition())
		if err != nil || ix == nil {
			return err
		}
		sp := c.span()
		it := ix.rows(s.KV(), sp, kv.RangeOptions{Limit: limit})
		defer it.Close()
		for n = 0; it.Next(); {
			n++
		}
		if err := it.Err(); err != nil || n < int64(limit) {
			return err
		}
		if n = -1; ix.rec.levels {
			n, err = w.v.aggregates.count(s.KV(), ix, sp)
		}
		return err
	})
	return n, err
}
