package outbox

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/eventing/alarm"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

const testPartitions = 4

var box = Below([]byte("box"))

// rows are all keys of the outbox with their values.
func rows(t require.TestingT, store kv.Store) (list []kv.Row) {
	require.NoError(t, store.View(context.Background(), func(tx kv.ReadTx) error {
		begin, end := below([]byte("box"))
		it := tx.Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for list = nil; it.Next(); {
			list = append(list, kv.Row{Key: bytes.Clone(it.Key()), Value: bytes.Clone(it.Value())})
		}
		return it.Err()
	}))
	return list
}

// violations is what a Checker says of an outbox.
func violations(t require.TestingT, store kv.Store) (found []string) {
	c := NewChecker(testPartitions, func(form bool, text string) { found = append(found, fmt.Sprint(form, " ", text)) })
	for _, row := range rows(t, store) {
		c.Row(row.Key[len("box"):], row.Value)
	}
	c.End()
	return found
}

func update(t require.TestingT, store kv.Store, fn func(tx kv.Tx) error) {
	_, err := store.Update(context.Background(), fn)
	require.NoError(t, err)
}

func newMessage(partition int, destination string, size int, now int64, n int) *Message {
	return &Message{
		ID: NewID(time.UnixMilli(now), uint16(n)), Destination: destination, Key: "k", Published: now,
		Partition: partition, Headers: [][2]string{{"A", "b"}}, Body: bytes.Repeat([]byte("x"), size),
	}
}

// modelled is a message of the model: where it stands.
type modelled struct {
	*Message

	at   Waiting
	dead bool
}

// TestBoxAgainstAModel: whatever is published, tried, delivered, replayed and deleted, also where
// commits are made again or their outcome is unknown for a while, an outbox has what a map has: each
// message is due in its order or a dead letter, the counters are right, and in the end nothing is left.
func TestBoxAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "faults")
		plan := faultkv.Random(seed, faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.1, UnknownCommitted: 0.1})
		plan.Unknown = func() {}
		store := faultkv.New(memkv.New(), plan)
		model := make(map[string]*modelled)
		now := int64(1000)
		pick := func(dead bool) *modelled {
			var ids []string
			for id, m := range model {
				if m.dead == dead {
					ids = append(ids, id)
				}
			}
			if len(ids) == 0 {
				t.Skip("there is none")
			}
			slices.Sort(ids)
			return model[rapid.SampledFrom(ids).Draw(t, "id")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(t *rapid.T) {
				size := rapid.SampledFrom([]int{0, 10, maxPiece - 200, maxPiece, 2*maxPiece + 1}).Draw(t, "size")
				m := newMessage(rapid.IntRange(0, testPartitions-1).Draw(t, "partition"),
					rapid.SampledFrom([]string{"a", "ab", "b"}).Draw(t, "destination"), size, now, len(model))
				update(t, store, func(tx kv.Tx) error { return box.Put(tx, m) })
				bytes, err := m.Size()
				require.NoError(t, err)
				model[m.ID] = &modelled{Message: m, at: Waiting{
					Partition: m.Partition, Destination: m.Destination, Due: now, ID: m.ID, Since: now, Bytes: bytes,
				}}
			},
			"deliver": func(t *rapid.T) {
				m := pick(false)
				update(t, store, func(tx kv.Tx) error {
					there, err := box.Delivered(tx, m.at)
					require.True(t, there)
					return err
				})
				delete(model, m.ID)
			},
			"retry": func(t *rapid.T) {
				m, due := pick(false), now+rapid.Int64Range(0, 50).Draw(t, "wait")
				update(t, store, func(tx kv.Tx) error {
					there, err := box.Retry(tx, m.at, due)
					require.True(t, there)
					return err
				})
				m.at.Due, m.at.Attempts = due, m.at.Attempts+1
			},
			"stale": func(t *rapid.T) { // what somebody else has tried meanwhile
				w := pick(false).at
				w.Attempts++
				update(t, store, func(tx kv.Tx) error {
					there, err := box.Delivered(tx, w)
					require.False(t, there)
					return err
				})
			},
			"fail": func(t *rapid.T) {
				m := pick(false)
				update(t, store, func(tx kv.Tx) error {
					there, err := box.Fail(tx, m.at, m.Message, now, Failure{Status: 400, Error: "no"})
					require.True(t, there)
					return err
				})
				m.dead = true
			},
			"replay": func(t *rapid.T) {
				m := pick(true)
				n, err := Change(context.Background(), store, box, Choice{IDs: []string{m.ID, "x"}}, now,
					func(kv.Tx) {}, func([]*Waiting) {})
				require.NoError(t, err)
				require.Equal(t, 1, n)
				m.dead, m.at.Due, m.at.Since, m.at.Attempts = false, now, now, 0
			},
			"delete": func(t *rapid.T) {
				destination := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "destination")
				n, err := Change(context.Background(), store, box, Choice{Destination: destination}, now, nil, nil)
				require.NoError(t, err)
				maps.DeleteFunc(model, func(_ string, m *modelled) bool {
					gone := m.dead && (destination == "" || m.Destination == destination)
					if gone {
						n--
					}
					return gone
				})
				require.Zero(t, n)
			},
			"time": func(*rapid.T) { now += 7 },
			"": func(t *rapid.T) {
				require.Empty(t, violations(t, store))
				require.NoError(t, store.View(context.Background(), func(tx kv.ReadTx) error {
					return holds(t, tx, model, now)
				}))
			},
		})
		for id, m := range model {
			if m.dead {
				continue
			}
			update(t, store, func(tx kv.Tx) error { _, err := box.Delivered(tx, m.at); return err })
			delete(model, id)
		}
		_, err := Change(context.Background(), store, box, Choice{}, now, nil, nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(rows(t, store)), 3, "only counters are left")
		require.Empty(t, violations(t, store))
	})
}

