package nodes

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// ID names a process for as long as it lives.
type ID [16]byte

// Topic is something that all processes follow, each change of which has a number.
type Topic int

// The topics. The order is on disk.
const (
	Functions Topic = iota // changes of event functions
	Settings               // changes of settings that processes share
	topics
)

// Info is what a process tells of itself. JSON in its key.
type Info struct {
	// shown to people and used in paths of requests; two processes may have the same
	Name    string    `json:"name"`
	Address string    `json:"address,omitempty"` // URL at which other processes reach it
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	// the newest format of stores that its program reads and writes
	Format byte      `json:"format,omitempty"`
	Load   int64     `json:"load,omitempty"` // requests under way at its last beat, feeds that wait among them
	Beat   time.Time `json:"beat,omitzero"`  // its last one by its own clock: for people
}

// Member is a process on the store.
type Member struct {
	Info
	ID ID
	// Seen is what the process has told of with Members.Saw.
	Seen [topics]uint64
}

// Label is the name with the begin of the id: processes may have the same name, or none.
func (m Member) Label() string {
	id := hex.EncodeToString(m.ID[:4])
	if m.Name == "" {
		return id
	}
	return m.Name + "-" + id
}

// Options configure New.
type Options struct {
	KV     kv.Store
	Prefix []byte // of all keys
	Info   Info   // of this process, but for Address (Advertise), Load and Beat
	// Load tells how many requests are under way; nil: it is not told.
	Load func() int64
	// Lease is how long a process counts as alive at most after its last sign of life, where the
	// store answers at once; 0: no other process has the store open. All processes on a store
	// should have the same.
	Lease time.Duration
	Log   *slog.Logger
}

const (
	// beatsPerLease is how often a process says that it lives in a lease.
	beatsPerLease = 10
	// leasesKept is how long the key of a process that is gone is kept, in leases.
	leasesKept = 10
)

// Members are the processes on a store. It is safe for concurrent use.
type Members struct {
	o    Options
	self ID
	now  func() time.Time
	kick chan struct{}
	// looked is closed after the first look, when live is filled.
	looked chan struct{}

	pass  sync.Mutex // held during a look; guards beat, there
	beat  uint64
	there bool // what the others are told

	mu      sync.Mutex // never held while a transaction runs
	address string
	seen    map[ID]sighting
	saw     [topics]uint64
	live    []Member
	changed chan struct{} // closed when live changes
	present time.Time     // when the last sign of life began, without a gap before it; zero: it is to catch up

	returning chan struct{} // held while catching up; guards failed, failedAt
	failed    error         // the latest failure to reach the store
	failedAt  time.Time
}

// sighting is a process as it was seen last.
type sighting struct {
	value []byte
	since time.Time // seen with this value
}

// New makes the Members of a store as one of its processes sees them. Run makes it one of them.
func New(o Options) *Members {
	m := &Members{
		o: o, now: time.Now, kick: make(chan struct{}, 1), looked: make(chan struct{}), seen: make(map[ID]sighting),
		changed: make(chan struct{}), returning: make(chan struct{}, 1),
	}
	_, _ = rand.Read(m.self[:]) // it never fails
	m.live = []Member{{ID: m.self, Info: o.Info}}
	if m.Alone() {
		close(m.looked)
	}
	return m
}

// Alone reports whether the process has the store to itself.
func (m *Members) Alone() bool { return m.o.Lease <= 0 }

// interval is how often a process says that it lives, and looks who else does.
func (m *Members) interval() time.Duration { return m.o.Lease / beatsPerLease }

// patience is how long a process counts as alive after it was seen with another sign of life, which
// may have been an interval old then.
func (m *Members) patience() time.Duration { return m.o.Lease - m.interval() }

// Self is this process.
func (m *Members) Self() ID { return m.self }

// Live are the processes that are there, in ascending order of their ids, this one among them; it
// waits until that was looked at once. changed is closed when they are others.
func (m *Members) Live(ctx context.Context) (live []Member, changed <-chan struct{}, err error) {
	select {
	case <-m.looked:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live, m.changed, nil
}

// Known returns the processes that the latest look found, without waiting. Before the first look
// that is this process alone.
func (m *Members) Known() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live
}

// Saw tells the others up to which number this process has followed a topic.
func (m *Members) Saw(topic Topic, n uint64) {
	m.mu.Lock()
	more := n > m.saw[topic]
	m.saw[topic] = max(m.saw[topic], n)
	m.mu.Unlock()
	if more {
		m.lookSoon()
	}
}

