package couchfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// Tags of Erlang's external term format (erts, external.h), as far as CouchDB's files have them.
const (
	tagNewFloat       = 70
	tagSmallInt       = 97
	tagInt            = 98
	tagOldFloat       = 99
	tagAtom           = 100
	tagSmallTuple     = 104
	tagLargeTuple     = 105
	tagNil            = 106
	tagString         = 107 // a list of small integers
	tagList           = 108
	tagBinary         = 109
	tagSmallBig       = 110
	tagLargeBig       = 111
	tagSmallAtom      = 115
	tagMap            = 116
	tagAtomUTF8       = 118
	tagSmallAtomUTF8  = 119
	termVersion       = 131 // the first byte of a term
	compressedTerm    = 80  // after it: zlib
	snappyPrefix      = 1   // couch_compress.erl
	oldFloatSize      = 31
	maxRecord         = 64 << 20
	compressionHeader = 6 // 131, 80, size
)

var zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}

// errTerm is the error of bytes that are no term, or another term than expected.
type errTerm string

func (e errTerm) Error() string { return "couchfile: " + string(e) }

// decompress gives the term of a record, without its first byte 131 (couch_compress:decompress/1).
// Each record tells its own compression; a file may mix them.
func decompress(record []byte) ([]byte, error) {
	switch {
	case len(record) == 0:
		return nil, errTerm("a term has no bytes")
	case record[0] == snappyPrefix:
		n, err := snappy.DecodedLen(record[1:])
		if err != nil || n > maxRecord {
			return nil, fmt.Errorf("couchfile: a term of %d bytes: %w", n, snappy.ErrCorrupt)
		}
		term, err := snappy.Decode(nil, record[1:])
		if err != nil {
			return nil, fmt.Errorf("couchfile: %w", err)
		}
		return plainTerm(term)
	case bytes.HasPrefix(record, zstdMagic):
		term, err := zstdReader.DecodeAll(record, nil)
		if err != nil {
			return nil, fmt.Errorf("couchfile: %w", err)
		}
		return plainTerm(term)
	}
	return plainTerm(record)
}

// zstdReader decodes whole records, for several goroutines.
var zstdReader = func() *zstd.Decoder {
	r, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxRecord), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(err) // of options that are constants
	}
	return r
}()

// plainTerm takes off the version byte, and the compression that term_to_binary itself knows.
func plainTerm(term []byte) ([]byte, error) {
	if len(term) < 2 || term[0] != termVersion {
		return nil, errTerm("a term does not begin with 131")
	}
	if term[1] != compressedTerm {
		return term[1:], nil
	}
	if len(term) < compressionHeader {
		return nil, io.ErrUnexpectedEOF
	}
	size := binary.BigEndian.Uint32(term[2:])
	if size > maxRecord {
		return nil, errTerm("a term is too large")
	}
	z, err := zlib.NewReader(bytes.NewReader(term[compressionHeader:]))
	if err != nil {
		return nil, fmt.Errorf("couchfile: %w", err)
	}
	// The declared size is only an upper bound: memory is taken as bytes come.
	var plain bytes.Buffer
	if _, err := io.Copy(&plain, io.LimitReader(z, int64(size)+1)); err != nil {
		return nil, fmt.Errorf("couchfile: %w", err)
	}
	if plain.Len() != int(size) {
		return nil, errTerm("a term does not have the size it declares")
	}
	return plain.Bytes(), nil
}

// cursor reads terms one after the other. After the first error, which stays in err, everything it
// gives is zero.
type cursor struct {
	rest []byte
	err  error
}

// newCursor reads the term of a record.
func newCursor(record []byte) cursor {
	term, err := decompress(record)
	return cursor{term, err}
}

func (c *cursor) fail(what string) {
	if c.err == nil {
		c.err = errTerm(what)
	}
	c.rest = nil
}

// take gives the next n bytes, nil if there are fewer.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.fail("a term is broken off")
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// peek is the tag of the next term, 0 at the end.
func (c *cursor) peek() byte {
	if len(c.rest) == 0 {
		return 0
	}
	return c.rest[0]
}

func (c *cursor) number(bytes int) int {
	n := 0
	for _, b := range c.take(bytes) {
		n = n<<8 | int(b)
	}
	return n
}

// count is a number of elements that each need a byte at least.
func (c *cursor) count(bytes int) int {
	n := c.number(bytes)
	if n > len(c.rest) {
		c.fail("a term declares more elements than it has bytes")
		return 0
	}
	return n
}

