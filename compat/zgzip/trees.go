package zgzip

import "encoding/binary"

// block collects the symbols of one deflate block and writes it in the cheapest of the three block
// types.
type block struct {
	builder
	out []byte // complete bytes not yet handed on
	bit uint64 // bits not yet in out, the lowest first
	n   uint   // how many

	lits  [symbolCap]uint8  // literal, or match length - 3
	dists [symbolCap]uint16 // 0 for a literal, else the distance
	count int

	litNodes  [heapSize]node
	distNodes [2*distCodes + 1]node
	blNodes   [2*blCodes + 1]node
	lit       tree
	dist      tree
	bl        tree
}

// init points the three trees of a block (literals and lengths, distances, lengths of codes) at
// their own counts and at zlib's static descriptions.
func (b *block) init() {
	b.lit = tree{
		nodes:     b.litNodes[:],
		fixed:     static.staticLit[:],
		extra:     extraLengthBits[:],
		extraBase: literals + 1,
		elems:     litCodes,
		maxLength: maxBits,
	}
	b.dist = tree{
		nodes:     b.distNodes[:],
		fixed:     static.staticDist[:],
		extra:     extraDistBits[:],
		elems:     distCodes,
		maxLength: maxBits,
	}
	b.bl = tree{nodes: b.blNodes[:], extra: extraBlBits[:], elems: blCodes, maxLength: maxBlBits}
}

// reset forgets output and symbols.
func (b *block) reset() {
	b.out, b.bit, b.n = b.out[:0], 0, 0
	b.begin()
}

// begin starts a new block (init_block).
func (b *block) begin() {
	clear(b.litNodes[:litCodes])
	clear(b.distNodes[:distCodes])
	clear(b.blNodes[:blCodes])
	b.litNodes[endBlock].fc = 1
	b.optLen, b.staticLen, b.builder.heapLen = 0, 0, 0
	b.count = 0
}

// literal adds one byte and reports whether the block is full.
func (b *block) literal(c byte) bool {
	b.lits[b.count] = c
	b.dists[b.count] = 0
	b.count++
	b.litNodes[c].fc++
	return b.count == symbolCap
}

// match adds a repetition of length bytes from dist back and reports whether the block is full.
func (b *block) match(dist, length int) bool {
	b.lits[b.count] = uint8(length - minMatch)
	b.dists[b.count] = uint16(dist)
	b.count++
	b.litNodes[int(static.lengthCode[length-minMatch])+literals+1].fc++
	b.distNodes[distanceCode(uint16(dist-1))].fc++
	return b.count == symbolCap
}

// flush writes the block (_tr_flush_block). stored is its input, nil when the window no longer
// holds it; size is the length of the input in any case.
func (b *block) flush(stored []byte, size int, last bool) {
	b.build(&b.lit)
	b.build(&b.dist)
	maxBl := b.buildLengthTree()

	optBytes := (b.optLen + 3 + 7) >> 3
	staticBytes := (b.staticLen + 3 + 7) >> 3
	if staticBytes <= optBytes {
		optBytes = staticBytes
	}
	final := uint64(0)
	if last {
		final = 1
	}
	switch {
	case size+4 <= optBytes && stored != nil:
		b.put(final, 3)
		b.align()
		b.out = binary.LittleEndian.AppendUint16(b.out, uint16(size))
		b.out = binary.LittleEndian.AppendUint16(b.out, ^uint16(size))
		b.out = append(b.out, stored...)
	case staticBytes == optBytes:
		b.put(1<<1|final, 3)
		b.symbols(static.staticLit[:], static.staticDist[:])
	default:
		b.put(2<<1|final, 3)
		b.treesHeader(maxBl)
		b.symbols(b.litNodes[:], b.distNodes[:])
	}
	b.begin()
	if last {
		b.align()
	}
}

// put appends the low n bits of v; n is at most 48.
func (b *block) put(v uint64, n uint) {
	b.bit |= v << b.n
	b.n += n
	if b.n >= 16 {
		b.spill()
	}
}

// spill moves whole bytes out of the bits that wait.
func (b *block) spill() {
	for b.n >= 8 {
		b.out = append(b.out, byte(b.bit))
		b.bit >>= 8
		b.n -= 8
	}
}