// lookSoon asks for a look before the next one is due. It does not block.
func (m *Members) lookSoon() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// Advertise tells the others the URL at which they reach this process.
func (m *Members) Advertise(address string) {
	m.mu.Lock()
	m.address = address
	m.mu.Unlock()
	m.lookSoon()
}

// Refresh looks at once which processes are there, instead of at the next interval.
func (m *Members) Refresh(ctx context.Context) error {
	if m.Alone() {
		return nil
	}
	return m.look(ctx)
}

// Gone reports, in a transaction, whether a process that is not among Live is gone, and not one
// that came meanwhile.
func (m *Members) Gone(tx kv.ReadTx, id ID) (bool, error) {
	if m.Alone() {
		return id != m.self, nil
	}
	value, err := tx.Get(m.key(id))
	if err != nil || value == nil {
		return err == nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.seen[id]
	return known && bytes.Equal(last.value, value) && m.now().Sub(last.since) >= m.patience(), nil
}

// awaitEvery is how often AwaitSeen looks.
const awaitEvery = 50 * time.Millisecond

// AwaitSeen waits until all processes that are there have seen n of a topic.
func (m *Members) AwaitSeen(ctx context.Context, topic Topic, n uint64) error {
	for !m.Alone() {
		if err := m.look(ctx); err != nil {
			return err
		}
		if !slices.ContainsFunc(m.Known(), func(other Member) bool {
			return other.Seen[topic] < n && other.ID != m.self
		}) {
			return nil
		}
		select {
		case <-time.After(awaitEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Run says that this process is there, and looks who else is, until ctx ends. Then it takes its
// leave.
func (m *Members) Run(ctx context.Context) {
	if m.Alone() {
		return
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { m.watch(ctx) })
	for {
		began := m.now()
		if err := m.look(ctx); err != nil && ctx.Err() == nil {
			m.o.Log.Warn("nodes: the other processes could not be looked for", "error", err)
		}
		select {
		case <-time.After(m.next(began).Sub(m.now())):
		case <-m.kick:
		case <-ctx.Done():
			m.leave(ctx)
			return
		}
	}
}

// next is the time of Run's next look: an interval later, or the moment at which a silent process
// is going to count as gone, if that is sooner.
func (m *Members) next(looked time.Time) time.Time {
	next := looked.Add(m.interval())
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, last := range m.seen {
		if gone := last.since.Add(m.patience()); gone.After(looked) && gone.Before(next) {
			next = gone
		}
	}
	return next
}

// watch has Run look at once when a process comes or takes its leave, until ctx ends.
func (m *Members) watch(ctx context.Context) {
	for ctx.Err() == nil {
		var seen []byte
		err := m.o.KV.View(ctx, func(tx kv.ReadTx) error {
			value, err := tx.Get(m.o.Prefix)
			seen = bytes.Clone(value)
			return err
		})
		m.lookSoon()
		if err == nil {
			err = m.o.KV.Watch(ctx, m.o.Prefix, seen)
		}
		if err != nil {
			select {
			case <-time.After(m.interval()):
			case <-ctx.Done():
			}
		}
	}
}

// leave removes the process's key, so that what it owned is free at once instead of after a lease.
func (m *Members) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.o.Lease)
	defer cancel()
	m.pass.Lock()
	defer m.pass.Unlock()
	_, err := m.o.KV.Update(ctx, func(tx kv.Tx) error {
		tx.Clear(m.key(m.self))
		tx.Atomic(kv.Add, m.o.Prefix, one)
		return nil
	})
	if err != nil {
		m.o.Log.Warn("nodes: the process has ended without taking its leave", "error", err)
	}
}

// look says that this process is there, and reads who else is, in one transaction. Where that takes
// long, what was read counts as seen when it has ended, and as looked at again when the next one
// begins: between two sights of a process is at least the time that is taken for it.
func (m *Members) look(ctx context.Context) error {
	asked := time.Now()
	m.pass.Lock()
	defer m.pass.Unlock()
	kv.Queued(ctx, asked)
	now := m.now()
	if ctx.Err() != nil { // it may have left
		return context.Cause(ctx)
	}
	m.beat++
	m.mu.Lock()
	self, seen := Member{ID: m.self, Info: m.o.Info, Seen: m.saw}, maps.Clone(m.seen)
	self.Address, self.Beat = m.address, now.UTC().Truncate(time.Millisecond)
	m.mu.Unlock()
	if m.o.Load != nil {
		self.Load = m.o.Load()
	}
	value, err := encode(m.beat, self)
	if err != nil {
		return err
	}
	var rows map[ID]row
	_, err = m.o.KV.Update(kv.UseReserve(ctx), func(tx kv.Tx) (err error) {
		if rows, err = m.read(tx.Snapshot()); err != nil {
			return err
		}
		tx.Set(m.key(m.self), value)
		if !m.there {
			tx.Atomic(kv.Add, m.o.Prefix, one)
		}
		for id, r := range rows {
			if last, known := seen[id]; known && bytes.Equal(last.value, r.value) &&
				now.Sub(last.since) > leasesKept*m.o.Lease {
				if err := clearIf(tx, m.key(id), r.value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.there = true
	ended := m.now()
	m.beaten(now, ended, rows, seen)
	m.tell(append(m.judge(rows, now, ended), self))
	return nil
}

// clearIf clears a key if it has a value still.
func clearIf(tx kv.Tx, key, seen []byte) error {
	value, err := tx.Get(key)
	if err == nil && bytes.Equal(value, seen) {
		tx.Clear(key)
	}
	return err
}

// row is the key of a process as it was read.
type row struct {
	Member
	value []byte
}

// read reads the keys of all other processes.
func (m *Members) read(tx kv.ReadTx) (map[ID]row, error) {
	rows := make(map[ID]row)
	prefix := m.o.Prefix[:len(m.o.Prefix):len(m.o.Prefix)]
	begin, end := append(prefix, 0), append(prefix, 0xff)
	it := tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		other, err := Parse(it.Key()[len(m.o.Prefix):], it.Value())
		if err != nil {
			return nil, err
		}
		if other.ID != m.self {
			rows[other.ID] = row{other, bytes.Clone(it.Value())}
		}
	}
	return rows, it.Err()
}

// judge notes what was read between two times and gives those that live.
func (m *Members) judge(rows map[ID]row, began, ended time.Time) (live []Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.seen {
		if _, there := rows[id]; !there {
			delete(m.seen, id)
		}
	}
	for id, r := range rows {
		last, known := m.seen[id]
		if !known || !bytes.Equal(last.value, r.value) {
			last = sighting{value: r.value, since: ended}
			m.seen[id] = last
		}
		if began.Sub(last.since) < m.patience() {
			live = append(live, r.Member)
		}
	}
	return live
}

// tell publishes the list of processes and wakes those who wait for a change of it.
func (m *Members) tell(live []Member) {
	sort.Slice(live, func(i, j int) bool { return bytes.Compare(live[i].ID[:], live[j].ID[:]) < 0 })
	same := func(a, b Member) bool { return a.ID == b.ID }
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.EqualFunc(live, m.live, same) {
		close(m.changed)
		m.changed = make(chan struct{})
	}
	m.live = live
	select {
	case <-m.looked:
	default:
		close(m.looked)
	}
}

// one is added to the counter of arrivals and departures, which all processes watch.
var one = binary.LittleEndian.AppendUint64(nil, 1)

func (m *Members) key(id ID) []byte { return tuple.AppendBytes(bytes.Clone(m.o.Prefix), id[:]) }

// encode makes the value of a process: beat and what it has seen of each topic, 8 bytes
// little-endian each, and what it tells of itself.
func encode(beat uint64, m Member) ([]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, beat)
	for _, n := range m.Seen {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	info, err := json.Marshal(m.Info)
	return append(b, info...), err
}

// Parse reads a process from its key, behind the prefix, and its value. The error is kv.ErrCorrupt.
func Parse(key, value []byte) (Member, error) {
	const numbers = 8 * (1 + int(topics))
	raw, rest, err := tuple.ReadBytes(key)
	if err != nil || len(rest) > 0 || len(raw) != len(ID{}) || len(value) < numbers {
		return Member{}, fmt.Errorf("nodes: malformed member %q: %w", key, kv.ErrCorrupt)
	}
	m := Member{ID: ID(raw)}
	for i := range m.Seen {
		m.Seen[i] = binary.LittleEndian.Uint64(value[8*(i+1):])
	}
	if err := json.Unmarshal(value[numbers:], &m.Info); err != nil {
		return Member{}, fmt.Errorf("nodes: malformed member %q: %w: %w", key, err, kv.ErrCorrupt)
	}
	return m, nil
}
