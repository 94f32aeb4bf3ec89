package jobs

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// checkWindow is how many keys Check reads from one snapshot at a time.
const checkWindow = 1000

// Check holds what is stored below the prefix against invariants 1 to 4 of doc.go and describes
// each violation. It reads as many snapshots as that takes: what it says is right if nobody worked
// on the queue meanwhile.
func Check(ctx context.Context, store kv.Store, prefix []byte) (violations []string, err error) {
	c := checker{keys: keys(prefix), expected: make(map[string]bool)}
	end := append(prefix[:len(prefix):len(prefix)], 0xff)
	err = kv.Walk(ctx, store, prefix, end, checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			if err := c.row(row.Key, row.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return c.found, err
	}
	for _, key := range slices.Sorted(maps.Keys(c.expected)) {
		c.found = append(c.found, fmt.Sprintf("jobs: key %q is missing", key))
	}
	return c.found, nil
}

// checker compares the records, which come first, with the other keys.
type checker struct {
	keys
	found    []string
	expected map[string]bool // keys that the records call for and that were not seen yet
}

// row takes one key. Records come before all other keys of the queue (keyJob sorts first): when
// another key is seen, it is already known whether a record calls for it.
func (c *checker) row(key, value []byte) error {
	tag, rest, err := tuple.ReadInt(key[len(c.keys):])
	if err != nil {
		return corrupt("key", err)
	}
	switch tag {
	case keyJob:
		typ, id, err := c.parseName(key)
		if err != nil {
			return err
		}
		r, err := parseJobRecord(value)
		if err != nil {
			return err
		}
		c.expect(typ, id, r)
	case keyDue:
		c.see(key, string(value))
	case keyLease:
		l, err := parseLease(value)
		if err != nil {
			return err
		}
		c.see(key, string(l.run[:]))
	case keyNews:
		if _, rest, err = tuple.ReadString(rest); err != nil || len(rest) > 0 || len(value) != kv.VersionstampSize {
			return corrupt("news", err)
		}
	default:
		c.found = append(c.found, fmt.Sprintf("jobs: key %q is of no kind", key))
	}
	return nil
}

// expect notes which other keys a job has, with their values, of leases the tokens.
func (c *checker) expect(typ, id string, r *jobRecord) {
	switch {
	case r.state == Running:
		c.expected[string(c.lease(typ, id))+string(r.run[:])] = true
	case r.waits():
		c.expected[string(c.due(typ, r, id))+string(binary.AppendVarint(nil, r.due))] = true
	}
}

// see takes a key off those that records call for.
func (c *checker) see(key []byte, value string) {
	if !c.expected[string(key)+value] {
		c.found = append(c.found, fmt.Sprintf("jobs: key %q belongs to no job", key))
	}
	delete(c.expected, string(key)+value)
}
