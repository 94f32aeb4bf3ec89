package segment

import (
	"context"
	"encoding/binary"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// NoMore is the number after the last document.
const NoMore = math.MaxInt32

// Segment is a part of an index as it was at one time: documents numbered from 0 in the order of
// their identities. What it answers never changes. Documents that were replaced or deleted since
// are in it and not alive.
type Segment interface {
	// Docs is the number of documents, those that are not alive included.
	Docs() int32
	// Live are the documents that are alive; nil: all of them.
	Live() *Bitmap
	// Fields are the names of all fields, in order.
	Fields() iter.Seq[string]
	// Field describes a field; false if no document has it.
	Field(field string) (FieldInfo, bool)
	// Term are the documents with a term, and how many there are; 0 if there is none.
	Term(r *Run, field, term string, positions bool) (Postings, int32)
	// Terms are the terms of a field in order. The iterator stands before the first one.
	Terms(r *Run, field string) Terms
	// Norms are the norms of a field by number of document; nil if it has none. Documents beyond
	// its end have none.
	Norms(r *Run, field string) []byte
	// Numbers are the numbers of a field; nil if it has none.
	Numbers(r *Run, field string) NumberColumn
	// Strings are the values of a field that are counted, nil if it has none; Sorts those that are
	// sorted by, one each.
	Strings(r *Run, field string) StringColumn
	Sorts(r *Run, field string) StringColumn
	// ID and Identity are the names of a document.
	ID(r *Run, doc int32) string
	Identity(r *Run, doc int32) Identity
	// Stored are the stored values of a document.
	Stored(r *Run, doc int32) []Stored
}

// FieldInfo describes a field of a segment without reading it. Documents that are not alive count
// until their segment is merged, as in Lucene.
type FieldInfo struct {
	Docs   int32 // that have terms in the field
	Length int64 // the tokens of all of them
	// What documents have of the field: positions, numbers, values that are counted.
	Positions bool
	Numbers   bool
	Strings   bool
}

// Postings are the documents with a term, in ascending order; they begin before the first one. They
// are for one goroutine. Positions are in the order of the text, and only there if they were asked
// for; the slice is used again by the next call. An error is in the Run, and the postings end.
type Postings interface {
	// Doc is the current document, -1 before the first one and noMore after the last one.
	Doc() int32
	// Next is the next document, Advance the first one not before target, which is behind the
	// current one.
	Next() int32
	Advance(target int32) int32
	// Freq is how often the current document has the term, Positions where.
	Freq() int32
	Positions() []int32
}

// Terms goes through the terms of a field in the order of their bytes. It is for one goroutine.
// Term and Docs are only good after Next or Seek was true.
type Terms interface {
	// Next goes to the next term, Seek to the first one not before term; false if there is none.
	Next() bool
	Seek(term string) bool
	Term() string
	// Docs is the number of documents with the term, Postings are these.
	Docs() int32
	Postings(positions bool) Postings
}

// NumberColumn has the numbers of documents, ascending; nil for a document without any. The slice
// is used again by the next call.
type NumberColumn interface {
	Numbers(doc int32) []float64
}

// StringColumn has strings of documents by ordinals: each value of a segment has one. Their order
// means nothing.
type StringColumn interface {
	// Ordinals are those of a document, in the order of the values.
	Ordinals(doc int32) []int32
	Value(ordinal int32) string
	// Find is the ordinal of a value. Len is how many ordinals there may be.
	Find(value string) (int32, bool)
	Len() int
}

// Run is the evaluation of one query: its deadline, the memory that it has taken, and the error
// that ended it. Readers of segments report their errors here and then act as if they were at their
// end, so that iterators need not return errors; whoever has evaluated a query has to look at the
// Run. It is for one goroutine.
type Run struct {
	ctx  context.Context // for a Run is one call, and its iterators are asked millions of times
	left int             // units of work until the context is asked again
	err  error
	sets int // bytes of the sets of documents of the segment that is read
	// States is how many states the automata of the query have; package index bounds them.
	States int
}

// NewRun begins an evaluation that ends with a context.
func NewRun(ctx context.Context) *Run { return &Run{ctx: ctx, left: PostingsBetweenChecks} }

// MaxSetBytes bounds the memory that the sets of documents of one segment take together. A thousand
// patterns in one query do not come to it on a million documents.
const MaxSetBytes = 128 << 20

// NewSet makes an empty set of the documents below n; nil if the sets of a segment would take more
// than MaxSetBytes together.
func (r *Run) NewSet(n int32) *Bitmap {
	if r.sets += int(n) / 8; r.sets > MaxSetBytes {
		return nil
	}
	return NewBitmap(n)
}

// ForgetSets says that the sets made so far are not used any more: the next segment is read.
func (r *Run) ForgetSets() { r.sets = 0 }

// PostingsBetweenChecks is after how many postings a Run looks at the time.
const PostingsBetweenChecks = 4096

// Fail ends the evaluation with an error; only the first one counts.
func (r *Run) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Err is the error that ended the evaluation, nil while it goes on.
func (r *Run) Err() error { return r.err }

// Spent counts n units of work, such as postings, and reports whether the evaluation has ended. The
// context is asked only every PostingsBetweenChecks units, since that takes longer than a posting.
func (r *Run) Spent(n int) bool {
	if r.left -= n; r.left <= 0 {
		r.left = PostingsBetweenChecks
		if err := r.ctx.Err(); err != nil {
			r.Fail(context.Cause(r.ctx))
		}
	}
	return r.err != nil
}

// Bitmap is a set of numbers of documents, below a fixed number. It may be read by any number of
// goroutines while none changes it.
type Bitmap struct {
	// 64 documents in each, the lowest bit first; bits from n on are 0.
	words []uint64
	n     int32
}

// NewBitmap makes an empty set of the documents below n.
func NewBitmap(n int32) *Bitmap { return &Bitmap{words: make([]uint64, (int(n)+63)/64), n: n} }

// Set adds a document, which must be below the set's size.
func (b *Bitmap) Set(doc int32) { b.words[doc>>6] |= 1 << (doc & 63) }

// Clear takes a document out.
func (b *Bitmap) Clear(doc int32) { b.words[doc>>6] &^= 1 << (doc & 63) }

// Has reports whether a document is in the set.
func (b *Bitmap) Has(doc int32) bool { return b.words[doc>>6]&(1<<(doc&63)) != 0 }

// Len is the number that all documents of the set are below.
func (b *Bitmap) Len() int32 { return b.n }

// Words are the documents by 64: bit 0 of the first word is document 0. Nobody else may change them.
func (b *Bitmap) Words() []uint64 { return b.words }

// After is the first document of the set that is not below target, NoMore if there is none.
func (b *Bitmap) After(target int32) int32 {
	if target >= b.n {
		return NoMore
	}
	i := int(target >> 6)
	w := b.words[i] >> (target & 63)
	if w != 0 {
		return target + int32(bits.TrailingZeros64(w))
	}
	for i++; i < len(b.words); i++ {
		if b.words[i] != 0 {
			return int32(i<<6 + bits.TrailingZeros64(b.words[i]))
		}
	}
	return NoMore
}

// fill adds all documents.
func (b *Bitmap) fill() {
	for doc := range b.n {
		b.Set(doc)
	}
}

// Clone is a copy.
func (b *Bitmap) Clone() *Bitmap { return &Bitmap{words: slices.Clone(b.words), n: b.n} }

// Count gives how many documents are in the set; it goes over all of its words.
func (b *Bitmap) Count() int32 {
	n := 0
	for _, w := range b.words {
		n += bits.OnesCount64(w)
	}
	return int32(n)
}

// All is the set of all documents below n.
func All(n int32) *Bitmap {
	b := NewBitmap(n)
	b.fill()
	return b
}

// AppendTo appends the set as bytes, which ReadBitmap reads.
func (b *Bitmap) AppendTo(dst []byte) []byte {
	for _, w := range b.words {
		dst = binary.BigEndian.AppendUint64(dst, w)
	}
	return dst
}

// ReadBitmap reads a set of documents below n; false if the bytes are not those of one.
func ReadBitmap(src []byte, n int32) (*Bitmap, bool) {
	b := NewBitmap(n)
	if len(src) != 8*len(b.words) {
		return nil, false
	}
	for i := range b.words {
		b.words[i] = binary.BigEndian.Uint64(src[8*i:])
	}
	if rest := n & 63; rest != 0 && b.words[len(b.words)-1]>>rest != 0 {
		return nil, false
	}
	return b, true
}

// NameOf reads the id and the identity of a document of a segment, outside of a query. The error is
// that of ctx, or of the segment.
func NameOf(ctx context.Context, s Segment, doc int32) (string, Identity, error) {
	run := NewRun(ctx)
	id, identity := s.ID(run, doc), s.Identity(run, doc)
	return id, identity, run.err
}

// Find is the number of the document of an identity in a segment; false if it is not there.
func Find(ctx context.Context, s Segment, identity Identity) (doc int32, ok bool, err error) {
	run := NewRun(ctx)
	doc = int32(sort.Search(int(s.Docs()), func(i int) bool { return s.Identity(run, int32(i)) >= identity }))
	ok = doc < s.Docs() && s.Identity(run, doc) == identity
	return doc, ok && run.err == nil, run.err
}
