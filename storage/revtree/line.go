package revtree

import (
	"iter"
	"slices"
	"strings"
)

// Line is the hashes of a line of ancestors, newest first; they end where the line was stemmed or
// began. The zero Line has none. A line does not change, and may be used by several goroutines.
//
// Lines that meet share memory: 20,000 leaves of 1,000 ancestors each would have 20 million of
// them. So a line consists of blocks, which begin and end at the same depths in all lines; Lines
// gives those that read the same the same block.
type Line struct {
	top    int64 // depth of the newest
	count  int
	blocks [][]string // none is empty; each but the first and the last has blockDepths
}

// blockDepths is how many depths a block covers; the lowest of them is a multiple of it.
const blockDepths = 64

// blockBelow is how many depths the block covers in which a depth is, down from that one.
func blockBelow(pos int64) int { return int(pos&(blockDepths-1)) + 1 }

// NewLine makes a line of hashes, newest first, the first of which is at depth top. It keeps the
// slice.
func NewLine(top int64, hashes []string) Line {
	if len(hashes) == 0 {
		return Line{}
	}
	l := Line{top: top, count: len(hashes)}
	n := min(len(hashes), blockBelow(top))
	l.blocks = make([][]string, 0, 1+(len(hashes)-n+blockDepths-1)/blockDepths)
	for ; len(hashes) > 0; n = min(len(hashes), blockDepths) {
		l.blocks = append(l.blocks, hashes[:n:n])
		hashes = hashes[n:]
	}
	return l
}

// Len is the number of ancestors.
func (l Line) Len() int { return l.count }

// At is the i-th ancestor, counted from the newest one, which is 0.
func (l Line) At(i int) string {
	block, at := l.find(i)
	return l.blocks[block][at]
}

// at is At without a copy of the line: merges spend their time here.
func (l *Line) at(i int) string {
	if first := l.blocks[0]; i < len(first) {
		return first[i]
	}
	i -= len(l.blocks[0])
	return l.blocks[1+uint(i)/blockDepths][uint(i)%blockDepths]
}

// find tells in which block the i-th ancestor is, and where in it.
func (l *Line) find(i int) (block, at int) {
	first := len(l.blocks[0])
	if i < first {
		return 0, i
	}
	i -= first
	return 1 + i/blockDepths, i % blockDepths
}

// All gives the ancestors, newest first, with their numbers.
func (l Line) All() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		i := 0
		for _, block := range l.blocks {
			for _, hash := range block {
				if !yield(i, hash) {
					return
				}
				i++
			}
		}
	}
}

// AppendTo appends the ancestors from the i-th on.
func (l Line) AppendTo(dst []string, i int) []string {
	for _, block := range l.From(i).blocks {
		dst = append(dst, block...)
	}
	return dst
}

// First is the newest n ancestors, or all if there are not so many.
func (l Line) First(n int) Line {
	if n >= l.count {
		return l
	}
	if n <= 0 {
		return Line{}
	}
	block, at := l.find(n - 1)
	blocks := l.blocks[: block+1 : block+1]
	if last := blocks[block]; at+1 < len(last) {
		blocks = append(slices.Clip(blocks[:block]), last[:at+1:at+1])
	}
	return Line{l.top, n, blocks}
}

// From is the ancestors from the i-th on.
func (l Line) From(i int) Line {
	if i <= 0 {
		return l
	}
	if i >= l.count {
		return Line{}
	}
	block, at := l.find(i)
	blocks := l.blocks[block:]
	if at > 0 {
		blocks = slices.Concat([][]string{blocks[0][at:]}, blocks[1:])
	}
	return Line{l.top - int64(i), l.count - i, blocks}
}

