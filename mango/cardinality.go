package mango

import (
	"context"

	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views"
)

// accessPath is one of several ways to answer a query, with what it would read.
type accessPath struct {
	index   *Index
	entries *rangeSet // of an index over all fields
	sorted  bool      // read in the order of the sort
	n       int64     // entries, rows or documents: so many at least, until it is known
	known   bool      // n is exact, or cannot be improved
	exact   bool      // n is no estimate
	chosen  bool
}

const (
	// countLimit is how many entries of a range, or rows of a JSON index, are counted one by one.
	countLimit = 256
	// rangesCounted is how many ranges of an access path are counted; of more, some of them stand
	// for all.
	rangesCounted = 64
)

// estimator estimates how much the access paths of a query would read. It counts up to countLimit
// of each, and takes one sample of those that have more, if the cheapest one is not known by then.
type estimator struct {
	ctx     context.Context // of the call of Find, in which it begins and ends
	p       *Plan
	src     *Source
	ix      *allfields.Index
	ranges  []allfields.Range // of all access paths
	counts  []int64           // of their entries, up to countLimit, and more once they are sampled
	places  map[*rangeSet]rangePlace
	sampled bool
}

// rangePlace is where a set of ranges stands in an estimator.
type rangePlace struct {
	from, to int
	scale    int64 // how many ranges each of them stands for
}

// estimate fills in how much each access path reads, until decided says that it is enough, or all
// is known.
func (e *estimator) estimate(paths []accessPath, decided func() bool) (err error) {
	for i := range paths {
		if paths[i].entries != nil {
			e.addRanges(paths[i].entries)
		}
	}
	// Ranges of all access paths are counted in one call, so that the reads of all go to the engine
	// together: on a remote one that is a round trip for each step, not for each range.
	if e.counts, err = e.ix.CountUpTo(e.ranges, countLimit); err != nil {
		return err
	}
	// There are two rounds at the most: by the counts alone, and once more after the sample.
	// decided ends it after the first where the cheapest access path is known exactly.
	for {
		for i := range paths {
			if err := e.measure(&paths[i]); err != nil {
				return err
			}
		}
		if e.sampled || decided() {
			return nil
		}
		if err := e.sample(); err != nil {
			return err
		}
	}
}

// addRanges puts some ranges, or those of all branches of an $or, with those to be counted.
func (e *estimator) addRanges(a *rangeSet) {
	for _, branch := range a.branches {
		for i := range branch {
			e.addRanges(&branch[i])
		}
	}
	// The set of an $or has no ranges of its own: it is read by one set of each branch.
	if a.branches != nil {
		return
	}
	// Where there are too many, every step-th range is counted and stands for its neighbours. The
	// step is rounded up, so that at most rangesCounted are taken.
	step := (len(a.ranges) + rangesCounted - 1) / rangesCounted
	at := rangePlace{from: len(e.ranges), scale: int64(step)}
	for i := 0; i < len(a.ranges); i += step {
		e.ranges = append(e.ranges, a.ranges[i])
	}
	at.to = len(e.ranges)
	if e.places == nil {
		e.places = make(map[*rangeSet]rangePlace)
	}
	e.places[a] = at
}

// sample estimates the ranges that have too many entries to be counted.
func (e *estimator) sample() error {
	var large []allfields.Range
	var at []int
	for i, n := range e.counts {
		if n == countLimit {
			large, at = append(large, e.ranges[i]), append(at, i)
		}
	}
	e.sampled = true
	estimates, err := e.ix.Estimate(large)
	for k, n := range estimates {
		// The sample may come out lower than what was counted already.
		e.counts[at[k]] = max(n, countLimit)
	}
	return err
}

// measure fills in the estimate of an access path; the rows of a JSON index and the ids are counted
// here.
func (e *estimator) measure(a *accessPath) (err error) {
	switch {
	case a.known:
	case a.entries != nil:
		a.n, a.known, a.exact = e.size(a.entries)
	case a.index.Kind == KindJSON:
		a.n, err = e.rows(a.index)
		// the size is not known: CouchDB's choice stands
		if a.known, a.exact = true, a.n >= 0; !a.exact {
			a.n = 0
		}
	default:
		a.n, err = e.ids()
		a.known, a.exact = true, true
	}
	return err
}

