package segment

import (
	"encoding/binary"
	"math"
)

// BlockPostings reads postings by groups; a group whose last document is before the one that is
// asked for is jumped over.
type BlockPostings struct {
	run       *Run
	limit     int32 // of documents
	left      int32 // postings of the groups that are not read
	postings  *stream
	positions *stream

	docs, freqs [groupSize]int32
	n, i        int // postings of the group; the current one
	at          int32
	last        int32 // document of the group before

	nextPositions int64  // of the group that follows
	groupAt       int64  // where those of this group begin,
	groupLength   int    // how many bytes they are,
	places        []byte // and these; nil if they were not read
	read, offset  int    // how many documents of the group were passed over, and where in places the next one is
	// Memory of Positions, used again for each document.
	list []int32
}

// Doc implements Postings.
func (p *BlockPostings) Doc() int32 { return p.at }

// Next implements Postings.
func (p *BlockPostings) Next() int32 {
	if p.at == NoMore {
		return NoMore
	}
	if p.i+1 < p.n {
		p.i++
		p.at = p.docs[p.i]
		return p.at
	}
	return p.advance(p.at + 1)
}

// Advance implements Postings.
func (p *BlockPostings) Advance(target int32) int32 {
	if p.at == NoMore {
		return NoMore
	}
	return p.advance(target)
}

// advance goes to the first document from target on. Groups that end before it are passed over
// unread as far as the skip data tells; in the group it steps in doubling strides, then halves.
func (p *BlockPostings) advance(target int32) int32 {
	for p.n == 0 || p.docs[p.n-1] < target {
		if !p.group(target) {
			p.at = NoMore
			return NoMore
		}
	}
	// What is asked for is near more often than not.
	i := min(p.i, p.n-1)
	for step := 1; p.docs[i] < target; step *= 2 {
		if i+step >= p.n || p.docs[i+step] >= target {
			i++
			for end := min(i+step-1, p.n-1); i < end; {
				if half := (i + end) / 2; p.docs[half] < target {
					i = half + 1
				} else {
					end = half
				}
			}
			break
		}
		i += step
	}
	p.i, p.at = i, p.docs[i]
	return p.at
}

// Group is the current document and those behind it in its group, with how often each has the term.
// The slices are good until the postings move.
func (p *BlockPostings) Group() (docs, freqs []int32) { return p.docs[p.i:p.n], p.freqs[p.i:p.n] }

// Skip moves to the n-th document of Group.
func (p *BlockPostings) Skip(n int) {
	p.i += n
	p.at = p.docs[p.i]
}

// group reads the next group of documents, or skips it unread if it ends before target. It is false
// at the end, or if the run has failed: the values are checked against each other, because a
// damaged block must not make it read outside of anything.
func (p *BlockPostings) group(target int32) bool {
	if p.left <= 0 || p.run.err != nil {
		return false
	}
	n := int(min(p.left, groupSize))
	s := p.postings
	first, span := s.int(), s.int()
	length := s.long()
	most := s.int()
	bitsOfDelta, bitsOfFreq := int(s.byte()), int(s.byte())
	if bitsOfDelta > 31 || bitsOfFreq > 31 || most == 0 || first <= p.last || span >= p.limit-first {
		s.fail()
		return false
	}
	if length > math.MaxInt32 {
		s.fail()
		return false
	}
	p.left -= int32(n)
	p.last = first + span
	p.groupAt, p.nextPositions, p.groupLength = p.nextPositions, p.nextPositions+length, int(length)
	packed := (n*(bitsOfDelta+bitsOfFreq) + 7) / 8
	if p.last < target {
		s.at += int64(packed)
		p.n, p.i = 0, 0
		return true
	}
	b := s.bytes(s.at, packed)
	if b == nil {
		return false
	}
	if !p.unpack(b, n, first, bitsOfDelta, bitsOfFreq) {
		s.fail()
		return false
	}
	p.n, p.i, p.read, p.places = n, 0, 0, nil
	return true
}

// unpack reads the documents and frequencies of a group; false if they do not end where the group
// does. A document is a bit behind the one before at least, so that none is beyond the last one.
func (p *BlockPostings) unpack(b []byte, n int, first int32, bitsOfDelta, bitsOfFreq int) bool {
	doc, at, width := int64(first)-1, 0, bitsOfDelta+bitsOfFreq
	// The first difference is not used.
	p.docs[0], p.freqs[0] = first, int32(getBits(b, bitsOfDelta, bitsOfFreq))+1
	doc++
	i := 1
	if at = width; width <= 57 {
		for ; i < n && at>>3+8 <= len(b); i++ {
			v := binary.BigEndian.Uint64(b[at>>3:]) << (at & 7)
			doc += int64(v>>(64-bitsOfDelta)) + 1
			p.docs[i] = int32(doc)
			p.freqs[i] = int32(v<<bitsOfDelta>>(64-bitsOfFreq)) + 1
			at += width
		}
	}
	for ; i < n; i++ {
		doc += int64(getBits(b, at, bitsOfDelta)) + 1
		p.docs[i], p.freqs[i] = int32(doc), int32(getBits(b, at+bitsOfDelta, bitsOfFreq))+1
		at += width
	}
	return doc == int64(p.last)
}

// Freq implements Postings.
func (p *BlockPostings) Freq() int32 { return p.freqs[p.i] }

// Place is the bytes of the positions of the current document and of those behind it in its group:
// how many there are, then differences. nil if there are none.
func (p *BlockPostings) Place() []byte {
	if p.positions == nil || p.n == 0 {
		return nil
	}
	if p.places == nil || p.read > p.i {
		if p.places == nil {
			p.places = p.positions.bytes(p.groupAt, p.groupLength)
		}
		p.read, p.offset = 0, 0
	}
	b := p.places
	for ; p.read < p.i; p.read++ {
		length := varints(b[p.offset:])
		if length == 0 {
			p.positions.fail()
			return nil
		}
		p.offset += length
	}
	return b[p.offset:]
}

// varints is how many bytes a number takes with as many numbers as it says; 0 if they are not all
// there.
func varints(b []byte) int {
	n, at := binary.Uvarint(b)
	if at <= 0 || n > uint64(len(b)) {
		return 0
	}
	if end := at + int(n); end <= len(b) && oneByteEach(b[at:end]) {
		return end
	}
	for ; n > 0; n-- {
		for at < len(b) && b[at] >= 0x80 {
			at++
		}
		if at++; at > len(b) {
			return 0
		}
	}
	return at
}

// oneByteEach reports whether each number in some bytes takes one byte only, which is read faster.
func oneByteEach(b []byte) bool {
	all := byte(0)
	for _, c := range b {
		all |= c
	}
	return all < 0x80
}

// Positions are those of the current document.
func (p *BlockPostings) Positions() []int32 {
	if p.positions == nil {
		return nil
	}
	p.list = p.list[:0]
	b := p.Place()
	n, at := binary.Uvarint(b)
	position := uint64(0)
	for ; n > 0 && p.run.err == nil; n-- {
		if at <= 0 || at >= len(b) {
			p.positions.fail()
			break
		}
		step, size := binary.Uvarint(b[at:])
		if position += step; size <= 0 || step > NoMore || position > NoMore {
			p.positions.fail()
			break
		}
		at += size
		p.list = append(p.list, int32(position))
	}
	return p.list
}

// appendPositions implements writtenPositions.
func (p *BlockPostings) appendPositions(dst []byte) []byte {
	if p.positions == nil {
		return append(dst, 0)
	}
	b := p.Place()
	n := varints(b)
	if n == 0 {
		p.positions.fail()
	}
	return append(dst, b[:n]...)
}