// Append is the line that goes on with older ancestors, the newest of which is the parent of the
// oldest one of l.
func (l Line) Append(older Line) Line {
	switch {
	case l.count == 0:
		return older
	case older.count == 0:
		return l
	}
	blocks := slices.Clip(l.blocks)
	if oldest := l.top - int64(l.count) + 1; oldest&(blockDepths-1) != 0 { // the rest of its block comes first
		n := len(blocks) - 1
		blocks = append(slices.Clip(blocks[:n]), slices.Concat(blocks[n], older.blocks[0]))
		return Line{l.top, l.count + older.count, append(blocks, older.blocks[1:]...)}
	}
	return Line{l.top, l.count + older.count, append(blocks, older.blocks...)}
}

// HasPrefix reports whether l begins with the ancestors of other.
func (l Line) HasPrefix(other Line) bool {
	if l.count < other.count || other.count > 0 && l.top != other.top {
		return false
	}
	for i, block := range other.blocks {
		mine := l.blocks[i]
		if len(mine) < len(block) || &mine[0] != &block[0] && !slices.Equal(mine[:len(block)], block) {
			return false
		}
	}
	return true
}

// Equal reports whether two lines are the same.
func (l Line) Equal(other Line) bool { return l.count == other.count && l.HasPrefix(other) }

// compareLists orders lines as lists of strings.
func compareLists(a, b Line) int {
	for i := range min(a.count, b.count) {
		if c := strings.Compare(a.At(i), b.At(i)); c != 0 {
			return c
		}
	}
	return a.count - b.count
}

// skipShared tells how far two leaves' lines are in one block from a depth on: the next depth that
// has to be compared.
func skipShared(a, b *Leaf, pos int64) int64 {
	i, j := a.Rev.Pos-1-pos, b.Rev.Pos-1-pos
	if i < 0 || j < 0 || i >= int64(a.Ancestors.count) || j >= int64(b.Ancestors.count) {
		return pos
	}
	m, x := a.Ancestors.find(int(i))
	n, y := b.Ancestors.find(int(j))
	if x != y || &a.Ancestors.blocks[m][0] != &b.Ancestors.blocks[n][0] {
		return pos
	}
	return pos + int64(x) + 1
}

// Lines makes lines of stored hashes, and lets equal blocks of them share memory. It is for one
// goroutine.
type Lines struct {
	blocks map[storedBlock][]string // nil as long as there is one line
	last   Line
}

// storedBlock is the key under which a block is found again: its stored bytes, their form, and the
// depth of its newest hash.
type storedBlock struct {
	top    int64
	odd    bool
	stored string
}

// Line makes a line of count hashes, the first of which is at depth top. odd tells the form in
// which they are stored: take gives the next n of them in it, parse makes hashes of that; either
// gives nil where it cannot.
func (s *Lines) Line(top int64, count int, odd bool, take func(n int) []byte,
	parse func(stored []byte, n int) []string) (Line, bool) {
	if count == 0 {
		return Line{}, true
	}
	l := Line{top: top, count: count}
	if s.blocks == nil && s.last.count > 0 { // the second one
		s.blocks = make(map[storedBlock][]string)
	}
	again := count == s.last.count && top == s.last.top // so far it is the one before
	if !again {
		l.blocks = make([][]string, 0, 2+count/blockDepths)
	}
	for left, i := count, 0; left > 0; i++ {
		n := min(left, blockBelow(top))
		stored := take(n)
		if stored == nil {
			return Line{}, false
		}
		block := s.blocks[storedBlock{top, odd, string(stored)}]
		if block == nil {
			if block = parse(stored, n); block == nil {
				return Line{}, false
			}
			if s.blocks != nil {
				s.blocks[storedBlock{top, odd, string(stored)}] = block
			}
		}
		if again && &block[0] != &s.last.blocks[i][0] {
			again = false
			l.blocks = append(make([][]string, 0, len(s.last.blocks)), s.last.blocks[:i]...)
		}
		if !again {
			l.blocks = append(l.blocks, block)
		}
		left, top = left-n, top-int64(n)
	}
	if again {
		l.blocks = s.last.blocks
	}
	s.last = l
	return l, true
}
