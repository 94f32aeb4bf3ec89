package collate

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"io"
	"sync"
	"unicode"
)

// Version names the order and the form of keys. It changes whenever one of both does.
const Version = "cldr42-1"

//go:embed root.bin
var packedRoot []byte

// root is the table, read when it is first needed.
var root = sync.OnceValue(func() *table { return readTable(unpack(packedRoot)) })

// unpack decompresses the table of the binary.
func unpack(packed []byte) []byte {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		// The table is part of the binary and its reading is tested, so this cannot be caused from
		// outside.
		panic("collate: root.bin: " + err.Error())
	}
	return raw
}

// element is a collation element: the weights of a character, or of a part of it, on the three
// levels. Weights are left aligned; 0 is no weight.
type element struct {
	primary             uint32
	secondary, tertiary uint16
}

// common is the secondary and tertiary weight that most characters have.
const common = 0x500

// mapping tells the elements of a character: the index of the first one, their number, and whether
// it is a first character of contractions. An ideograph has its number in their order instead.
type mapping uint32

const (
	mappingCount             = 1<<5 - 1
	mappingShift             = 5
	mappingIdeograph mapping = 1 << 29
	mappingContracts mapping = 1 << 30
	mappingKnown     mapping = 1 << 31 // tells characters without weights from those not assigned
	mappingIndex             = 1<<(29-mappingShift) - 1
)

// Properties of the first byte of primary weights.
const (
	leadCompressible = 1 << iota // weights share the byte
	leadLowTertiary              // there are tertiary weights below the common one
)

const (
	pageBits = 7
	pageSize = 1 << pageBits
)

type table struct {
	elements     []element
	pages        [(unicode.MaxRune + 1) >> pageBits]uint16 // by the upper bits of a character: its page in mappings
	mappings     []mapping                                 // page 0 is that of characters not assigned
	contractions map[uint64]mapping                        // see contractionKey
	classes      map[rune]combining
	leads        [256]byte
	ascii        [128]asciiWeight
}

// combining are the canonical combining classes of the first and the last character of a
// character's decomposition.
type combining struct{ first, last uint8 }

// tableReader reads what tools/collationtable wrote.
type tableReader struct {
	b       []byte
	last    rune
	primary uint32
}

// number, rune, byte and mapping read the table, which tools/collationtable writes: characters are
// the differences from the one before, and so are primary weights.
func (r *tableReader) number() int {
	n, size := binary.Uvarint(r.b)
	r.b = r.b[size:]
	return int(n)
}

func (r *tableReader) rune() rune {
	r.last += rune(r.number())
	return r.last
}

func (r *tableReader) byte() byte {
	b := r.b[0]
	r.b = r.b[1:]
	return b
}

func (r *tableReader) mapping(t *table) mapping {
	count := r.number()
	m := mappingKnown | mapping(len(t.elements)<<mappingShift|count)
	for range count {
		step, size := binary.Varint(r.b)
		r.b = r.b[size:]
		r.primary = uint32(int64(r.primary) + step)
		t.elements = append(t.elements, element{r.primary, uint16(r.number()), uint16(r.number())})
	}
	return m
}

// readTable decodes the embedded table: mappings of single characters, contractions, ranges of
// ideographs, combining classes, and the properties of lead bytes, in this order.
func readTable(raw []byte) *table {
	r := tableReader{b: raw}
	t := &table{
		mappings:     make([]mapping, pageSize),
		contractions: make(map[uint64]mapping),
		classes:      make(map[rune]combining),
	}
	for range r.number() {
		c := r.rune()
		*t.slot(c) = r.mapping(t)
	}
	for range r.number() {
		var chars [3]rune
		for i := range r.number() {
			chars[i] = rune(r.number())
		}
		t.contractions[contractionKey(chars[0], chars[1], chars[2])] = r.mapping(t)
		*t.slot(chars[0]) |= mappingContracts
	}
	t.readIdeographs(&r)
	r.last = 0
	for range r.number() {
		c := r.rune()
		t.classes[c] = combining{first: r.byte(), last: r.byte()}
	}
	copy(t.leads[:], r.b)
	t.fillASCII()
	return t
}

// readIdeographs numbers the ideographs in their order.
func (t *table) readIdeographs(r *tableReader) {
	c, n := rune(0), mapping(0)
	for range r.number() {
		step, size := binary.Varint(r.b)
		r.b = r.b[size:]
		c += rune(step)
		for last := c + rune(r.number()); ; c++ {
			*t.slot(c) = mappingKnown | mappingIdeograph | n
			n++
			if c == last {
				break
			}
		}
	}
}

// slot is where a character's mapping is stored, in a page of its own.
func (t *table) slot(c rune) *mapping {
	page := &t.pages[c>>pageBits]
	if *page == 0 {
		*page = uint16(len(t.mappings) >> pageBits)
		t.mappings = append(t.mappings, make([]mapping, pageSize)...)
	}
	return &t.mappings[int(*page)<<pageBits|int(c&(pageSize-1))]
}

// contractionKey packs two or three characters; the third is 0 where there are two.
func contractionKey(a, b, c rune) uint64 { return uint64(a)<<42 | uint64(b)<<21 | uint64(c) }
