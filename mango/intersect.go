package mango

import (
	"cmp"
	"errors"
	"slices"

	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
)

const (
	// A second way is read for its ids alone if that is likely to spare many documents: the first has at least
	// intersectFrom entries, the second at most intersectRatio times as many, and not more than intersectMost.
	intersectFrom  = 150
	intersectRatio = 3
	intersectMost  = 50_000
	// documentCost is how many entries are read in the time of one document.
	documentCost = 4
)

// second is a second way beside the entries that are read: once its ids are known, documents that are not among them
// are left out. It changes nothing of the order, so each page may have one or not.
type second struct {
	f      *finder
	access *access // the cheapest one but that of the course
	n      int64   // its entries
	looked bool
	ids    map[string]struct{} // nil: not read
}

// skip reports whether an entry's document is not among those of the second way.
func (w *second) skip(e *allfields.Entry) bool {
	if w.ids == nil {
		return false
	}
	_, in := w.ids[e.ID]
	return !in
}

// begin reads the second way at once where the first one is going to be read to its end.
func (w *second) begin() error {
	f := w.f
	i := slices.IndexFunc(f.course.ways, func(w way) bool { return w.chosen })
	if i < 0 || f.course.ways[i].n < intersectFrom || f.limit < f.course.ways[i].n {
		return nil
	}
	if err := w.look(); err != nil || w.access == nil || w.n > intersectRatio*f.course.ways[i].n {
		return err
	}
	return w.read()
}

// consider reads the second way when the documents that did not pass have cost as much as it does, and as many are
// still to come.
func (w *second) consider() error {
	f := w.f
	examined, passed := f.stats.Docs+f.docs+f.stats.QuorumDocs, f.stats.Results
	wasted := examined - passed
	if w.ids != nil || wasted < intersectFrom || 2*wasted < examined {
		return nil
	}
	if err := w.look(); err != nil || w.access == nil {
		return err
	}
	left := wasted // nobody knows; as many again
	if passed > 0 && f.limit < left {
		left = min(left, f.limit*wasted/passed)
	}
	if w.n > documentCost*wasted || w.n > documentCost*left {
		return nil
	}
	return w.read()
}

// look finds the second way.
func (w *second) look() error {
	if w.looked {
		return nil
	}
	w.looked = true
	f := w.f
	list := f.plan.req.Selector.accesses(f.course.index.allFields)
	ways := make([]way, 0, len(list))
	for i := range list {
		a := &list[i]
		if !f.course.access.isOf(a) && a.class != accessPath {
			ways = append(ways, way{index: f.course.index, access: a})
		}
	}
	if len(ways) == 0 {
		return nil
	}
	least := func() *way {
		return slices.MinFunc(pointers(ways), func(a, b *way) int { return cmp.Compare(a.n, b.n) })
	}
	err := f.src.DB.ViewAgain(f.ctx, func(s *storage.Snapshot) (err error) {
		v := survey{ctx: f.ctx, p: f.plan, src: f.src, s: s}
		if v.ix, err = f.src.openAllFields(s, f.course.index); err != nil {
			return err
		}
		if err = v.run(ways, func() bool { return least().known }); err != nil || least().n > intersectMost {
			return err
		}
		a, _ := least().access.fix(v.least)
		w.access, w.n = &a, least().n
		return nil
	})
	if errors.Is(err, errNotReady) {
		return nil
	}
	return err
}

// errNoRoom ends the reading of ids for which there is no memory.
var errNoRoom = errors.New("mango: no memory for the ids of another way")

// read reads the ids of the second way, and of the documents that the index does not know. Where there is no memory for
// them the first way is all there is.
func (w *second) read() error {
	const overhead = 60 // of an id in a map
	ids, size := make(map[string]struct{}), 0
	e := &entryScan{f: w.f, index: w.f.course.index, ranges: w.access.ranges, others: true}
	e.take = func(_ *storage.Snapshot, _ *allfields.Index, rows []entry, _ bool) (int, error) {
		for i := range rows {
			if size += overhead + len(rows[i].id); !w.f.fits(size) {
				return i, errNoRoom
			}
			ids[rows[i].id] = struct{}{}
			w.f.keys += rows[i].keys
		}
		return len(rows), nil
	}
	err := e.run()
	if errors.Is(err, errNoRoom) {
		w.access = nil
		return nil
	}
	if errors.Is(err, errNotReady) {
		return nil
	}
	if err == nil {
		w.ids, w.f.beside = ids, w.f.beside+size
		w.f.note(&way{index: w.f.course.index, access: w.access}, "intersect")
	}
	return err
}

// isOf reports whether a way is the one that an access was fixed from.
func (a *access) isOf(from *access) bool {
	return a.name == from.name || len(a.name) > len(from.name) && a.name[:len(from.name)+1] == from.name+"."
}
