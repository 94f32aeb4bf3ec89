package mango

import (
	"context"

	"github.com/settee-db/settee/storage"
)

// count counts the documents that pass the selector, wherever the page begins and ends: the plan runs once more, without a limit.
func (p *Plan) count(ctx context.Context, src *Source) (n int64, err error) {
	known := false
	if src.Shown == nil {
		err := src.DB.View(ctx, func(s *storage.Snapshot) (err error) {
			n, known, err = p.countAuto(s, src.Fields)
			return err
		})
		if known || err != nil {
			return n, err
		}
	}
	req := *p.req
	req.limit, req.skip, req.Bookmark, req.Count = number{n: 1<<63 - 1}, number{}, "", false
	req.Fields = onlyID
	all := *p
	all.req = &req
	a, err := all.Find(ctx, src, func([]byte) error { return nil })
	if err != nil {
		return 0, err
	}
	return a.Stats.Results, nil
}

var onlyID = &Fields{paths: []path{parsePath("_id")}}
