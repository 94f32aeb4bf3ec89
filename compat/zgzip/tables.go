package zgzip

import "math/bits"

const (
	minMatch     = 3
	maxMatch     = 258
	minLookahead = maxMatch + minMatch + 1

	windowSize = 1 << 15
	windowMask = windowSize - 1
	maxDist    = windowSize - minLookahead

	hashBits  = 15 // memLevel 8: memLevel + 7
	hashSize  = 1 << hashBits
	hashMask  = hashSize - 1
	hashShift = (hashBits + minMatch - 1) / minMatch

	symbolCap = 1<<14 - 1 // memLevel 8: symbols in a block before it is written (lit_bufsize - 1)

	// tooFar: a match of the minimal length farther away than this costs more than three literals.
	tooFar = 4096

	literals    = 256
	endBlock    = 256
	lengthCodes = 29
	litCodes    = literals + 1 + lengthCodes
	distCodes   = 30
	blCodes     = 19
	maxBits     = 15
	maxBlBits   = 7
	heapSize    = 2*litCodes + 1

	rep3to6     = 16
	repz3to10   = 17
	repz11to138 = 18
)

// tuning holds zlib's parameters of one compression level (configuration_table in deflate.c).
type tuning struct {
	good  int  // above this length of the previous match, search only a quarter of the chain
	lazy  int  // do not look for a better match above this length
	nice  int  // stop searching at this length
	chain int  // longest search
	slow  bool // lazy evaluation of matches
}

var tunings = [10]tuning{
	1: {4, 4, 8, 4, false},
	2: {4, 5, 16, 8, false},
	3: {4, 6, 32, 32, false},
	4: {4, 4, 16, 16, true},
	5: {8, 16, 32, 32, true},
	6: {8, 16, 128, 128, true},
	7: {8, 32, 128, 256, true},
	8: {32, 128, 258, 1024, true},
	9: {32, 258, 258, 4096, true},
}

var (
	extraLengthBits = [lengthCodes]uint8{
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		1,
		1,
		1,
		1,
		2,
		2,
		2,
		2,
		3,
		3,
		3,
		3,
		4,
		4,
		4,
		4,
		5,
		5,
		5,
		5,
		0,
	}
	extraDistBits = [distCodes]uint8{
		0,
		0,
		0,
		0,
		1,
		1,
		2,
		2,
		3,
		3,
		4,
		4,
		5,
		5,
		6,
		6,
		7,
		7,
		8,
		8,
		9,
		9,
		10,
		10,
		11,
		11,
		12,
		12,
		13,
		13,
	}
	extraBlBits = [blCodes]uint8{rep3to6: 2, repz3to10: 3, repz11to138: 7}
	blOrder     = [blCodes]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
)

// codes holds everything that follows from RFC 1951 alone.
type codes struct {
	lengthCode [maxMatch - minMatch + 1]uint8 // match length - 3 to length code
	baseLength [lengthCodes]uint16
	distCode   [512]uint8 // distance - 1 below 256; else 256 + (distance - 1) / 128
	baseDist   [distCodes]uint16
	staticLit  [litCodes + 2]node
	staticDist [distCodes]node
}

var static = newCodes()

// newCodes fills the tables as zlib's tr_static_init does.
func newCodes() *codes {
	c := &codes{}
	n := 0
	for code := range lengthCodes - 1 {
		c.baseLength[code] = uint16(n)
		for range 1 << extraLengthBits[code] {
			c.lengthCode[n] = uint8(code)
			n++
		}
	}
	c.lengthCode[n-1] = lengthCodes - 1 // length 258 has a code of its own
	c.fillDistances()

	var count [maxBits + 1]uint16
	for i := range c.staticLit {
		length := uint16(8)
		switch {
		case i >= 144 && i <= 255:
			length = 9
		case i >= 256 && i <= 279:
			length = 7
		}
		c.staticLit[i].dl = length
		count[length]++
	}
	assignCodes(c.staticLit[:], litCodes+1, &count)
	for i := range c.staticDist {
		c.staticDist[i] = node{fc: reverse(uint16(i), 5), dl: 5}
	}
	return c
}

// fillDistances fills in which code a distance has, as in zlib's tr_static_init: distances up to
// 256 are looked up by themselves, larger ones by the distance divided by 128, in the second half
// of the table.
func (c *codes) fillDistances() {
	dist, code := 0, 0
	for ; code < 16; code++ {
		c.baseDist[code] = uint16(dist)
		for range 1 << extraDistBits[code] {
			c.distCode[dist] = uint8(code)
			dist++
		}
	}
	dist >>= 7
	for ; code < distCodes; code++ {
		c.baseDist[code] = uint16(dist << 7)
		for range 1 << (extraDistBits[code] - 7) {
			c.distCode[256+dist] = uint8(code)
			dist++
		}
	}
}

// distanceCode gives the code of a distance that is one less than the real one.
func distanceCode(dist uint16) uint8 {
	if dist < 256 {
		return static.distCode[dist]
	}
	return static.distCode[256+dist>>7]
}

// reverse turns the low n bits of code around: Huffman codes are packed from their most significant
// bit.
func reverse(code uint16, n uint8) uint16 {
	return bits.Reverse16(code) >> (16 - n)
}
