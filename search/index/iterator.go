package index

import (
	"github.com/settee-db/settee/search/segment"
	"math/bits"
)

// iterator goes through the documents of a segment that a part of a query holds for, in order.
//
// A nil iterator stands for no documents. After the run has failed an iterator is at its end.
type iterator interface {
	doc() int32 // -1 before the first one, noMore after the last one
	next() int32
	advance(target int32) int32 // the first document not before target; target is behind doc()
	cost() int32                // about how many documents there are
	score() float32             // of the current document
}

// termIterator is the documents of one term.
type termIterator struct {
	run      *segment.Run
	postings segment.Postings
	docs     int32
	scorer   *termScorer
	// Gives the documents as a set, if they are kept; nil: they are not worth it.
	kept func() *Frequent
}

// jump makes it one that jumps to single documents, if they are kept as a set.
func (t *termIterator) jump() {
	if t.kept == nil {
		return
	}
	if f := t.kept(); f != nil {
		t.postings = &frequentPostings{f, -1}
	}
}

func (t *termIterator) doc() int32  { return t.postings.Doc() }
func (t *termIterator) cost() int32 { return t.docs }

func (t *termIterator) next() int32 {
	if t.run.Spent(1) {
		return t.postings.Advance(segment.NoMore)
	}
	return t.postings.Next()
}

func (t *termIterator) advance(target int32) int32 {
	if t.run.Spent(1) {
		return t.postings.Advance(segment.NoMore)
	}
	return t.postings.Advance(target)
}

func (t *termIterator) score() float32 {
	return t.scorer.score(float32(t.postings.Freq()), t.postings.Doc())
}

// checkIterator is all documents below n that a check holds for.
type checkIterator struct {
	run    *segment.Run
	at, n  int32
	check  func(doc int32) bool // nil: all
	value  float32              // the score
	scorer *termScorer          // if it scores as a term does
}

func (c *checkIterator) doc() int32  { return c.at }
func (c *checkIterator) cost() int32 { return c.n }
func (c *checkIterator) next() int32 { return c.advance(c.at + 1) }

// advance looks at one document after the other from target on; each costs a step of the run's
// limit.
func (c *checkIterator) advance(target int32) int32 {
	for c.at = target; c.at < c.n; c.at++ {
		if c.run.Spent(1) {
			break
		}
		if c.check == nil || c.check(c.at) {
			return c.at
		}
	}
	c.at = segment.NoMore
	return segment.NoMore
}

func (c *checkIterator) score() float32 {
	if c.scorer != nil {
		return c.scorer.score(1, c.at)
	}
	return c.value
}

// bitmapIterator is the documents of a set.
type bitmapIterator struct {
	set   *segment.Bitmap
	at    int32
	value float32
}

func (b *bitmapIterator) doc() int32     { return b.at }
func (b *bitmapIterator) cost() int32    { return b.set.Len() / 2 }
func (b *bitmapIterator) score() float32 { return b.value }
func (b *bitmapIterator) next() int32    { return b.advance(b.at + 1) }

func (b *bitmapIterator) advance(target int32) int32 {
	b.at = b.set.After(target)
	return b.at
}

// conjunction is the documents that all parts hold for, less those that one of the prohibited ones
// holds for.
type conjunction struct {
	parts      []iterator // by cost
	prohibited []iterator
	at         int32
	bool       *boolScorer
}

func (c *conjunction) doc() int32  { return c.at }
func (c *conjunction) cost() int32 { return c.parts[0].cost() }
func (c *conjunction) next() int32 { return c.settle(c.parts[0].next()) }

func (c *conjunction) advance(target int32) int32 { return c.settle(c.parts[0].advance(target)) }

// settle goes from a document of the first part to the first one that all hold for.
func (c *conjunction) settle(doc int32) int32 {
	for doc != segment.NoMore {
		if other := c.disagrees(doc); other > doc {
			doc = c.parts[0].advance(other)
			continue
		}
		if !c.isProhibited(doc) {
			break
		}
		doc = c.parts[0].next()
	}
	c.at = doc
	return doc
}

