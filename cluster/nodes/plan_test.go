package nodes

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/stretchr/testify/require"
)

func named(names ...byte) []ID {
	list := make([]ID, len(names))
	for i, name := range names {
		list[i] = ID{name}
	}
	return list
}

// TestSpans: the seed's vectors, 1,024 partitions over three workers of one node, then over three
// of each of two.
func TestSpans(t *testing.T) {
	require.Equal(t, []int{0, 342, 683, 1024}, Spans(1024, 3))
	halves := Spans(1024, 2)
	require.Equal(t, []int{0, 512, 1024}, halves)
	require.Equal(t, []int{0, 171, 342, 512}, Spans(halves[1], 3))
	require.Equal(t, []int{0, 1, 2, 2}, Spans(2, 3))
}

// TestPlanOfFreePartitions: where nobody owns anything the shares are the ranges of Spans.
func TestPlanOfFreePartitions(t *testing.T) {
	plan := Plan(make([]ID, 10), named(1, 2, 3))
	require.Equal(t, named(1, 1, 1, 1, 2, 2, 2, 3, 3, 3), plan)
	require.Equal(t, make([]ID, 10), Plan(make([]ID, 10), nil))
}

// TestPlanMovesLittle: processes come and go; shares stay even, and of what could stay nothing
// moves.
func TestPlanMovesLittle(t *testing.T) {
	kvtest.Long(t)
	random := rand.New(rand.NewPCG(1, 2))
	owners, live := make([]ID, 64), named(100)
	for range 2000 {
		if len(live) > 1 && random.IntN(2) == 0 {
			i := random.IntN(len(live))
			live = slices.Delete(live, i, i+1)
		} else if id := byte(1 + random.IntN(200)); !slices.Contains(live, ID{id}) {
			live = append(live, ID{id})
			slices.SortFunc(live, func(a, b ID) int { return int(a[0]) - int(b[0]) })
		}
		plan := Plan(owners, live)
		shares, before := make(map[ID]int), make(map[ID]int)
		for p := range plan {
			shares[plan[p]]++
			before[owners[p]]++
		}
		kept, most := 0, 0
		for _, id := range live {
			require.InDelta(t, float64(64)/float64(len(live)), float64(shares[id]), 0.999)
			most += min(before[id], shares[id])
		}
		for p := range plan {
			require.Contains(t, live, plan[p])
			if plan[p] == owners[p] {
				kept++
			}
		}
		require.Equal(t, most, kept, "more than what has to moves")
		require.Equal(t, plan, Plan(plan, live), "a plan that was followed is another one")
		owners = plan
	}
}
