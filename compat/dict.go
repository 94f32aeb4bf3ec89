package compat

import "iter"

// DictOrder returns the order in which the keys of an Erlang dict come out that was filled with n
// ids one after another: the order of the members of _revs_diff's answer (dict:from_list over a
// list of {Id, …}, dict:to_list). It returns indexes into ids, of which no two are equal. See
// lib/stdlib/src/dict.erl: linear hashing that starts with 16 slots and grows by one slot whenever
// there are more than five keys for each; a slot that is split leaves both halves in their order,
// so that only the final slots count. It takes eight bytes for each id.
func DictOrder(n int, ids iter.Seq[string]) []uint32 {
	slots, maxN := uint32(16), uint32(16)
	if n > 16*5 {
		slots = uint32((n + 4) / 5)
	}
	for maxN < slots {
		maxN *= 2
	}
	of := make([]uint32, 0, n) // the slot of each id
	ends := make([]uint32, slots+1)
	for id := range ids {
		slot := phash(id, maxN) - 1
		if slot >= slots {
			slot -= maxN / 2
		}
		of = append(of, slot)
		ends[slot]++
	}
	sum := uint32(0)
	for slot := range ends {
		sum += ends[slot]
		ends[slot] = sum
	}
	order := make([]uint32, len(of))
	for i, slot := range of { // the newest of a slot comes out first
		ends[slot]--
		order[ends[slot]] = uint32(i)
	}
	return order
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
