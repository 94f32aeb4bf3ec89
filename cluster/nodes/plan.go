package nodes

import "slices"

// Spans divides n things among k, in order: the i-th of k has those from the i-th number on up to
// the next one. The first n mod k have one more than the others.
func Spans(n, k int) []int {
	starts := make([]int, k+1)
	for i := range k {
		size := n / k
		if i < n%k {
			size++
		}
		starts[i+1] = starts[i] + size
	}
	return starts
}

// Plan says which of the processes that live, in ascending order, is to own each partition. owners
// has who owns them now, the zero ID for nobody. Each process has its even share; of what it owns
// it keeps the first ones, up to that share, and what is over goes in order to those who have too
// little. So where nobody owns anything the shares are ranges.
func Plan(owners []ID, live []ID) []ID {
	plan := make([]ID, len(owners))
	if len(live) == 0 {
		return plan
	}
	quota := quotas(owners, live)
	for p, id := range owners {
		if quota[id] > 0 {
			plan[p] = id
			quota[id]--
		}
	}
	next := 0
	for p := range plan {
		if plan[p] != (ID{}) {
			continue
		}
		for quota[live[next]] == 0 {
			next++
		}
		plan[p] = live[next]
		quota[live[next]]--
	}
	return plan
}

// quotas are the shares of those who live. What is left over by an even division goes to those who
// own more than that already, so that it need not move, then to the first ones.
func quotas(owners, live []ID) map[ID]int {
	each, over := len(owners)/len(live), len(owners)%len(live)
	held, quota := make(map[ID]int), make(map[ID]int)
	for _, id := range owners {
		held[id]++
	}
	for _, id := range live {
		quota[id] = each
	}
	order := slices.Clone(live)
	slices.SortStableFunc(order, func(a, b ID) int { return min(held[b], each+1) - min(held[a], each+1) })
	for _, id := range order[:over] {
		quota[id]++
	}
	return quota
}
