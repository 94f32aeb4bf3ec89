package eventing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Each process writes what it has counted into the store every so often, so that every one of them
// can tell the sum, and that it outlives a process that is killed. What processes have counted that
// are gone is added up under the zero ID.

const (
	statsEvery = 2 * time.Second
	// statsSize bounds what is stored of one process, in bytes: where the lines of the code have
	// more to tell, their texts are left out first, then they are.
	statsSize = 90_000
)

// statsOf are the statistics of an instance in this process.
func (e *Engine) statsOf(r *registry.Record) *Statistics {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats[r.Instance]
	if s == nil {
		s = newStatistics()
		e.stats[r.Instance] = s
	}
	return s
}

// own gives what this process has counted of a function, with what is under way; node goes into the
// names of its workers.
func (e *Engine) own(r *registry.Record, node string) tally {
	t := e.statsOf(r).now()
	t.Workers = make(map[string][]int)
	e.mu.Lock()
	var f *function
	if run := e.running[r.Ref()]; run != nil {
		f = run.f
	}
	e.mu.Unlock()
	if f == nil {
		return t
	}
	reader, _ := f.now.get()
	if reader == nil {
		return t
	}
	reader.tell(&t)
	for i, l := range reader.workers {
		t.Workers[workerName(r.Draft.Name, i, node)] = l.mine
	}
	return t
}

// total adds up what all processes have counted of a function. What others have counted is two
// seconds old at most. The parts are by process.
func (e *Engine) total(ctx context.Context, r *registry.Record) (sum tally, parts map[nodes.ID]*tally, err error) {
	self := e.members.Self()
	err = kv.ViewAgain(ctx, e.o.KV, func(tx kv.ReadTx) error {
		parts, _, err = readStats(tx, spaceOf(r.Instance))
		return err
	})
	if err != nil {
		return sum, nil, err
	}
	sum = e.own(r, "")
	own := sum
	for id, t := range parts {
		if id == self {
			continue
		}
		sum.add(t)
		for name, list := range t.Workers {
			sum.Workers[name] = list
		}
	}
	parts[self] = &own
	return sum, parts, nil
}

// readStats reads what processes have stored of an instance, by process, and the counter of resets.
func readStats(tx kv.ReadTx, s space) (all map[nodes.ID]*tally, resets []byte, err error) {
	value, err := tx.Get(s.sub(tagResets))
	if err != nil {
		return nil, nil, err
	}
	resets = append(resets, value...)
	prefix := s.sub(tagStats)
	begin, end := below(prefix)
	it := tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	all = make(map[nodes.ID]*tally)
	for it.Next() {
		id, t, err := parseStats(it.Key()[len(prefix):], it.Value())
		if err != nil {
			return nil, nil, err
		}
		all[id] = t
	}
	return all, resets, it.Err()
}

// parseStats reads the statistics of one process: its id is the rest of the key, and the value is
// JSON.
func parseStats(key, value []byte) (id nodes.ID, t *tally, err error) {
	raw, rest, err := tuple.ReadBytes(key)
	if err != nil || len(rest) > 0 || len(raw) != len(id) {
		return id, nil, corrupt("statistics")
	}
	sum := newTally()
	if err := json.Unmarshal(value, &sum); err != nil {
		return id, nil, corrupt("statistics")
	}
	return nodes.ID(raw), &sum, nil
}

func (s space) stats(id nodes.ID) []byte { return tuple.AppendBytes(s.sub(tagStats), id[:]) }

// encode makes the value of a tally. One that would be longer than statsSize loses the texts of its
// lines first, then the lines.
func (t tally) encode() ([]byte, error) {
	b, err := json.Marshal(t)
	if err != nil || len(b) <= statsSize {
		return b, err
	}
	for line, l := range t.Lines {
		l.ErrorMessage, l.LastLog = "", ""
		t.Lines[line] = l
	}
	if b, err = json.Marshal(t); err == nil && len(b) > statsSize {
		t.Lines = nil
		b, err = json.Marshal(t)
	}
	return b, err
}

// shareStats stores what is counted here, until the engine ends.
func (e *Engine) shareStats() {
	for sleep(e.ctx, statsEvery) == nil {
		e.shareStatsOnce(e.ctx)
	}
}

// leaveStats stores what was counted here for the last time, when the process stops and nothing
// counts any more.
func (e *Engine) leaveStats() {
	ctx, cancel := context.WithTimeout(kv.UseReserve(context.Background()), releaseTime)
	defer cancel()
	e.shareStatsOnce(ctx)
}

