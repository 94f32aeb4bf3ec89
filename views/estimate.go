package views

import (
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Rows counts the rows of a scan's range, for those who choose between indexes: up to limit by reading them, and if
// there are more and all is set, all of them by the levels. An index without levels, or one that is not there, has -1
// rows: they are not known.
func (w *View) Rows(ctx context.Context, scan Scan, limit int, all bool) (n int64, err error) {
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
		if err := it.Err(); err != nil || n < int64(limit) || !all {
			return err
		}
		if n = -1; ix.rec.levels {
			n, err = w.v.count(s.KV(), ix, sp)
		}
		return err
	})
	return n, err
}
