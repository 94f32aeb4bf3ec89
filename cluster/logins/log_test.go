package logins

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

var prefix = []byte("logins")

// process is a process on a store, with the failures that it was told of.
type process struct {
	*Log
	mu   sync.Mutex
	told map[Failure]int
}

func newProcess(store kv.Store) *process {
	p := &process{told: make(map[Failure]int)}
	p.Log = New(Options{KV: store, Prefix: prefix, Log: slog.New(slog.DiscardHandler)})
	p.Follow(func(f Failure) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.told[f]++
	}, func() time.Duration { return time.Hour })
	return p
}

func (p *process) start(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

func (p *process) count(f Failure) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[f]
}

// TestLog: each process is told of the failures of the others, once, and who starts later of those
// that are stored.
func TestLog(t *testing.T) {
	store := memkv.New()
	a, b := newProcess(store), newProcess(store)
	a.start(t)
	b.start(t)
	one, two := Failure{1}, Failure{2}
	for range 20 {
		a.Tell(one)
	}
	b.Tell(two)
	late := newProcess(store)
	require.Eventually(t, func() bool { return b.count(one) == 20 && a.count(two) == 1 }, time.Minute, time.Millisecond)
	late.start(t)
	require.Eventually(t, func() bool { return late.count(one) == 20 && late.count(two) == 1 }, time.Minute,
		time.Millisecond)
	require.Zero(t, a.count(one), "its own")
	require.Zero(t, b.count(two))
	violations, err := Check(t.Context(), store, prefix)
	require.NoError(t, err)
	require.Empty(t, violations)
	require.NoError(t, a.remove(t.Context(), time.Now().Add(-time.Hour)))
	require.Len(t, rows(t, store), 21, "none is so old")
	require.NoError(t, late.remove(t.Context(), time.Now()))
	require.Empty(t, rows(t, store))
	a.Tell(two)
	require.Eventually(t, func() bool { return b.count(two) == 1 && late.count(two) == 2 }, time.Minute,
		time.Millisecond)
}

// rows are the keys of failures.
func rows(t *testing.T, store kv.Store) (keys []string) {
	require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range(kv.AppendKeyAfter(nil, prefix), after(prefix), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			keys = append(keys, string(it.Key()))
		}
		return it.Err()
	}))
	return keys
}

// TestWindows: more failures than are read at a time are all read.
func TestWindows(t *testing.T) {
	store := memkv.New()
	a, b := newProcess(store), newProcess(store)
	_, err := store.Update(t.Context(), func(tx kv.Tx) error {
		for i := range 2*window + 1 {
			key := append(kv.AppendKeyAfter(nil, prefix), make([]byte, stampKey-1)...)
			key[len(key)-2], key[len(key)-1] = byte(i>>8), byte(i)
			tx.Set(key, append(a.self[:], make([]byte, len(Failure{}))...))
		}
		return nil
	})
	require.NoError(t, err)
	_, err = b.follow(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2*window+1, b.count(Failure{}))
}

// FuzzParse: keys and values of any bytes do no harm, and what is found is told.
func FuzzParse(f *testing.F) {
	f.Add(make([]byte, stampKey), make([]byte, 48))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if teller, failure, err := parse(key, value); err != nil {
			require.ErrorIs(t, err, kv.ErrCorrupt)
		} else {
			require.Equal(t, value, append(teller[:], failure[:]...))
		}
	})
}
