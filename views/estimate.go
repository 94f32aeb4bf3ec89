package views

import (
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Rows counts the rows of a scan's range, for those who choose between indexes: up to limit by reading them, and if there are more and
// all is set, all of them by the levels. An index without levels, or one that is not there, has -1 rows: they are not known.
func (ix *Index) Rows(ctx context.Context, scan Scan, limit int, all bool) (n int64, err error) {
	c := indexScan{ix: ix, scan: scan}
	err = ix.w.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		n = -1
		m, err := readMember(s, spaceOf(s), ix.w.index())
		if err != nil || m == nil {
			return err
		}
		sp := c.span()
		it := m.rows(s.KV(), sp, kv.RangeOptions{Limit: limit})
		defer it.Close()
		for n = 0; it.Next(); {
			n++
		}
		if err := it.Err(); err != nil || n < int64(limit) || !all {
			return err
		}
		if n = -1; m.rec.levels {
			n, err = ix.w.v.count(s.KV(), m, sp)
		}
		return err
	})
	return n, err
}