// tuple reads the begin of a tuple, whose elements follow.
func (c *cursor) tuple() (arity int) {
	switch c.number(1) {
	case tagSmallTuple:
		return c.count(1)
	case tagLargeTuple:
		return c.count(4)
	}
	c.fail("a tuple is missing")
	return 0
}

// list reads the begin of a list, whose n elements follow, and then its end, for endList.
func (c *cursor) list() (n int) {
	switch c.number(1) {
	case tagNil:
		return 0
	case tagList:
		if n = c.count(4); n > 0 {
			return n
		}
	}
	c.fail("a list is missing")
	return 0
}

// endList reads the end of a list of n elements.
func (c *cursor) endList(n int) {
	if n > 0 && c.number(1) != tagNil {
		c.fail("a list has no proper end")
	}
}

// binary reads a binary; the bytes are part of the record.
func (c *cursor) binary() []byte {
	if c.number(1) != tagBinary {
		c.fail("a binary is missing")
		return nil
	}
	return c.take(c.number(4))
}

// integer reads an integer of at most 63 bits.
func (c *cursor) integer() int64 {
	switch tag := c.number(1); tag {
	case tagSmallInt:
		return int64(c.number(1))
	case tagInt:
		return int64(int32(c.number(4)))
	case tagSmallBig:
		n := c.number(1)
		sign, digits := c.number(1), c.take(n)
		var v uint64
		for i, d := range digits {
			if i >= 8 && d != 0 {
				c.fail("an integer is too large")
				return 0
			}
			v |= uint64(d) << (8 * (i & 7))
		}
		if v > math.MaxInt64 {
			c.fail("an integer is too large")
			return 0
		}
		if sign != 0 {
			return -int64(v)
		}
		return int64(v)
	}
	c.fail("an integer is missing")
	return 0
}

// atom reads an atom.
func (c *cursor) atom() string {
	switch c.number(1) {
	case tagAtom, tagAtomUTF8:
		return string(c.take(c.number(2)))
	case tagSmallAtom, tagSmallAtomUTF8:
		return string(c.take(c.number(1)))
	}
	c.fail("an atom is missing")
	return ""
}

func isAtom(tag byte) bool {
	return tag == tagAtom || tag == tagAtomUTF8 || tag == tagSmallAtom || tag == tagSmallAtomUTF8
}

// empty reads nil or undefined, the atoms or the empty list, if that is next.
func (c *cursor) empty() bool {
	next := *c
	if c.peek() == tagNil {
		c.take(1)
		return true
	}
	if isAtom(c.peek()) {
		if name := next.atom(); name == "nil" || name == "undefined" {
			*c = next
			return true
		}
	}
	return false
}

// float reads either form of a float.
func (c *cursor) float() float64 {
	switch c.number(1) {
	case tagNewFloat:
		if b := c.take(8); b != nil {
			return math.Float64frombits(binary.BigEndian.Uint64(b))
		}
		return 0
	case tagOldFloat:
		text := bytes.TrimRight(c.take(oldFloatSize), "\x00")
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			c.fail("a float cannot be read")
		}
		return f
	}
	c.fail("a float is missing")
	return 0
}

// skip passes over a term of any depth, and gives its bytes.
func (c *cursor) skip() []byte {
	begin := c.rest
	for left := 1; left > 0 && c.err == nil; left-- {
		switch tag := c.number(1); tag {
		case tagSmallInt:
			c.take(1)
		case tagInt:
			c.take(4)
		case tagNewFloat:
			c.take(8)
		case tagOldFloat:
			c.take(oldFloatSize)
		case tagAtom, tagAtomUTF8, tagString:
			c.take(c.number(2))
		case tagSmallAtom, tagSmallAtomUTF8:
			c.take(c.number(1))
		case tagSmallTuple:
			left += c.count(1)
		case tagLargeTuple:
			left += c.count(4)
		case tagNil:
		case tagList:
			left += c.count(4) + 1
		case tagMap:
			left += 2 * c.count(4)
		case tagBinary:
			c.take(c.number(4))
		case tagSmallBig:
			c.take(c.number(1) + 1)
		case tagLargeBig:
			c.take(c.number(4) + 1)
		default:
			c.fail("tag " + strconv.Itoa(tag) + " is unknown")
		}
	}
	if c.err != nil {
		return nil
	}
	return begin[:len(begin)-len(c.rest)]
}
