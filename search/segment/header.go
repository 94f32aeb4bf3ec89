package segment

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/storage/kv/packed"
)

// The header of a segment names its fields, in order, and says what there is of each. An index may
// have fields of its own for each document, half a million in a segment: they stay in memory as
// they are stored, and one is read when it is asked for.

const (
	// fieldsInPlace is how many fields there are from one that is found without reading others to
	// the next.
	fieldsInPlace = 64
	// keptFieldsOfSegment is how many fields of a segment are kept as they were read.
	keptFieldsOfSegment = 64
	// keptIndexes is how many bytes of the indexes of its dictionaries a segment keeps, those of
	// several millions of terms, or the one that was used last.
	keptIndexes = 4 << 20
)

// header has the fields of a segment. It is for any number of goroutines.
type header struct {
	version byte
	docs    int32
	// The header as it is stored; entries of fields are parsed when they are asked for.
	stored  []byte
	places  []fieldPlace                      // of every fieldsInPlace-th
	kept    *cache.Cache[string, *blockField] // nil: there is no such field
	indexes *cache.Cache[int32, *termIndex]   // of dictionaries, by the number of the field
}

// fieldPlace is a field by its number, with the place of its entry in the header.
type fieldPlace struct {
	number int32
	at     int
}

// blockField describes a field of a segment.
type blockField struct {
	// The field's number in the keys of its blocks.
	number int32
	info   FieldInfo
	norms  bool
	// How many terms there are, places of the dictionary, different values that are counted, and
	// values that are sorted by.
	terms, places int32
	values, sorts int32
	listed        [lists]int32 // documents of which norms and columns are; 0: of all
}

// readHeader reads the blocks of a header, as many as its fields have. Sizes in it are checked
// here, since later readers rely on them; the run fails if they cannot be right.
func readHeader(s *stream) *header {
	h := &header{kept: cache.New[string, *blockField](keptFieldsOfSegment)}
	h.indexes = cache.NewSized(keptIndexes, func(_ int32, x *termIndex) int { return x.bytes })
	if !s.load(0) {
		return h
	}
	h.stored = append(h.stored, s.block...)
	r := &recordReader{packed.Reader{B: h.stored}}
	h.version, h.docs = r.Byte(), r.int32()
	n := r.int32()
	if h.version != segmentVersion && h.version != denseVersion || h.docs > mostDocs || r.Bad {
		s.fail()
		return h
	}
	var last []byte
	for number, at := int32(0), len(h.stored)-len(r.B); number < n; {
		r = &recordReader{packed.Reader{B: h.stored[at:]}}
		var f blockField
		name := h.next(r, &f)
		if r.Bad { // the entry goes on in the next block
			if len(s.block) < blockSize {
				s.fail()
			}
			if s.run.err != nil || !s.load(s.key.Number+1) {
				return h
			}
			h.stored = append(h.stored, s.block...)
			continue
		}
		if f.info.Docs > h.docs || (f.places == 0) != (f.terms == 0) || slices.Max(f.listed[:]) > h.docs ||
			number > 0 && bytes.Compare(last, name) >= 0 {
			s.fail()
			return h
		}
		if number%fieldsInPlace == 0 {
			h.places = append(h.places, fieldPlace{number, at})
		}
		number, at, last = number+1, len(h.stored)-len(r.B), append(last[:0], name...)
	}
	h.stored = slices.Clip(h.stored)
	return h
}

// next reads the entry of a field.
func (h *header) next(r *recordReader, f *blockField) (name []byte) {
	name = r.Take(int(r.int32()))
	flags := r.Byte()
	f.info = FieldInfo{Positions: flags&1 != 0, Numbers: flags&4 != 0, Docs: r.int32(),
		Length: int64(r.Uvarint() & math.MaxInt64)}
	f.norms = flags&2 != 0
	f.terms, f.places, f.values, f.sorts = r.int32(), r.int32(), r.int32(), r.int32()
	f.info.Strings = f.values > 0
	for i := range f.listed {
		if h.version != denseVersion {
			f.listed[i] = r.int32()
		}
	}
	return name
}

// bytes is about how much memory the header takes.
func (h *header) bytes() int { return len(h.stored) + 16*len(h.places) + h.indexes.Bytes() }

// name is the name of the first field of a place.
func (h *header) name(place int) []byte {
	return h.next(&recordReader{packed.Reader{B: h.stored[h.places[place].at:]}}, &blockField{})
}

// field returns the description of a field; nil if the segment has none.
func (h *header) field(name string) *blockField {
	if f, ok := h.kept.Get(name); ok {
		return f
	}
	var found *blockField
	place := sort.Search(len(h.places), func(i int) bool { return string(h.name(i)) > name }) - 1
	if place >= 0 {
		r := &recordReader{packed.Reader{B: h.stored[h.places[place].at:]}}
		for i := int32(0); i < fieldsInPlace && len(r.B) > 0; i++ {
			f := blockField{number: h.places[place].number + i}
			if at := h.next(r, &f); string(at) == name {
				found = &f
			} else if string(at) < name {
				continue
			}
			break
		}
	}
	return h.kept.GetOrAdd(name, found)
}

// mostValues is how many strings the field with the most has in a column.
func (h *header) mostValues() (most int32) {
	if len(h.places) == 0 {
		return 0
	}
	r := &recordReader{packed.Reader{B: h.stored[h.places[0].at:]}}
	for len(r.B) > 0 {
		var f blockField
		h.next(r, &f)
		most = max(most, f.values, f.sorts)
	}
	return most
}

// names are the names of all fields, in order.
func (h *header) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(h.places) == 0 {
			return
		}
		r := &recordReader{packed.Reader{B: h.stored[h.places[0].at:]}}
		for len(r.B) > 0 && yield(string(h.next(r, &blockField{}))) {
		}
	}
}
