package mango

import (
	"context"
	"errors"

	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// count counts the documents that pass the selector, wherever the page begins and ends: the plan
// runs once more, without a limit.
func (p *Plan) count(ctx context.Context, src *Source) (n int64, err error) {
	if src.Shown == nil {
		if n, known, err := p.countAllFields(ctx, src); known || err != nil {
			return n, err
		}
	}
	// The request's copy asks for ids only and has neither limit nor bookmark; what the first run
	// has found is not used, because the page may begin and end anywhere.
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

var onlyID = selector.FieldsOf("_id")

// countAllFields counts the documents that pass from an index over all fields. It reads only those
// documents of which the index has truncated values. known is false where the selector says more
// than the ranges do, or the index is not ready: then the caller has to count otherwise.
func (p *Plan) countAllFields(ctx context.Context, src *Source) (n int64, known bool, err error) {
	if src.AllFields == nil || p.index.Kind != KindAllFields || len(p.req.Sort.Fields) > 0 {
		return 0, false, nil
	}
	sets := rangeSetsOf(p.req.Selector, p.index.allFields)
	// It must be one set of ranges that says exactly what the selector says, and in which no
	// document comes twice: otherwise entries are not documents.
	if len(sets) != 1 || !sets[0].exact || sets[0].repeats() {
		return 0, false, nil
	}
	ranges := sets[0].ranges
	// A field with any value at all: the index keeps that number, so that nothing is read but
	// documents whose values it has not all.
	if r := ranges[0]; r.Start == nil && r.End == nil {
		err := src.DB.ViewAgain(ctx, func(s *storage.Snapshot) error {
			ix, err := src.openAllFields(s, p.index)
			if err == nil {
				n, err = ix.Count(r.Path, false)
			}
			return err
		})
		if err != nil {
			return 0, false, ignoreNotReady(err)
		}
		ranges = nil
	}
	f := &finder{ctx: ctx, plan: p, src: src, picker: pickerOf(p.req.Selector)}
	f.members = f.picker.members()
	e := &entryScan{f: f, index: p.index, ranges: ranges, others: true}
	e.take = func(s *storage.Snapshot, _ *allfields.Index, rows []entry, _ bool) (int, error) {
		// Entries of truncated values, and documents that the index does not know (they come behind
		// the ranges, at len(ranges)), are decided by reading the document.
		unsure := make([]entry, 0, len(rows))
		for i := range rows {
			if rows[i].truncated || rows[i].at == len(ranges) {
				unsure = append(unsure, rows[i])
			}
		}
		passed := int64(len(rows) - len(unsure))
		err := f.openEach(s, unsure, func(_ int, d *docread.Document) error {
			if d == nil {
				return nil
			}
			passes, err := f.passes(d)
			if passes {
				passed++
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		n += passed
		return len(rows), nil
	}
	if err := e.run(); err != nil {
		return 0, false, ignoreNotReady(err)
	}
	return n, true, nil
}

func ignoreNotReady(err error) error {
	if errors.Is(err, errNotReady) {
		return nil
	}
	return err
}
