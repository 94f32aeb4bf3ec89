package memory

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
)

// What requests bring and what answers hold of documents is in memory, and both have a bound (ADR
// 0024). A request that would go over the bound waits for others to end, and is refused with 503
// when that takes too long; small requests never wait. Clients that send or take slowly must not
// keep others waiting: while somebody waits, those that hold memory and have not moved for
// slowAfter are cut off, the longest stalled first; and one user leaves a quarter of a budget to
// others.

const (
	// FreeBody is what every request may read without asking: small requests never wait for large
	// ones.
	FreeBody = 16 << 10
	// BodyCopies is about how many times a body is in memory until it is stored: as text, as
	// canonical text of its documents, in the form that revision ids are made of, and once more
	// while it is read.
	BodyCopies = 4
	// memoryWait is how long a request waits for memory.
	memoryWait = 10 * time.Second
	// SlowAfter is how long a client may take to send or to receive one piece of a body while
	// others wait for memory. A slower one is cut off.
	SlowAfter = 2 * time.Second
	// lookAgain is how often a request that waits looks for bodies that have become slow.
	lookAgain = 200 * time.Millisecond
	// leastBodies and leastAnswers keep documents of CouchDB's default limit possible on the
	// smallest machine.
	leastBodies, leastAnswers = 64 << 20, 48 << 20
)

// ErrBusy refuses a request for which there was no memory in time.
var ErrBusy = compat.Busy("Too many large requests at the same time, try again later.")

// tidyAfter is how long no request must have held memory of the budget until what large ones have
// taken goes back to the system. Go's runtime would keep it for two to five minutes.
const tidyAfter = 5 * time.Second

// tidyAgain is how long after that it is done once more: by then what the store remembers of busy
// times is forgotten, and pools are empty.
const tidyAgain = 3 * time.Minute

// Budget is memory that requests share. There is no queue: a large request that waits holds up no
// smaller one that fits. Of the requests that hold memory already only one may wait for more, and a
// second one is refused at once: two that wait for each other would never end. It is safe for
// concurrent use; nil is a budget without bound.
type Budget struct {
	Total int64
	Wait  time.Duration
	gate  *Gate
	tidy  func() // gives what is not in use back to the system

	// Forget is called before that: caches that requests have filled are emptied, so that an attack
	// leaves nothing. last is true when there were no large requests for minutes: then those caches
	// are emptied, too, that take a while to fill again. It is set before the budget is used.
	Forget func(last bool)

	mu   sync.Mutex
	Free int64 // of total; negative where what is sent was not taken before
	// what each user's requests hold; requests without a user count under ""
	users    map[string]int64
	coming   map[string]int64    // the part of their claims that those have not taken yet
	released chan struct{}       // closed when something becomes free; nil while nobody waits
	used     bool                // a good part was in use since the memory went back to the system
	tidying  *time.Timer         // gives it back; nil until it is needed first
	tidied   bool                // tidy has run once since then
	growing  *Share              // the one that has memory and waits for more
	slow     map[*Share]struct{} // those that hold memory and whose clients are waited for
	leaving  int64               // bytes held by requests that were cut off and have not ended yet
}

// NewBodies shares three eighths of the collector's limit among the bodies of requests; memory <=
// 0: no bound. All budgets together leave it more than a third: where more than two are in use it
// hardly does anything else.
func NewBodies(memory int64, gate *Gate) *Budget {
	return newMemoryBudget(memory, max(memory/8*3, leastBodies), gate)
}

// NewAnswers shares three sixteenths of the collector's limit among what answers hold.
func NewAnswers(memory int64, gate *Gate) *Budget {
	return newMemoryBudget(memory, max(memory/16*3, leastAnswers), gate)
}

// newMemoryBudget makes a budget of total bytes; nil, which bounds nothing, where the memory of the
// process is not bounded.
func newMemoryBudget(memory, total int64, gate *Gate) *Budget {
	if memory <= 0 {
		return nil
	}
	return &Budget{
		Total:  total,
		Wait:   memoryWait,
		gate:   gate,
		tidy:   debug.FreeOSMemory,
		Free:   total,
		users:  make(map[string]int64),
		coming: make(map[string]int64),
		slow:   make(map[*Share]struct{}),
	}
}

// Usage is a budget's size and state, for the statistics.
type Usage struct {
	Total, Free int64
	Leaving     int64 // bytes held by requests that were cut off and have not ended yet
	Users       int   // shares that hold something
	Slow        int   // shares whose clients are waited for
}