// shareStatsOnce stores what this process has counted, for the other processes and later ones to read.
// A failure is logged and made good by the next round, since the totals are stored, not the
// differences.
func (e *Engine) shareStatsOnce(ctx context.Context) {
	e.mu.Lock()
	var counted []*registry.Record
	for _, r := range e.records {
		if r.State != definition.Undeployed && e.stats[r.Instance] != nil {
			counted = append(counted, r)
		}
	}
	e.mu.Unlock()
	for _, r := range counted {
		if err := e.storeStats(ctx, r); err != nil && ctx.Err() == nil {
			e.o.Log.Warn("eventing: statistics were not stored", "function", r.Ref().String(), "error", err)
		}
	}
}

// storeStats stores what this process has counted of a function, if that has changed; what was
// reset elsewhere is reset here, and what processes have left that are gone is added up.
func (e *Engine) storeStats(ctx context.Context, r *registry.Record) error {
	s, space, self := e.statsOf(r), spaceOf(r.Instance), e.members.Self()
	members, _, err := e.members.Live(ctx)
	if err != nil {
		return err
	}
	label, live := "", ids(members)
	for _, m := range members {
		if m.ID == self {
			label = m.Label()
		}
	}
	own := e.own(r, label)
	value, err := own.encode()
	// A process that is alone knows of all resets, so it has nothing to do if nothing was counted.
	if err != nil || len(members) < 2 && (len(own.Counts) == 0 || s.hasStored(value)) {
		return err
	}
	var resets uint64
	_, err = e.o.KV.Update(ctx, func(tx kv.Tx) error {
		if err := registry.Stands(tx, r); err != nil {
			return err
		}
		all, counted, err := readStats(tx.Snapshot(), space) // others write theirs all the time
		if err != nil {
			return err
		}
		resets = count(counted)
		if !s.resetSince(resets) && !s.hasStored(value) {
			tx.Set(space.stats(self), value)
		}
		return foldDeparted(tx, space, all, live)
	})
	if errors.Is(err, registry.ErrChanged) {
		return nil // the next turn knows
	}
	if err == nil {
		s.noteStored(value, resets)
	}
	return err
}

// foldDeparted adds what processes have left that are gone to the sum under the zero ID, and
// removes their own, so that the number of entries is bounded by the living processes.
func foldDeparted(tx kv.Tx, s space, all map[nodes.ID]*tally, live []nodes.ID) error {
	sum, gone := newTally(), false
	for id, t := range all {
		if id == (nodes.ID{}) || alive(id, live) {
			continue
		}
		// what was read without a conflict is read with one: of two processes that fold it only one
		// does
		if _, err := tx.Get(s.stats(id)); err != nil {
			return err
		}
		tx.Clear(s.stats(id))
		sum.add(t)
		gone = true
	}
	if !gone {
		return nil
	}
	value, err := tx.Get(s.stats(nodes.ID{}))
	if err != nil {
		return err
	}
	if value != nil {
		before := newTally()
		if err := json.Unmarshal(value, &before); err != nil {
			return corrupt("statistics")
		}
		sum.add(&before)
	}
	sum.Queued, sum.QueuedBytes = 0, 0
	if value, err = sum.encode(); err == nil {
		tx.Set(s.stats(nodes.ID{}), value)
	}
	return err
}

// hasStored reports whether a value is the one that was stored last.
func (s *Statistics) hasStored(value []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Equal(value, s.stored)
}

// resetSince reports whether another process has reset the statistics since this one has looked.
func (s *Statistics) resetSince(resets uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookedForResets && resets > s.resets
}

// noteStored remembers what is stored now, and resets the counters if another process has reset
// them since.
func (s *Statistics) noteStored(value []byte, resets uint64) {
	if s.resetSince(resets) {
		s.reset()
		value = nil
	}
	s.mu.Lock()
	s.stored, s.resets, s.lookedForResets = value, max(s.resets, resets), true
	s.mu.Unlock()
}

// ResetStats sets the counters of a function back to 0, in other processes on the store within two
// seconds.
func (e *Engine) ResetStats(ctx context.Context, r *registry.Record) error {
	e.statsOf(r).reset()
	s, instance := spaceOf(r.Instance), r.Instance
	for r != nil && r.Instance == instance {
		var resets uint64
		_, err := e.o.KV.Update(ctx, func(tx kv.Tx) error {
			if err := registry.Stands(tx, r); err != nil {
				return err
			}
			before, err := tx.Get(s.sub(tagResets))
			if err != nil {
				return err
			}
			resets = count(before) + 1
			tx.ClearRange(below(s.sub(tagStats)))
			tx.Atomic(kv.Add, s.sub(tagResets), oneMore)
			return nil
		})
		if err == nil {
			e.statsOf(r).noteStored(nil, resets) // or this process would reset again in two seconds
		}
		if !errors.Is(err, registry.ErrChanged) {
			return err
		}
		if r, err = e.registry.Get(ctx, r.Ref()); err != nil {
			return err
		}
	}
	return nil // it is another instance, or none, that has nothing to reset
}
