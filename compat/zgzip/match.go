package zgzip

import (
	"encoding/binary"
	"math/bits"
)

// longestMatch walks the hash chain that starts at cur and gives the length of the longest match
// for the string at d.pos, at least d.prevLen; d.matchPos is where it begins (longest_match). Of
// equal matches the nearest one wins. The result never exceeds the lookahead.
func (d *deflater) longestMatch(cur int) int {
	chain := d.tune.chain
	best := d.prevLen
	nice := min(d.tune.nice, d.lookahead)
	if best >= d.tune.good {
		chain >>= 2
	}
	limit := max(d.pos-maxDist, 0)
	scan := d.window[d.pos : d.pos+maxMatch+1]
	start := binary.LittleEndian.Uint16(scan)
	end := binary.LittleEndian.Uint16(scan[best-1:])
	for {
		match := d.window[cur : cur+maxMatch+1]
		if binary.LittleEndian.Uint16(match[best-1:]) == end && binary.LittleEndian.Uint16(match) == start {
			if n := commonLength(scan, match); n > best {
				d.matchPos = cur
				best = n
				if n >= nice {
					break
				}
				end = binary.LittleEndian.Uint16(scan[best-1:])
			}
		}
		cur = int(d.prev[cur&windowMask])
		chain--
		if cur <= limit || chain == 0 {
			break
		}
	}
	return min(best, d.lookahead)
}

// commonLength counts the equal bytes at the beginning of a and b, at most maxMatch.
func commonLength(a, b []byte) int {
	a, b = a[:maxMatch], b[:maxMatch]
	n := 0
	for ; n+8 <= maxMatch; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
	}
	for n < maxMatch && a[n] == b[n] {
		n++
	}
	return n
}