// holds compares an outbox with the model: what is due, with little room and with much, what is dead,
// and what each message is.
func holds(t *rapid.T, tx kv.ReadTx, model map[string]*modelled, now int64) error {
	letters, next, err := box.DeadLetters(tx, "", "", 1000, 1000)
	require.NoError(t, err)
	require.Empty(t, next)
	require.True(t, slices.IsSortedFunc(letters, func(a, b DeadLetter) int { return strings.Compare(a.ID, b.ID) }))
	dead, waiting := 0, 0
	for id, m := range model {
		if m.dead {
			dead++
		} else {
			waiting++
		}
		stored, err := box.Message(tx, id)
		require.NoError(t, err)
		require.Equal(t, m.Message, stored)
	}
	require.Len(t, letters, dead)
	sizes, err := box.Sizes(tx)
	require.NoError(t, err)
	require.EqualValues(t, waiting, sizes.Waiting)
	require.EqualValues(t, dead, sizes.DeadLetters)
	for p := range testPartitions {
		for _, room := range []int{0, 1, 1000} {
			list, full, next, err := box.Due(tx, p, now,
				func(string) int { return room }, func(string) bool { return false })
			require.NoError(t, err)
			want, then, more := dueOf(model, p, now, room)
			require.ElementsMatch(t, want, list)
			require.Equal(t, more, full)
			require.Equal(t, then, next)
		}
	}
	return nil
}

// dueOf is what Box.Due gives, by brute force.
func dueOf(model map[string]*modelled, p int, now int64, room int) (list []Waiting, next int64, full []string) {
	to := make(map[string][]Waiting)
	for _, m := range model {
		if !m.dead && m.Partition == p {
			to[m.Destination] = append(to[m.Destination], m.at)
		}
	}
	next = alarm.Never
	for _, destination := range slices.Sorted(maps.Keys(to)) {
		all := to[destination]
		slices.SortFunc(all, func(a, b Waiting) int {
			if a.Due != b.Due {
				return int(a.Due - b.Due)
			}
			return strings.Compare(a.ID, b.ID)
		})
		for i, w := range all {
			if w.Due > now {
				next = min(next, w.Due)
				break
			}
			if i == room {
				full = append(full, destination)
				break
			}
			list = append(list, w)
		}
	}
	return list, next, full
}

