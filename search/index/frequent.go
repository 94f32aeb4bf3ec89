package index

import (
	"encoding/binary"
	"github.com/settee-db/settee/search/segment"
	"math/bits"
)

// Keeper is implemented by Blocks that cache, between queries, results that were computed from a
// segment. It is safe for concurrent use.
type Keeper interface {
	segment.Blocks
	// Kept gives what was kept under a name, nil if it was dropped or never kept.
	Kept(name string) *Frequent
	Keep(name string, f *Frequent)
	// Worth reports whether a set of documents is worth keeping, by its size and the size of the
	// segment.
	Worth(n, docs int32) bool
}

// Frequent is the documents of a segment that have a term or a phrase, as a set, with how often
// they have it and, for each word of the set, how good a score can be. It never changes.
type Frequent struct {
	docs *segment.Bitmap
	n    int32
	// How many documents of the set are before each word of 64: with a count of bits in the word it
	// is the rank of a document, by which freqs has its frequency.
	before []int32
	// Of the documents in order, a byte each; a term that is more often in one document is no
	// Frequent.
	freqs []byte
	peaks []peak // by word
}

// peak bounds the scores of the documents of a word: those that have the term more often than half
// of the most often have one of these norms or a worse one, and the others likewise. No document
// has a frequency of 0.
type peak struct{ freq, norm, less, lessNorm byte }

// mostFreq is the largest frequency that a Frequent has.
const mostFreq = 255

// Bytes is about how many bytes it takes.
func (f *Frequent) Bytes() int {
	if f == notFrequent {
		return 0
	}
	return 8*len(f.docs.Words()) + 4*len(f.before) + 4*len(f.peaks) + cap(f.freqs)
}

// notFrequent is kept in place of a set where some document has a frequency that is too large for
// it.
var notFrequent = &Frequent{}

// freq is how often a document of the set has the term.
func (f *Frequent) freq(doc int32) int32 {
	w := doc >> 6
	rank := f.before[w] + int32(bits.OnesCount64(f.docs.Words()[w]&(1<<(doc&63)-1)))
	return int32(f.freqs[rank])
}

// atLeast leaves those of the documents of a word that have the term as often.
func (f *Frequent) atLeast(i int, all uint64, freq byte) uint64 {
	freqs := f.freqs[f.before[i]:]
	// k is the rank within the word: the lowest bit that is left belongs to it.
	for word, k := f.docs.Words()[i], 0; word != 0; word, k = word&(word-1), k+1 {
		if freqs[k] < freq {
			all &^= word & -word
		}
	}
	return all & f.docs.Words()[i]
}

// frequentMaker makes a Frequent of documents that are added in order.
type frequentMaker struct {
	kind  segment.Kind
	f     *Frequent
	norms *segment.NormReader
	// The word of 64 documents that is being filled, and what its documents have.
	word int32 // of the documents that are in this and of those in all
	all  [64]struct{ freq, norm byte }
	n    int
}

// newFrequentMaker begins a Frequent of a term that n documents of the segment have. Norms of a stored
// segment are read along with the documents, for the peaks of each word of 64.
func newFrequentMaker(kind segment.Kind, s *reading, field string, n int32) *frequentMaker {
	words := (int(s.Docs()) + 63) / 64
	m := &frequentMaker{kind: kind, f: &Frequent{docs: segment.NewBitmap(s.Docs()), before: make([]int32, words),
		freqs: make([]byte, 0, n), peaks: make([]peak, words)}}
	if blocks, ok := s.Segment.(*segment.BlockSegment); ok {
		m.norms = blocks.NormReader(s.run, field)
	}
	return m
}

// add reports whether the frequency is not too large.
func (m *frequentMaker) add(doc, freq int32) bool {
	if freq > mostFreq || doc >= m.f.docs.Len() {
		return false
	}
	if w := doc >> 6; w != m.word {
		m.endWord()
		m.word = w
	}
	norm := byte(0)
	if m.norms != nil {
		norm = m.norms.Norm(doc)
	}
	m.all[m.n].freq, m.all[m.n].norm = byte(freq), m.kind.KnownNorm(norm)
	m.n++
	m.f.docs.Set(doc)
	m.f.freqs = append(m.f.freqs, byte(freq))
	return true
}

