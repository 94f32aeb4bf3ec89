package compat

// DictOrder returns the order in which the keys of an Erlang dict come out that was filled with ids one after another: the
// order of the members of _revs_diff's answer (dict:from_list over a list of {Id, …}, dict:to_list). It returns indexes
// into ids; of equal ids only the first place counts. See lib/stdlib/src/dict.erl: linear hashing that starts with 16 slots
// and grows by one slot whenever there are more than five keys for each.
func DictOrder(ids []string) []int {
	n, maxN, buddy := uint32(16), uint32(16), uint32(8)
	slots := make([][]int, 16, 32)
	seen := make(map[string]bool, len(ids))
	slotOf := func(id string) uint32 {
		s := phash(id, maxN)
		if s > n {
			s -= buddy
		}
		return s
	}
	size := uint32(0)
	for i, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		s := slotOf(id) - 1
		slots[s] = append(slots[s], i)
		if size++; size <= n*5 {
			continue
		}
		if n == maxN {
			maxN *= 2
			buddy *= 2
		}
		n++
		slots = append(slots, nil)
		splitSlot(slots, ids, n, buddy, maxN)
	}
	order := make([]int, 0, len(seen))
	for _, slot := range slots {
		for i := len(slot) - 1; i >= 0; i-- { // the newest comes out first
			order = append(order, slot[i])
		}
	}
	return order
}

// splitSlot moves the keys that belong to the new slot n out of its buddy; both keep their order.
func splitSlot(slots [][]int, ids []string, n, buddy, maxN uint32) {
	old := slots[n-buddy-1]
	var stay, move []int
	for _, i := range old {
		if phash(ids[i], maxN) == n {
			move = append(move, i)
		} else {
			stay = append(stay, i)
		}
	}
	slots[n-buddy-1], slots[n-1] = stay, move
}

// phash is erlang:phash of a binary: 1…limit.
func phash(id string, limit uint32) uint32 {
	h := uint32(0)
	for i := 0; i < len(id); i++ {
		h = h*268440163 + uint32(id[i])
	}
	h = h*268436141 + uint32(len(id))
	return h%limit + 1
}