// disagrees is the document that the first part which does not hold for doc goes on with.
func (c *conjunction) disagrees(doc int32) int32 {
	for _, p := range c.parts[1:] {
		at := p.doc()
		if at < doc {
			at = p.advance(doc)
		}
		if at > doc {
			return at
		}
	}
	return doc
}

func (c *conjunction) isProhibited(doc int32) bool { return holds(c.prohibited, doc) }

// holds reports whether one of some iterators holds for a document.
func holds(all []iterator, doc int32) bool {
	for _, p := range all {
		at := p.doc()
		if at < doc {
			at = p.advance(doc)
		}
		if at == doc {
			return true
		}
	}
	return false
}

func (c *conjunction) score() float32 { return c.bool.score(c.at) }

// boolScorer adds up what the clauses of a Bool give, in their order, so that the same document has
// the same score whatever order the clauses are evaluated in.
type boolScorer struct {
	clauses []iterator // that score; nil where a clause matches no document here
	coord   []float32  // by the number of clauses that hold; nil: 1
	at      int32
	value   float32
}

// score adds up the scores of the clauses that match the document. Clauses that are behind it are
// moved up, which is why documents must be asked for in ascending order; asking twice for the same
// one is answered from memory. The sum is made in 64 bits.
func (b *boolScorer) score(doc int32) float32 {
	if b.at == doc {
		return b.value
	}
	sum, held := 0.0, 0
	for _, c := range b.clauses {
		if c == nil {
			continue
		}
		at := c.doc()
		if at < doc {
			at = c.advance(doc)
		}
		if at == doc {
			sum += float64(c.score())
			held++
		}
	}
	b.at, b.value = doc, coordinate(sum, held, b.coord)
	return b.value
}

func coordinate(sum float64, held int, coord []float32) float32 {
	if coord == nil {
		return float32(sum)
	}
	return float32(sum) * coord[held]
}

// Windows of a disjunction: small after a jump, since the next one may be far away. The largest one
// is so for each of its parts, so that many small disjunctions in a query do not take more memory
// than one large one.
const (
	leastWindow   = 64
	mostWindow    = 2048
	windowForPart = 128
)

// disjunction is the documents that at least some of the parts hold for, less the prohibited ones.
// It works on a window of documents at a time: each part adds its documents to it.
type disjunction struct {
	run        *segment.Run
	parts      []iterator // in the order of the clauses
	prohibited []iterator
	least      int
	scores     bool
	coord      []float32
	from, to   int32 // the window
	// How many documents the next window has, and at most has; multiples of 64.
	size, most int32
	at         int32
	// By document of the window: one bit if any part holds, how many parts do, and the sum of their
	// scores. Sums are 64 bits wide, as in boolScorer.
	set    []uint64
	counts []uint16
	sums   []float64
}

// newDisjunction makes the union of parts. The window grows with their number, so that opening a
// window costs each part little beside the documents in it.
func newDisjunction(
	run *segment.Run, parts, prohibited []iterator, least int, scores bool, coord []float32,
) *disjunction {
	d := &disjunction{run: run, parts: parts, prohibited: prohibited, least: max(least, 1), scores: scores,
		coord: coord, at: -1}
	d.most = int32(min(max(windowForPart*len(parts), 2*windowForPart), mostWindow))
	d.size, d.set, d.counts = d.most, make([]uint64, d.most/64), make([]uint16, d.most)
	if scores {
		d.sums = make([]float64, d.most)
	}
	return d
}

func (d *disjunction) doc() int32 { return d.at }

func (d *disjunction) cost() int32 {
	sum := int64(0)
	for _, p := range d.parts {
		sum += int64(p.cost())
	}
	return int32(min(sum, segment.NoMore-1))
}

func (d *disjunction) next() int32 { return d.find(d.at + 1) }

func (d *disjunction) advance(target int32) int32 {
	// A jump: fill doubles the size first, so that the window behind it is the least one.
	if target >= d.to && target > d.at+1 {
		d.size = leastWindow / 2
	}
	return d.find(target)
}

