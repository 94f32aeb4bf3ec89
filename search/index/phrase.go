package index

import (
	"github.com/settee-db/settee/search/segment"
	"math/bits"
	"slices"
)

// phraseIterator is the documents that have the terms of a phrase at positions that fit together.
type phraseIterator struct {
	run *segment.Run
	// In the order of the phrase; byCost has the same with the rarest first, which leads.
	parts  []*phrasePart
	byCost []*phrasePart
	// By how many positions the terms may be apart from their places.
	slop   int32
	packed bool // all parts are of blocks
	repeat bool // a term is there twice
	mixed  bool // and one of its parts has alternatives
	at     int32
	// How often the current document has the phrase; with slop the sum of what its windows count.
	freq   float32
	scorer *termScorer
}

// phrasePart is one position of a phrase, with one term or several alternatives.
type phrasePart struct {
	segment.Postings
	blocks *segment.BlockPostings // the same, if they are that
	// Its position in the phrase: a term at position p of the text begins the phrase at p-offset.
	offset int32
	docs   int32
	list   []int32 // positions in the current document
	// The current place in list.
	i int
}

// position is where the phrase would begin by the current position of the part.
func (p *phrasePart) position() int32 { return p.list[p.i] - p.offset }

func (p *phraseIterator) doc() int32     { return p.at }
func (p *phraseIterator) cost() int32    { return p.byCost[0].docs }
func (p *phraseIterator) score() float32 { return p.scorer.score(p.freq, p.at) }
func (p *phraseIterator) next() int32    { return p.settle(p.byCost[0].Next()) }

func (p *phraseIterator) advance(target int32) int32 { return p.settle(p.byCost[0].Advance(target)) }

// settle goes from a document of the rarest term to the first one that has the phrase.
func (p *phraseIterator) settle(doc int32) int32 {
	first := p.byCost[0]
	for doc != segment.NoMore {
		if p.run.Spent(1) {
			doc = segment.NoMore
			break
		}
		agreed := doc
		for _, part := range p.byCost[1:] {
			at := part.Doc()
			if at < doc {
				at = part.Advance(doc)
			}
			if at > doc {
				agreed = at
				break
			}
		}
		if agreed > doc {
			doc = first.Advance(agreed)
			continue
		}
		if p.freq = p.count(); p.freq > 0 {
			break
		}
		doc = first.Next()
	}
	p.at = doc
	return doc
}

// count is how often the current document has the phrase; with slop the farther apart, the less it
// counts.
func (p *phraseIterator) count() float32 {
	if p.slop == 0 && p.packed {
		if n, ok := p.meet(); ok {
			return n
		}
	}
	n := 0
	for _, part := range p.parts {
		part.list, part.i = part.Positions(), 0
		if len(part.list) == 0 { // of a damaged segment
			return 0
		}
		n += len(part.list)
	}
	p.run.Spent(n)
	switch {
	case p.slop == 0:
		return p.exact()
	case p.repeat:
		return p.repeated()
	}
	return p.sloppy()
}

// marks are positions as a set.
const markWords = 4

type marks [markWords]uint64

// meet counts the positions at which every term has its place as exact does, from the bytes of the
// positions: each term marks where the phrase would begin. Not ok: there are positions too far
// behind, or twice, or the segment is damaged.
func (p *phraseIterator) meet() (count float32, ok bool) {
	var all marks
	first := p.parts[0].offset
	for i, part := range p.parts {
		var own marks
		if !own.add(part.blocks.Place(), int(part.offset-first)) {
			return 0, false
		}
		if i == 0 {
			all = own
			continue
		}
		left := uint64(0)
		for j := range all {
			all[j] &= own[j]
			left |= all[j]
		}
		// No start is common to all terms so far; the rest need not be read.
		if left == 0 {
			return 0, true
		}
	}
	n := 0
	for _, w := range all {
		n += bits.OnesCount64(w)
	}
	p.run.Spent(n)
	return float32(n), true
}

// add marks positions less an offset; those before it mark nothing. b begins with how many there
// are, then there are differences; all have to be of one byte, and none but the first one may be 0.
func (m *marks) add(b []byte, offset int) bool {
	if len(b) < 2 || b[0] >= 0x80 || b[0] == 0 || int(b[0]) >= len(b) {
		return false
	}
	steps := b[1 : 1+int(b[0])]
	at, odd := int(steps[0])-offset, steps[0]
	if at >= 0 {
		// The index is cut to the array's size so that no check is needed here; whether positions
		// were beyond it is seen at the end, from the last one.
		m[at>>6&(markWords-1)] |= 1 << (at & 63)
	}
	for _, step := range steps[1:] {
		// A step of 0 makes all bits of step-1 one, and one beyond 127 has the highest bit: both
		// show in odd.
		odd |= step | (step - 1)
		if at += int(step); at >= 0 {
			m[at>>6&(markWords-1)] |= 1 << (at & 63)
		}
	}
	return odd < 0x80 && at < 64*markWords
}

