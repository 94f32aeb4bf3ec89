package mango

import (
	"context"

	"github.com/settee-db/settee/storage"
)

// EntryPaths gives a bookmark for each set of ranges that the plan's selector asks of its index
// over all fields, one before all entries: a query that goes on there reads just this set. Of an
// $or each set of a branch comes at least once.
func (p *Plan) EntryPaths(ctx context.Context, src *Source) (bookmarks []string, err error) {
	err = src.DB.View(ctx, func(s *storage.Snapshot) error {
		ix, err := src.openAllFields(s, p.index)
		if err != nil {
			return err
		}
		list := rangeSetsOf(p.req.Selector, p.index.allFields)
		for i := range list {
			most := 1
			for _, branch := range list[i].branches {
				most = max(most, len(branch))
			}
			for n := range most {
				a, _ := list[i].fix(func(branch []rangeSet) int { return n % len(branch) })
				origin := p.index.origin(numbered(ix, a.name))
				bookmarks = append(bookmarks, string(appendBookmark(nil, appendEntryPosition(nil, 0, nil), "", origin)))
			}
		}
		return nil
	})
	return bookmarks, err
}
