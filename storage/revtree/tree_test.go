package revtree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
)

// line reads `3-c,b,a`; a trailing `!` marks a tombstone.
func line(s string) Leaf {
	s, deleted := strings.CutSuffix(s, "!")
	head, rest, _ := strings.Cut(s, ",")
	rev, err := compat.ParseRev(head)
	if err != nil {
		panic(err)
	}
	l := Leaf{Rev: rev, Deleted: deleted}
	if rest != "" {
		l.Ancestors = strings.Split(rest, ",")
	}
	return l
}

func lineString(l *Leaf) string {
	s := l.Rev.String()
	for _, a := range l.Ancestors {
		s += "," + a
	}
	return s
}

func treeString(t []Leaf) string {
	lines := make([]string, len(t))
	for i := range t {
		lines[i] = lineString(&t[i])
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

func TestMerge(t *testing.T) {
	tests := []struct {
		name    string
		tree    []string
		merge   string
		want    string
		outcome Outcome
	}{
		{"first", nil, "1-a", "1-a", NewLeaf},
		{"first with an unknown parent", nil, "2-b,a", "2-b,a", NewLeaf},
		{"extends a leaf", []string{"1-a"}, "2-b,a", "2-b,a", NewLeaf},
		{"extends from further up", []string{"1-a"}, "3-c,b,a", "3-c,b,a", NewLeaf},
		{"branch", []string{"2-b,a"}, "2-x,a", "2-b,a 2-x,a", NewBranch},
		{"another root", []string{"2-b,a"}, "1-x", "1-x 2-b,a", NewBranch},
		{"inner node", []string{"3-c,b,a"}, "2-b,a", "3-c,b,a", Known},
		{"leaf again", []string{"3-c,b,a"}, "3-c,b,a", "3-c,b,a", Known},
		{"short line meets an inner node", []string{"3-c,b,a"}, "3-d,b", "3-c,b,a 3-d,b,a", NewBranch},
		{"short line meets nothing", []string{"3-c,b,a"}, "3-d,x", "3-c,b,a 3-d,x", NewBranch},
		{"line begins above a stemmed root", []string{"3-c,b"}, "3-d,b,a", "3-c,b,a 3-d,b,a", NewBranch},
		{"longer line of a known leaf", []string{"3-c,b"}, "3-c,b,a", "3-c,b,a", Known},
		{"the first overlap decides", []string{"3-c,b,a"}, "4-d,c,x", "3-c,b,a 4-d,c,x", NewBranch},
		{"a leaf with another history", []string{"3-c,b,a"}, "3-c,x", "3-c,b,a 3-c,x", NewBranch},
		{"line too short to overlap", []string{"9-i,h"}, "2-b,a", "2-b,a 9-i,h", NewBranch},
	}
	for _, tt := range tests {
		var tree Tree
		for _, s := range tt.tree {
			tree = append(tree, line(s))
		}
		got, res := Merge(tree, line(tt.merge))
		if treeString(got) != tt.want || res.Outcome != tt.outcome {
			t.Errorf("%s: %s, outcome %d; want %s, %d", tt.name, treeString(got), res.Outcome, tt.want, tt.outcome)
		}
	}
}

func TestStemKeepsSharedNodes(t *testing.T) {
	tests := []struct{ tree, want string }{
		{"6-f,e,d,c,b,a", "6-f,e,d"},
		{"6-f,e,d,c,b,a 2-x,a", "2-x,a 6-f,e,d"},
		{"6-f,e,d,c,b,a 5-y,d,c,b,a", "5-y,d,c 6-f,e,d,c"},
		{"6-f,e,d,c,b,a 5-y,d,c,b,a 3-z,b,a", "3-z,b,a 5-y,d,c,b,a 6-f,e,d,c,b,a"},
	}
	for _, tt := range tests {
		var tree Tree
		for _, s := range strings.Fields(tt.tree) {
			tree = append(tree, line(s))
		}
		Stem(tree, 3)
		if got := treeString(tree); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.tree, got, tt.want)
		}
	}
}

func TestWinner(t *testing.T) {
	order := []string{"3-b", "3-a", "1-z", "1-ab", "1-a", "9-z!", "2-a!"}
	var tree Tree
	for _, i := range []int{3, 6, 0, 5, 1, 4, 2} {
		tree = append(tree, line(order[i]))
	}
	if w := tree.Winner(); tree[w].Rev.String() != "3-b" {
		t.Errorf("winner %v", tree[w].Rev)
	}
	tree.Sort()
	for i := range tree {
		if want := line(order[i]); tree[i].Rev != want.Rev {
			t.Errorf("place %d: %v, want %v", i, tree[i].Rev, want.Rev)
		}
	}
	if tree.Deleted() || !tree[5:].Deleted() || (Tree{}).Deleted() {
		t.Error("Deleted")
	}
}

