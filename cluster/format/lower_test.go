package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// errKilled is what a transaction of killable gives in which the process ended.
var errKilled = errors.New("killed")

// killable is a store whose process ends in a later transaction: its calls before are made, that
// one is lost, or is made and the process never learns of it.
type killable struct {
	kv.Store
	left int // transactions; below 0: it is never killed
	made bool
}

// Update implements kv.Store.
func (k *killable) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if k.left == 0 {
		if k.made {
			if _, err := k.Store.Update(ctx, fn); err != nil {
				return kv.Versionstamp{}, err
			}
		}
		return kv.Versionstamp{}, errKilled
	}
	k.left--
	return k.Store.Update(ctx, fn)
}

// View implements kv.Store.
func (k *killable) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if k.left == 0 {
		return errKilled
	}
	k.left--
	return k.Store.View(ctx, fn)
}

const (
	rows  = 12 // of a rewritten store
	piece = 5  // rows of a transaction
)

func row(i int) []byte { return []byte{'r', byte(i)} }

// rewritten is a program whose formats 6 and 7 each put their number behind every row. Format 7 has
// besides a place for rows below n, which format 6 has none for.
func rewritten() Program {
	each := func(cursor []byte, do func(i int) error) ([]byte, error) {
		first := 0
		if cursor != nil {
			first = int(cursor[0])
		}
		for i := first; i < min(first+piece, rows); i++ {
			if err := do(i); err != nil {
				return nil, err
			}
		}
		if first+piece >= rows {
			return nil, nil
		}
		return []byte{byte(first + piece)}, nil
	}
	step := func(from byte) Step {
		return Step{From: from, Run: func(tx kv.Tx, cursor []byte) ([]byte, error) {
			return each(cursor, func(i int) error {
				value, err := tx.Get(row(i))
				if err == nil {
					tx.Set(row(i), append(bytes.Clone(value), '0'+from+1))
				}
				return err
			})
		}, Back: func(tx kv.Tx, cursor []byte) ([]byte, error) {
			return each(cursor, func(i int) error {
				value, err := tx.Get(row(i))
				if err == nil && (len(value) == 0 || value[len(value)-1] != '0'+from+1) {
					err = fmt.Errorf("row %d is %q: it is brought back twice", i, value)
				}
				if err == nil {
					tx.Set(row(i), bytes.Clone(value[:len(value)-1]))
				}
				return err
			})
		}}
	}
	last := step(6)
	last.InUse = func(tx kv.ReadTx, cursor []byte) (what []string, next []byte, err error) {
		next, err = each(cursor, func(i int) error {
			value, err := tx.Get([]byte{'n', byte(i)})
			if value != nil {
				what = append(what, fmt.Sprintf("row %d has something new", i))
			}
			return err
		})
		return what, next, err
	}
	return Program{Oldest: 5, Newest: 7, Steps: &[]Step{step(5), last}}
}

// older is what a program knew of the formats up to newest.
func older(newest byte) Program {
	p := rewritten()
	steps := (*p.Steps)[:newest-5]
	p.Newest, p.Steps = newest, &steps
	return p
}

// wholeRows are the values of all rows, which must be alike.
func wholeRows(t require.TestingT, store kv.Store) (value string) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	require.NoError(t, store.View(context.Background(), func(tx kv.ReadTx) error {
		for i := range rows {
			b, err := tx.Get(row(i))
			require.NoError(t, err)
			if i == 0 {
				value = string(b)
			}
			require.Equal(t, value, string(b), "row %d", i)
		}
		return nil
	}))
	return value
}

