package zgzip

// node is one symbol or inner node of a Huffman tree, in the two-fold use zlib makes of it.
type node struct {
	fc uint16 // frequency, later the code
	dl uint16 // index of the father, later the length of the code
}

// tree is a Huffman tree under construction and what RFC 1951 says about its alphabet.
type tree struct {
	nodes     []node
	fixed     []node  // code lengths of the static block type; nil for the code length alphabet
	extra     []uint8 // extra bits of the symbols from extraBase on
	extraBase int
	elems     int
	maxLength int
	maxCode   int // greatest symbol that occurs
}

// builder is the scratch space for building one tree; costs of all trees of a block add up in it.
type builder struct {
	heap    [heapSize]int16
	heapLen int
	heapMax int
	depth   [heapSize]uint8
	count   [maxBits + 1]uint16

	optLen    int // bits of the block with its own trees
	staticLen int // bits of the block with the static trees
}

// build assigns code lengths and codes for the frequencies in t (zlib's build_tree). Ties are
// broken by depth, and the order of the heap decides the rest, so every step has to be zlib's.
func (b *builder) build(t *tree) {
	nodes := t.nodes
	b.seed(t)
	for n := b.heapLen / 2; n >= 1; n-- {
		b.down(nodes, n)
	}
	next := t.elems
	for {
		n := b.heap[1]
		b.heap[1] = b.heap[b.heapLen]
		b.heapLen--
		b.down(nodes, 1)
		m := b.heap[1]

		b.heapMax--
		b.heap[b.heapMax] = n
		b.heapMax--
		b.heap[b.heapMax] = m

		nodes[next].fc = nodes[n].fc + nodes[m].fc
		b.depth[next] = max(b.depth[n], b.depth[m]) + 1
		nodes[n].dl = uint16(next)
		nodes[m].dl = uint16(next)

		b.heap[1] = int16(next)
		next++
		b.down(nodes, 1)
		if b.heapLen < 2 {
			break
		}
	}
	b.heapMax--
	b.heap[b.heapMax] = b.heap[1]

	b.lengths(t)
	assignCodes(nodes, t.maxCode, &b.count)
}

// seed puts the symbols that occur into the heap. A tree needs two of them: missing ones are added
// with frequency 1 and taken off the costs again.
func (b *builder) seed(t *tree) {
	b.heapLen, b.heapMax = 0, heapSize
	t.maxCode = -1
	for n := range t.elems {
		if t.nodes[n].fc == 0 {
			t.nodes[n].dl = 0
			continue
		}
		b.heapLen++
		b.heap[b.heapLen] = int16(n)
		t.maxCode = n
		b.depth[n] = 0
	}
	for b.heapLen < 2 {
		n := 0
		if t.maxCode < 2 {
			t.maxCode++
			n = t.maxCode
		}
		b.heapLen++
		b.heap[b.heapLen] = int16(n)
		t.nodes[n].fc = 1
		b.depth[n] = 0
		b.optLen--
		if t.fixed != nil {
			b.staticLen -= int(t.fixed[n].dl)
		}
	}
}

// down restores the heap order below position k.
func (b *builder) down(nodes []node, k int) {
	v := b.heap[k]
	for j := k << 1; j <= b.heapLen; j <<= 1 {
		if j < b.heapLen && b.smaller(nodes, b.heap[j+1], b.heap[j]) {
			j++
		}
		if b.smaller(nodes, v, b.heap[j]) {
			break
		}
		b.heap[k] = b.heap[j]
		k = j
	}
	b.heap[k] = v
}

// smaller orders the heap by frequency, and by depth where that is equal, as zlib does: another
// order would give other trees of the same size.
func (b *builder) smaller(nodes []node, n, m int16) bool {
	fn, fm := nodes[n].fc, nodes[m].fc
	return fn < fm || (fn == fm && b.depth[n] <= b.depth[m])
}

// lengths computes the code lengths and adds the costs of the symbols (gen_bitlen).
func (b *builder) lengths(t *tree) {
	nodes := t.nodes
	b.count = [maxBits + 1]uint16{}
	nodes[b.heap[b.heapMax]].dl = 0
	overflow := 0
	h := b.heapMax + 1
	for ; h < heapSize; h++ {
		n := int(b.heap[h])
		length := int(nodes[nodes[n].dl].dl) + 1
		if length > t.maxLength {
			length = t.maxLength
			overflow++
		}
		nodes[n].dl = uint16(length)
		if n > t.maxCode {
			continue // an inner node
		}
		b.count[length]++
		extra := 0
		if n >= t.extraBase {
			extra = int(t.extra[n-t.extraBase])
		}
		freq := int(nodes[n].fc)
		b.optLen += freq * (length + extra)
		if t.fixed != nil {
			b.staticLen += freq * (int(t.fixed[n].dl) + extra)
		}
	}
	if overflow > 0 {
		b.shorten(t, overflow, h)
	}
}

// shorten repairs a tree in which codes were cut to the greatest length allowed.
func (b *builder) shorten(t *tree, overflow, h int) {
	for ; overflow > 0; overflow -= 2 {
		length := t.maxLength - 1
		for b.count[length] == 0 {
			length--
		}
		b.count[length]--
		b.count[length+1] += 2
		b.count[t.maxLength]--
	}
	for length := t.maxLength; length != 0; length-- {
		for n := b.count[length]; n != 0; {
			h--
			m := int(b.heap[h])
			if m > t.maxCode {
				continue
			}
			if int(t.nodes[m].dl) != length {
				b.optLen += (length - int(t.nodes[m].dl)) * int(t.nodes[m].fc)
				t.nodes[m].dl = uint16(length)
			}
			n--
		}
	}
}

// assignCodes gives every symbol its canonical code, bits turned around (gen_codes).
func assignCodes(nodes []node, maxCode int, count *[maxBits + 1]uint16) {
	var next [maxBits + 1]uint16
	code := uint16(0)
	for i := 1; i <= maxBits; i++ {
		code = (code + count[i-1]) << 1
		next[i] = code
	}
	for n := 0; n <= maxCode; n++ {
		length := nodes[n].dl
		if length == 0 {
			continue
		}
		nodes[n].fc = reverse(next[length], uint8(length))
		next[length]++
	}
}
