package mango

import (
	"github.com/settee-db/settee/mango/fieldindex"
	"github.com/settee-db/settee/storage"
)

// countAuto counts the documents that pass with an index over all fields, reading only those documents whose values the index does
// not have whole. known is false where the selector says more than the ranges do, or the index is not ready.
func (p *Plan) countAuto(s *storage.Snapshot, fields *fieldindex.Indexes) (n int64, known bool, err error) {
	if fields == nil || p.index.Kind != KindAuto {
		return 0, false, nil
	}
	ways := p.req.Selector.accesses(p.index.auto)
	if len(ways) != 1 || !ways[0].exact || ways[0].repeats() || len(p.req.Sort.Fields) > 0 {
		return 0, false, nil
	}
	list, err := fields.Open(s)
	if err != nil {
		return 0, false, err
	}
	ix, err := findAuto(list, p.index)
	if err != nil {
		return 0, false, nil
	}
	r := ways[0].ranges[0]
	c := counter{s: s, selector: p.req.Selector, picker: p.req.Selector.picker()}
	if r.Start == nil && r.End == nil {
		c.n, err = ix.Count(r.Path, false)
	} else {
		err = ix.Scan(r, false, nil, func(e *fieldindex.Entry) error {
			if e.Cut {
				return c.look(e.ID)
			}
			c.n++
			return nil
		})
	}
	if err == nil {
		err = ix.Others(c.look)
	}
	return c.n, true, err
}

// counter counts documents that it has to look at.
type counter struct {
	s        *storage.Snapshot
	selector *Selector
	picker   picker
	scratch  mapScratch
	n        int64
}

func (c *counter) look(id string) error {
	d, err := c.s.Open(id, storage.OpenOptions{})
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	passes, err := c.scratch.match(c.selector, &c.picker, d)
	if passes {
		c.n++
	}
	return err
}