// exact counts the positions at which every term has its place.
func (p *phraseIterator) exact() float32 {
	count := float32(0)
	first := p.parts[0]
	for ; first.i < len(first.list); first.i++ {
		start, all := first.position(), true
		for _, part := range p.parts[1:] {
			for part.i < len(part.list) && part.position() < start {
				part.i++
			}
			if part.i == len(part.list) {
				return count
			}
			if part.position() != start {
				all = false
				break
			}
		}
		if all {
			count++
		}
	}
	return count
}

// sloppy goes over the windows that hold one position of each term, as Lucene's scorer does: the
// first one of a window moves on while it stays the first one, since that makes the window smaller.
func (p *phraseIterator) sloppy() float32 {
	order := slices.Clone(p.parts)
	freq, end := float32(0), int32(0)
	for i, part := range order {
		if at := part.position(); i == 0 || at > end {
			end = at
		}
	}
	for {
		// Few parts: sorting again is cheaper than keeping a heap.
		slices.SortStableFunc(order, func(a, b *phrasePart) int { return int(a.position() - b.position()) })
		first, next := order[0], order[1].position()
		width := end - first.position()
		for {
			if first.i++; first.i == len(first.list) {
				return freq + weightOf(width, p.slop)
			}
			at := first.position()
			end = max(end, at)
			// It is not the first one any more, so that the window before it is complete.
			if at > next {
				break
			}
			width = min(width, end-at)
		}
		freq += weightOf(width, p.slop)
	}
}

// weightOf is what a window counts.
func weightOf(width, slop int32) float32 {
	if width > slop {
		return 0
	}
	return 1 / float32(width+1)
}

// repeated does the same where a term is there twice: a position may be used once. Windows begin at
// each position that a term could have.
func (p *phraseIterator) repeated() float32 {
	var starts []int32
	for _, part := range p.parts {
		for part.i = range part.list {
			starts = append(starts, part.position())
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	freq := float32(0)
	for _, start := range starts {
		if p.assign(0, start, map[int32]bool{}) {
			end := start
			for _, part := range p.parts {
				end = max(end, part.position())
			}
			freq += weightOf(end-start, p.slop)
		}
	}
	return freq
}

// assign gives the parts from i on the first positions from a start on that no other part has, and
// no farther than the slop. Where all parts have one term it never has to take one back.
func (p *phraseIterator) assign(i int, start int32, used map[int32]bool) bool {
	if i == len(p.parts) {
		return true
	}
	part := p.parts[i]
	first, _ := slices.BinarySearch(part.list, start+part.offset)
	for at := first; at < len(part.list) && part.list[at]-part.offset-start <= p.slop; at++ {
		if p.run.Spent(1) {
			return false
		}
		if position := part.list[at]; !used[position] {
			used[position], part.i = true, at
			if p.assign(i+1, start, used) {
				return true
			}
			if !p.mixed {
				return false
			}
			delete(used, position)
		}
	}
	return false
}

// alternatives are the documents and positions of several terms together.
type alternatives struct {
	all       []segment.Postings
	at        int32
	positions []int32
}

func (a *alternatives) Doc() int32  { return a.at }
func (a *alternatives) Next() int32 { return a.Advance(a.at + 1) }

// Advance goes to the first document from target on that any of the terms has.
func (a *alternatives) Advance(target int32) int32 {
	a.at = segment.NoMore
	for _, p := range a.all {
		at := p.Doc()
		if at < target {
			at = p.Advance(target)
		}
		a.at = min(a.at, at)
	}
	return a.at
}

func (a *alternatives) Freq() int32 { return int32(len(a.Positions())) }

// Positions are those of all terms in the document, sorted, each once. The slice is used again by
// the next call.
func (a *alternatives) Positions() []int32 {
	a.positions = a.positions[:0]
	for _, p := range a.all {
		if p.Doc() == a.at {
			a.positions = append(a.positions, p.Positions()...)
		}
	}
	slices.Sort(a.positions)
	a.positions = slices.Compact(a.positions)
	return a.positions
}
