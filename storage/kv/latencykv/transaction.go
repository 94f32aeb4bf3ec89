package latencykv

import (
	"fmt"
	"math"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// clock is the time of one run of a transaction, in round trips.
type clock struct {
	s      *Store
	began  int64 // what had elapsed at the beginning
	now    int64 // round trips so far
	tooOld bool
}

// begin starts a clock with the round trip that asks for a read version.
func (s *Store) begin() *clock { return &clock{s: s, began: s.elapsed.Load(), now: 1} }

func (c *clock) end() {
	c.s.roundTrips.Add(c.now)
	if c.tooOld {
		c.s.tooOld.Add(1)
	}
}

// check fails once the transaction is too old.
func (c *clock) check() error {
	age := time.Duration(c.now)*c.s.roundTrip + time.Duration(c.s.elapsed.Load()-c.began)
	limit := time.Duration(c.s.limits.ReadTime) * time.Millisecond
	if c.tooOld = c.tooOld || limit > 0 && age > limit; c.tooOld {
		return fmt.Errorf("%w: %v", kv.ErrTooOld, age)
	}
	return nil
}

// trip is a read that the caller waits for.
func (c *clock) trip() error {
	c.now++
	return c.check()
}

// transaction is the kv.Tx that transaction functions get: reads that move the clock, and the
// writes.
type transaction struct {
	kv.ReadTx
	kv.Writer
}

// reader has a clock that its reads move.
type reader struct {
	tx kv.ReadTx
	c  *clock
}

// Get implements kv.ReadTx.
func (r *reader) Get(key []byte) ([]byte, error) {
	if err := r.c.trip(); err != nil {
		return nil, err
	}
	return r.tx.Get(key)
}

// GetMany implements kv.ReadTx.
func (r *reader) GetMany(keys [][]byte) ([][]byte, error) {
	if len(keys) > 0 {
		if err := r.c.trip(); err != nil {
			return nil, err
		}
	}
	return r.tx.GetMany(keys)
}

// Snapshot implements kv.ReadTx.
func (r *reader) Snapshot() kv.ReadTx { return &reader{r.tx.Snapshot(), r.c} }

// ReadVersion implements kv.ReadTx. It costs nothing: the version came when the transaction began.
func (r *reader) ReadVersion() (uint64, error) {
	if err := r.c.check(); err != nil {
		return 0, err
	}
	return r.tx.ReadVersion()
}

// SizeEstimate implements kv.ReadTx.
func (r *reader) SizeEstimate(begin, end []byte) (int64, error) {
	if err := r.c.trip(); err != nil {
		return 0, err
	}
	return r.tx.SizeEstimate(begin, end)
}

// Range implements kv.ReadTx. The first piece is on its way from now on.
func (r *reader) Range(begin, end []byte, o kv.RangeOptions) kv.Iterator {
	it := &iterator{Iterator: r.tx.Range(begin, end, o), c: r.c, arrives: r.c.now + 1}
	switch {
	case o.Limit > 0 && o.Limit <= exactRows:
		it.pieces = []int{math.MaxInt}
	case o.WantAll:
		it.pieces = pieces[len(pieces)-1:]
	default:
		it.pieces = pieces
	}
	return it
}

// exactRows is the limit up to which fdbkv asks for all rows of a range at once.
const exactRows = 16

// pieces are the bytes that FoundationDB sends at once to a reader that may stop at any row; the
// last size repeats. A reader that wants all gets the last size from the beginning.
var pieces = []int{4096, 6144, 9216, 13824, 20736, 31104, 46656, 69984, 80000}

type iterator struct {
	kv.Iterator
	c       *clock
	arrives int64 // when the first piece is there
	pieces  []int // bytes of the pieces to come; the last size repeats
	asked   bool
	left    int // bytes of the last piece that are not read
	err     error
}

// Next implements kv.Iterator.
func (it *iterator) Next() bool {
	if it.err != nil {
		return false
	}
	switch {
	case !it.asked:
		it.c.now = max(it.c.now, it.arrives)
		it.err = it.c.check()
		it.ask()
	case it.left <= 0:
		it.err = it.c.trip()
		it.ask()
	default:
		it.err = it.c.check()
	}
	if it.err != nil || !it.Iterator.Next() {
		return false
	}
	it.left -= len(it.Key()) + len(it.Value())
	return true
}

// ask begins the read of the next piece.
func (it *iterator) ask() {
	it.asked, it.left = true, it.pieces[0]
	if len(it.pieces) > 1 {
		it.pieces = it.pieces[1:]
	}
}

// Err implements kv.Iterator.
func (it *iterator) Err() error {
	if it.err != nil {
		return it.err
	}
	return it.Iterator.Err()
}

// Close implements kv.Iterator.
func (it *iterator) Close() error {
	if err := it.Iterator.Close(); it.err == nil {
		return err
	}
	return it.err
}
