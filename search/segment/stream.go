package segment

import (
	"encoding/binary"
	"errors"
	"math"
	"sort"
)

// A segment in the store is streams of bytes, each cut into blocks of equal size. A stream is named
// by what it holds and by the number of its field.

// BlockKey names a block of a segment: its stream, the field by its number, and the place of the
// block in the stream.
type BlockKey struct {
	// Which stream of which field, and the number of the block in it.
	Stream byte
	Field  int32
	Number int32
}

// Blocks reads the blocks of a segment. A block never changes, so that it may be kept; nobody may
// change what is read.
type Blocks interface {
	ReadBlock(key BlockKey) ([]byte, error)
}

// blockSize is the size of all blocks of a stream but the last one.
const blockSize = 32 << 10

// ErrSegment is the error of a segment that is damaged. Whatever bytes a segment has, reading it
// gives this error or wrong answers, but does not panic.
var ErrSegment = errors.New("search: a segment of an index is damaged")

// The streams of a segment. Ends of the i-th thing are four bytes each at 4·i in a stream of their
// own. Norms and ends of a field are for all documents, or where few have any for those that are
// listed, four bytes each, ascending.
const (
	streamHeader byte = iota
	streamTerms
	streamTermPlaces
	streamPostings
	streamPositions
	streamNorms
	streamNumbers
	streamNumberEnds
	streamOrdinals
	streamOrdinalEnds
	streamValues
	streamValueEnds
	streamSorts
	streamSortEnds
	streamSortValues
	streamSortValueEnds
	streamDocuments
	streamDocumentEnds
	streamNormDocuments
	streamNumberDocuments
	streamStringDocuments
	streamSortDocuments
)

// streamWriter cuts what is appended into blocks.
type streamWriter struct {
	put    func(BlockKey, []byte) error
	key    BlockKey
	buffer []byte
	// Bytes of the whole stream so far; buffer has those of the block that is not full.
	length int64
	err    error
	small  []byte
}

// write appends to the stream and puts each block that is full. A block belongs to who takes it, so
// that the next one gets memory of its own.
func (w *streamWriter) write(b []byte) {
	w.length += int64(len(b))
	w.buffer = append(w.buffer, b...)
	for len(w.buffer) >= blockSize && w.err == nil {
		w.err = w.put(w.key, w.buffer[:blockSize:blockSize])
		w.key.Number++
		w.buffer = append(make([]byte, 0, blockSize), w.buffer[blockSize:]...)
	}
}

// end writes a number of four bytes, end64 one of eight.
func (w *streamWriter) end(v int64) {
	w.small = binary.BigEndian.AppendUint32(w.small[:0], uint32(v))
	w.write(w.small)
}

func (w *streamWriter) end64(v uint64) {
	w.small = binary.BigEndian.AppendUint64(w.small[:0], v)
	w.write(w.small)
}

// close puts what is left. Places in a stream have 32 bits, so that a longer one cannot be read.
func (w *streamWriter) close() error {
	if w.err == nil && len(w.buffer) > 0 {
		w.err = w.put(w.key, w.buffer)
	}
	if w.err == nil && w.length > math.MaxUint32 {
		w.err = errors.New("search: a segment is too large")
	}
	return w.err
}

// stream reads a stream for one query, anywhere in it. It keeps the block that it read last.
type stream struct {
	run    *Run
	blocks Blocks
	key    BlockKey
	block  []byte // of key.Number, nil if none is read
	// Where the block begins in the stream, in bytes.
	at int64
}

func newStream(run *Run, blocks Blocks, name byte, field int32) *stream {
	return &stream{run: run, blocks: blocks, key: BlockKey{Stream: name, Field: field}}
}

// fail ends the query: the segment is damaged.
func (s *stream) fail() { s.run.Fail(ErrSegment) }

// load makes block the one of a number.
func (s *stream) load(number int32) bool {
	if s.run.err != nil {
		return false
	}
	if s.block != nil && s.key.Number == number {
		return true
	}
	s.key.Number = number
	b, err := s.blocks.ReadBlock(s.key)
	if err != nil {
		s.run.Fail(err)
		return false
	}
	if s.block = b; len(b) == 0 || len(b) > blockSize {
		s.block = nil
		s.fail()
		return false
	}
	return true
}