// TestCheckerFindsDamage: each key of an outbox that is lost or changed is told.
func TestCheckerFindsDamage(t *testing.T) {
	fresh := func() kv.Store {
		store := memkv.New()
		update(t, store, func(tx kv.Tx) error {
			for i, size := range []int{5, 2*maxPiece + 5} {
				m := newMessage(i, "a", size, 7, i)
				m.ID = fmt.Sprint("m", i)
				if err := box.Put(tx, m); err != nil {
					return err
				}
			}
			return nil
		})
		update(t, store, func(tx kv.Tx) error {
			list, _, _, err := box.Due(tx, 0, 9, func(string) int { return 1 }, func(string) bool { return false })
			if err == nil {
				_, err = box.Fail(tx, list[0], &Message{}, 8, Failure{Error: "no"})
			}
			return err
		})
		return store
	}
	require.Empty(t, violations(t, fresh()))
	all := rows(t, fresh())
	require.Len(t, all, 9) // a place and a dead letter, a piece and three, three counters
	for _, row := range all {
		for what, change := range map[string]func(tx kv.Tx){
			"lost":    func(tx kv.Tx) { tx.Clear(row.Key) },
			"changed": func(tx kv.Tx) { tx.Set(row.Key, append(bytes.Repeat([]byte{0xff}, 11), row.Value...)) },
			"moved": func(tx kv.Tx) {
				tx.Clear(row.Key)
				tx.Set(append(row.Key[:len(row.Key):len(row.Key)], 1), row.Value)
			},
		} {
			store := fresh()
			update(t, store, func(tx kv.Tx) error { change(tx); return nil })
			require.NotEmpty(t, violations(t, store), "%s: %q", what, row.Key)
		}
	}
}

// TestCourier: a destination that does not answer holds up no other; no more messages than allowed are
// on their way to a destination, and all together; what comes back is delivered later.
func TestCourier(t *testing.T) {
	store := memkv.New()
	const each = 300 // more than are read ahead
	destinations := []string{"deaf", "fast", "slow", "twice"}
	update(t, store, func(tx kv.Tx) error {
		for n := range each * len(destinations) {
			if err := box.Put(tx, newMessage(n%testPartitions, destinations[n%4], 1, 7, n)); err != nil {
				return err
			}
		}
		return nil
	})
	var mu sync.Mutex
	running, done := make(map[string]int), make(map[string]int)
	var busy atomic.Int64
	var wake alarm.Alarm
	deaf := make(chan struct{})
	c := NewCourier(Work{
		KV: store, Box: box, Alarm: &wake, Among: []int{0, 1, 2, 3}, Now: time.Now, Concurrency: 3, Busy: &busy,
		Deliver: func(ctx context.Context, w Waiting) (int64, error) {
			mu.Lock()
			running[w.Destination]++
			all := running["deaf"] + running["fast"] + running["slow"] + running["twice"]
			if running[w.Destination] > 3 || all > mostDeliveries {
				t.Errorf("too many at a time: %v", running)
			}
			mu.Unlock()
			switch w.Destination {
			case "deaf":
				<-deaf
			case "slow":
				time.Sleep(time.Millisecond)
			}
			mu.Lock()
			running[w.Destination]--
			done[w.Destination]++
			mu.Unlock()
			again := alarm.Never
			_, err := store.Update(ctx, func(tx kv.Tx) (err error) {
				if w.Destination == "twice" && w.Attempts == 0 {
					again = time.Now().UnixMilli() + 1
					_, err = box.Retry(tx, w, again)
				} else {
					_, err = box.Delivered(tx, w)
				}
				return err
			})
			return again, err
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, context.WithoutCancel(ctx)) }()
	count := func(destination string) int {
		mu.Lock()
		defer mu.Unlock()
		return done[destination]
	}
	require.Eventually(t, func() bool {
		return count("fast") == each && count("slow") == each && count("twice") == 2*each
	}, time.Minute, time.Millisecond)
	require.Zero(t, count("deaf"))
	close(deaf)
	require.Eventually(t, func() bool {
		return count("deaf") == each && busy.Load() == 0
	}, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.LessOrEqual(t, len(rows(t, store)), 3)
	require.Empty(t, violations(t, store))
}

// FuzzDecode: stored bytes of any kind are read or refused.
func FuzzDecode(f *testing.F) {
	text, err := newMessage(1, "a", 10, 7, 1).encode()
	require.NoError(f, err)
	f.Add(text, []byte{1, 2, 3})
	f.Add([]byte{5, '{', '}'}, []byte{0xff})
	f.Fuzz(func(t *testing.T, text, value []byte) {
		if m, err := decode("id", text); err == nil {
			require.Equal(t, "id", m.ID)
		}
		var w Waiting
		if w.parse(text, value) == nil {
			require.GreaterOrEqual(t, w.Bytes, int64(0))
		}
		_, _ = parseDead("id", value)
		c := NewChecker(testPartitions, func(bool, string) {})
		c.Row(text, value)
		c.End()
	})
}
