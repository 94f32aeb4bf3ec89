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
// found with one range, others by themselves.
func Floors(r kv.ReadTx, prefix []byte, keys [][]byte) ([]Floor, error) {
	found, err := FloorsOf(r, [][]byte{prefix}, keys)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// FloorsOf is Floors for several prefixes, which are read together.
func FloorsOf(r kv.ReadTx, prefixes, keys [][]byte) ([][]Floor, error) {
	all := make([][]Floor, len(prefixes))
	if len(keys) == 0 {
		return all, nil
	}
	limit := boundsPerRow * len(keys)
	firsts, others := make([]kv.Iterator, len(prefixes)), make([]kv.Iterator, len(prefixes))
	for i, prefix := range prefixes {
		firsts[i] = askFloor(r, prefix, keys[0])
		defer firsts[i].Close()
		if len(keys) > 1 {
			begin, last := concat(prefix, keys[0]), concat(prefix, keys[len(keys)-1])
			o := kv.RangeOptions{Limit: limit, WantAll: true}
			others[i] = r.Range(kv.AppendKeyAfter(nil, begin), kv.AppendKeyAfter(nil, last), o)
			defer others[i].Close()
		}
	}
	for i, prefix := range prefixes {
		last, err := readFloor(firsts[i], prefix)
		if err != nil {
			return nil, err
		}
		found := append(make([]Floor, 0, len(keys)), last)
		if len(keys) > 1 {
			if found, err = floorsBetween(others[i], prefix, keys, found, limit); err != nil {
				return nil, err
			}
		}
		if all[i], err = seekFloors(r, prefix, keys[len(found):], found); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// floorsBetween appends those of the keys after the first one, as far as the range reaches.
func floorsBetween(it kv.Iterator, prefix []byte, keys [][]byte, found []Floor, limit int) ([]Floor, error) {
	last := found[0]
	read := 0
	for ; it.Next(); read++ {
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

func readFloor(it kv.Iterator, prefix []byte) (Floor, error) {
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
	for i, key := range keys {
		its[i] = askFloor(r, prefix, key)
		defer its[i].Close()
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