// bytes gives n bytes from an offset on, and leaves s.at behind them. Within a block they are not
// copied; bytes over several blocks are joined. nil means that there are fewer, which fails the
// run.
func (s *stream) bytes(at int64, n int) []byte {
	if at < 0 || n < 0 || at > math.MaxUint32 {
		s.fail()
		return nil
	}
	if n == 0 {
		s.at = at
		return []byte{}
	}
	if !s.load(int32(at / blockSize)) {
		return nil
	}
	from := int(at % blockSize)
	s.at = at + int64(n)
	if from+n <= len(s.block) {
		return s.block[from : from+n]
	}
	if n > math.MaxInt32/2 {
		s.fail()
		return nil
	}
	var joined []byte
	for n > 0 {
		if from >= len(s.block) {
			s.fail()
			return nil
		}
		part := s.block[from:min(from+n, len(s.block))]
		joined = append(joined, part...)
		if n -= len(part); n > 0 {
			if len(s.block) < blockSize || !s.load(s.key.Number+1) {
				s.fail()
				return nil
			}
		}
		from = 0
	}
	return joined
}

// byte is the byte at s.at.
func (s *stream) byte() byte {
	if i := s.at - int64(s.key.Number)*blockSize; uint64(i) < uint64(len(s.block)) && s.run.err == nil {
		s.at++
		return s.block[i]
	}
	if b := s.bytes(s.at, 1); b != nil {
		return b[0]
	}
	return 0
}

// uint is the varint at s.at, with at most 32 bits.
func (s *stream) uint() uint32 {
	if i := s.at - int64(s.key.Number)*blockSize; uint64(i) < uint64(len(s.block)) && s.block[i] < 0x80 &&
		s.run.err == nil {
		s.at++
		return uint32(s.block[i])
	}
	v := uint64(0)
	for shift := 0; shift < 35; shift += 7 {
		c := s.byte()
		if v |= uint64(c&0x7f) << shift; c < 0x80 {
			if v > math.MaxUint32 {
				break
			}
			return uint32(v)
		}
	}
	s.fail()
	return 0
}

// int is a varint that is no less than 0 as an int32.
func (s *stream) int() int32 {
	v := s.uint()
	if v > math.MaxInt32 {
		s.fail()
		return 0
	}
	return int32(v)
}

// text is a text with its length before it, at s.at. It is a copy.
func (s *stream) text() string {
	n := s.int()
	if s.run.err != nil {
		return ""
	}
	return string(s.bytes(s.at, int(n)))
}

// between are the ends of the i-th and of the one before it.
func (s *stream) between(i int32) (from, to int64) {
	if i > 0 {
		b := s.bytes(4*int64(i-1), 8)
		if b == nil {
			return 0, 0
		}
		from, to = int64(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:]))
	} else if b := s.bytes(0, 4); b != nil {
		to = int64(binary.BigEndian.Uint32(b))
	}
	if to < from {
		s.fail()
		return 0, 0
	}
	return from, to
}

// documentList finds documents in a list of those that have something in a field. nil lists all.
type documentList struct {
	stream *stream
	n, at  int32
}

// number is the i-th of the list.
func (l *documentList) number(i int32) int32 {
	b := l.stream.bytes(4*int64(i), 4)
	if b == nil {
		return NoMore
	}
	return int32(binary.BigEndian.Uint32(b) & math.MaxInt32)
}

// place is where in the list a document is. Most are asked for in order.
func (l *documentList) place(doc int32) (int32, bool) {
	if l == nil {
		return doc, true
	}
	from, to := l.at, l.n
	if from > 0 && l.number(from-1) >= doc {
		from, to = 0, from
	} else if from < l.n && l.number(from) >= doc {
		return from, l.number(from) == doc
	}
	if from+1 < to && l.number(from+1) >= doc {
		l.at = from + 1
		return l.at, l.number(l.at) == doc
	}
	l.at = from + int32(sort.Search(int(to-from), func(i int) bool { return l.number(from+int32(i)) >= doc }))
	return l.at, l.at < l.n && l.number(l.at) == doc
}
