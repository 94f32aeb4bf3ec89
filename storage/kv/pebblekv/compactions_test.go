package pebblekv

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// backlog is a database with compactions to run, each of which takes a second.
type backlog struct {
	allowed int
	waiting atomic.Int32
	started []time.Time
}

func (b *backlog) GetAllowedWithoutPermission() int { return b.allowed }

func (b *backlog) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return b.waiting.Load() > 0, pebble.WaitingCompaction{}
}

func (b *backlog) Schedule(h pebble.CompactionGrantHandle) bool {
	if b.waiting.Add(-1) < 0 {
		b.waiting.Store(0)
		return false
	}
	b.started = append(b.started, time.Now())
	go func() {
		time.Sleep(time.Second)
		h.Done()
	}()
	return true
}

// TestCompactionsWait: compactions wait while writers are busy, run one by one after that, and do
// not wait where much has come together.
func TestCompactionsWait(t *testing.T) {
	const busy = 5 * time.Second
	for name, tc := range map[string]struct {
		allowed int // at once, by Pebble
		writing time.Duration
		begins  time.Duration // the first one, and not more than three ticks later
	}{
		"quiet":    {allowed: 1},
		"busy":     {allowed: 1, writing: busy, begins: busy},
		"pressing": {allowed: 2, writing: busy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCompactions()
				db := &backlog{allowed: tc.allowed}
				c.Register(2, db)
				began := time.Now()
				for c.wrote(busyBytes); time.Since(began) < tc.writing; c.wrote(busyBytes) {
					time.Sleep(quietTick)
					if time.Since(began) == quietTick {
						db.waiting.Store(4)
					}
				}
				c.written.Store(0)
				if tc.writing == 0 {
					db.waiting.Store(4)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				c.Unregister()
				if len(db.started) != 4 {
					t.Fatalf("%d of 4 have run", len(db.started))
				}
				if after := db.started[0].Sub(began); after < tc.begins || after > tc.begins+(quietTicks+1)*quietTick {
					t.Errorf("the first one ran after %v, want %v", after, tc.begins)
				}
				beside := 0
				for _, s := range db.started {
					if s.Sub(db.started[0]) < time.Second {
						beside++
					}
				}
				if beside != tc.allowed {
					t.Errorf("%d ran side by side, want %d", beside, tc.allowed)
				}
				if ok, _ := c.TrySchedule(); ok {
					t.Error("one was allowed after the end")
				}
			})
		})
	}
}

// TestWritersBeforeCompactions: under a load without a pause L0 grows to patientSublevels and about
// as much as is written while it is compacted, and is compacted when the load ends.
func TestWritersBeforeCompactions(t *testing.T) {
	kvtest.Long(t)
	s := openBench(t, Options{MemTableSize: 256 << 10, device: 100 << 30})
	highest := 0
	for n := range 60 {
		s.compactions.wrote(busyBytes) // however slow this machine is
		mustUpdate(t, s, func(tx kv.Tx) error {
			for i := range 500 {
				writeDoc(tx, (n*500+i)*7919%1_000_003, benchDoc(i))
			}
			return nil
		})
		m := s.db.Metrics()
		highest = max(highest, int(m.Levels[0].Sublevels))
	}
	if highest < patientSublevels/2 || highest > 24 {
		t.Errorf("L0 grew to %d sublevels", highest)
	}
	for range 100 {
		if m := s.db.Metrics(); m.Levels[0].Sublevels < 4 && m.Compact.NumInProgress == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("L0 was not compacted: %d sublevels", s.db.Metrics().Levels[0].Sublevels)
}