// find goes to the first document not before target.
func (d *disjunction) find(target int32) int32 {
	for target != segment.NoMore {
		if target >= d.to {
			if target = d.fill(target); target == segment.NoMore {
				break
			}
		}
		at := d.inWindow(target - d.from)
		if at < 0 {
			target = d.to
			continue
		}
		target = d.from + at
		if int(d.counts[at]) >= d.least && !holds(d.prohibited, target) {
			d.at = target
			return target
		}
		target++
	}
	d.at = segment.NoMore
	return segment.NoMore
}

// inWindow gives the offset of the first document of the window at or after an offset, -1 if there
// is none.
func (d *disjunction) inWindow(i int32) int32 {
	word := i >> 6
	if w := d.set[word] >> (i & 63); w != 0 {
		return i + int32(bits.TrailingZeros64(w))
	}
	for word++; word < (d.to-d.from+63)/64; word++ {
		if w := d.set[word]; w != 0 {
			return word<<6 + int32(bits.TrailingZeros64(w))
		}
	}
	return -1
}

// fill computes the next window of documents, from the first one not before target on, and gives
// that document. For all documents of the window it counts the clauses that match and adds up their
// scores. Windows grow, so that a search that needs few documents pays for few.
func (d *disjunction) fill(target int32) int32 {
	first := int32(segment.NoMore)
	for _, p := range d.parts {
		at := p.doc()
		if at < target {
			at = p.advance(target)
		}
		first = min(first, at)
	}
	if first == segment.NoMore || d.run.Spent(len(d.parts)) {
		d.from, d.to = segment.NoMore, segment.NoMore
		return segment.NoMore
	}
	d.size = min(d.size*2, d.most)
	d.from, d.to = first, first+min(d.size, segment.NoMore-first)
	clear(d.set)
	clear(d.counts[:d.to-d.from])
	if d.scores {
		clear(d.sums[:d.to-d.from])
	}
	// Clause after clause, not document after document: each one's postings are read in one go.
	for _, p := range d.parts {
		if t, blocks := groupsOf(p); blocks != nil {
			d.add(t, blocks)
			continue
		}
		for at := p.doc(); at < d.to; at = p.next() {
			i := at - d.from
			d.set[i>>6] |= 1 << (i & 63)
			d.counts[i]++
			if d.scores {
				d.sums[i] += float64(p.score())
			}
		}
	}
	return first
}

// groupsOf is an iterator over the postings of one term in a segment of blocks, which are read by
// groups; nil for others.
func groupsOf(i iterator) (*termIterator, *segment.BlockPostings) {
	if t, ok := i.(*termIterator); ok {
		blocks, _ := t.postings.(*segment.BlockPostings)
		return t, blocks
	}
	return nil, nil
}

// add adds the postings of a term that are in the window, group by group.
func (d *disjunction) add(t *termIterator, p *segment.BlockPostings) {
	for p.Doc() < d.to {
		docs, freqs := p.Group()
		n := 0
		for ; n < len(docs) && docs[n] < d.to; n++ {
			at := docs[n] - d.from
			d.set[at>>6] |= 1 << (at & 63)
			d.counts[at]++
			if d.scores {
				d.sums[at] += float64(t.scorer.score(float32(freqs[n]), docs[n]))
			}
		}
		if t.run.Spent(n) {
			p.Advance(segment.NoMore)
			return
		}
		if n < len(docs) {
			p.Skip(n)
			return
		}
		// All of the group was taken; Next reads the group behind it.
		p.Skip(n - 1)
		p.Next()
	}
}

// eachOfGroups calls found for all documents of a term that are alive, group by group.
func eachOfGroups(
	t *termIterator, p *segment.BlockPostings, live *segment.Bitmap, scores bool,
	found func(doc int32, score float32),
) {
	score := float32(0)
	for p.Next() != segment.NoMore {
		docs, freqs := p.Group()
		if t.run.Spent(len(docs)) {
			return
		}
		for k, doc := range docs {
			if live != nil && !live.Has(doc) {
				continue
			}
			if scores {
				score = t.scorer.score(float32(freqs[k]), doc)
			}
			found(doc, score)
		}
		p.Skip(len(docs) - 1)
	}
}

func (d *disjunction) score() float32 {
	if !d.scores {
		return 0
	}
	return coordinate(d.sums[d.at-d.from], int(d.counts[d.at-d.from]), d.coord)
}
