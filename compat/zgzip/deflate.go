package zgzip

// deflater is the state of one compression: zlib's deflate_state for windowBits 15 and memLevel 8.
type deflater struct {
	block
	tune tuning

	in        []byte // input of the Write under way that is not in the window yet
	window    [2*windowSize + maxMatch + 1]byte
	prev      [windowSize]uint16 // position & windowMask to the previous position with the same hash
	head      [hashSize]uint16   // hash to its latest position; 0 is none
	hash      uint32
	pos       int // of the string to be coded (strstart)
	lookahead int // bytes known from pos on
	blockPos  int // where the input of the current block begins; negative when it has left the window

	matchPos    int
	matchLen    int
	prevPos     int
	prevLen     int
	haveLiteral bool // the byte before pos waits for the outcome of lazy evaluation
}

// reset prepares for a new stream of the given level, 1..9.
func (d *deflater) reset(level int) {
	d.block.reset()
	d.tune = tunings[level]
	clear(d.head[:])
	d.in = nil
	d.hash, d.pos, d.lookahead, d.blockPos = 0, 0, 0, 0
	d.matchPos, d.prevPos = 0, 0
	d.matchLen, d.prevLen = minMatch-1, minMatch-1
	d.haveLiteral = false
}

// write compresses p; what cannot be decided yet stays in the window.
func (d *deflater) write(p []byte) {
	d.in = p
	d.run(false)
	d.in = nil
}

// finish compresses the rest and ends the last block.
func (d *deflater) finish() {
	d.run(true)
	if d.haveLiteral {
		d.literal(d.window[d.pos-1])
		d.haveLiteral = false
	}
	d.endBlock(true)
}

// run compresses what is in the input. Without finish it stops while less than minLookahead bytes
// are left: a match might go on with bytes that have not come yet, and the output must not depend
// on how the input was cut.
func (d *deflater) run(finish bool) {
	for {
		if d.lookahead < minLookahead {
			d.fill()
			if d.lookahead == 0 || (d.lookahead < minLookahead && !finish) {
				return
			}
		}
		if d.tune.slow {
			d.stepLazy()
		} else {
			d.stepGreedy()
		}
	}
}

// fill moves input into the window, whose upper half becomes the lower one when it is used up
// (fill_window).
func (d *deflater) fill() {
	for {
		if d.pos >= windowSize+maxDist {
			d.slide()
		}
		if len(d.in) == 0 {
			return
		}
		end := d.pos + d.lookahead
		n := copy(d.window[end:2*windowSize], d.in)
		d.in = d.in[n:]
		d.lookahead += n
		if d.lookahead >= minMatch {
			d.hash = uint32(d.window[d.pos])
			d.roll(d.window[d.pos+1])
		}
		if d.lookahead >= minLookahead {
			return
		}
	}
}

// slide moves the upper half of the window down, and all positions with it; those that leave it
// become 0, which stands for none (fill_window).
func (d *deflater) slide() {
	copy(d.window[:windowSize], d.window[windowSize:2*windowSize])
	d.matchPos -= windowSize
	d.pos -= windowSize
	d.blockPos -= windowSize
	for i, v := range d.head {
		d.head[i] = v - min(v, windowSize)
	}
	for i, v := range d.prev {
		d.prev[i] = v - min(v, windowSize)
	}
}

func (d *deflater) roll(c byte) {
	d.hash = (d.hash<<hashShift ^ uint32(c)) & hashMask
}

// insert enters the string at pos into the hash chains and gives the position of the previous one,
// 0 for none.
func (d *deflater) insert(pos int) int {
	d.roll(d.window[pos+minMatch-1])
	h := &d.head[d.hash&hashMask]
	found := *h
	d.prev[pos&windowMask] = found
	*h = uint16(pos)
	return int(found)
}

// stepLazy codes one step of levels 4..9: a match is taken only when the next position has no
// longer one (deflate_slow).
func (d *deflater) stepLazy() {
	found := 0
	if d.lookahead >= minMatch {
		found = d.insert(d.pos)
	}
	d.prevLen, d.prevPos = d.matchLen, d.matchPos
	d.matchLen = minMatch - 1
	if found != 0 && d.prevLen < d.tune.lazy && d.pos-found <= maxDist {
		d.matchLen = d.longestMatch(found)
		if d.matchLen == minMatch && d.pos-d.matchPos > tooFar {
			d.matchLen = minMatch - 1
		}
	}
	switch {
	case d.prevLen >= minMatch && d.matchLen <= d.prevLen:
		d.takePrevious()
	case d.haveLiteral:
		full := d.literal(d.window[d.pos-1])
		if full {
			d.endBlock(false)
		}
		d.pos++
		d.lookahead--
	default:
		d.haveLiteral = true
		d.pos++
		d.lookahead--
	}
}

// takePrevious codes the match found at the position before.
func (d *deflater) takePrevious() {
	lastInsert := d.pos + d.lookahead - minMatch
	full := d.match(d.pos-1-d.prevPos, d.prevLen)
	d.lookahead -= d.prevLen - 1
	for range d.prevLen - 2 {
		d.pos++
		if d.pos <= lastInsert {
			d.insert(d.pos)
		}
	}
	d.haveLiteral = false
	d.matchLen = minMatch - 1
	d.pos++
	if full {
		d.endBlock(false)
	}
}

// stepGreedy codes one step of levels 1..3 (deflate_fast).
func (d *deflater) stepGreedy() {
	found := 0
	if d.lookahead >= minMatch {
		found = d.insert(d.pos)
	}
	if found != 0 && d.pos-found <= maxDist {
		d.matchLen = d.longestMatch(found)
	}
	full := false
	if d.matchLen >= minMatch {
		full = d.match(d.pos-d.matchPos, d.matchLen)
		d.lookahead -= d.matchLen
		d.skipMatch()
	} else {
		full = d.literal(d.window[d.pos])
		d.lookahead--
		d.pos++
	}
	if full {
		d.endBlock(false)
	}
}

// skipMatch moves past a match; only the strings inside short matches are entered into the chains.
func (d *deflater) skipMatch() {
	if d.matchLen <= d.tune.lazy && d.lookahead >= minMatch {
		for range d.matchLen - 1 {
			d.pos++
			d.insert(d.pos)
		}
		d.pos++
	} else {
		d.pos += d.matchLen
		d.hash = uint32(d.window[d.pos])
		d.roll(d.window[d.pos+1])
	}
	d.matchLen = 0
}

// endBlock ends the block at the current position. It can be stored uncompressed only while its
// input is still in the window.
func (d *deflater) endBlock(last bool) {
	size := d.pos - d.blockPos
	var stored []byte
	if d.blockPos >= 0 {
		stored = d.window[d.blockPos:d.pos]
	}
	d.flush(stored, size, last)
	d.blockPos = d.pos
}
