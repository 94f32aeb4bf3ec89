package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/settee-db/settee/storage/kv"
)

// Checked returns store with both sides of the contract watched, for tests. report is called at
// each violation, from the call that violates, so that its stack shows the place. Caught of
// callers: use of a transaction or an iterator after its end or by two goroutines at once,
// iterators left open, ranges that begin after their end, keys beyond \xff (which FoundationDB
// keeps for itself), values that are modified, and what depends on whether an open iterator sees
// later writes. Slices kept for too long are overwritten. Caught of engines: rows out of order, out
// of the range or over the limit, and versionstamps that do not grow.
func Checked(store kv.Store, report func(violation string)) kv.Store {
	return &checked{Store: store, report: report}
}

// errEnded is the error of reads in a transaction that has ended.
var errEnded = errors.New("kv: the transaction has ended")

type checked struct {
	kv.Store
	report func(string)

	mu   sync.Mutex
	last kv.Versionstamp // the largest of an Update that has returned
}

// View implements Store.
func (c *checked) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return c.Store.View(ctx, func(tx kv.ReadTx) error {
		s := &scope{report: c.report}
		err := fn(&checkedReader{tx, s})
		s.end(err == nil)
		return err
	})
}

// Update implements Store.
func (c *checked) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	before := c.newest(kv.Versionstamp{})
	stamp, err := c.Store.Update(ctx, func(tx kv.Tx) error {
		s := &scope{report: c.report}
		err := fn(&checkedTx{&checkedReader{tx, s}, &checkedWriter{tx, s}})
		s.end(err == nil)
		return err
	})
	if stamp != (kv.Versionstamp{}) {
		if bytes.Compare(stamp[:], before[:]) <= 0 || err != nil {
			c.report(fmt.Sprintf("versionstamp %x after %x, error %v", stamp, before, err))
		}
		c.newest(stamp)
	}
	return stamp, err
}

// newest adds a versionstamp and returns the largest so far.
func (c *checked) newest(stamp kv.Versionstamp) kv.Versionstamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Compare(stamp[:], c.last[:]) > 0 {
		c.last = stamp
	}
	return c.last
}

// scope is one run of a transaction function.
type scope struct {
	report func(string)
	busy   atomic.Bool
	// The transaction is over: what it lent is overwritten, and use of it is reported.
	ended bool
	// Values that were given out, with the copies that the caller got: a caller that changes one is
	// found.
	lent      []lent
	iterators []*checkedIterator
}

// lent is a value from the engine and the copy of it that the caller got.
type lent struct{ original, copy []byte }

// enter begins a call; false when it must not be done. A call that is entered must be left.
func (s *scope) enter(what string) bool {
	if !s.busy.CompareAndSwap(false, true) {
		s.report(what + " while another goroutine uses the transaction")
		return false
	}
	if s.ended {
		s.report(what + " after the transaction has ended")
		s.leave()
		return false
	}
	return true
}

func (s *scope) leave() { s.busy.Store(false) }

// end ends the scope; strict also asks for what may be left undone when the function fails.
func (s *scope) end(strict bool) {
	if !s.enter("the end of the function") {
		return
	}
	defer s.leave()
	s.ended = true
	for _, it := range s.iterators {
		if !it.closed && strict {
			s.report(fmt.Sprintf("iterator over %q to %q is not closed", it.begin, it.end))
		}
		it.forget()
	}
	for _, l := range s.lent {
		if !bytes.Equal(l.original, l.copy) {
			s.report(fmt.Sprintf("value %.40q was modified", l.original))
		}
		scribble(l.copy)
	}
}

// lend returns a copy of value, nil as nil, that is overwritten at the end.
func (s *scope) lend(value []byte) []byte {
	if value == nil {
		return nil
	}
	c := append([]byte{}, value...)
	s.lent = append(s.lent, lent{value, c})
	return c
}

// scribbles is what overwritten slices hold. They are copied over, since under the race detector a
// loop over bytes takes longer than all else that tests do.
var scribbles = bytes.Repeat([]byte{0xdb}, 64<<10)

// scribble overwrites bytes that are not valid any more, so that whoever still reads them fails.
func scribble(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, scribbles):]
	}
}

// key checks a key to be read or written.
func (s *scope) key(what string, key []byte) {
	if len(key) > 0 && key[0] == 0xff {
		s.report(fmt.Sprintf("%s of %.40q, which is beyond \\xff", what, key))
	}
}

// keys checks a range.
func (s *scope) keys(what string, begin, end []byte) {
	if bytes.Compare(begin, end) > 0 {
		s.report(fmt.Sprintf("%s begins at %.40q, after its end %.40q", what, begin, end))
	}
	if bytes.Compare(end, []byte{0xff}) > 0 {
		s.report(fmt.Sprintf("%s ends at %.40q, which is beyond \\xff", what, end))
	}
}

// checkedTx is the kv.Tx that transaction functions get from Checked.
type checkedTx struct {
	*checkedReader
	*checkedWriter
}

type checkedReader struct {
	tx kv.ReadTx
	s  *scope
}

// Get implements ReadTx.
func (r *checkedReader) Get(key []byte) ([]byte, error) {
	if !r.s.enter("Get") {
		return nil, errEnded
	}
	defer r.s.leave()
	r.s.key("Get", key)
	value, err := r.tx.Get(key)
	return r.s.lend(value), err
}

// GetMany implements ReadTx.
func (r *checkedReader) GetMany(keys [][]byte) ([][]byte, error) {
	if !r.s.enter("GetMany") {
		return nil, errEnded
	}
	defer r.s.leave()
	for _, key := range keys {
		r.s.key("GetMany", key)
	}
	values, err := r.tx.GetMany(keys)
	if err == nil && len(values) != len(keys) {
		r.s.report(fmt.Sprintf("GetMany of %d keys returned %d values", len(keys), len(values)))
	}
	lent := make([][]byte, len(values))
	for i, value := range values {
		lent[i] = r.s.lend(value)
	}
	return lent, err
}

// Range implements ReadTx.
func (r *checkedReader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	if !r.s.enter("Range") {
		return &checkedIterator{s: r.s, closed: true, err: errEnded}
	}
	defer r.s.leave()
	r.s.keys("Range", begin, end)
	it := &checkedIterator{
		inner: r.tx.Range(begin, end, opts), s: r.s, begin: bytes.Clone(begin), end: bytes.Clone(end), opts: opts,
	}
	r.s.iterators = append(r.s.iterators, it)
	return it
}

// Snapshot implements ReadTx.
func (r *checkedReader) Snapshot() kv.ReadTx { return &checkedReader{r.tx.Snapshot(), r.s} }

// ReadVersion implements ReadTx.
func (r *checkedReader) ReadVersion() (uint64, error) {
	if !r.s.enter("ReadVersion") {
		return 0, errEnded
	}
	defer r.s.leave()
	return r.tx.ReadVersion()
}

// SizeEstimate implements ReadTx.
func (r *checkedReader) SizeEstimate(begin, end []byte) (int64, error) {
	if !r.s.enter("SizeEstimate") {
		return 0, errEnded
	}
	defer r.s.leave()
	r.s.keys("SizeEstimate", begin, end)
	return r.tx.SizeEstimate(begin, end)
}
