package collate

import "encoding/binary"

// asciiWeight is the whole collation element of an ASCII character: a primary weight of up to two
// bytes and a tertiary one, see highTertiary. Control characters have none.
type asciiWeight struct {
	primary  uint16 // left aligned
	size     uint8
	tertiary uint8 // 0 if it is the common one
}

// fillASCII prepares the short weights of ASCII characters, with which most strings are compared
// without a look at the full table. A primary weight takes two bytes in a key only where its second
// byte is not zero.
func (t *table) fillASCII() {
	for c := range t.ascii {
		for _, e := range t.elementsOf(t.mapping(rune(c))) {
			w := asciiWeight{primary: uint16(e.primary >> 16), size: 1}
			if byte(w.primary) != 0 {
				w.size = 2
			}
			if e.tertiary != common {
				w.tertiary = uint8((e.tertiary + highTertiary) >> 8)
			}
			t.ascii[c] = w
		}
	}
}

// isASCII looks at eight bytes at a time: it is asked of every string that is compared.
func isASCII(s []byte) bool {
	for ; len(s) >= 8; s = s[8:] {
		if binary.LittleEndian.Uint64(s)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range s {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// appendASCIIKey appends the key of a string of ASCII characters.
func appendASCIIKey(dst, s []byte) []byte {
	weights := &root().ascii
	marks := uint8(0)
	for _, c := range s {
		w := &weights[c&0x7f]
		marks |= w.tertiary
		n := len(dst) + int(w.size)
		dst = append(dst, byte(w.primary>>8), byte(w.primary))[:n]
	}
	if marks == 0 {
		return dst
	}
	dst = append(dst, levelSeparator, levelSeparator)
	run := 0
	for _, c := range s {
		switch w := &weights[c&0x7f]; {
		case w.tertiary != 0:
			dst = append(appendRun(dst, run, true), w.tertiary)
			run = 0
		case w.size != 0:
			run++
		}
	}
	return dst
}

// compareASCII compares strings of ASCII characters.
func compareASCII(a, b []byte) int {
	weights := &root().ascii
	tertiary := 0 // the first difference there
	i, j := 0, 0
	for {
		for i < len(a) && weights[a[i]&0x7f].size == 0 {
			i++
		}
		for j < len(b) && weights[b[j]&0x7f].size == 0 {
			j++
		}
		switch {
		case i == len(a) && j == len(b):
			return tertiary
		case i == len(a):
			return -1
		case j == len(b):
			return 1
		}
		v, w := weights[a[i]&0x7f], weights[b[j]&0x7f]
		if v.primary != w.primary {
			if v.primary < w.primary {
				return -1
			}
			return 1
		}
		if tertiary == 0 && v.tertiary != w.tertiary {
			tertiary = 1
			if v.tertiary < w.tertiary {
				tertiary = -1
			}
		}
		i++
		j++
	}
}
