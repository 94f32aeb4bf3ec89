package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// Floor is a stored key, without its prefix, and its value.
type Floor struct{ Key, Value []byte }

// Floors finds for each of some keys, which ascend, the last one stored below a prefix that is not
// after it; the empty key without a value where there is none. Keys that lie close together are
// found with one range, others by themselves. together is how many reads are best asked for at
// once, as kv.Limits has it.
func Floors(r kv.ReadTx, prefix []byte, keys [][]byte, together int) ([]Floor, error) {
	found, err := floorsOf(r, [][]byte{prefix}, keys, together)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// floorsOf is Floors for several prefixes, which are read together. Each range is closed as soon as
// it is read: the embedded engine then has one iterator of tables for all of them, and to open one
// costs more than to seek.
func floorsOf(r kv.ReadTx, prefixes, keys [][]byte, together int) ([][]Floor, error) {
	all := make([][]Floor, len(prefixes))
	if len(keys) == 0 {
		return all, nil
	}
	limit := boundsPerRow * len(keys)
	firsts, others := make([]kv.Iterator, len(prefixes)), make([]kv.Iterator, len(prefixes))
	defer func() { closeAll(firsts); closeAll(others) }()
	for i, prefix := range prefixes {
		firsts[i] = askFloor(r, prefix, keys[0])
		if len(keys) > 1 {
			begin, last := concat(prefix, keys[0]), concat(prefix, keys[len(keys)-1])
			o := kv.RangeOptions{Limit: limit, WantAll: true}
			others[i] = r.Range(kv.AppendKeyAfter(nil, begin), kv.AppendKeyAfter(nil, last), o)
		}
	}
	for i, prefix := range prefixes {
		last, err := readFloor(firsts[i], prefix)
		if err != nil {
			return nil, err
		}
		found := append(make([]Floor, 0, len(keys)), last)
		if len(keys) > 1 {
			if found, err = floorsBetween(others[i], prefix, keys, found, together); err != nil {
				return nil, err
			}
		}
		if all[i], err = seekFloors(r, prefix, keys[len(found):], found); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// closeAll closes what is open of some ranges; those that were not asked for are nil.
func closeAll(its []kv.Iterator) {
	for _, it := range its {
		if it != nil {
			_ = it.Close()
		}
	}
}

// floorsBetween appends those of the keys after the first one, as far as the range reaches. Where
// each read is answered at once it ends earlier, when it has come by so many boundaries for each
// key that to seek the others costs less. Across a network all of the range is on its way already.
func floorsBetween(it kv.Iterator, prefix []byte, keys [][]byte, found []Floor, together int) ([]Floor, error) {
	defer it.Close()
	last := found[0]
	limit := boundsPerRow * len(keys)
	read := 0
	for ; it.Next(); read++ {
		if together == 0 && read >= boundsPerRow*(1+len(found)) {
			return found, nil
		}
		next := Floor{bytes.Clone(it.Key()[len(prefix):]), bytes.Clone(it.Value())}
		for len(found) < len(keys) && bytes.Compare(keys[len(found)], next.Key) < 0 {
			found = append(found, last)
		}
		last = next
	}
	for read < limit && len(found) < len(keys) {
		found = append(found, last)
	}
	return found, it.Err()
}

// askFloor asks for the last key that is not after one; readFloor waits for it.
func askFloor(r kv.ReadTx, prefix, key []byte) kv.Iterator {
	return r.Range(prefix, kv.AppendKeyAfter(nil, concat(prefix, key)), kv.RangeOptions{Limit: 1, Reverse: true})
}

// readFloor is the boundary that a reverse range finds; without one it is the empty boundary, which
// begins each level.
func readFloor(it kv.Iterator, prefix []byte) (Floor, error) {
	defer it.Close()
	if it.Next() {
		return Floor{bytes.Clone(it.Key()[len(prefix):]), bytes.Clone(it.Value())}, nil
	}
	return Floor{Key: []byte{}}, it.Err()
}

// seekFloors finds each one by itself, and appends it to found.
func seekFloors(r kv.ReadTx, prefix []byte, keys [][]byte, found []Floor) ([]Floor, error) {
	for part := range slices.Chunk(keys, seeksAtOnce) {
		var err error
		if found, err = seekSome(r, prefix, part, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// seekSome is seekFloors for keys that are asked for together.
func seekSome(r kv.ReadTx, prefix []byte, keys [][]byte, found []Floor) ([]Floor, error) {
	its := make([]kv.Iterator, len(keys))
	defer closeAll(its)
	for i, key := range keys {
		its[i] = askFloor(r, prefix, key)
	}
	for _, it := range its {
		f, err := readFloor(it, prefix)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}
