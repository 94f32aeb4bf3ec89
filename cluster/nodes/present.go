package nodes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// A process that stood still, or that did not reach the store, does not know by itself that the
// others have gone on without waiting for it. So before it serves anything it looks whether they
// may have.

// elapsed is the time between two readings, by whichever clock shows more: the monotonic clock of a
// machine that was suspended stands still, and the calendar may have been set back.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// Present reports whether no other process can have taken this one for gone since it was last
// CaughtUp: its last sign of life is younger than the time that they wait for the next one.
func (m *Members) Present() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Alone() || m.presentAt(m.now())
}

// presentAt is asked with m.mu held.
func (m *Members) presentAt(now time.Time) bool {
	return !m.present.IsZero() && elapsed(m.present, now) < m.patience()
}

// CaughtUp returns at once where the process is Present. Else it says that it is there, and then
// has catchUp read what the others may have changed meanwhile: a change that is made from then on
// waits for it. Of those who ask at the same time one does, and where the store does not answer it
// none of them asks again. The error is that of the store or of catchUp, or kv.ErrUnavailable where
// that took so long that the others may have gone on again.
func (m *Members) CaughtUp(ctx context.Context, catchUp func(context.Context) error) error {
	if m.Present() {
		return nil
	}
	asked := time.Now()
	select {
	case m.returning <- struct{}{}:
		defer func() { <-m.returning }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if m.Present() {
		return nil
	}
	if m.failed != nil && m.failedAt.After(asked) {
		return m.failed
	}
	kv.Queued(ctx, asked)
	err := m.catchUp(ctx, catchUp)
	if errors.Is(err, kv.ErrUnavailable) {
		m.failed, m.failedAt = err, time.Now()
	}
	return err
}

// catchUp is CaughtUp for the one who does it.
func (m *Members) catchUp(ctx context.Context, catchUp func(context.Context) error) error {
	m.mu.Lock()
	began := m.now()
	m.mu.Unlock()
	if err := m.look(ctx); err != nil {
		return err
	}
	if err := catchUp(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	m.present = began
	m.mu.Unlock()
	if !m.Present() {
		return fmt.Errorf("nodes: the store answers too slowly: %w", kv.ErrUnavailable)
	}
	return nil
}

// beaten notes that a look has told the others, between two times, that the process is there. If
// the gap before was so long that they may have taken it for gone, it stays absent until it has
// caught up. The others' beats are a clock as well: of a machine whose own clocks were stopped with
// it.
func (m *Members) beaten(began, ended time.Time, rows map[ID]row, seen map[ID]sighting) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.present.IsZero() || elapsed(m.present, ended) >= m.patience() {
		return
	}
	for id, r := range rows {
		last, known := seen[id]
		if known && beat(r.value)-beat(last.value) >= beatsPerLease-1 {
			m.present = time.Time{}
			return
		}
	}
	m.present = began
}

// beat is the number of the sign of life that a value is of.
func beat(value []byte) uint64 { return binary.LittleEndian.Uint64(value) }