// Usage tells how the budget is used now.
func (b *Budget) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Total: b.Total, Free: b.Free, Leaving: b.leaving, Users: len(b.users), Slow: len(b.slow)}
}

// Resize gives the budget another size while nobody holds anything.
func (b *Budget) Resize(total int64) { b.Total, b.Free = total, total }

// Share is what one request holds of a budget. Budget, User, Client and Claim are set before the
// first take.
type Share struct {
	Budget  *Budget
	User    string       // "" for nobody
	Client  Client       // nil: the request is never cut off
	Claim   int64        // how much it is going to hold, if that is known beforehand; else 0
	PieceAt atomic.Int64 // when the latest piece began, in nanoseconds

	// Changed under budget.mu, by the request alone but for cut:
	Held int64
	lent int64 // of held, for what is being sent
	Slow bool  // its client is waited for
	cut  bool
}

// NewShare makes a share for a user without a client that could be cut off.
func NewShare(b *Budget, user string) *Share { return &Share{Budget: b, User: user} }

// Client is a request whose connection can be broken off, from another goroutine.
type Client interface{ CutOff() }

// most is how much one request can ever have: the whole budget, or half of it for a request without
// a user.
func (b *Budget) most(s *Share) int64 {
	if s.User == "" {
		return b.Total / 2
	}
	return b.Total
}

// usersMost is how much the requests of one user hold together, unless one alone needs more.
func (b *Budget) usersMost(s *Share) int64 { return min(b.most(s), b.Total/4*3) }

// allows reports whether the user of a share may have n bytes more. What his requests have claimed
// and not taken yet is theirs: so those that come together take what they need one after the other,
// where each would take a part of what all of them need.
func (b *Budget) allows(s *Share, n int64) bool {
	others := b.users[s.User] - s.Held + b.coming[s.User] - s.coming()
	return others == 0 || others+max(s.Held+n, s.Claim) <= b.usersMost(s)
}

// coming is the part of its claim that a share, once it holds something, has not taken yet.
func (s *Share) coming() int64 {
	if s.Held == 0 {
		return 0
	}
	return max(0, s.Claim-s.Held)
}

// try adds n bytes to a share. If they do not fit, wait is closed at the next change; it is nil for
// a share that must not wait.
func (b *Budget) try(s *Share, n int64) (ok bool, wait <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	mine := b.allows(s, n)
	if mine && n <= b.Free {
		b.move(s, n)
		return true, nil
	}
	b.cutSlow(s, n, mine)
	if s.Held > 0 {
		switch {
		case !mine && b.leaving == 0, mine && b.growing != nil && b.growing != s:
			return false, nil
		case mine:
			b.growing = s
		}
	}
	if b.released == nil {
		b.released = make(chan struct{})
	}
	return false, b.released
}

// cutSlow cuts those off whose clients are too slow, the longest stalled first, until n bytes are
// going to be free: of the user's own if only these are in the way.
func (b *Budget) cutSlow(waits *Share, n int64, mine bool) {
	for b.Free+b.leaving < n || !mine {
		var worst *Share
		oldest := time.Now().Add(-SlowAfter).UnixNano()
		for s := range b.slow {
			if at := s.PieceAt.Load(); s != waits && (mine || s.User == waits.User) && at <= oldest {
				worst, oldest = s, at
			}
		}
		if worst == nil {
			return
		}
		delete(b.slow, worst)
		worst.cut = true
		b.leaving += worst.Held
		worst.Client.CutOff()
		if !mine {
			return // the next look takes the next one
		}
	}
}

// endWait ends the waiting of a share.
func (b *Budget) endWait(s *Share) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.growing == s {
		b.growing = nil
	}
}

// move takes n bytes of what is free, or gives them back.
func (b *Budget) move(s *Share, n int64) {
	if n == 0 {
		return
	}
	b.Free -= n
	before := s.coming()
	s.Held += n
	add(b.users, s.User, n)
	add(b.coming, s.User, s.coming()-before)
	if s.cut {
		b.leaving += n
	}
	switch {
	case s.Held == 0 || !s.Slow:
		delete(b.slow, s)
	case !s.cut:
		b.slow[s] = struct{}{}
	}
	b.used = b.used || b.Free < b.Total-b.Total/tidyPart
	if n < 0 {
		if b.released != nil {
			close(b.released)
			b.released = nil
		}
		if b.used && b.Free == b.Total {
			b.tidyLater()
		}
	}
}

