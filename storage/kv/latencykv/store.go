package latencykv

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// defaultRoundTrip is about what a read takes on a FoundationDB cluster in one data centre under
// load.
const defaultRoundTrip = 3 * time.Millisecond

// Options of a Store; the zero value is FoundationDB with round trips of 3 ms.
type Options struct {
	// RoundTrip is what a read takes; 0: 3 ms.
	RoundTrip time.Duration
	// Limits are enforced; the zero value means kv.FDBLimits.
	Limits kv.Limits
}

// Counts are numbers of calls and round trips of a Store. Runs of an Update that were not committed
// are counted too.
type Counts struct {
	RoundTrips int64 // one after the other, with the one that begins each transaction, without commits
	Views      int64 // calls of View
	Updates    int64 // calls of Update
	Runs       int64 // runs of the functions of Update
	Commits    int64 // Updates that wrote
	TooOld     int64 // transactions that became too old
}

// Store is a kv.Store as if across a network. It is safe for concurrent use.
type Store struct {
	kv.Store
	// Virtual time that a round trip takes.
	roundTrip time.Duration
	limits    kv.Limits

	elapsed      atomic.Int64 // nanoseconds added by Elapse
	beforeCommit atomic.Pointer[func()]
	inHook       atomic.Bool

	roundTrips, views, updates, runs, commits, tooOld atomic.Int64
}

var _ kv.Store = (*Store)(nil)

// New returns inner behind a network.
func New(inner kv.Store, o Options) *Store {
	if o.RoundTrip == 0 {
		o.RoundTrip = defaultRoundTrip
	}
	if o.Limits == (kv.Limits{}) {
		o.Limits = kv.FDBLimits
	}
	sizes := o.Limits
	sizes.ReadTime = 0 // its clock would be the real one
	limited := wrapkv.WithLimits(inner, sizes, time.Now)
	limits := limited.Limits()
	limits.ReadTime = o.Limits.ReadTime
	return &Store{Store: limited, roundTrip: o.RoundTrip, limits: limits}
}

// Limits implements kv.Store.
func (s *Store) Limits() kv.Limits { return s.limits }

// BeforeCommit has fn called whenever the function of an Update has returned nil, before its
// commit; nil: no more. What fn itself commits calls no fn. It stands for a writer that is always
// faster: with one that writes what is read, Update ends only when fn stops.
func (s *Store) BeforeCommit(fn func()) {
	if fn == nil {
		s.beforeCommit.Store(nil)
		return
	}
	s.beforeCommit.Store(&fn)
}

// Elapse lets time pass for all transactions that are running: what a slow function or client takes
// between two reads.
func (s *Store) Elapse(d time.Duration) { s.elapsed.Add(int64(d)) }

// Counts returns the counts since the last Reset.
func (s *Store) Counts() Counts { return s.each((*atomic.Int64).Load) }

// Reset sets all counts to zero and returns what they were.
func (s *Store) Reset() Counts {
	return s.each(func(n *atomic.Int64) int64 { return n.Swap(0) })
}

func (s *Store) each(read func(*atomic.Int64) int64) Counts {
	return Counts{
		RoundTrips: read(&s.roundTrips), Views: read(&s.views), Updates: read(&s.updates), Runs: read(&s.runs),
		Commits: read(&s.commits), TooOld: read(&s.tooOld),
	}
}

// View implements kv.Store.
func (s *Store) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	s.views.Add(1)
	return s.Store.View(ctx, func(tx kv.ReadTx) error {
		c := s.begin()
		defer c.end()
		return fn(&reader{tx, c})
	})
}

// Update implements kv.Store. A function whose transactions become too old runs as often as with
// wrapkv.WithLimits.
func (s *Store) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	s.updates.Add(1)
	stamp, err := s.Store.Update(ctx, func(tx kv.Tx) error { return s.run(tx, fn) })
	if stamp != (kv.Versionstamp{}) {
		s.commits.Add(1)
	}
	return stamp, err
}

// run runs fn once; a run that took too long fails, whatever fn made of the errors of its reads.
func (s *Store) run(tx kv.Tx, fn func(kv.Tx) error) error {
	s.runs.Add(1)
	c := s.begin()
	defer c.end()
	if err := fn(&transaction{&reader{tx, c}, tx}); err != nil {
		return err
	}
	if hook := s.beforeCommit.Load(); hook != nil && s.inHook.CompareAndSwap(false, true) {
		defer s.inHook.Store(false)
		(*hook)()
	}
	return c.check()
}