// endWord makes the peak of a word.
func (m *frequentMaker) endWord() {
	var p peak
	for _, d := range m.all[:m.n] {
		p.freq = max(p.freq, d.freq)
	}
	for _, d := range m.all[:m.n] {
		switch {
		case d.freq > p.freq/2:
			p.norm = m.kind.BetterNorm(p.norm, d.norm)
		default:
			p.less, p.lessNorm = max(p.less, d.freq), m.kind.BetterNorm(p.lessNorm, d.norm)
		}
	}
	// One pair bounds both groups then.
	if m.kind.BetterNorm(p.norm, p.lessNorm) == p.norm {
		p.less, p.lessNorm = 0, p.norm // neither is better
	}
	m.f.peaks[m.word], m.n = p, 0
}

// done completes the set: before has, for each word of bits, how many documents lie before it, so
// that a document's frequency is found without counting.
func (m *frequentMaker) done() *Frequent {
	m.endWord()
	n := int32(0)
	for w, word := range m.f.docs.Words() {
		m.f.before[w] = n
		n += int32(bits.OnesCount64(word))
	}
	m.f.n = n
	return m.f
}

// bound is the best score that documents of a word may have. Scores ascend with frequencies and
// factors, rounded or not, where the weight is not negative.
func (t *termScorer) bound(p peak) float32 {
	if p.freq == 0 {
		return 0
	}
	most := t.of(float32(p.freq), t.factors[p.norm])
	if p.less > 0 {
		most = max(most, t.of(float32(p.less), t.factors[p.lessNorm]))
	}
	return most
}

// keeper returns the Keeper of a segment, nil if it has none.
func (r *reading) keeper() Keeper {
	if blocks, ok := r.Segment.(*segment.BlockSegment); ok {
		k, _ := blocks.Blocks().(Keeper)
		return k
	}
	return nil
}

// keptName begins the name under which a term or a phrase is kept. Norms are compared as the kind
// of index does.
func keptName(what byte, kind segment.Kind, field string) []byte {
	b := []byte{what, byte(kind)}
	b = binary.AppendUvarint(b, uint64(len(field)))
	return append(b, field...)
}

func (w *termWeight) keptName() string {
	return string(append(keptName('t', w.kind, w.field), w.term...))
}

// frequent is the documents of a term as a set, made if it was not kept; nil if it cannot be one,
// or the time is up.
func (w *termWeight) frequent(s *reading) *Frequent {
	k := s.keeper()
	name := w.keptName()
	if f := k.Kept(name); f != nil {
		return f.known()
	}
	postings, n := s.Term(s.run, w.field, w.term, false)
	m := newFrequentMaker(w.kind, s, w.field, n)
	for doc := postings.Next(); doc != segment.NoMore; doc = postings.Next() {
		if s.run.Spent(1) || !m.add(doc, postings.Freq()) {
			// That it cannot be kept is kept, too, or each query would try again. (keep does not do
			// so where the time was up.)
			return keep(s.run, k, name, notFrequent)
		}
	}
	return keep(s.run, k, name, m.done())
}

// keep keeps what was made, unless the run ended before it was complete.
func keep(run *segment.Run, k Keeper, name string, f *Frequent) *Frequent {
	if run.Err() != nil {
		return nil
	}
	k.Keep(name, f)
	return f.known()
}

// known is nil for notFrequent, as for a set that is not kept.
func (f *Frequent) known() *Frequent {
	if f == notFrequent {
		return nil
	}
	return f
}

// frequent is the same for a phrase.
func (w *phraseWeight) frequent(s *reading) *Frequent {
	k := s.keeper()
	b := keptName('p', w.kind, w.field)
	for _, t := range w.of.Terms {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(t.Position)), uint64(len(t.Term)))
		b = append(b, t.Term...)
	}
	name := string(b)
	if f := k.Kept(name); f != nil {
		return f.known()
	}
	m := newFrequentMaker(w.kind, s, w.field, 0)
	if i := w.iterator(s, false); i != nil {
		p := i.(*phraseIterator)
		for doc := p.next(); doc != segment.NoMore; doc = p.next() {
			if !m.add(doc, int32(p.freq)) {
				return keep(s.run, k, name, notFrequent)
			}
		}
	}
	return keep(s.run, k, name, m.done())
}

// frequentPostings are the documents of a Frequent.
type frequentPostings struct {
	of *Frequent
	at int32
}

func (p *frequentPostings) Doc() int32  { return p.at }
func (p *frequentPostings) Next() int32 { return p.Advance(p.at + 1) }

func (p *frequentPostings) Advance(target int32) int32 {
	p.at = segment.NoMore
	if target < segment.NoMore {
		p.at = p.of.docs.After(target)
	}
	return p.at
}

func (p *frequentPostings) Freq() int32        { return p.of.freq(p.at) }
func (p *frequentPostings) Positions() []int32 { return nil }
