package collate

import (
	"sync"
	"unicode/utf8"
)

// A string's key is its primary weights, then after a separator the secondary ones, then the
// tertiary ones. Levels at the end that hold common weights only are left out: a string of lower
// case ASCII letters has one byte for each.
const levelSeparator = 1

// A run of common weights on a lower level is a byte, or several where it is long: one below
// weightMiddle if a lower weight or the end follows, one above it if a higher one does.
const (
	runLow    = 0x05 // a run of one before something lower; longer ones count up
	runMiddle = runLow + runLength
	runHigh   = runMiddle + runLength // a run of one before something higher; longer ones count down
	runLength = 0x20                  // of a whole run, which runMiddle stands for
)

// Marks of a change between primary weights after one whose first byte is compressible. No second
// byte of those is one of them.
const (
	compressionLow  = 0x03 // a lower weight follows
	compressionHigh = 0xff // a higher one
)

// highTertiary is added to tertiary weights above the common one, to make room for runs; secondary
// ones have it by nature.
const highTertiary = 0x4000

// keyBuilder makes the key of one string.
type keyBuilder struct {
	t         *table
	key       []byte
	last      uint32 // the primary weight before, if its first byte is compressible
	secondary level
	tertiary  level
	text      []rune
}

// level is a lower level of a key.
type level struct {
	key []byte
	run int // common weights not written yet
	// keep tells that another string could have a lower weight somewhere in the run, so that the
	// run must be written even at the end of the key.
	keep bool
}

var keyBuilders = sync.Pool{New: func() any { return new(keyBuilder) }}

// appendKey appends the key of a string that is not all ASCII.
func appendKey(dst, s []byte) []byte {
	b := keyBuilders.Get().(*keyBuilder)
	dst = b.build(dst, s)
	b.key = nil
	keyBuilders.Put(b)
	return dst
}

// build appends the key of s to dst. Bytes that are no UTF-8 count as U+FFFD.
func (b *keyBuilder) build(dst, s []byte) []byte {
	b.t = root()
	b.key, b.last = dst, 0
	b.secondary.reset()
	b.tertiary.reset()
	b.text = b.text[:0]
	for len(s) > 0 {
		c, size := utf8.DecodeRune(s)
		b.text = append(b.text, c)
		s = s[size:]
	}
	b.addAll(b.text)
	b.secondary.end()
	b.tertiary.end()
	if len(b.secondary.key) > 0 || len(b.tertiary.key) > 0 {
		b.key = append(b.key, levelSeparator)
		b.key = append(b.key, b.secondary.key...)
	}
	if len(b.tertiary.key) > 0 {
		b.key = append(b.key, levelSeparator)
		b.key = append(b.key, b.tertiary.key...)
	}
	return b.key
}

// add appends an element's weights on their levels. Tertiary weights above the common one are moved
// up, as in ICU's CollationKeys: what lies below is for runs of common weights, which are
// compressed.
func (b *keyBuilder) add(e element) {
	properties := byte(0)
	if e.primary != 0 {
		properties = b.t.leads[e.primary>>24]
		b.addPrimary(e.primary, properties&leadCompressible != 0)
	}
	if e.secondary != 0 {
		b.secondary.add(e.secondary)
	}
	switch {
	case e.tertiary == 0:
		return
	case e.tertiary > common:
		b.tertiary.add(e.tertiary + highTertiary)
	default:
		b.tertiary.add(e.tertiary)
	}
	if properties&leadLowTertiary != 0 && b.tertiary.run > 0 {
		b.tertiary.keep = true
	}
}

// addPrimary appends a primary weight. Weights that follow each other with the same lead byte have
// it once (ICU's compression); a mark ends such a run, low or high according to the next weight, so
// that the order of keys stays that of the weights.
func (b *keyBuilder) addPrimary(p uint32, compressible bool) {
	lead := byte(p >> 24)
	if b.last == 0 || lead != byte(b.last>>24) {
		if b.last != 0 {
			mark := byte(compressionHigh)
			if p < b.last {
				mark = compressionLow
			}
			b.key = append(b.key, mark)
		}
		b.key = append(b.key, lead)
	}
	b.last = 0
	if compressible {
		b.last = p
	}
	for p <<= 8; p != 0; p <<= 8 {
		b.key = append(b.key, byte(p>>24))
	}
}

func (l *level) reset() { l.key, l.run, l.keep = l.key[:0], 0, false }

// add adds a weight of a level. Common weights, which nearly all are, are only counted and written
// as a run.
func (l *level) add(w uint16) {
	if w == common {
		l.run++
		return
	}
	l.writeRun(w > common)
	l.key = append(l.key, byte(w>>8))
	if w&0xff != 0 {
		l.key = append(l.key, byte(w))
	}
}

// end writes what the level needs at its end: nothing for a run where another string can only have
// higher weights.
func (l *level) end() {
	if l.keep {
		l.writeRun(false)
	}
}

func (l *level) writeRun(higherFollows bool) {
	l.key = appendRun(l.key, l.run, higherFollows)
	l.run, l.keep = 0, false
}

// appendRun writes how many common weights there were, in one byte or a few. The byte counts down
// from the highest value where a greater weight follows, and up from the lowest where a smaller one
// or the end follows, so that keys compare as the weights themselves would.
func appendRun(key []byte, run int, higherFollows bool) []byte {
	if run == 0 {
		return key
	}
	for run--; run >= runLength; run -= runLength {
		key = append(key, runMiddle)
	}
	if higherFollows {
		return append(key, byte(runHigh-run))
	}
	return append(key, byte(runLow+run))
}