// size adds up what is known of the ranges of a set. Of an $or these are the best ones of its
// branches.
func (e *estimator) size(a *rangeSet) (n int64, known, exact bool) {
	if a.branches == nil {
		at := e.places[a]
		counted := true
		for _, count := range e.counts[at.from:at.to] {
			n += count * at.scale
			counted = counted && count < countLimit
		}
		// The sum is known where no range was cut off at countLimit, or once the sample was taken.
		// It is exact only if, besides, no range stood for others.
		return n, counted || e.sampled, counted && at.scale == 1
	}
	known, exact = true, true
	for _, branch := range a.branches {
		more, branchKnown, branchExact := e.size(&branch[e.least(branch)])
		n, known, exact = n+more, known && branchKnown, exact && branchExact
	}
	return n, known, exact
}

// least is the number of the set that has the fewest entries.
func (e *estimator) least(list []rangeSet) (best int) {
	var least int64
	for i := range list {
		if n, _, _ := e.size(&list[i]); i == 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// rows counts the rows that the plan reads of a JSON index, -1 if that is not known. One that is
// not built reads all documents.
func (e *estimator) rows(index *Index) (int64, error) {
	if e.src.Who != nil {
		return -1, nil // it would take a count of each principal's
	}
	// Without a provider of views the index is answered from the documents themselves, like one
	// that is not built.
	if e.src.Views == nil {
		return e.before(storage.Bound{})
	}
	ix, err := e.src.Views.View(e.ctx, e.src.DB, index.DDoc, index.Name)
	if err != nil {
		return 0, err
	}
	if ready, err := ix.Ready(e.ctx); err != nil {
		return 0, err
	} else if !ready {
		return e.before(storage.Bound{})
	}
	// A copy of the plan is bent to the index, so that keyRange gives the range that a query would
	// read.
	p := *e.p
	p.use(index)
	scan := views.Scan{Partition: p.req.Partition}
	scan.Start, scan.End = p.keyRange()
	return ix.Rows(e.ctx, scan, countLimit)
}

// Estimate is about how many rows, entries or documents the plan reads; -1 where that is not known.
func (p *Plan) Estimate(ctx context.Context, src *Source) (n int64, err error) {
	c, err := p.optimize(ctx, src, true)
	if err != nil {
		return 0, err
	}
	// The optimizer has measured what it chose from. Where nothing was to choose (no index over all
	// fields) there are no paths, and the chosen index is measured here.
	for i := range c.paths {
		if c.paths[i].chosen {
			return c.paths[i].n, nil
		}
	}
	e := estimator{ctx: ctx, p: p, src: src}
	switch c.index.Kind {
	case KindAllDocs:
		return e.ids()
	case KindJSON:
		return e.rows(c.index)
	}
	return -1, nil
}

// before counts the documents before an id, or all.
func (e *estimator) before(id storage.Bound) (n int64, err error) {
	o := storage.RangeOptions{Start: id}
	err = e.src.DB.AllDocs(e.ctx, o, func(h storage.ListHeader) error {
		if n = h.Total; id.Set {
			n = h.Offset
		}
		return nil
	}, func(*storage.ListRow) error { return nil })
	return n, err
}

// mostWalked is how many documents of a slice are counted, as many as its lists count.
const mostWalked = 10_000

// walk counts the documents of a slice in a range of ids, which has no ranks; -1 for more than
// mostWalked.
func (e *estimator) walk(o storage.RangeOptions) (n int64, err error) {
	o.Limit = mostWalked + 1
	err = e.src.DB.AllDocs(e.ctx, o, nil, func(*storage.ListRow) error { n++; return nil })
	if n > mostWalked {
		n = -1
	}
	return n, err
}

// ids counts the documents in the plan's range of ids.
func (e *estimator) ids() (n int64, err error) {
	p := *e.p
	p.use(AllDocs)
	f := finder{plan: &p}
	o, some := f.idRange()
	if !some {
		return 0, nil
	}
	if e.src.Who != nil {
		return e.walk(o)
	}
	if o.Descending {
		// Bounds of a list are named in its direction; here only how many lie between is asked.
		o.Start, o.End = o.End, o.Start
	}
	o.End.Exclusive = !o.End.Exclusive // before what comes after the end
	if n, err = e.before(o.End); err == nil && o.Start.Set {
		var before int64
		before, err = e.before(o.Start)
		n -= before
	}
	return max(n, 0), err
}
