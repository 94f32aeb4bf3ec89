package allfields

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Bounds of what is indexed. They belong to Version.
const (
	// maxPath is the greatest length of a path's key in bytes.
	maxPath = 1000
	// MaxID is the greatest length in bytes of the id of a document that is broken down.
	MaxID = 4000

	// keyOverhead is roughly the length of a key without path and id; writeOverhead is the size of
	// a write without its key.
	keyOverhead   = 40
	writeOverhead = 60

	// How many bytes of a value are kept: of an array enough to tell most small ones apart, of an
	// object only its type.
	keepString = 256
	keepArray  = 64
)

// The first bytes of the keys of arrays and objects.
var arrayRank, objectRank = rankOf("[]"), rankOf("{}")

func rankOf(text string) byte {
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return collate.AppendKey(nil, v)[0]
}

// entry is a part of a document as it is indexed. key holds path, value and position.
type entry struct {
	// Path, value and position, as they follow the prefix of the rows; the id comes behind.
	key       []byte
	path      int // length of the path in key
	value     int // length of the value that follows
	position  int64
	truncated bool
}

// countKey appends the suffix under which the entry is counted.
func (e *entry) countKey(dst []byte) []byte {
	dst = append(dst, e.key[:e.path]...)
	if e.position > 0 {
		dst = append(dst, elementMark)
	}
	return dst
}

// entries collects those of one document at a time; its memory is used again.
type entries struct {
	bounds
	arena []byte
	list  []entry
	// About what writing them takes in a transaction, in bytes.
	size int
	// A bound was reached: the document is one of the others.
	full bool
}

// bounds say what of a document is indexed, and when it is not broken down but one of the others.
type bounds struct {
	exclude [][]byte // keys of paths
	depth   int
	values  int // the greatest number of entries, 0: any
	most    int // and the greatest size of them, 0: any
	each    int // bytes that the key of an entry has besides path, value and position
	copies  int // how often each is stored
}

// boundsOf are those of an index for a document; most is what the entries may take in a
// transaction.
func (d *Definition) boundsOf(exclude [][]byte, most int) bounds {
	return bounds{exclude: exclude, depth: d.Depth, values: d.Values, most: most}
}

// whole are the bounds for a document of which it is known that it was broken down.
func (d *Definition) whole(exclude [][]byte) bounds { return bounds{exclude: exclude, depth: d.Depth} }

// of gives the entries of a document's body within bounds, sorted by key. They are valid until the
// next call.
func (s *entries) of(body ejson.Value, id string, b bounds) []entry {
	s.bounds = b
	s.each, s.copies = len(id)+keyOverhead, 1+sampleHeight(id)
	s.arena, s.list, s.size, s.full = s.arena[:0], s.list[:0], 0, len(id) > MaxID
	// A path is built in place; AppendString writes behind it and leaves it as it is for the next
	// member.
	var path [maxPath]byte
	s.members(path[:0], body, 0, 1)
	if s.full {
		return s.other()
	}
	slices.SortFunc(s.list, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	return s.list
}

// other makes the entry of a document that is not broken down: a single one, which every scan
// finds.
func (s *entries) other() []entry {
	s.arena, s.list, s.size, s.bounds = s.arena[:0], s.list[:0], 0, bounds{each: s.each, copies: s.copies}
	s.push(nil, []byte{firstValue}, 0, true)
	return s.list
}

// members adds what is below an object: depth is the number of names that paths of its members
// have.
func (s *entries) members(path []byte, object ejson.Value, position int64, depth int) {
	if depth > s.depth || s.full || object.Kind() != ejson.Object {
		return
	}
	var scratch [64]byte
	for name, value := range object.Members() {
		text := name.TextBytes(scratch[:0])
		if below := tuple.AppendString(path, text); len(below) <= maxPath && !s.excluded(below) {
			s.value(below, value, position, depth)
		}
	}
}

func (s *entries) excluded(path []byte) bool {
	return slices.ContainsFunc(s.exclude, func(e []byte) bool { return bytes.Equal(e, path) })
}

// value adds a value and what is below it.
func (s *entries) value(path []byte, v ejson.Value, position int64, depth int) {
	s.add(path, v, position)
	switch v.Kind() {
	case ejson.Object:
		s.members(path, v, position, depth+1)
	case ejson.Array:
		if position > 0 {
			return // an array in an array is found by its own entry
		}
		for element := range v.Elements() {
			if position++; s.full {
				return
			}
			s.add(path, element, position)
			// Members of objects in an array have the path of the array and the element's position.
			s.members(path, element, position, depth+1)
		}
	}
}

func (s *entries) add(path []byte, v ejson.Value, position int64) {
	var buf [keepString]byte
	key, truncated := AppendValue(buf[:0], v)
	s.push(path, key, position, truncated)
}

// push appends an entry and counts what it will cost the transaction, unless the list is full: by the
// number of entries, or by bytes. The entry of the empty path, that of a document which is not broken
// down, is taken even then. Keys are slices of one arena, so that a document takes few allocations.
func (s *entries) push(path, value []byte, position int64, truncated bool) {
	if s.full = s.full || s.values > 0 && len(s.list) >= s.values || s.most > 0 && s.size > s.most; s.full &&
		len(path) > 0 {
		return
	}
	// A key is sent three times, for its conflict range as well; each path is counted, at most once
	// for each entry.
	s.size += s.copies*(3*(len(path)+len(value)+s.each)+writeOverhead) + 3*(len(path)+keyOverhead) + writeOverhead
	start := len(s.arena)
	s.arena = append(append(s.arena, path...), value...)
	s.arena = tuple.AppendInt(s.arena, position)
	s.list = append(s.list, entry{
		key: s.arena[start:len(s.arena):len(s.arena)], path: len(path), value: len(value), position: position,
		truncated: truncated,
	})
}

// AppendValue appends the key of a value as entries have it; truncated tells that it is only the
// beginning. No key that is whole is the beginning of another one.
func AppendValue(dst []byte, v ejson.Value) (key []byte, truncated bool) {
	start := len(dst)
	if v.Kind() == ejson.Object {
		return append(dst, objectRank), true
	}
	dst = collate.AppendKey(dst, v)
	if keep := keptOf(dst[start]); len(dst)-start > keep {
		return dst[:start+keep], true
	}
	return dst, false
}

// keptOf is how many bytes entries keep of a value's key that begins with a byte.
func keptOf(first byte) int {
	switch first {
	case objectRank:
		return 1
	case arrayRank:
		return keepArray
	}
	return keepString
}
