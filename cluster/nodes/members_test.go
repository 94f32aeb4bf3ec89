package nodes

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

const lease = 10 * time.Second

func member(store kv.Store, name string) *Members {
	return New(Options{
		KV: store, Prefix: []byte("nodes"), Info: Info{Name: name}, Lease: lease, Log: slog.New(slog.DiscardHandler),
	})
}

// lookAt has a process look at a time of its clock.
func lookAt(ctx context.Context, m *Members, now time.Time) error {
	m.now = func() time.Time { return now }
	return m.look(ctx)
}

// names are those of the processes that m takes for alive.
func names(m *Members) map[string]uint64 {
	list := make(map[string]uint64)
	for _, other := range m.Known() {
		list[other.Name] = other.Seen[Functions]
	}
	return list
}

// TestMembers: a process is there from its first beat on, and gone a lease after the last one that
// was seen, by the clock of who looks.
func TestMembers(t *testing.T) {
	store := memkv.New()
	a, b := member(store, "a"), member(store, "b")
	ctx, now := t.Context(), time.Now()
	look := func(m *Members, at time.Duration) {
		t.Helper()
		require.NoError(t, lookAt(ctx, m, now.Add(at)))
	}
	look(a, 0)
	require.Equal(t, map[string]uint64{"a": 0}, names(a))
	require.True(t, gone(t, a, ID{9}), "there was never one of that name")
	_, changed, err := a.Live(ctx)
	require.NoError(t, err)
	b.Saw(Functions, 7)
	look(b, time.Hour) // another clock
	look(a, time.Second)
	<-changed
	require.Equal(t, map[string]uint64{"a": 0, "b": 7}, names(a))
	require.Equal(t, map[string]uint64{"a": 0, "b": 7}, names(b))
	look(a, lease-time.Millisecond)
	require.Len(t, names(a), 2, "b was seen a second after the beginning first")
	look(a, lease)
	require.Len(t, names(a), 1, "b is gone")
	require.True(t, gone(t, a, b.self))
	look(b, time.Hour+time.Second)
	require.False(t, gone(t, a, b.self), "it was late, and nobody has looked since")
	look(a, lease+2*time.Second)
	require.Len(t, names(a), 2, "b was late")
	look(a, 20*lease)
	look(a, 20*lease)
	rows, err := rowsOf(store, a)
	require.NoError(t, err)
	require.Empty(t, rows, "what is gone for long is forgotten")
}

// gone is what m says of another process that it has not seen for long.
func gone(t *testing.T, m *Members, id ID) (gone bool) {
	t.Helper()
	last := m.seen[id]
	last.since = m.now().Add(-2 * lease)
	m.seen[id] = last
	require.NoError(t, m.o.KV.View(context.Background(), func(tx kv.ReadTx) (err error) {
		gone, err = m.Gone(tx, id)
		return err
	}))
	return gone
}

func rowsOf(store kv.Store, m *Members) (rows map[ID]row, err error) {
	err = store.View(context.Background(), func(tx kv.ReadTx) error {
		rows, err = m.read(tx)
		return err
	})
	return rows, err
}

// TestGoneWithinALease: wherever between two looks the last sign of life of a process comes, the
// others take it for gone when a lease is over, and not much earlier. Nothing but the times counts
// here: the store answers at once.
func TestGoneWithinALease(t *testing.T) {
	const step = lease / beatsPerLease
	for phase := step / 20; phase <= step; phase += step / 20 {
		store := memkv.New()
		a, b := member(store, "a"), member(store, "b")
		now := time.Now()
		died := now.Add(3*step + phase)
		beats := now.Add(phase)
		for len(names(a)) > 1 || now.Before(died) {
			for !beats.After(now) && !beats.After(died) {
				require.NoError(t, lookAt(t.Context(), b, beats))
				beats = beats.Add(step)
			}
			require.NoError(t, lookAt(t.Context(), a, now))
			require.False(t, now.After(died.Add(lease)), "it has died %v ago, phase %v", now.Sub(died), phase)
			if len(names(a)) == 1 && now.After(died) {
				require.False(t, now.Before(died.Add(lease-step)), "after %v, phase %v", now.Sub(died), phase)
			}
			next := a.next(now)
			require.True(t, next.After(now) && !next.After(now.Add(step)))
			now = next
		}
	}
}

// TestSlowStoreTakesNobodyForGone: transactions that take almost as long as a process counts as
// alive make nobody gone who looks as often as they let it.
func TestSlowStoreTakesNobodyForGone(t *testing.T) {
	store := memkv.New()
	a, b := member(store, "a"), member(store, "b")
	begin := time.Now()
	const takes = lease * 8 / 10
	slow := func(m *Members, at time.Duration) {
		t.Helper()
		times := []time.Duration{at, at + takes}
		m.now = func() time.Time {
			now := begin.Add(times[0])
			times = times[1:]
			return now
		}
		require.NoError(t, m.look(t.Context()))
	}
	const every = takes + lease/beatsPerLease
	at := time.Duration(0)
	for n := range 6 {
		if n%2 == 0 {
			slow(b, 0) // the next one of which is stored a moment after a has looked twice
		}
		slow(a, at)
		require.Len(t, names(a), 2)
		at += every
	}
}

