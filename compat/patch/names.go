package patch

import (
	"bytes"
	"hash/maphash"

	"github.com/settee-db/settee/compat/ejson"
)

// few is how many members are looked through one by one.
const few = 16

// children are those of an array or object whose text is canonical, by number; names of members are
// found without looking at all of them.
type children struct {
	of ejson.Value
	at []uint32
	// slots has numbers of members, one higher, at the hashes of their names; nil for few.
	slots []uint32
	seed  maphash.Seed
}

// indexNames takes four bytes for each element, and up to 20 for each member.
func indexNames(v ejson.Value) *children {
	c := &children{of: v, at: v.Positions()}
	if len(c.at) <= few || v.Kind() != ejson.Object {
		return c
	}
	size := 2 * few
	for size < 2*len(c.at) {
		size *= 2
	}
	c.slots, c.seed = make([]uint32, size), maphash.MakeSeed()
	for n := range c.at {
		i := c.slot(c.name(n))
		for c.slots[i] != 0 {
			i = (i + 1) % len(c.slots)
		}
		c.slots[i] = uint32(n) + 1
	}
	return c
}

func (c *children) slot(name []byte) int {
	return int(maphash.Bytes(c.seed, name) % uint64(len(c.slots)))
}

// name is the name of a member, quoted; nil for elements.
func (c *children) name(n int) []byte {
	if c.of.Kind() != ejson.Object {
		return nil
	}
	return c.of.At(c.at[n]).Raw()
}

// value is the value of a member, or an element.
func (c *children) value(n int) ejson.Value {
	if c.of.Kind() == ejson.Object {
		return c.of.At(c.at[n] + 1)
	}
	return c.of.At(c.at[n])
}

// find gives the number of the member of a name, which is quoted; -1 if there is none.
func (c *children) find(name []byte) int {
	if c.slots == nil {
		for n := range c.at {
			if bytes.Equal(c.name(n), name) {
				return n
			}
		}
		return -1
	}
	for i := c.slot(name); c.slots[i] != 0; i = (i + 1) % len(c.slots) {
		if n := int(c.slots[i]) - 1; bytes.Equal(c.name(n), name) {
			return n
		}
	}
	return -1
}
