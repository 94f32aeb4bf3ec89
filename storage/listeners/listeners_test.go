package listeners

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// database is what listeners know of a database: a record with its UUID, which is there while the
// database is, and a key that every write counts up.
type database struct {
	kv.Store
	listeners *Listeners
	watches   watches
	named     func(since, now []byte) map[string]bool
	end       context.CancelFunc
	tasks     sync.WaitGroup
}

// watches counts the watches of the store that run at once.
type watches struct{ running, most atomic.Int64 }

var recordKey, lastKey = []byte("record"), []byte("last")

func newDatabase(t *testing.T) *database {
	t.Helper()
	d := &database{Store: memkv.New()}
	ctx, end := context.WithCancel(context.Background())
	d.end = end
	d.listeners = New(ctx, d, func(task func(context.Context)) bool {
		if ctx.Err() != nil {
			return false
		}
		d.tasks.Go(func() { task(ctx) })
		return true
	})
	t.Cleanup(func() {
		end()
		d.tasks.Wait()
		require.NoError(t, d.Close())
	})
	d.create(t)
	return d
}

// Watch implements kv.Store.
func (d *database) Watch(ctx context.Context, key, seen []byte) error {
	d.watches.most.Store(max(d.watches.most.Load(), d.watches.running.Add(1)))
	defer d.watches.running.Add(-1)
	return d.Store.Watch(ctx, key, seen)
}

func (d *database) update(t testing.TB, fn func(tx kv.Tx)) {
	t.Helper()
	_, err := d.Update(context.Background(), func(tx kv.Tx) error { fn(tx); return nil })
	require.NoError(t, err)
}

var databases atomic.Uint32

// create makes the database anew, with another UUID.
func (d *database) create(t testing.TB) {
	d.update(t, func(tx kv.Tx) {
		tx.Set(recordKey, binary.BigEndian.AppendUint32(nil, databases.Add(1)))
		d.write(tx)
	})
}

func (d *database) remove(t testing.TB) {
	d.update(t, func(tx kv.Tx) {
		tx.Clear(recordKey)
		tx.Clear(lastKey)
	})
}

// write is what each write of a database does. Writers of the same key do not conflict.
func (*database) write(tx kv.Tx) { tx.Atomic(kv.Add, lastKey, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// read implements Read. Whom updates name is what the test says.
func (d *database) read(ctx context.Context, since []byte) (s State, err error) {
	s.Key = lastKey
	err = d.View(ctx, func(tx kv.ReadTx) error {
		record, err := tx.Get(recordKey)
		if err == nil && record == nil {
			err = compat.ErrNoDatabase
		}
		copy(s.UUID[:], record)
		if err == nil {
			s.Value, err = tx.Get(lastKey)
			s.Value = bytes.Clone(s.Value)
		}
		return err
	})
	if since != nil && d.named != nil {
		s.Named = d.named(since, s.Value)
	}
	return s, err
}

func (d *database) listen(t testing.TB) *Listener {
	t.Helper()
	l, err := d.listeners.Listen(t.Context(), "db", nil, d.read)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// waitSoon waits for a wake-up that must come.
func waitSoon(t testing.TB, l *Listener) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := l.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("no wake-up")
	}
	return err
}

// TestListenerSeesDeletion: a listener ends with its database, whatever has the name then.
func TestListenerSeesDeletion(t *testing.T) {
	d := newDatabase(t)
	l, other := d.listen(t), d.listen(t)
	d.remove(t)
	require.ErrorIs(t, waitSoon(t, l), compat.ErrNoDatabase)
	_, err := d.listeners.Listen(t.Context(), "db", nil, d.read)
	require.ErrorIs(t, err, compat.ErrNoDatabase)
	d.create(t)
	require.ErrorIs(t, waitSoon(t, other), compat.ErrNoDatabase)
	again := d.listen(t)
	d.update(t, d.write)
	require.NoError(t, waitSoon(t, again))
}

// TestListenerOfRecreated: a listener registered right after a database was made anew never hears
// of the old one.
func TestListenerOfRecreated(t *testing.T) {
	d := newDatabase(t)
	for range 200 {
		d.listen(t)
		d.remove(t)
		d.create(t)
		l := d.listen(t)
		d.update(t, d.write)
		require.NoError(t, waitSoon(t, l))
	}
}

// TestListenersEndWithTheStore: whoever waits is told, and nobody listens any more.
func TestListenersEndWithTheStore(t *testing.T) {
	d := newDatabase(t)
	l := d.listen(t)
	d.end()
	require.ErrorIs(t, waitSoon(t, l), kv.ErrClosed)
	_, err := d.listeners.Listen(t.Context(), "db", nil, d.read)
	require.ErrorIs(t, err, kv.ErrClosed)
}

// TestNoMissedWakeUp: feeds that only read after wake-ups see all of the writes of concurrent
// writers.
func TestNoMissedWakeUp(t *testing.T) {
	const feeds, writers, writes = 20, 4, 50
	d := newDatabase(t)
	var wg sync.WaitGroup
	for range feeds {
		wg.Go(func() {
			l := d.listen(t)
			for {
				now, err := d.read(context.Background(), nil)
				if err == nil && binary.LittleEndian.Uint64(now.Value) == 1+writers*writes {
					return
				}
				if err == nil {
					err = waitSoon(t, l)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range writers {
		wg.Go(func() {
			for range writes {
				d.update(t, d.write)
			}
		})
	}
	wg.Wait()
}

// TestManyListenersAreCheap: thousands of listeners need one watch.
func TestManyListenersAreCheap(t *testing.T) {
	const many = 5000
	d := newDatabase(t)
	var woken atomic.Int64
	var wg, ready sync.WaitGroup
	for range many {
		ready.Add(1)
		wg.Go(func() {
			l, err := d.listeners.Listen(context.Background(), "db", nil, d.read)
			ready.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			if l.Wait(context.Background()) == nil {
				woken.Add(1)
			}
		})
	}
	ready.Wait()
	names, listening := d.listeners.Count()
	require.Equal(t, []int{1, many}, []int{names, listening})
	d.update(t, d.write)
	wg.Wait()
	require.EqualValues(t, many, woken.Load())
	require.LessOrEqual(t, d.watches.most.Load(), int64(1), "watches at once")
}

// TestOnlyTheNamedAreWoken: of listeners with principals an update wakes those that it names, each
// once, and those of all; where a read does not say whom it names it wakes everybody, and so does
// the end.
func TestOnlyTheNamedAreWoken(t *testing.T) {
	d := newDatabase(t)
	d.named = func(since, now []byte) map[string]bool {
		switch count := binary.LittleEndian.Uint64(now); count {
		case 5:
			return nil
		default:
			return map[string]bool{[]string{"a", "b", "c"}[count%3]: true, "d": true}
		}
	}
	listen := func(principals ...string) *Listener {
		l, err := d.listeners.Listen(t.Context(), "db", append([]string{}, principals...), d.read)
		require.NoError(t, err)
		t.Cleanup(l.Close)
		return l
	}
	all, nobody := d.listen(t), listen()
	a, b, c, ad := listen("a", "x"), listen("b"), listen("c"), listen("a", "d")
	updates := func(l *Listener) uint64 { return l.signal.updates }
	for count := uint64(2); count <= 6; count++ {
		d.update(t, d.write)
		require.NoError(t, waitSoon(t, all)) // all others that are woken were woken under the same lock
	}
	all.hub.mu.Lock()
	defer all.hub.mu.Unlock()
	require.Equal(t, []uint64{3, 2, 2, 5, 1},
		[]uint64{updates(a), updates(b), updates(c), updates(ad), updates(nobody)})
}
