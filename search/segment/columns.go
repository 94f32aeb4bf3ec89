package segment

import (
	"encoding/binary"
	"math"
	"sort"
)

// NormReader reads norms of a field, of some documents; nil if it has none.
func (s *BlockSegment) NormReader(r *Run, field string) *NormReader {
	f := s.header.field(field)
	if f == nil || !f.norms {
		return nil
	}
	return &NormReader{newStream(r, s.blocks, streamNorms, f.number), s.list(r, f, listNorms)}
}

// NormReader keeps no more of the norms than one block, for a query may have a thousand of them.
type NormReader struct {
	// A byte for each document of the list.
	norms *stream
	list  *documentList
}

// Norm is that of a document; 0 if it has none.
func (n *NormReader) Norm(doc int32) byte {
	doc, ok := n.list.place(doc)
	if !ok {
		return 0
	}
	n.norms.at = int64(doc)
	return n.norms.byte()
}

// blockNumbers is a column of numbers.
type blockNumbers struct {
	// Eight bytes for each number; ends has for each document where its numbers end.
	values, ends *stream
	list         *documentList
	numbers      []float64
}

// Numbers implements NumberColumn; the slice is used again by the next call.
func (c *blockNumbers) Numbers(doc int32) []float64 {
	place, ok := c.list.place(doc)
	if !ok {
		return nil
	}
	from, to := c.ends.between(place)
	c.numbers = c.numbers[:0]
	b := c.values.bytes(8*from, int(8*(to-from)))
	for ; len(b) >= 8; b = b[8:] {
		c.numbers = append(c.numbers, math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	return c.numbers
}

// blockStrings is a column of strings, whose ordinals are in the order of the values.
type blockStrings struct {
	// How many different texts there are.
	n int32
	// Ordinals of the documents one after the other, with their ends, and the texts with theirs.
	ordinals, ends, values, valueEnds *stream
	documents                         *documentList
	list                              []int32
}

// Ordinals gives the numbers of a document's values in the order of all values, nil if it has none.
// The slice is used again by the next call. A number beyond the values means a damaged segment and
// fails the run.
func (c *blockStrings) Ordinals(doc int32) []int32 {
	place, ok := c.documents.place(doc)
	if !ok {
		return nil
	}
	from, to := c.ends.between(place)
	c.list = c.list[:0]
	b := c.ordinals.bytes(4*from, int(4*(to-from)))
	for ; len(b) >= 4; b = b[4:] {
		ordinal := binary.BigEndian.Uint32(b)
		if ordinal >= uint32(c.n) {
			c.ordinals.fail()
			return nil
		}
		c.list = append(c.list, int32(ordinal))
	}
	return c.list
}

func (c *blockStrings) Value(ordinal int32) string {
	from, to := c.valueEnds.between(ordinal)
	return string(c.values.bytes(from, int(to-from)))
}

func (c *blockStrings) Len() int { return int(c.n) }

// Find looks a text up by halving: texts ascend with their ordinals.
func (c *blockStrings) Find(value string) (int32, bool) {
	i := int32(sort.Search(int(c.n), func(i int) bool { return c.Value(int32(i)) >= value }))
	return i, i < c.n && c.Value(i) == value
}
