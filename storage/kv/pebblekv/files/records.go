package files

import (
	"encoding/binary"
	"hash/crc32"
)

// The format of Pebble's logs and manifests: blocks of 32 KiB with chunks that do not cross them. A
// chunk has a checksum (4 bytes), a length (2), a type (1), in logs the number of the log (4), in
// newer ones also an offset up to which the log was synced (8), and its bytes. Package record of
// Pebble reads it up to the first chunk that is broken; here reading goes on after it.
const (
	recordBlock   = 32 << 10
	chunkHeader   = 7
	longestHeader = chunkHeader + 4 + 8
)

// castagnoli is the polynomial of all of Pebble's checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is a CRC as Pebble stores it.
func masked(crc uint32) uint32 { return (crc>>15 | crc<<17) + 0xa282ead8 }

// Gap is a stretch of a log or manifest that cannot be read. What is after the last record is one
// only if it was written to this very file: not the zeros, or the chunks of an older log, that a
// file has there from the beginning.
type Gap struct {
	Offset, Length int64
	// Records is the number of readable records after it, up to the next gap.
	Records int
}

// Records is what could be read of a log or a manifest.
type Records struct {
	Whole [][]byte
	// Ends are the offsets after the records.
	Ends []int64
	// Gaps are what could not be read, in order. Zeros and bytes of an older log after the last
	// record are none.
	Gaps []Gap
	// Closed tells that the log ends as one that was closed.
	Closed bool
	// End is the offset after the last readable record, Size that of the file.
	End, Size int64
	// Synced is the largest offset that a chunk says was synced when it was written.
	Synced int64
}

type chunkKind int

const (
	chunkBroken chunkKind = iota
	chunkGood
	chunkUnused // zeros up to the end of the block, or to the end of the file
	chunkOther  // of another log, whose file this was before, or the mark of the end
)

type chunk struct {
	kind        chunkKind
	own         bool // broken, but of this log, as far as can be seen
	trailer     bool // the mark of the end of this log
	first, last bool // of its record
	data        []byte
	end         int // in the block; of a broken chunk: where the next one would begin if its length were right, or 0
	// Up to where the log says that it was synced when this chunk was written.
	synced int64
}

// readRecords reads the records of a file; number is the low half of a log's number, 0 for a
// manifest.
func readRecords(file []byte, number uint32) Records {
	r := recordReader{number: number, result: Records{Size: int64(len(file))}, gap: -1}
	for start := 0; start < len(file) && !r.result.Closed; start += recordBlock {
		r.block(file[start:min(start+recordBlock, len(file))], int64(start))
	}
	if r.partial != nil {
		r.broken(r.began, true)
	}
	if r.own {
		r.closeGap(r.result.Size)
	}
	return r.result
}

type recordReader struct {
	number  uint32
	result  Records
	partial []byte // the record so far; nil between records
	began   int64  // where it began
	gap     int64  // where the current gap began, -1 outside
	own     bool   // the gap has bytes of this log
}

// block takes the chunks of a block of 32 KB. Behind a broken chunk it goes on only where the next
// one begins as the broken one's length says and is whole; else the rest of the block is lost.
func (r *recordReader) block(block []byte, start int64) {
	for at := 0; at < len(block); {
		c := readChunk(block, at, r.number)
		switch c.kind {
		case chunkUnused:
			if c.end-at >= longestHeader { // the end of a block that is too short for a chunk
				r.broken(start+int64(at), false)
			}
			return
		case chunkOther:
			r.broken(start+int64(at), false)
			r.result.Closed = c.trailer
			return
		case chunkBroken:
			r.broken(start+int64(at), c.own)
			if c.end <= at || readChunk(block, c.end, r.number).kind != chunkGood {
				return
			}
		case chunkGood:
			r.chunk(&c, start+int64(at), start+int64(c.end))
		}
		at = c.end
	}
}

// chunk adds a good chunk to its record. A record whose beginning was lost is passed over; one that
// begins while another is open shows that the end of that one is missing.
func (r *recordReader) chunk(c *chunk, at, end int64) {
	r.result.Synced = max(r.result.Synced, c.synced)
	if c.first {
		if r.partial != nil {
			r.broken(r.began, true)
		}
		r.partial, r.began = []byte{}, at
	} else if r.partial == nil { // the record's beginning is lost
		r.broken(at, true)
		return
	}
	r.partial = append(r.partial, c.data...)
	if !c.last {
		return
	}
	r.closeGap(r.began)
	r.result.Whole = append(r.result.Whole, r.partial)
	r.result.Ends = append(r.result.Ends, end)
	r.result.End = end
	if n := len(r.result.Gaps); n > 0 {
		r.result.Gaps[n-1].Records++
	}
	r.partial = nil
}

// broken begins a gap, if there is none, where the unfinished record began, or else at the offset.
func (r *recordReader) broken(at int64, own bool) {
	if r.partial != nil {
		at, own = r.began, true
	}
	if r.gap < 0 {
		r.gap, r.own = at, false
	}
	r.own = r.own || own
	r.partial = nil
}

// closeGap ends a gap where a whole record begins again.
func (r *recordReader) closeGap(at int64) {
	if r.gap >= 0 {
		r.result.Gaps = append(r.result.Gaps, Gap{Offset: r.gap, Length: at - r.gap})
	}
	r.gap, r.own = -1, false
}

// readChunk reads the chunk at an offset of a block.
func readChunk(block []byte, at int, number uint32) chunk {
	b := block[at:]
	if len(b) < chunkHeader || allZero(b[:chunkHeader]) {
		if !allZero(b[:min(len(b), longestHeader)]) {
			return chunk{kind: chunkBroken}
		}
		return chunk{kind: chunkUnused, end: len(block)}
	}
	kind := int(b[6])
	if kind < 1 || kind > 12 {
		return chunk{kind: chunkBroken}
	}
	// without the log's number, with it, with the synced offset, too; full, first, middle, last
	form, part := (kind-1)/4, (kind-1)%4
	header := [...]int{chunkHeader, chunkHeader + 4, longestHeader}[form]
	length := int(binary.LittleEndian.Uint16(b[4:]))
	if header > len(b) {
		return chunk{kind: chunkBroken}
	}
	other := false
	if form > 0 {
		n := binary.LittleEndian.Uint32(b[7:])
		if n == number+1 && length == 0 {
			return chunk{kind: chunkOther, trailer: true}
		}
		other = n != number
	}
	if header+length > len(b) {
		return chunk{kind: chunkBroken, own: !other}
	}
	end := at + header + length
	switch good := binary.LittleEndian.Uint32(b) == masked(crc32.Checksum(b[6:header+length], castagnoli)); {
	case good && other:
		return chunk{kind: chunkOther}
	case !good:
		return chunk{kind: chunkBroken, own: !other, end: end}
	}
	c := chunk{
		kind:  chunkGood,
		first: part <= 1,
		last:  part == 0 || part == 3,
		data:  b[header : header+length],
		end:   end,
	}
	if form == 2 {
		c.synced = int64(binary.LittleEndian.Uint64(b[11:]) & (1<<62 - 1))
	}
	return c
}

// allZero reports whether bytes are zeros: the part of a file that was reserved and never written.
func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
