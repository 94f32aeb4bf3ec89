package answers

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
)

// TestAgainstModel: whatever requests come, again or with a key of another one, and however time goes
// on, each is answered as a map of the answers of the last 24 hours says; the check finds nothing wrong
// after each step, and nothing is left in the end.
func TestAgainstModel(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		defer func() { require.NoError(t, engine.Close()) }()
		rapid.Check(t, func(rt *rapid.T) {
			now := time.UnixMilli(1)
			known := make(map[string]record)
			for range rapid.IntRange(1, 25).Draw(rt, "steps") {
				if n := rapid.IntRange(0, 5).Draw(rt, "time"); n < 2 {
					now = now.Add(Life/2 + time.Duration(rapid.IntRange(-1, 1).Draw(rt, "more"))*time.Millisecond)
					if n == 0 {
						require.NoError(rt, Sweep(t.Context(), engine, now))
					}
				}
				q := Request{
					User: rapid.SampledFrom([]string{"", "ada", "ada\x00b"}).Draw(rt, "user"),
					Key:  rapid.SampledFrom([]string{"a", "a\x00", "ab"}).Draw(rt, "key"),
					Hash: sha256.Sum256([]byte{byte(rapid.IntRange(0, 1).Draw(rt, "request"))}), Now: now,
				}
				length := rapid.SampledFrom([]int{0, 5, keyspace.MaxValue - 60, keyspace.MaxValue,
					2*keyspace.MaxValue + 7}).Draw(rt, "length")
				made := Answer{201, "2-x", bytes.Repeat([]byte("x"), length)}
				old, there := known[q.User+"/"+q.Key]
				there = there && now.UnixMilli()-old.ms < Life.Milliseconds()
				var found *Answer
				_, err := engine.Update(t.Context(), func(tx kv.Tx) (err error) {
					if found, err = q.Find(tx); err == nil && found == nil {
						err = q.Keep(tx, &made)
					}
					return err
				})
				switch {
				case !there:
					require.NoError(rt, err)
					require.Nil(rt, found)
					known[q.User+"/"+q.Key] = record{hash: q.Hash, ms: now.UnixMilli(), answer: made}
				case old.hash == q.Hash:
					require.NoError(rt, err)
					require.Equal(rt, old.answer.Status, found.Status)
					require.Equal(rt, len(old.answer.Body), len(found.Body))
				default:
					require.ErrorIs(rt, err, errReused)
				}
				check(t, rt, engine)
			}
			other := memkv.New()
			require.NoError(rt, Copy(t.Context(), engine, other, func(err error) { require.NoError(rt, err) }))
			require.Equal(rt, rows(t, rt, engine), rows(t, rt, other))
			require.NoError(rt, other.Close())
			require.NoError(rt, Sweep(t.Context(), engine, now.Add(Life+time.Millisecond)))
			require.Empty(rt, rows(t, rt, engine))
		})
	})
}

func check(t *testing.T, rt require.TestingT, engine kv.Store) {
	t.Helper()
	violations, err := Check(t.Context(), engine, keyspace.AnswersPrefix())
	require.NoError(rt, err)
	require.Empty(rt, violations)
}

func rows(t *testing.T, rt require.TestingT, engine kv.Store) (keys [][]byte) {
	t.Helper()
	root := keyspace.AnswersPrefix()
	require.NoError(rt, engine.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range(root, append(bytes.Clone(root), 0xff), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			keys = append(keys, bytes.Clone(it.Key()))
		}
		return it.Err()
	}))
	return keys
}

