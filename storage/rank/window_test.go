package rank_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// count counts the keys with a prefix.
func count(t interface{ Fatal(...any) }, store kv.Store, prefix string) (n int) {
	if err := store.View(context.Background(), func(r kv.ReadTx) error {
		it := r.Range([]byte(prefix), kv.AppendPrefixEnd(nil, []byte(prefix)), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			n++
		}
		return it.Err()
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// churn is a way of rows to come and go: what the step with that number changes, and how many rows there are at the end
// at most.
type churn struct {
	name  string
	rows  int
	steps func(step int) map[string][]byte
}

func window(from, to, size int) func(step int) map[string][]byte {
	return func(step int) map[string][]byte {
		rows := map[string][]byte{}
		for i := step * from / to; i < (step+1)*from/to; i++ {
			rows[fmt.Sprintf("%08d", i)] = []byte("x")
			if i >= size {
				rows[fmt.Sprintf("%08d", i-size)] = nil
			}
		}
		return rows
	}
}

var churns = []churn{
	{"moving window, rows one by one", 100, window(1, 1, 100)},
	{"moving window, many rows at once", 100, window(60, 1, 100)},
	{"stack", 200, func(step int) map[string][]byte {
		if at := step % 400; at < 200 {
			return map[string][]byte{fmt.Sprintf("%08d", at): []byte("x")}
		} else {
			return map[string][]byte{fmt.Sprintf("%08d", 399-at): nil}
		}
	}},
	{"all rows come and go", 2000, func(step int) map[string][]byte {
		value := []byte("x")
		if step%40 >= 20 {
			value = nil
		}
		rows := map[string][]byte{}
		for i := range 100 {
			rows[fmt.Sprintf("%08d", i*20+step%20)] = value
		}
		return rows
	}},
	{"random rows of a moving range", 300, func(step int) map[string][]byte {
		rng := rand.New(rand.NewPCG(uint64(step), 1))
		rows := map[string][]byte{}
		for range 3 {
			rows[fmt.Sprintf("%08d", step/4+rng.IntN(200))] = []byte("x")
		}
		for i := range 3 {
			rows[fmt.Sprintf("%08d", step/4-100+i)] = nil
			rows[fmt.Sprintf("%08d", rng.IntN(step/4+200))] = nil
		}
		return rows
	}},
}

// TestBoundariesGo: the boundaries are bounded by the rows that are there, however many there were, and weights are
// exact at any moment.
func TestBoundariesGo(t *testing.T) {
	for _, c := range churns {
		for _, settle := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/settled=%v", c.name, settle), func(t *testing.T) {
				x := index(4, nil)
				store := memkv.New()
				defer store.Close()
				for step := range 480 {
					if err := set(t.Context(), store, x, settle, c.steps(step)); err != nil {
						t.Fatal(err)
					}
					if step%40 == 39 {
						check(t, store, x)
					}
				}
				rows, keys := count(t, store, "r"), count(t, store, "l")+count(t, store, "m")
				if rows > c.rows || keys > 2*rows+80 { // what the last transaction retired may be there
					t.Errorf("%d rows have %d boundaries and marks", rows, keys)
				}
			})
		}
	}
}

// TestWritersInBetween: while a transaction tidies, retires or opens boundaries, others do, and commit first.
func TestWritersInBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index(2, nil)
		engine := latencykv.New(memkv.New(), latencykv.Options{})
		defer engine.Close()
		change := func(label string) map[string][]byte {
			rows := map[string][]byte{}
			for range rapid.IntRange(1, 4).Draw(t, label) {
				value := []byte("x")
				if rapid.Bool().Draw(t, "goes") {
					value = nil
				}
				rows[fmt.Sprintf("%02d", rapid.IntRange(0, 30).Draw(t, "key"))] = value
			}
			return rows
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			rows := change("rows")
			var between []map[string][]byte
			for range rapid.IntRange(0, 3).Draw(t, "others") {
				between = append(between, change("other rows"))
			}
			var err error
			engine.BeforeCommit(func() {
				for _, other := range between {
					if err == nil {
						err = set(context.Background(), engine, x, false, other)
					}
				}
				between = nil
			})
			if ownErr := set(context.Background(), engine, x, false, rows); ownErr != nil || err != nil {
				t.Fatal(ownErr, err)
			}
			engine.BeforeCommit(nil)
			check(t, engine, x)
		}
	})
}

// TestSlowWriter: a writer that read before a boundary was retired commits only after it was taken away, among whatever
// else is done.
func TestSlowWriter(t *testing.T) {
	var keys []string // of boundaries, with a row after each that is none
	x := index(3, nil)
	for i := 0; len(keys) < 6; i++ {
		key := fmt.Sprintf("%04d", i)
		if x.Height([]byte(key)) > 0 && x.Height([]byte(key+"b")) == 0 {
			keys = append(keys, key)
		}
	}
	for _, restored := range []bool{false, true} {
		engine := latencykv.New(memkv.New(), latencykv.Options{})
		write := func(key string, value []byte) {
			if err := set(t.Context(), engine, x, false, map[string][]byte{key: value}); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range keys {
			write(key, []byte("x"))
			write(key+"c", []byte("x"))
		}
		for _, key := range keys { // settles
			write(key+"d", []byte("x"))
			write(key+"e", []byte("x"))
		}
		done := false
		engine.BeforeCommit(func() {
			if done {
				return
			}
			done = true
			write(keys[3], nil)
			write(keys[3]+"c", nil) // takes the boundary away
			if restored {
				write(keys[3], []byte("x"))
			}
			check(t, engine, x)
		})
		write(keys[3]+"b", []byte("x"))
		engine.BeforeCommit(nil)
		check(t, engine, x)
		engine.Close()
	}
}
