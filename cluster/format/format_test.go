package format

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

var (
	key = []byte("head")
	// old knows one format; next the one after it too, which programs that know the old one can
	// read; last a format that only it knows, and not the first one any more.
	old  = Program{Oldest: 5, Newest: 5}
	next = Program{Oldest: 5, Newest: 6, Reader: 5}
	last = Program{Oldest: 6, Newest: 7}
)

// opened is a store as a program has it open.
func opened(t *testing.T, store kv.Store, p Program) kv.Store {
	t.Helper()
	guarded := Guarded(store, key, p)
	_, err := Open(t.Context(), guarded, key, p)
	require.NoError(t, err)
	return guarded
}

func read(store kv.Store) error {
	return store.View(context.Background(), func(tx kv.ReadTx) error {
		value, err := tx.Get([]byte("a"))
		if err == nil && value == nil {
			err = errors.New("nothing there")
		}
		return err
	})
}

func list(store kv.Store) error {
	return store.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Snapshot().Range([]byte("a"), []byte("b"), kv.RangeOptions{})
		n := 0
		for it.Next() {
			n++
		}
		if err := it.Close(); err != nil {
			if n > 0 {
				return errors.New("rows came before the refusal")
			}
			return err
		}
		return nil
	})
}

func write(store kv.Store) error {
	_, err := store.Update(context.Background(), func(tx kv.Tx) error {
		tx.Set([]byte("a"), []byte("1"))
		return nil
	})
	return err
}

// TestTwoVersions: programs of two versions share a store until its format is raised; then the
// older one may do what the newer one says that it can, and a newer one still that does not know
// the old format nothing before.
func TestTwoVersions(t *testing.T) {
	store := memkv.New()
	a, b := opened(t, store, old), opened(t, store, next)
	for _, s := range []kv.Store{a, b} {
		require.NoError(t, write(s))
		require.NoError(t, read(s))
		require.NoError(t, s.Health(t.Context()))
	}
	_, err := Open(t.Context(), store, key, last)
	require.ErrorIs(t, err, kv.ErrFormat)
	require.ErrorIs(t, read(Guarded(store, key, last)), kv.ErrFormat)

	before, after, err := Finalise(t.Context(), b, key, next, nil)
	require.NoError(t, err)
	require.Equal(t, Head{Format: 5, UUID: before.UUID, Reader: 5, Writer: 5}, before)
	require.Equal(t, Head{Format: 6, UUID: before.UUID, Reader: 5, Writer: 6}, after)
	require.NoError(t, read(a), "programs of format 5 can read format 6")
	require.NoError(t, list(a))
	require.ErrorIs(t, write(a), kv.ErrFormat)
	require.ErrorIs(t, a.Health(t.Context()), kv.ErrFormat)
	require.NoError(t, write(b))
	_, err = Open(t.Context(), store, key, old)
	require.ErrorIs(t, err, kv.ErrFormat)

	c := opened(t, store, last)
	require.NoError(t, write(c))
	_, _, err = Finalise(t.Context(), c, key, last, nil)
	require.NoError(t, err)
	for _, s := range []kv.Store{a, b} {
		require.ErrorIs(t, read(s), kv.ErrFormat)
		require.ErrorIs(t, list(s), kv.ErrFormat)
		require.ErrorIs(t, write(s), kv.ErrFormat)
	}
	_, again, err := Finalise(t.Context(), c, key, last, nil)
	require.NoError(t, err)
	require.Equal(t, Head{Format: 7, UUID: before.UUID, Reader: 7, Writer: 7}, again)
}

// TestOvertaken: a transaction that began before the format was raised does not commit after it.
func TestOvertaken(t *testing.T) {
	store := memkv.New()
	a := opened(t, store, old)
	runs := 0
	_, err := a.Update(t.Context(), func(tx kv.Tx) error {
		if _, err := tx.Get([]byte("a")); err != nil {
			return err
		}
		if runs++; runs == 1 {
			_, _, err := Finalise(t.Context(), store, key, next, nil)
			require.NoError(t, err)
		}
		tx.Set([]byte("a"), []byte("1"))
		return nil
	})
	require.ErrorIs(t, err, kv.ErrFormat)
	require.ErrorContains(t, read(store), "nothing there")
}