// TestBoundOfAUser: what one user has is bounded, whatever the others have, until it is too old; and
// each row that is missing or broken is found by the check.
func TestBoundOfAUser(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		defer func() { require.NoError(t, engine.Close()) }()
		now := time.UnixMilli(1)
		body := bytes.Repeat([]byte("x"), 4<<20)
		keep := func(user string, n int, body []byte) error {
			q := Request{User: user, Key: fmt.Sprint(n), Now: now}
			_, err := engine.Update(t.Context(), func(tx kv.Tx) error { return q.Keep(tx, &Answer{Body: body}) })
			return err
		}
		n := 0
		var err error
		for ; err == nil && n < 100; n++ {
			err = keep("ada", n, body)
		}
		require.ErrorIs(t, err, compat.KindInsufficientStorage)
		require.Equal(t, MaxBytes/len(body), n)
		require.NoError(t, keep("bob", n, []byte("y")))
		now = now.Add(Life + time.Millisecond)
		require.NoError(t, Sweep(t.Context(), engine, now))
		require.Empty(t, rows(t, t, engine))
		require.NoError(t, keep("ada", n, []byte("y")))
		require.NoError(t, keep("ada", n+1, []byte("y")))
		check(t, t, engine)
		for _, key := range rows(t, t, engine) {
			for _, value := range [][]byte{nil, []byte("?")} {
				was := changed(t, engine, key, value)
				violations, err := Check(t.Context(), engine, keyspace.AnswersPrefix())
				require.NoError(t, err)
				require.NotEmpty(t, violations, "%q as %q", key, value)
				changed(t, engine, key, was)
			}
		}
		check(t, t, engine)
	})
}

// changed gives a key another value, none if it is nil, and returns the one before.
func changed(t *testing.T, engine kv.Store, key, value []byte) (was []byte) {
	t.Helper()
	_, err := engine.Update(t.Context(), func(tx kv.Tx) error {
		old, err := tx.Get(key)
		if was = bytes.Clone(old); value == nil {
			tx.Clear(key)
		} else {
			tx.Set(key, value)
		}
		return err
	})
	require.NoError(t, err)
	return was
}

// FuzzRecord: whatever is stored is read or refused, and what was read is written the same way.
func FuzzRecord(f *testing.F) {
	r := record{ms: 1_700_000_000_000, answer: Answer{Status: 201, ETag: "1-a", Body: []byte("[]")}}
	f.Add(r.append(nil))
	f.Add([]byte(strings.Repeat("x", 40)))
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := parseRecord(value)
		if err != nil {
			require.True(t, errors.Is(err, kv.ErrCorrupt))
			return
		}
		again, err := parseRecord(r.append(nil))
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}

// TestCopyOfDamage: an answer of which some bytes are missing is told, whichever row is gone, and is
// not kept; the others are, with the entries that are missing.
func TestCopyOfDamage(t *testing.T) {
	engine := memkv.New()
	defer engine.Close()
	for key, length := range map[string]int{"long": 2*keyspace.MaxValue + 7, "short": 5} {
		q := Request{User: "ada", Key: key, Now: time.UnixMilli(7)}
		_, err := engine.Update(t.Context(), func(tx kv.Tx) error {
			return q.Keep(tx, &Answer{201, "", bytes.Repeat([]byte("x"), length)})
		})
		require.NoError(t, err)
	}
	whole := rows(t, t, engine)
	for _, key := range whole {
		damaged, target := memkv.New(), memkv.New()
		_, err := damaged.Update(t.Context(), func(tx kv.Tx) error {
			return engine.View(t.Context(), func(r kv.ReadTx) error {
				for _, other := range whole {
					value, err := r.Get(other)
					if err != nil {
						return err
					}
					tx.Set(other, value)
				}
				tx.Clear(key)
				return nil
			})
		})
		require.NoError(t, err)
		lost := 0
		require.NoError(t, Copy(t.Context(), damaged, target, func(error) { lost++ }))
		check(t, t, target)
		kept := rows(t, t, target)
		switch gone := len(whole) - len(kept); {
		case bytes.Contains(key, []byte("long")) && gone > 0:
			require.LessOrEqual(t, lost, 1)
			require.Equal(t, 4, gone, "the entry, three rows")
		default:
			require.Zero(t, lost)
			require.Contains(t, []int{0, 2}, gone, "all of it, or the short one whose only row is gone")
		}
		require.NoError(t, errors.Join(damaged.Close(), target.Close()))
	}
}
