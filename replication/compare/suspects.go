package compare

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"time"
)

const (
	maxSuspects = 2000
	lookBatch   = 100
	stableLooks = 2  // further looks at which both sides have to be what they were
	maxLooks    = 12 // then it is unsettled
)

// observation is what one look at something has seen of both sides.
type observation struct {
	what  string            // how they differ, "" if they do not
	state [sha256.Size]byte // of both
	parts int               // what was compared: revisions of a document
}

// look looks at things by their keys, at most lookBatch of them.
type look func(ctx context.Context, keys []string) (map[string]observation, error)

// suspects are things of one kind that differed when they were looked at. They are looked at again
// before anything is said about them: the sides are read one after the other, while others write.
type suspects struct {
	c        *comparison
	look     look
	describe func(key, what string) string
	seen     map[string]*suspect
	reported int
	parts    int64 // of all that was looked at for the first time
}

type suspect struct {
	observation
	stable int
}

func (c *comparison) newSuspects(l look, describe func(key, what string) string) *suspects {
	return &suspects{c: c, look: l, describe: describe, seen: map[string]*suspect{}}
}

// first looks at things for the first time. What is the same then is done with: a later difference
// would have come after the look.
func (s *suspects) first(ctx context.Context, keys []string) error {
	for batch := range slices.Chunk(keys, lookBatch) {
		found, err := s.look(ctx, batch)
		if err != nil {
			return err
		}
		for key, o := range found {
			s.parts += int64(o.parts)
			if o.what != "" {
				s.seen[key] = &suspect{observation: o}
			}
		}
	}
	return s.bound(ctx)
}

// suspect takes something that differs as far as a list tells.
func (s *suspects) suspect(ctx context.Context, key string) error {
	s.seen[key] = &suspect{stable: -1} // no look at both sides yet
	return s.bound(ctx)
}

// bound settles what there is before it becomes too much: where everything differs, each batch
// waits for its own looks.
func (s *suspects) bound(ctx context.Context) error {
	if len(s.seen) < maxSuspects {
		return nil
	}
	return s.settle(ctx)
}

// settle looks again and again at what is suspected, and reports what stays as it is and differs.
func (s *suspects) settle(ctx context.Context) error {
	for round := 0; len(s.seen) > 0 && round < maxLooks; round++ {
		// What only a list has told of was not looked at yet: there is nothing to wait for.
		if round > 0 || s.looked() {
			select {
			case <-time.After(s.c.Wait):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for batch := range slices.Chunk(slices.Sorted(maps.Keys(s.seen)), lookBatch) {
			found, err := s.look(ctx, batch)
			if err != nil {
				return err
			}
			for _, key := range batch {
				s.again(key, found[key])
			}
		}
	}
	s.c.report.Unsettled += int64(len(s.seen))
	for key := range s.seen {
		s.c.failed(s.describe(key, "changes as often as it is looked at"))
	}
	clear(s.seen)
	return nil
}

// looked reports whether any of the suspects was looked at already.
func (s *suspects) looked() bool {
	for _, x := range s.seen {
		if x.stable >= 0 {
			return true
		}
	}
	return false
}

// again takes what another look at a suspect has seen: the same on both sides clears it, another
// state begins the count anew, and the same state for stableLooks times more makes it a
// difference.
func (s *suspects) again(key string, o observation) {
	x := s.seen[key]
	switch {
	case o.what == "":
		delete(s.seen, key)
	case x.stable < 0 || o.state != x.state:
		s.seen[key] = &suspect{observation: o}
	case x.stable+1 < stableLooks:
		x.stable++
	default:
		s.reported++
		s.c.differs(s.describe(key, o.what))
		delete(s.seen, key)
	}
}
