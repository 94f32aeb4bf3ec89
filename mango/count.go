package mango

import "context"

// count counts the documents that pass the selector, wherever the page begins and ends: the plan runs once more,
// without a limit.
func (p *Plan) count(ctx context.Context, src *Source) (n int64, err error) {
	if src.Shown == nil {
		if n, known, err := p.countAllFields(ctx, src); known || err != nil {
			return n, err
		}
	}
	req := *p.req
	req.limit, req.skip, req.Bookmark, req.Count = number{n: 1<<63 - 1}, number{}, "", false
	req.Fields = onlyID
	all := *p
	all.req, all.from, all.limit = &req, nil, req.limit
	a, err := all.Find(ctx, src, func([]byte) error { return nil })
	if err != nil {
		return 0, err
	}
	return a.Stats.Results, nil
}

var onlyID = &Fields{paths: []path{parsePath("_id")}}