// TestLower is a model of what can be done with a store: it is raised and lowered by programs that
// know up to three formats, killed in any transaction; something new is written into it, and
// removed. Whenever a program opens it, it is whole and of that program's formats, and nothing is
// lost; what was killed can always be brought to an end.
func TestLower(t *testing.T) {
	kvtest.Long(t)
	done := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		store := memkv.New()
		_, err := Open(t.Context(), store, key, old)
		require.NoError(t, err)
		_, err = store.Update(t.Context(), func(tx kv.Tx) error {
			for i := range rows {
				tx.Set(row(i), []byte("5"))
			}
			return nil
		})
		require.NoError(t, err)
		values := map[byte]string{5: "5", 6: "56", 7: "567"}
		isNew := map[int]bool{}
		open := func() (format byte, whole bool) {
			for newest := byte(5); newest <= 7; newest++ {
				p := older(newest)
				h, err := Open(t.Context(), store, key, p)
				if whole = err == nil; !whole {
					require.ErrorIs(t, err, kv.ErrFormat)
					continue
				}
				require.LessOrEqual(t, h.Format, newest)
				require.Equal(t, values[h.Format], wholeRows(t, store))
				require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) error {
					for _, at := range [][]byte{cursorKey(key), loweringKey(key)} {
						left, err := tx.Get(at)
						require.NoError(t, err)
						require.Nil(t, left, "a record of a rewriting is left behind")
					}
					return nil
				}))
				return h.Format, true
			}
			return 0, false
		}
		if rapid.Bool().Draw(t, "begins with something new") {
			_, _, err := Finalise(t.Context(), store, key, rewritten(), nil)
			require.NoError(t, err)
			_, err = store.Update(t.Context(), func(tx kv.Tx) error {
				tx.Set([]byte{'n', 0}, []byte("1"))
				return nil
			})
			require.NoError(t, err)
			isNew[0] = true
		}
		for range rapid.IntRange(1, 25).Draw(t, "calls") {
			before, whole := open()
			killed := &killable{Store: store, left: rapid.IntRange(-1, 8).Draw(t, "left")}
			killed.made = rapid.Bool().Draw(t, "made")
			p := older(byte(rapid.IntRange(5, 7).Draw(t, "program")))
			switch what := rapid.SampledFrom([]string{"raise", "lower", "new", "clear"}).Draw(t, "what"); what {
			case "raise":
				_, after, err := Finalise(t.Context(), killed, key, p, nil)
				if err == nil {
					done["raised"]++
					now, whole := open()
					require.True(t, whole && now == p.Newest && after.Format == now)
				}
			case "lower":
				_, after, err := Lower(t.Context(), killed, key, p, nil)
				now, is := open()
				switch {
				case err == nil:
					done["lowered"]++
					require.True(t, is && now == after.Format, "%d, %t, %d", now, is, after.Format)
					require.True(t, !whole || before == now+1)
					require.True(t, now < 6 || len(isNew) == 0, "something new would be lost")
				case errors.Is(err, ErrInUse) && !errors.Is(err, errKilled):
					done["in use"]++
					require.True(t, is && now == 7 && len(isNew) > 0)
					for i := range isNew {
						require.ErrorContains(t, err, fmt.Sprintf("row %d has something new", i))
					}
				case errors.Is(err, errKilled):
					done["killed"]++
				default:
					require.ErrorIs(t, err, kv.ErrFormat)
				}
			case "new", "clear": // as a server would
				if !whole || before != 7 {
					continue
				}
				i := rapid.IntRange(0, rows-1).Draw(t, "row")
				_, err := Guarded(store, key, older(7)).Update(t.Context(), func(tx kv.Tx) error {
					if tx.Clear([]byte{'n', byte(i)}); what == "new" {
						tx.Set([]byte{'n', byte(i)}, []byte("1"))
					}
					return nil
				})
				require.NoError(t, err)
				if delete(isNew, i); what == "new" {
					isNew[i] = true
				}
			}
		}
		// One more way down from the top, killed in a transaction that is drawn.
		all := rewritten()
		_, _, err = Finalise(t.Context(), store, key, all, nil)
		if err == nil {
			_, err = store.Update(t.Context(), func(tx kv.Tx) error {
				for i := range rows {
					tx.Clear([]byte{'n', byte(i)})
				}
				return nil
			})
			require.NoError(t, err)
		}
		_, _, err = Lower(t.Context(), &killable{
			Store: store, left: rapid.IntRange(1, 8).Draw(t, "the end's"),
		}, key, all, nil)
		require.True(t, err == nil || errors.Is(err, errKilled) || errors.Is(err, kv.ErrFormat))
		// In the end one of the two directions is open, and leads to a whole store.
		_, _, up := Finalise(t.Context(), store, key, all, nil)
		if up != nil {
			require.ErrorIs(t, up, kv.ErrFormat)
			require.ErrorContains(t, up, "settee downgrade goes on")
			_, _, down := Lower(t.Context(), store, key, all, nil)
			require.NoError(t, down)
			done["only down"]++
		}
		_, whole := open()
		require.True(t, whole)
	})
	for _, what := range []string{"raised", "lowered", "in use", "killed", "only down"} {
		require.Positive(t, done[what], what)
	}
}

// TestNoWayBack: what has no step back is refused, and nothing is changed.
func TestNoWayBack(t *testing.T) {
	store := memkv.New()
	opened(t, store, old)
	_, _, err := Finalise(t.Context(), store, key, next, nil)
	require.NoError(t, err)
	for range 2 {
		_, _, err = Lower(t.Context(), store, key, next, nil)
		require.ErrorIs(t, err, kv.ErrFormat)
		require.ErrorContains(t, err, "from format 6 there is no way back")
		_, _, err = InUse(t.Context(), store, key, next)
		require.ErrorContains(t, err, "from format 6 there is no way back")
	}
	h, err := Read(t.Context(), store, key)
	require.NoError(t, err)
	require.Equal(t, Head{Format: 6, UUID: h.UUID, Reader: 5, Writer: 6}, h)
}

// TestHeadComesBack: a way back that finds something in the way leaves the head as it was, with
// what it allows to older programs; and the list of what is in the way has an end.
func TestHeadComesBack(t *testing.T) {
	store := memkv.New()
	opened(t, store, old)
	p := next
	rounds := 0
	p.Steps = &[]Step{{From: 5, Run: func(kv.Tx, []byte) ([]byte, error) { return nil, nil },
		Back: func(kv.Tx, []byte) ([]byte, error) { return nil, nil },
		InUse: func(_ kv.ReadTx, cursor []byte) (what []string, next []byte, err error) {
			rounds++
			return []string{"a", "b", "c"}, []byte{1}, nil
		}}}
	head := Head{Format: 6, Reader: 5, Writer: 6}
	_, err := store.Update(t.Context(), func(tx kv.Tx) error { tx.Set(key, head.encode()); return nil })
	require.NoError(t, err)
	to, what, err := InUse(t.Context(), store, key, p)
	require.NoError(t, err)
	require.Equal(t, byte(5), to)
	require.Len(t, what, maxInUse)
	_, _, err = Lower(t.Context(), store, key, p, nil)
	require.ErrorIs(t, err, ErrInUse)
	require.Equal(t, 14, rounds)
	h, err := Read(t.Context(), store, key)
	require.NoError(t, err)
	require.Equal(t, head, h)
}

// FuzzParseLowering: a record of any bytes does no harm, and what is read is what was written.
func FuzzParseLowering(f *testing.F) {
	f.Add(lowering{phase: rewriting, was: Head{Format: 6}.encode(), cursor: []byte("c")}.encode())
	f.Add([]byte{0, 200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLowering(b)
		if err != nil {
			require.ErrorIs(t, err, kv.ErrCorrupt)
			return
		}
		require.Equal(t, b, l.encode())
	})
}
