package revtree_test

import (
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/revtree"
)

// Two replicas have edited the same revision. The tree has two leaves then: a conflict, of which both
// choose the same winner.
func Example() {
	var tree revtree.Tree
	for _, path := range []compat.RevPath{
		{Start: 1, IDs: []string{"a"}},
		{Start: 2, IDs: []string{"b", "a"}},
		{Start: 2, IDs: []string{"c", "a"}},
	} {
		var result revtree.Result
		tree, result = revtree.Merge(tree, revtree.FromPath(path, false, 0))
		what := "is the newest"
		if result.Outcome == revtree.NewBranch {
			what = "is a conflict"
		}
		fmt.Println(path.Rev(), what)
	}
	fmt.Println(len(tree), "leaves, the winner is", tree[tree.Winner()].Rev)
	// Output:
	// 1-a is the newest
	// 2-b is the newest
	// 2-c is a conflict
	// 2 leaves, the winner is 2-c
}