// align fills up the last byte.
func (b *block) align() {
	b.spill()
	if b.n > 0 {
		b.out = append(b.out, byte(b.bit))
	}
	b.bit, b.n = 0, 0
}

// symbols writes the collected symbols with the given codes (compress_block).
func (b *block) symbols(lit, dist []node) {
	lit = lit[:litCodes]
	dist = dist[:distCodes]
	for i := range b.count {
		c, d := b.lits[i], b.dists[i]
		if d == 0 {
			e := lit[c]
			b.put(uint64(e.fc), uint(e.dl))
			continue
		}
		lc := static.lengthCode[c]
		e := lit[int(lc)+literals+1]
		v, n := uint64(e.fc), uint(e.dl)
		if x := uint(extraLengthBits[lc]); x != 0 {
			v |= uint64(uint16(c)-static.baseLength[lc]) << n
			n += x
		}
		d--
		dc := distanceCode(d)
		e = dist[dc]
		v |= uint64(e.fc) << n
		n += uint(e.dl)
		v |= uint64(d-static.baseDist[dc]) << n
		n += uint(extraDistBits[dc])
		b.put(v, n)
	}
	e := lit[endBlock]
	b.put(uint64(e.fc), uint(e.dl))
}

// buildLengthTree builds the tree for the code lengths of the other two trees and gives the index
// in blOrder of the last one that has to be sent (build_bl_tree).
func (b *block) buildLengthTree() int {
	count := func(code, repeats int) { b.blNodes[code].fc += uint16(repeats) }
	for _, t := range []*tree{&b.lit, &b.dist} {
		runs(t.nodes, t.maxCode, func(length, prev, n int) {
			switch {
			case n < 0:
				count(length, -n)
			case length != 0:
				if length != prev {
					count(length, 1)
				}
				count(rep3to6, 1)
			case n <= 10:
				count(repz3to10, 1)
			default:
				count(repz11to138, 1)
			}
		})
	}
	b.build(&b.bl)
	last := blCodes - 1
	for last >= 3 && b.blNodes[blOrder[last]].dl == 0 {
		last--
	}
	b.optLen += 3*(last+1) + 5 + 5 + 4
	return last
}

// treesHeader writes the three trees (send_all_trees).
func (b *block) treesHeader(maxBl int) {
	b.put(uint64(b.lit.maxCode+1-257), 5)
	b.put(uint64(b.dist.maxCode+1-1), 5)
	b.put(uint64(maxBl+1-4), 4)
	for _, code := range blOrder[:maxBl+1] {
		b.put(uint64(b.blNodes[code].dl), 3)
	}
	send := func(code int) { b.put(uint64(b.blNodes[code].fc), uint(b.blNodes[code].dl)) }
	for _, t := range []*tree{&b.lit, &b.dist} {
		runs(t.nodes, t.maxCode, func(length, prev, n int) {
			switch {
			case n < 0:
				for range -n {
					send(length)
				}
			case length != 0:
				if length != prev {
					send(length)
					n--
				}
				send(rep3to6)
				b.put(uint64(n-3), 2)
			case n <= 10:
				send(repz3to10)
				b.put(uint64(n-3), 3)
			default:
				send(repz11to138)
				b.put(uint64(n-11), 7)
			}
		})
	}
}

// runs cuts the code lengths of a tree into runs as scan_tree and send_tree do: emit gets the
// length, the length of the run before (-1 at first) and the number of repetitions, negated when
// the run is too short for a repeat code.
func runs(nodes []node, maxCode int, emit func(length, prev, n int)) {
	prev, count := -1, 0
	longest, shortest := 7, 4
	if nodes[0].dl == 0 {
		longest, shortest = 138, 3
	}
	for i := 0; i <= maxCode; i++ {
		length, next := int(nodes[i].dl), -1
		if i < maxCode {
			next = int(nodes[i+1].dl)
		}
		count++
		if count < longest && length == next {
			continue
		}
		if count < shortest {
			emit(length, prev, -count)
		} else {
			emit(length, prev, count)
		}
		count, prev = 0, length
		switch {
		case next == 0:
			longest, shortest = 138, 3
		case length == next:
			longest, shortest = 6, 3
		default:
			longest, shortest = 7, 4
		}
	}
}
