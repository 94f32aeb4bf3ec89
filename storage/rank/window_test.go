package rank_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
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

// churn is a way of rows to come and go: what the step with that number changes, and how many rows
// there are at the end at most.
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

// TestBoundariesGo: boundaries go with their rows, however many there were, and weights are exact
// at any moment.
func TestBoundariesGo(t *testing.T) {
	kvtest.Long(t)
	for _, c := range churns {
		t.Run(c.name, func(t *testing.T) {
			x := index(4, nil)
			store := memkv.New()
			defer store.Close()
			for step := range 480 {
				if err := set(t.Context(), store, x, c.steps(step)); err != nil {
					t.Fatal(err)
				}
				if step%40 == 39 {
					check(t, store, x)
				}
			}
			rows, bounds := count(t, store, "r"), count(t, store, "l")
			if rows > c.rows || bounds > rows/2+20 {
				t.Errorf("%d rows have %d boundaries", rows, bounds)
			}
		})
	}
}
