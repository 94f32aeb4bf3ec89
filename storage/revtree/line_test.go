package revtree

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
)

// genHashes makes lists that have much in common.
func genHashes() *rapid.Generator[[]string] {
	return rapid.Custom(func(t *rapid.T) []string {
		list := make([]string, rapid.IntRange(0, 3*blockDepths).Draw(t, "length"))
		salt := rapid.IntRange(0, 1).Draw(t, "salt")
		for i := range list {
			list[i] = fmt.Sprint(salt, i)
		}
		return list
	})
}

// A line is a list of strings, however it is made.
func TestLineIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.Int64Range(0, 3*blockDepths).Draw(t, "top")
		hashes := genHashes().Draw(t, "hashes")
		line := NewLine(top, hashes)
		check := func(name string, got Line, gotTop int64, want []string) {
			t.Helper()
			if got.Len() != len(want) || !slices.Equal(got.AppendTo(nil, 0), want) {
				t.Fatalf("%s: %v, want %v", name, got, want)
			}
			for i, hash := range got.All() {
				if hash != want[i] || got.At(i) != hash {
					t.Fatalf("%s: %d: %s", name, i, hash)
				}
			}
			if fresh := NewLine(gotTop, want); !got.Equal(fresh) || !fresh.Equal(got) ||
				len(got.blocks) != len(fresh.blocks) {
				t.Fatalf("%s: %v differs from %v", name, got, fresh)
			}
		}
		n := rapid.IntRange(0, len(hashes)).Draw(t, "n")
		first, from := line.First(n), line.From(n)
		check("first", first, top, hashes[:n])
		check("from", from, top-int64(n), hashes[n:])
		check("append", first.Append(from), top, hashes)
		if !line.HasPrefix(first) || n < len(hashes) && first.HasPrefix(line) {
			t.Fatal("prefix")
		}
		other := genHashes().Draw(t, "other")
		check("other", first.Append(NewLine(top-int64(n), other)), top, slices.Concat(hashes[:n], other))
		want := len(other) <= len(hashes) && slices.Equal(hashes[:len(other)], other)
		if line.HasPrefix(NewLine(top, other)) != want {
			t.Fatal("prefix of another line")
		}
	})
}

// readLine makes a line of hashes that are stored as texts of one byte each.
func (s *Lines) readLine(top int64, stored string) Line {
	rest := []byte(stored)
	take := func(n int) (taken []byte) {
		taken, rest = rest[:n], rest[n:]
		return taken
	}
	parse := func(stored []byte, n int) (hashes []string) {
		for _, b := range stored[:n] {
			hashes = append(hashes, string(b))
		}
		return hashes
	}
	l, _ := s.Line(top, len(stored), false, take, parse)
	return l
}

// Lines that share blocks read the same, and lie to each other as those do that share none.
func TestSharedLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shared Lines
		var tree, apart Tree
		letters := make([]byte, 300)
		for i := range letters {
			letters[i] = byte('a' + i%7)
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "lines") {
			from := rapid.IntRange(0, len(letters)).Draw(t, "from")
			own := rapid.StringMatching("[a-z]{0,3}").Draw(t, "own")
			stored := own + string(letters[from:])
			top := int64(len(stored))
			leaf := Leaf{Rev: compat.Rev{Pos: top + 1, Hash: fmt.Sprint("leaf", i)}}
			leaf.Ancestors = shared.readLine(top, stored)
			tree = append(tree, leaf)
			leaf.Ancestors = new(Lines).readLine(top, stored)
			apart = append(apart, leaf)
			if got := leaf.Ancestors.AppendTo(nil, 0); !slices.Equal(tree[i].Ancestors.AppendTo(nil, 0), got) ||
				len(got) != len(stored) {
				t.Fatalf("line %d: %v", i, tree[i])
			}
		}
		for i := range tree {
			for j := range tree {
				a, b := &tree[i], &tree[j]
				if compareRoots(a, b) != 0 {
					continue
				}
				if got, want := sharedDepth(a, b), sharedDepth(&apart[i], &apart[j]); got != want {
					t.Fatalf("shared depth of %v and %v: %d, want %d", a, b, got, want)
				}
				if got, want := compareLines(a, b), compareLines(&apart[i], &apart[j]); got != want {
					t.Fatalf("order of %v and %v: %d, want %d", a, b, got, want)
				}
			}
		}
		ancestors := func(tree Tree) []string {
			var list []string
			for rev := range tree.Ancestors() {
				list = append(list, rev.String())
			}
			slices.Sort(list)
			return slices.Compact(list)
		}
		if !slices.Equal(ancestors(tree), ancestors(apart)) {
			t.Fatal("ancestors")
		}
	})
}

// slowStarts is keptStarts as it follows from its definition.
func slowStarts(t Tree, limit int64) []int64 {
	starts := make([]int64, len(t))
	for i := range t {
		starts[i] = max(t[i].Start(), t[i].Rev.Pos-limit+1)
	}
	for again := true; again; {
		again = false
		for i := range t {
			for j := range t {
				if starts[j] < starts[i] && compareRoots(&t[i], &t[j]) == 0 &&
					sharedDepth(&t[i], &t[j]) >= starts[i]-1 {
					starts[i], again = starts[j], true
				}
			}
		}
	}
	return starts
}

func TestKeptStarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree Tree
		for i := range rapid.IntRange(1, 10).Draw(t, "lines") {
			depth := rapid.IntRange(1, 30).Draw(t, "depth")
			hashes := []string{fmt.Sprint("root", rapid.IntRange(0, 1).Draw(t, "root"))}
			if i > 0 {
				if base := &tree[rapid.IntRange(0, i-1).Draw(t, "base")]; base.Ancestors.Len() > 0 {
					at := rapid.IntRange(0, base.Ancestors.Len()-1).Draw(t, "at")
					hashes = base.Ancestors.AppendTo(nil, at)
					slices.Reverse(hashes)
				}
			}
			for n := range depth {
				hashes = append(hashes, fmt.Sprint(i, " ", n))
			}
			slices.Reverse(hashes)
			pos := int64(len(hashes))
			tree = append(tree, Leaf{Rev: compat.Rev{Pos: pos, Hash: hashes[0]}, Ancestors: NewLine(pos-1, hashes[1:])})
		}
		limit := rapid.Int64Range(1, 40).Draw(t, "limit")
		if got, want := tree.keptStarts(limit), slowStarts(tree, limit); !slices.Equal(got, want) {
			t.Fatalf("of %v with %d: %v, want %v", tree, limit, got, want)
		}
	})
}