func TestLookups(t *testing.T) {
	tree := Tree{line("3-c,b,a"), line("3-d,b,a!"), line("1-x")}
	rev := func(s string) compat.Rev { return line(s).Rev }
	if got := tree.Latest(rev("2-b")); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("latest: %v", got)
	}
	if tree.Find(rev("3-d")) != 1 || tree.Find(rev("2-x")) != -1 || tree.Leaf(rev("2-b")) != -1 {
		t.Error("find")
	}
	if got := tree[0].PathTo(rev("2-b")); got.Start != 2 || !slices.Equal(got.IDs, []string{"b", "a"}) {
		t.Errorf("path: %v", got)
	}
	got := fmt.Sprint(tree.PossibleAncestors([]compat.Rev{rev("3-q"), rev("2-q")}))
	if got != "[1-x]" {
		t.Errorf("possible ancestors: %s", got)
	}
	tree.SortByRoots()
	if got := fmt.Sprint(tree[0].Rev, tree[1].Rev, tree[2].Rev); got != "1-x 3-c 3-d" {
		t.Errorf("by roots: %s", got)
	}
}

// genLine makes lines over few hashes, so that they meet. With honest, a hash names one history, as real revisions do.
func genLine(honest bool) *rapid.Generator[Leaf] {
	return rapid.Custom(func(t *rapid.T) Leaf {
		depth := rapid.IntRange(1, 8).Draw(t, "depth")
		kept := rapid.IntRange(1, depth).Draw(t, "kept")
		hashes := make([]string, depth) // root first
		prefix := ""
		for i := range hashes {
			c := rapid.SampledFrom([]string{"a", "a", "a", "b", "c"}).Draw(t, "hash")
			prefix += c
			hashes[i] = c
			if honest {
				hashes[i] = prefix
			}
		}
		slices.Reverse(hashes)
		return Leaf{Rev: compat.Rev{Pos: int64(depth), Hash: hashes[0]}, Ancestors: hashes[1:kept]}
	})
}

// The tree of lines has the same leaves and lines as the forest of nodes, whatever is merged in.
func TestMergeAgainstForest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 9).Draw(t, "limit")
		var tree Tree
		var model forest
		for _, l := range rapid.SliceOfN(genLine(true), 1, 12).Draw(t, "lines") {
			var res Result
			var want string
			tree, res = Merge(tree, Leaf{Rev: l.Rev, Ancestors: slices.Clone(l.Ancestors)})
			model, want = model.merge(chain(&l))
			if got := [...]string{"known", "leaf", "branch"}[res.Outcome]; got != want {
				t.Fatalf("%s: outcome %s, want %s", lineString(&l), got, want)
			}
			tree = Stem(tree, limit)
			model = model.stem(limit)
			if got, want := treeString(tree), treeString(model.leaves()); got != want {
				t.Fatalf("after %s: %s, want %s", lineString(&l), got, want)
			}
		}
		slices.SortStableFunc(tree, func(a, b Leaf) int { return strings.Compare(a.Rev.Hash, b.Rev.Hash) })
		tree.SortByRoots()
		var want []Leaf
		for i := len(model) - 1; i >= 0; i-- {
			want = append(want, model[i:i+1].leaves()...)
		}
		for i := range want {
			if tree[i].Rev != want[i].Rev {
				t.Fatalf("order of leaves: %v, want %v", tree, want)
			}
		}
	})
}

// Histories that contradict each other keep the package's invariants.
func TestMergeKeepsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree Tree
		for _, l := range rapid.SliceOfN(genLine(false), 1, 12).Draw(t, "lines") {
			tree, _ = Merge(tree, l)
			tree = Stem(tree, 5)
			for i := range tree {
				for j := range tree {
					a, b := &tree[i], &tree[j]
					if i != j && (a.Rev == b.Rev || compareRoots(a, b) == 0 && sharedDepth(a, b) == a.Rev.Pos) {
						t.Fatalf("%s and %s in one tree", lineString(a), lineString(b))
					}
				}
			}
		}
	})
}

func BenchmarkMergeEdit(b *testing.B) {
	ancestors := make([]string, 999)
	for i := range ancestors {
		ancestors[i] = fmt.Sprintf("%016d", i)
	}
	parent := Leaf{Rev: compat.Rev{Pos: 1000, Hash: "parent"}, Ancestors: ancestors}
	edit := Leaf{Rev: compat.Rev{Pos: 1001, Hash: "new"}, Ancestors: []string{"parent"}}
	b.ReportAllocs()
	for b.Loop() {
		tree, _ := Merge(Tree{parent}, edit)
		Stem(tree, 1000)
	}
}
