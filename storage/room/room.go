package room

import (
	"context"

	"github.com/settee-db/settee/compat/ejson"
)

// Share is a request's part of the memory that all share; *memory.Share is one.
type Share interface {
	// Hold makes it so many bytes, or all there is: it gives back what it had, and waits its turn.
	Hold(ctx context.Context, bytes int64) error
	// Grow makes it at least so many bytes, and does not wait.
	Grow(bytes int64) error
	Release()
}

const (
	// Free is what every request has without asking, so that writers of small documents wait for
	// nobody. Shared is what those have together that share a transaction.
	Free, Shared = 1 << 20, 4 << 20
	// textCopies is how often the text of a document that is indexed is in memory until its commit is
	// through: as text, in keys, in values, in the batch. tapeCopies is how many times as much as its
	// parsed form all takes that is made of its values. storedCopies is both for a document that is
	// replaced, of which only the length is known.
	textCopies, tapeCopies, storedCopies = 4, 8, 16
)

// OfText is about what indexing a document takes.
func OfText(text []byte) int64 { return textCopies*int64(len(text)) + tapeCopies*ejson.TapeSize(text) }

// OfStored is about what a document of that many bytes takes that is replaced.
func OfStored(bytes int64) int64 { return storedCopies * bytes }

// Room is the memory of one request across its transactions. The zero value has no bound. It is for
// one goroutine.
type Room struct {
	Share   Share // nil: without bound
	asked   int64 // bytes of it
	lacks   int64 // that the last run of the transaction would have needed
	results int64 // what results take, with what will be written of them
}

// Begin begins a run of a transaction.
func (r *Room) Begin() { r.lacks = 0 }

// Fits reports whether there is memory of so many bytes. If not, Take waits for it when the
// transaction has ended.
func (r *Room) Fits(bytes int64) bool {
	if r.Share == nil || bytes <= max(r.asked, Free) {
		return true
	}
	r.lacks = bytes
	return false
}

// Lacks reports whether the last run of the transaction needs more than there is.
func (r *Room) Lacks() bool { return r.lacks > 0 }

// Take waits for the memory that the transaction lacks. The error is the share's.
func (r *Room) Take(ctx context.Context) error {
	if !r.Lacks() {
		return nil
	}
	r.asked, r.lacks = r.lacks, 0
	return r.Share.Hold(ctx, r.asked)
}

// Add counts a result of a function, if it tells its size.
func (r *Room) Add(result any) {
	if sized, ok := result.(interface{ Bytes() int64 }); ok {
		r.results += textCopies * sized.Bytes()
	}
}

// Keeps reports whether there is memory for the results.
func (r *Room) Keeps() bool {
	if r.Fits(r.results) {
		return true
	}
	if r.Share.Grow(r.results) != nil {
		return false
	}
	r.asked, r.lacks = r.results, 0
	return true
}

// Next is how many results are asked for at a time, of size at most, after some have come: as many as
// there is memory for, if they are as large as those, but at least one.
func (r *Room) Next(size, made int) int {
	if r.Share == nil || r.results == 0 {
		return size
	}
	return max(1, int(min(int64(size), (max(r.asked, Free)-r.results)*int64(made)/r.results)))
}

// Forgotten says that the results are not kept. It waits until there is memory for them, and as much
// again. The error is the share's.
func (r *Room) Forgotten(ctx context.Context) error {
	r.lacks, r.results = 2*r.results, 0
	return r.Take(ctx)
}

// End gives all back.
func (r *Room) End() {
	if r.Share != nil {
		r.Share.Release()
	}
	r.asked, r.results = 0, 0
}