// TestWhoWasPausedTakesNobodyForGone: a process that did not look for long looks before it judges.
func TestWhoWasPausedTakesNobodyForGone(t *testing.T) {
	store := memkv.New()
	a, b := member(store, "a"), member(store, "b")
	now := time.Now()
	require.NoError(t, lookAt(t.Context(), b, now))
	require.NoError(t, lookAt(t.Context(), a, now))
	require.NoError(t, lookAt(t.Context(), b, now)) // its second beat, while a is stopped
	require.NoError(t, lookAt(t.Context(), a, now.Add(5*lease)))
	require.Len(t, names(a), 2)
}

// TestLeave: a process that ends is gone at once, and comes not back by a beat that was on its way.
func TestLeave(t *testing.T) {
	store := memkv.New()
	a, b := member(store, "a"), member(store, "b")
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(ctx)
	}()
	_, _, err := b.Live(t.Context())
	require.NoError(t, err)
	require.NoError(t, lookAt(t.Context(), a, time.Now()))
	require.Len(t, names(a), 2)
	end()
	<-ended
	require.ErrorIs(t, lookAt(ctx, b, time.Now()), context.Canceled)
	require.NoError(t, lookAt(t.Context(), a, time.Now()))
	require.Len(t, names(a), 1)
}

// TestComingAndGoing: who runs sees others come and take their leave at once, not with the next
// beat.
func TestComingAndGoing(t *testing.T) {
	store := memkv.New()
	slow := func(name string) (m *Members, end func()) {
		m = New(Options{
			KV: store, Prefix: []byte("nodes"), Info: Info{Name: name}, Lease: 100 * time.Hour,
			Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.Run(ctx)
		}()
		return m, func() { cancel(); <-ended }
	}
	a, endA := slow("a")
	defer endA()
	_, _, err := a.Live(t.Context())
	require.NoError(t, err)
	b, endB := slow("b")
	both := func() bool { return len(names(a)) == 2 && len(names(b)) == 2 }
	require.Eventually(t, both, time.Minute, time.Millisecond)
	endB()
	require.Eventually(t, func() bool { return len(names(a)) == 1 }, time.Minute, time.Millisecond)
}

// TestAwaitSeen: it waits for those who are there.
func TestAwaitSeen(t *testing.T) {
	store := memkv.New()
	a, b := member(store, "a"), member(store, "b")
	require.NoError(t, lookAt(t.Context(), b, time.Now()))
	done := make(chan error, 1)
	go func() { done <- a.AwaitSeen(t.Context(), Functions, 3) }()
	for n := range uint64(3) {
		b.Saw(Functions, n)
		require.NoError(t, lookAt(t.Context(), b, time.Now()))
		select {
		case err := <-done:
			t.Fatal("b has not seen it yet", err)
		case <-time.After(2 * awaitEvery):
		}
	}
	b.Saw(Functions, 3)
	require.NoError(t, lookAt(t.Context(), b, time.Now()))
	require.NoError(t, <-done)
}

// TestAlone: a process that has the store to itself knows so without a transaction.
func TestAlone(t *testing.T) {
	m := New(Options{KV: nil, Info: Info{Name: "a"}})
	m.Run(t.Context())
	require.NoError(t, m.AwaitSeen(t.Context(), Functions, 1))
	live, _, err := m.Live(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Member{{ID: m.Self(), Info: Info{Name: "a"}}}, live)
	require.Equal(t, "a-01020304", Member{ID: ID{1, 2, 3, 4, 5}, Info: Info{Name: "a"}}.Label())
	require.Equal(t, "01020304", Member{ID: ID{1, 2, 3, 4, 5}}.Label())
}

// FuzzParse: keys and values of any bytes do no harm.
func FuzzParse(f *testing.F) {
	m := New(Options{})
	some, err := encode(1, Member{Seen: [topics]uint64{2, 3}, Info: Info{Name: "a"}})
	require.NoError(f, err)
	f.Add(m.key(m.self), some)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if other, err := Parse(key, value); err == nil {
			again, err := encode(0, other)
			require.NoError(t, err)
			same, err := Parse(key, again)
			require.NoError(t, err)
			require.Equal(t, other, same)
			require.Equal(t, key, m.key(other.ID))
		} else {
			require.ErrorIs(t, err, kv.ErrCorrupt)
		}
	})
}
