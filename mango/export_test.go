package mango

import (
	"context"

	"github.com/settee-db/settee/storage"
)

// EntryWays gives a bookmark for each way that the plan's selector offers to its index over all fields, one before all
// entries: a query that goes on there takes just this way. Of an $or each way of a branch comes at least once.
func (p *Plan) EntryWays(ctx context.Context, src *Source) (bookmarks []string, err error) {
	err = src.DB.View(ctx, func(s *storage.Snapshot) error {
		ix, err := src.openAllFields(s, p.index)
		if err != nil {
			return err
		}
		list := p.req.Selector.accesses(p.index.allFields)
		for i := range list {
			most := 1
			for _, branch := range list[i].branches {
				most = max(most, len(branch))
			}
			for n := range most {
				a, _ := list[i].fix(func(branch []access) int { return n % len(branch) })
				origin := p.index.origin(numbered(ix, a.name))
				bookmarks = append(bookmarks, string(appendBookmark(nil, appendEntryPosition(nil, 0, nil), "", origin)))
			}
		}
		return nil
	})
	return bookmarks, err
}