// TestStepsSurviveKills: two steps rewrite all keys, whenever they are killed; no key twice, and
// none is left out.
func TestStepsSurviveKills(t *testing.T) {
	store := memkv.New()
	const rows = 25
	opened(t, store, old)
	name := func(i int) []byte { return []byte{'r', byte(i)} }
	_, err := store.Update(t.Context(), func(tx kv.Tx) error {
		for i := range rows {
			tx.Set(name(i), []byte("5"))
		}
		return nil
	})
	require.NoError(t, err)
	runs, killed := 0, errors.New("killed")
	rewrite := func(from byte) Step {
		return Step{From: from, Run: func(tx kv.Tx, cursor []byte) ([]byte, error) {
			first := 0
			if cursor != nil {
				first = int(cursor[0])
			}
			for i := first; i < min(first+4, rows); i++ {
				value, err := tx.Get(name(i))
				if err != nil {
					return nil, err
				}
				tx.Set(name(i), append(bytes.Clone(value), '0'+from+1))
			}
			if runs++; runs%2 == 0 {
				return nil, killed
			}
			if first+4 >= rows {
				return nil, nil
			}
			return []byte{byte(first + 4)}, nil
		}}
	}
	p := Program{Oldest: 5, Newest: 7, Steps: &[]Step{rewrite(5), rewrite(6)}}
	formats, refused := map[byte]bool{}, 0
	for {
		_, after, err := Finalise(t.Context(), store, key, p, func(from byte, _ int) { formats[from] = true })
		if err == nil {
			require.Equal(t, byte(7), after.Format)
			break
		}
		require.ErrorIs(t, err, killed)
		cursor := cursorOf(t, store)
		for program, known := range map[*Program]byte{&old: 5, &next: 6, &p: 7} {
			_, err = Open(t.Context(), store, key, *program)
			if h, _ := Read(t.Context(), store, key); cursor == nil && h.Format <= known {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, kv.ErrFormat, "neither version reads what is of two formats")
			require.ErrorIs(t, list(Guarded(store, key, *program)), kv.ErrFormat)
			refused++
		}
	}
	require.Greater(t, refused, 30)
	require.Equal(t, 27, runs, "each of 14 pieces but the first is killed once")
	require.Equal(t, map[byte]bool{5: true, 6: true}, formats)
	require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) error {
		for i := range rows {
			value, err := tx.Get(name(i))
			require.NoError(t, err)
			require.Equal(t, "567", string(value))
		}
		return nil
	}))
	require.Nil(t, cursorOf(t, store))
}

// cursorOf is where a step goes on.
func cursorOf(t *testing.T, store kv.Store) (cursor []byte) {
	t.Helper()
	require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) (err error) {
		cursor, err = tx.Get(append(bytes.Clone(key), 1))
		return err
	}))
	return cursor
}

// TestRoundTrips: the check costs a transaction that reads no round trip.
func TestRoundTrips(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	s := opened(t, engine, old)
	for name, c := range map[string]struct {
		call func(kv.Store) error
		more int64
	}{
		"get": {func(s kv.Store) error { _ = read(s); return nil }, 0}, "range": {list, 0}, "write": {write, 1},
	} {
		engine.Reset()
		require.NoError(t, c.call(engine))
		bare := engine.Reset().RoundTrips
		require.NoError(t, c.call(s))
		require.Equal(t, bare+c.more, engine.Reset().RoundTrips, name)
	}
}

// TestContract: a guarded store is as good as any.
func TestContract(t *testing.T) {
	disks := map[string]*memkv.Disk{}
	kvtest.Run(t, func(t testing.TB, dir string) kv.Store {
		return Guarded(kvtest.OpenMem(t, disks, dir), []byte("\xfe/head"), old)
	})
}

// FuzzParse: a head of any bytes does no harm, and what is read is what was written.
func FuzzParse(f *testing.F) {
	f.Add(Head{Format: 6, Reader: 5, Writer: 6}.encode())
	f.Add(make([]byte, shortHead))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parse(b)
		if err != nil {
			require.ErrorIs(t, err, kv.ErrCorrupt)
			return
		}
		again, err := parse(h.encode())
		require.NoError(t, err)
		require.Equal(t, h, again)
		require.True(t, len(b) == longHead || bytes.Equal(b, h.encode()))
	})
}
