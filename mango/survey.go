package mango

import (
	"context"

	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views"
)

// way is one of several ways to answer a query, with what it would read.
type way struct {
	index  *Index
	access *access // of an index over all fields
	sorted bool    // read in the order of the sort
	n      int64   // entries, rows or documents: so many at least, until it is known
	known  bool    // n is as good as it gets
	exact  bool    // n is no estimate
	chosen bool
}

// A survey reads a little of each way, until the best one is known: a few entries, some hundred, then samples. So a way
// that finds little is known after little has been read, and among those that find much it takes no more.
type survey struct {
	ctx    context.Context // of the call of Find, in which it begins and ends
	p      *Plan
	src    *Source
	s      *storage.Snapshot
	ix     *allfields.Index
	leaves map[*access]*leaf
	total  int64 // documents of the database, once it is asked for; 0: not yet
	view   *views.View
}

// leaf is what is known of the ranges of a way.
type leaf struct {
	ranges []allfields.Range
	counts []int64
	done   []bool
	exact  bool
	scale  int64 // how many ranges each of those surveyed stands for
}

// surveyed is how many ranges of a way are looked at; of more, some of them.
const surveyed = 64

// rounds are what is read of each range, one round after the other. In a round of level 0 these are its entries, above
// it is samples.
var rounds = []struct{ level, limit int }{
	{0, 16},
	{0, 256},
	{1, 256},
	{2, 256},
	{3, 256},
	{allfields.SampleLevels, 256},
}

// run surveys ways until decided says that it is enough, or all is known.
func (v *survey) run(ways []way, decided func() bool) error {
	for i, round := range rounds {
		if err := v.readLeaves(ways, round.level, round.limit, i == len(rounds)-1); err != nil {
			return err
		}
		all := true
		for n := range ways {
			if err := v.measure(&ways[n], round.level, round.limit); err != nil {
				return err
			}
			all = all && ways[n].known
		}
		if all || decided() {
			return nil
		}
	}
	return nil
}

// leavesOf calls fn for each way without branches in a way.
func leavesOf(a *access, fn func(*access)) {
	if a.branches == nil {
		fn(a)
		return
	}
	for _, branch := range a.branches {
		for i := range branch {
			leavesOf(&branch[i], fn)
		}
	}
}

func (v *survey) leaf(a *access) *leaf {
	l := v.leaves[a]
	if l != nil {
		return l
	}
	l = &leaf{scale: 1, exact: true}
	step := (len(a.ranges) + surveyed - 1) / surveyed
	for i := 0; i < len(a.ranges); i += step {
		l.ranges = append(l.ranges, a.ranges[i])
	}
	if step > 1 {
		l.scale, l.exact = int64(step), false
	}
	l.counts, l.done = make([]int64, len(l.ranges)), make([]bool, len(l.ranges))
	if v.leaves == nil {
		v.leaves = make(map[*access]*leaf)
	}
	v.leaves[a] = l
	return l
}

// readLeaves counts in all ranges that are not known yet, together.
func (v *survey) readLeaves(ways []way, level, limit int, last bool) error {
	type at struct {
		l *leaf
		n int
	}
	var asked []at
	var ranges []allfields.Range
	seen := make(map[*leaf]bool)
	for i := range ways {
		if ways[i].access == nil {
			continue
		}
		leavesOf(ways[i].access, func(a *access) {
			l := v.leaf(a)
			if seen[l] {
				return
			}
			seen[l] = true
			for n := range l.ranges {
				if !l.done[n] {
					asked, ranges = append(asked, at{l, n}), append(ranges, l.ranges[n])
				}
			}
		})
	}
	if len(ranges) == 0 {
		return nil
	}
	counts, err := v.ix.Probe(ranges, level, limit)
	if err != nil {
		return err
	}
	factor := int64(1)
	for range level {
		factor *= allfields.SampleFan
	}
	for i, a := range asked {
		count := &a.l.counts[a.n]
		*count = max(*count, int64(counts[i])*factor)
		a.l.done[a.n] = counts[i] < limit || last
		a.l.exact = a.l.exact && level == 0
	}
	return nil
}

