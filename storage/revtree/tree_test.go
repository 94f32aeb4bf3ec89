package revtree

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv/kvtest"
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
		l.Ancestors = NewLine(l.Rev.Pos-1, strings.Split(rest, ","))
	}
	return l
}

func lineString(l *Leaf) string {
	s := l.Rev.String()
	for _, a := range l.Ancestors.All() {
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

// TestTrees keeps a tree from command to command: testdata/trees. `go test ./storage/revtree -run
// TestTrees -rewrite` writes down what is there now.
//
//	tree             begins with the lines of the input
//	merge            merges the line of the input, and says what it was
//	stem limit=…
//	reread limit=…   the lines from the left to the right; the tree stays
//	ancestors        possible ancestors of the revisions of the input
//
// A line is `3-c,b,a`, a tombstone ends in `!`. The lines of a tree are printed in the order in
// which they win.
func TestTrees(t *testing.T) {
	var tree Tree
	datadriven.RunTest(t, "testdata/trees", func(t *testing.T, d *datadriven.TestData) string {
		result := ""
		switch d.Cmd {
		case "tree":
			tree = nil
			for _, s := range strings.Fields(d.Input) {
				tree = append(tree, line(s))
			}
		case "merge":
			var res Result
			tree, res = Merge(tree, line(d.Input))
			result = [...]string{Known: "known", NewLeaf: "leaf", NewBranch: "branch"}[res.Outcome] + "\n"
		case "stem":
			var limit int64
			d.ScanArgs(t, "limit", &limit)
			tree = Stem(tree, limit)
		case "reread":
			var limit int64
			d.ScanArgs(t, "limit", &limit)
			read := slices.Clone(tree).Reread(limit)
			read.SortByRoots()
			for i := range read {
				result += lineString(&read[i]) + "\n"
			}
			return result
		case "ancestors":
			var revs []compat.Rev
			for _, s := range strings.Fields(d.Input) {
				revs = append(revs, line(s).Rev)
			}
			return fmt.Sprintln(tree.PossibleAncestors(revs))
		default:
			d.Fatalf(t, "unknown command")
		}
		sorted := slices.Clone(tree)
		sorted.Sort()
		if len(tree) > 0 && tree[tree.Winner()].Rev != sorted[0].Rev {
			t.Errorf("winner %v, first %v", tree[tree.Winner()].Rev, sorted[0].Rev)
		}
		for i := range sorted {
			result += lineString(&sorted[i])
			if sorted[i].Deleted {
				result += "!"
			}
			result += "\n"
		}
		return result
	})
}

func TestLookups(t *testing.T) {
	tree := Tree{line("3-c,b,a"), line("3-d,b,a!"), line("1-x")}
	rev := func(s string) compat.Rev { return line(s).Rev }
	if tree.Deleted() || !tree[1:2].Deleted() || (Tree{}).Deleted() {
		t.Error("Deleted")
	}
	if tree.Find(rev("3-d")) != 1 || tree.Find(rev("2-x")) != -1 || tree.Leaf(rev("2-b")) != -1 {
		t.Error("find")
	}
	if got := tree[0].PathTo(rev("2-b")); got.Start != 2 || !slices.Equal(got.IDs, []string{"b", "a"}) {
		t.Errorf("path: %v", got)
	}
	tree.SortByRoots()
	if got := fmt.Sprint(tree[0].Rev, tree[1].Rev, tree[2].Rev); got != "1-x 3-c 3-d" {
		t.Errorf("by roots: %s", got)
	}
}

// genLine makes lines over few hashes, so that they meet. With honest, a hash names one history, as
// real revisions do.
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
		return Leaf{
			Rev:       compat.Rev{Pos: int64(depth), Hash: hashes[0]},
			Ancestors: NewLine(int64(depth)-1, hashes[1:kept]),
		}
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
			tree, res = Merge(tree, Leaf{Rev: l.Rev, Ancestors: l.Ancestors})
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
	parent := Leaf{Rev: compat.Rev{Pos: 1000, Hash: "parent"}, Ancestors: NewLine(999, ancestors)}
	edit := Leaf{Rev: compat.Rev{Pos: 1001, Hash: "new"}, Ancestors: NewLine(1000, []string{"parent"})}
	b.ReportAllocs()
	for b.Loop() {
		tree, _ := Merge(Tree{parent}, edit)
		Stem(tree, 1000)
	}
}

// Lines are merged and looked for without sorting, or walking, a large tree for each one: else
// these took minutes.
func TestLargeTrees(t *testing.T) {
	kvtest.Long(t)
	const n = 100_000
	var tree Tree
	var revs []compat.Rev
	for i := range n {
		l := Leaf{
			Rev:       compat.Rev{Pos: 2, Hash: fmt.Sprintf("%032x", i*7919%n)},
			Ancestors: NewLine(1, []string{fmt.Sprintf("%08x", uint32(i)*2654435761)}),
		}
		tree, revs = append(tree, l), append(revs, l.Rev)
	}
	begin := time.Now()
	unknown, ancestor := compat.Rev{Pos: 1, Hash: "x"}, compat.Rev{Pos: 1, Hash: tree[7].Ancestors.At(0)}
	if missing := tree.Missing(append(revs, unknown, ancestor)); len(missing) != 1 {
		t.Errorf("missing: %v", missing)
	}
	var res Result
	for i := range 100 {
		tree, res = Merge(
			tree,
			Leaf{
				Rev:       compat.Rev{Pos: 3, Hash: "x"},
				Ancestors: NewLine(2, []string{tree[i].Rev.Hash, tree[i].Ancestors.At(0)}),
			},
		)
		if res.Outcome != NewLeaf {
			t.Fatal(res)
		}
	}
	if len(tree) != n || time.Since(begin) > time.Minute {
		t.Errorf("%d leaves, %v", len(tree), time.Since(begin))
	}
}