// add changes a user's count, and forgets one that is zero.
func add(counts map[string]int64, user string, n int64) {
	if counts[user] += n; counts[user] == 0 {
		delete(counts, user)
	}
}

// tidyPart is the part of the budget whose use is worth a collection afterwards.
const tidyPart = 8

// tidyLater gives memory back to the system when the budget has been free for a while.
func (b *Budget) tidyLater() {
	b.tidied = false
	if b.tidying != nil {
		b.tidying.Reset(tidyAfter)
		return
	}
	b.tidying = time.AfterFunc(tidyAfter, func() {
		b.mu.Lock()
		idle := b.Free == b.Total
		b.used = b.used && !idle
		if b.tidied = !b.tidied; idle && b.tidied {
			b.tidying.Reset(tidyAgain)
		}
		last := !b.tidied
		b.mu.Unlock()
		if idle {
			if b.Forget != nil {
				b.Forget(last)
			}
			b.tidy()
		}
	})
}

// Arrived notes that the client is not waited for any more: the time that the request takes from
// now on is the server's.
func (s *Share) Arrived() {
	if b := s.Budget; b != nil {
		b.mu.Lock()
		s.Slow = false
		delete(b.slow, s)
		b.mu.Unlock()
	}
}

// Sending notes that n bytes are on their way to the client, who is waited for. What the share
// lacks for them it takes without waiting; where the budget has not so much, shares whose clients
// have stalled are cut off.
func (s *Share) Sending(n int64) {
	b := s.Budget
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Slow = true
	s.PieceAt.Store(time.Now().UnixNano())
	s.lent = max(0, n-s.Held)
	if b.move(s, s.lent); s.lent == 0 && !s.cut {
		b.slow[s] = struct{}{}
	}
	if b.Free+b.leaving < 0 {
		b.cutSlow(s, 0, true)
	}
}

// Shrink makes the share n bytes where it is more.
func (s *Share) Shrink(n int64) {
	if b := s.Budget; b != nil {
		b.mu.Lock()
		b.move(s, min(0, n-s.Held))
		b.mu.Unlock()
	}
}

// Sent ends sending.
func (s *Share) Sent() {
	if b := s.Budget; b != nil {
		b.mu.Lock()
		s.Slow = false
		delete(b.slow, s)
		b.move(s, -s.lent)
		s.lent = 0
		b.mu.Unlock()
	}
}

// Hold makes the share n bytes, or all that one request can ever have: a request that is larger
// than the budget gets all of it. Where it needs more than it has, it first gives back what it has,
// so that it does not hold memory while it waits.
func (s *Share) Hold(ctx context.Context, n int64) error {
	b := s.Budget
	if b == nil {
		return nil
	}
	b.mu.Lock()
	had := s.Held - s.lent
	n = min(n, b.most(s)-s.lent)
	fits := n <= had
	if fits {
		b.move(s, n-had)
	} else {
		b.move(s, -had)
	}
	b.mu.Unlock()
	if fits {
		return nil
	}
	return s.Take(ctx, n)
}

// Take adds n bytes to the share. The error is ErrRequestTooLarge for what never fits,
// errMemoryBusy, or ctx's.
func (s *Share) Take(ctx context.Context, n int64) error {
	b := s.Budget
	if b == nil || n <= 0 {
		return nil
	}
	b.mu.Lock()
	held := s.Held
	b.mu.Unlock()
	if held+n > b.most(s) {
		return compat.ErrRequestTooLarge
	}
	pass := b.gate.Pass
	if held > 0 {
		pass = b.gate.GoOn
	}
	if err := pass(ctx); err != nil {
		return err
	}
	var late <-chan time.Time
	for {
		ok, wait := b.try(s, n)
		if ok {
			return nil
		}
		if wait == nil {
			return ErrBusy
		}
		if late == nil {
			late = time.After(b.Wait)
			defer b.endWait(s)
		}
		select {
		case <-wait:
		case <-time.After(lookAgain):
		case <-late:
			return ErrBusy
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Release gives all of the share back.
func (s *Share) Release() {
	if b := s.Budget; b != nil {
		b.mu.Lock()
		b.move(s, -s.Held)
		b.mu.Unlock()
	}
}