// measure brings a way up to date with what a round has read; the rows of a JSON index and the ids are read here.
func (v *survey) measure(w *way, level, limit int) (err error) {
	switch {
	case w.known:
	case w.access != nil:
		w.n, w.known, w.exact = v.size(w.access)
	case w.index.Kind == KindJSON:
		w.n, err = v.rows(w.index, limit, level > 0)
		w.known = level > 0 || w.n < int64(limit)
		if w.exact = w.known; w.n < 0 { // nobody knows: CouchDB's choice stands
			w.n, w.known, w.exact = 0, true, false
		}
	default:
		w.n, w.known, err = v.ids(limit, level > 0)
		w.exact = w.known
	}
	return err
}

// size adds up what is known of a way. Of an $or these are the best ways of its branches.
func (v *survey) size(a *access) (n int64, known, exact bool) {
	if a.branches == nil {
		l := v.leaf(a)
		known = true
		for i := range l.ranges {
			n += l.counts[i] * l.scale
			known = known && l.done[i]
		}
		return n, known, known && l.exact
	}
	known, exact = true, true
	for _, branch := range a.branches {
		i := v.least(branch)
		more, branchKnown, branchExact := v.size(&branch[i])
		n, known, exact = n+more, known && branchKnown, exact && branchExact
	}
	return n, known, exact
}

// least is the number of the way that reads least.
func (v *survey) least(list []access) (best int) {
	var least int64
	for i := range list {
		if n, _, _ := v.size(&list[i]); i == 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// rows counts the rows that the plan reads of a JSON index, -1 if that is not known. One that is not built reads all
// documents.
func (v *survey) rows(index *Index, limit int, all bool) (int64, error) {
	if v.src.Views == nil {
		return v.documents()
	}
	if v.view == nil {
		ix, err := v.src.Views.View(v.ctx, v.src.DB, index.DDoc, index.Name)
		if err != nil {
			return 0, err
		}
		if ready, err := ix.Ready(v.ctx); err != nil {
			return 0, err
		} else if !ready {
			return v.documents()
		}
		v.view = ix
	}
	p := *v.p
	p.use(index)
	scan := views.Scan{Partition: p.req.Partition}
	scan.Start, scan.End = p.keyRange()
	return v.view.Rows(v.ctx, scan, limit, all)
}

// documents is the number of documents in the database.
func (v *survey) documents() (int64, error) {
	var err error
	if v.total == 0 {
		v.total, err = v.before(storage.Bound{})
	}
	return v.total, err
}

// before counts the documents before an id, or all.
func (v *survey) before(id storage.Bound) (n int64, err error) {
	o := storage.RangeOptions{Start: id}
	err = v.src.DB.AllDocs(v.ctx, o, func(h storage.ListHeader) error {
		if n = h.Total; id.Set {
			n = h.Offset
		}
		return nil
	}, func(*storage.ListRow) error { return nil })
	return n, err
}

// ids counts the documents in the plan's range of ids.
func (v *survey) ids(limit int, all bool) (n int64, known bool, err error) {
	p := *v.p
	p.use(p.allDocs())
	f := finder{plan: &p}
	o, some := f.idRange()
	if !some {
		return 0, true, nil
	}
	if o.Descending {
		o.Start, o.End, o.Descending = o.End, o.Start, false
	}
	if o.Start.Set || o.End.Set {
		o.Limit = int64(limit)
		err := v.s.AllDocs(o, func(*storage.ListRow) error { n++; return nil })
		if err != nil || n < int64(limit) {
			return n, true, err
		}
	}
	if !all {
		return int64(limit), false, nil
	}
	if n, err = v.documents(); err == nil && o.End.Set {
		n, err = v.before(o.End)
	}
	if err == nil && o.Start.Set {
		var before int64
		before, err = v.before(o.Start)
		n -= before
	}
	return n, true, err
}
