package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/revtree"
)

// lineOf reads a line of revisions, the newest first: "3-c 2-b 1-a".
func lineOf(text string) (line compat.RevPath) {
	for i, word := range strings.Fields(text) {
		depth, hash, _ := strings.Cut(word, "-")
		if i == 0 {
			line.Start, _ = strconv.ParseInt(depth, 10, 64)
		}
		line.IDs = append(line.IDs, hash)
	}
	return line
}

// listOf reads a list as a document has it.
func listOf(t require.TestingT, text string) []string {
	body := `{"_access":["` + strings.Join(strings.Fields(text), `","`) + `"]}`
	if text == "" {
		body = `{"_access":[]}`
	}
	list, given, err := Parse([]byte(body))
	require.NoError(t, err)
	require.True(t, given)
	return list
}

// treeOf reads leaves, "3-c 2-b 1-a: ann role:sales", with a cross before those that are deleted.
func treeOf(t require.TestingT, leaves ...string) *Tree {
	tree := &Tree{}
	for _, text := range leaves {
		line, list, _ := strings.Cut(text, ":")
		line, deleted := strings.CutPrefix(line, "x")
		tree.Leaves = append(tree.Leaves, revtree.FromPath(lineOf(line), deleted, 0))
		tree.Lists = append(tree.Lists, listOf(t, list))
	}
	return tree
}

// An edit in the cases: "none" replaces nothing, "2-b" that revision; "< 3-c 2-b" is a replicated
// line. After a colon is its list, a cross makes it a tombstone, which without a colon has none.
func editOf(t require.TestingT, text string) *Edit {
	e := &Edit{}
	text, e.Deleted = strings.CutPrefix(text, "x")
	text, e.Replicated = strings.CutPrefix(text, "<")
	line, list, given := strings.Cut(text, ":")
	if e.Given = given; given {
		e.List = listOf(t, list)
	}
	if line = strings.TrimSpace(line); line != "none" {
		e.Revs = lineOf(line)
	}
	return e
}

func TestCheck(t *testing.T) {
	ann := Of("ann", []string{"sales"})
	const refused, conflict = "forbidden: access", "conflict: Document update conflict."
	own, others := []string{"1-a: ann"}, []string{"1-a: bob"}
	for name, c := range map[string]struct {
		stored    []string
		edit      string
		self, any string
	}{
		"new for oneself":                      {nil, "none: ann", "", ""},
		"new for one's role":                   {nil, "none: role:sales", "", ""},
		"new for everybody":                    {nil, "none: _users", "", ""},
		"new for another too":                  {nil, "none: ann bob", refused, ""},
		"new for another":                      {nil, "none: bob", refused, refused},
		"new for a role of others":             {nil, "none: role:it", refused, refused},
		"a user is no role":                    {nil, "none: sales", refused, refused},
		"new for nobody":                       {nil, "none:", refused, refused},
		"new without a list":                   {nil, "none", refused, refused},
		"new below an unknown revision":        {nil, "1-a: ann", "", ""},
		"new line":                             {nil, "< 2-b 1-a: ann", "", ""},
		"new line for another":                 {nil, "< 2-b 1-a: bob", refused, refused},
		"new tombstone":                        {nil, "x< 2-b 1-a", refused, refused},
		"edit":                                 {own, "1-a: ann", "", ""},
		"edit in another order":                {[]string{"1-a: bob ann"}, "1-a: ann bob", "", ""},
		"share":                                {own, "1-a: ann bob", refused, ""},
		"unshare":                              {[]string{"1-a: bob ann"}, "1-a: ann", refused, ""},
		"give away":                            {own, "1-a: bob", refused, refused},
		"take the list away":                   {own, "1-a", refused, refused},
		"edit what one does not see":           {others, "1-a: bob", refused, refused},
		"take over what one does not see":      {others, "1-a: ann", refused, refused},
		"a taken id":                           {others, "none: ann", refused, refused},
		"an id of administrators":              {[]string{"1-a:"}, "none: ann", refused, refused},
		"a taken id, seen":                     {own, "none: ann", conflict, conflict},
		"an old revision":                      {[]string{"2-b 1-a: ann"}, "1-a: ann", conflict, conflict},
		"an old revision, unseen":              {[]string{"2-b 1-a: bob"}, "1-a: ann", refused, refused},
		"delete":                               {own, "x 1-a", "", ""},
		"delete with the list":                 {own, "x 1-a: ann", "", ""},
		"delete for another":                   {own, "x 1-a: ann bob", refused, ""},
		"delete what one does not see":         {others, "x 1-a", refused, refused},
		"make again":                           {[]string{"x2-b 1-a: ann"}, "none: ann", "", ""},
		"make again with 0-0":                  {[]string{"x2-b 1-a: ann"}, "0-0: ann", "", ""},
		"make again with another list":         {[]string{"x2-b 1-a: ann"}, "none: ann bob", refused, ""},
		"make again what one never saw":        {[]string{"x2-b 1-a: bob"}, "none: ann", refused, refused},
		"make again beside another's":          {[]string{"x2-b 1-a: ann", "2-c 1-a: bob"}, "none: ann", "", ""},
		"the other's leaf of two":              {[]string{"2-b 1-a: ann", "2-c 1-a: bob"}, "2-c: ann", refused, refused},
		"one's leaf of two":                    {[]string{"2-b 1-a: ann", "2-c 1-a: bob"}, "2-b: ann", "", ""},
		"a line on":                            {own, "< 3-c 2-b 1-a: ann", "", ""},
		"a line on with another list":          {own, "< 2-b 1-a: ann bob", refused, ""},
		"a line on from what one does not see": {others, "< 2-b 1-a: ann", refused, refused},
		"a line on from the other's leaf": {[]string{"2-b 1-a: ann", "2-c 1-a: bob"}, "< 3-d 2-c 1-a: ann",
			refused, refused},
		"a tombstone on the other's leaf": {[]string{"2-b 1-a: ann", "2-c 1-a: bob"}, "x< 3-d 2-c 1-a", refused, refused},
		"a branch":                        {[]string{"2-b 1-a: ann"}, "< 2-d 1-a: ann", "", ""},
		"a branch beside another's":       {[]string{"2-b 1-a: bob"}, "< 2-d 1-a: ann", refused, refused},
		"a branch beside both":            {[]string{"2-b 1-a: ann", "2-c 1-a: bob"}, "< 2-d 1-a: ann", "", ""},
		"a branch with the other's list":  {[]string{"2-b 1-a: ann", "2-c 1-a: bob"}, "< 2-d 1-a: bob", refused, refused},
		"another root":                    {own, "< 1-z: ann", "", ""},
		"another root for more":           {own, "< 1-z: ann bob", refused, ""},
		"another root beside another's":   {others, "< 1-z: ann", refused, refused},
		"a tombstone of another root":     {own, "x< 2-y 1-z", refused, refused},
		"a tombstone on a branch":         {[]string{"2-b 1-a: ann"}, "x< 2-d 1-a", "", ""},
		"a role's document":               {[]string{"1-a: role:sales bob"}, "1-a: bob role:sales", "", ""},
	} {
		for share, want := range map[Share]string{ShareSelf: c.self, ShareAny: c.any} {
			err := Check(ann, share, editOf(t, c.edit), treeOf(t, c.stored...))
			got := ""
			if e, ok := compat.AsError(err); ok {
				got = e.Word() + ": " + e.Reason
			}
			require.Equal(t, want, got, "%s, share %d", name, share)
		}
		require.NoError(t, Check(Everybody, ShareSelf, editOf(t, c.edit), treeOf(t, c.stored...)), name)
		require.Error(t, Check(Nobody, ShareAny, editOf(t, c.edit), treeOf(t, c.stored...)), name)
	}
}

func TestEffective(t *testing.T) {
	for name, c := range map[string]struct {
		stored     []string
		edit, want string
	}{
		"of the body":            {[]string{"1-a: ann"}, "1-a: bob", "bob"},
		"none":                   {[]string{"1-a: ann"}, "1-a", ""},
		"of a tombstone":         {[]string{"1-a: ann"}, "x 1-a", "ann"},
		"of a tombstone's body":  {[]string{"1-a: ann"}, "x 1-a: bob", "bob"},
		"of an emptied one":      {[]string{"1-a: ann"}, "x 1-a:", ""},
		"of the leaf replaced":   {[]string{"2-b 1-a: ann", "2-c 1-a: bob"}, "x 2-c", "bob"},
		"of a line":              {[]string{"2-b 1-a: ann", "2-c 1-a: bob"}, "x< 4-e 3-d 2-c 1-a", "bob"},
		"of all below":           {[]string{"2-b 1-a: ann", "2-c 1-a: bob", "1-z: eve"}, "x< 3-e 2-d 1-a", "ann bob"},
		"of nothing shared":      {[]string{"2-b 1-a: ann"}, "x< 2-y 1-z", ""},
		"of a new tombstone":     {nil, "x< 2-y 1-z", ""},
		"of the newest revision": {[]string{"3-c 2-b 1-a: ann", "2-d 1-a: bob"}, "x< 3-e 2-b 1-a", "ann"},
	} {
		got := treeOf(t, c.stored...).Effective(Everybody, editOf(t, c.edit))
		require.ElementsMatch(t, listOf(t, c.want), got, name)
	}
}

// TestCheckKeepsWhatOneDoesNotSee: whatever a user sends, no leaf that the user does not see is
// replaced, and the user sees what the edit makes; of a document with no leaf for the user nothing
// is written.
func TestCheckKeepsWhatOneDoesNotSee(t *testing.T) {
	names := []string{"ann", "bob", "role:sales", "role:it", "_users"}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(names), 0, 3)
		tree := &Tree{}
		for range rapid.IntRange(0, 4).Draw(t, "leaves") {
			leaf := revtree.FromPath(randomLine(t), rapid.Bool().Draw(t, "deleted"), 0)
			merged, result := revtree.Merge(slices.Clone(tree.Leaves), leaf)
			if result.Outcome != revtree.NewLeaf && len(merged) <= len(tree.Leaves) {
				continue
			}
			lists := make([][]string, len(merged))
			for i := range merged {
				if old := tree.Leaves.Leaf(merged[i].Rev); old >= 0 {
					lists[i] = tree.Lists[old]
				} else {
					lists[i] = listOf(t, strings.Join(list.Draw(t, "list"), " "))
				}
			}
			tree = &Tree{merged, lists}
		}
		e := &Edit{Replicated: rapid.Bool().Draw(t, "replicated"), Deleted: rapid.Bool().Draw(t, "tombstone")}
		if e.Revs = randomLine(t); !e.Replicated {
			e.Revs.IDs = e.Revs.IDs[:rapid.IntRange(0, 1).Draw(t, "parent")]
		}
		if e.Given = rapid.Bool().Draw(t, "given"); e.Given {
			e.List = listOf(t, strings.Join(list.Draw(t, "its list"), " "))
		}
		who := Of("ann", []string{"sales"})
		if Check(who, Share(rapid.IntRange(0, 1).Draw(t, "share")), e, tree) != nil {
			return
		}
		require.True(t, who.Sees(tree.Effective(who, e)), "made what the user does not see: %+v", e)
		if len(tree.Leaves) > 0 {
			require.True(t, slices.ContainsFunc(tree.Lists, who.Sees), "wrote beside others")
		}
		for _, i := range tree.replaced(who, e) {
			l := &tree.Leaves[i]
			if replaces := e.Revs.Rev() == l.Rev || slices.ContainsFunc(revsOf(e.Revs), func(r compat.Rev) bool {
				return r == l.Rev
			}); replaces {
				require.True(t, who.Sees(tree.Lists[i]), "replaced %s", fmt.Sprint(l.Rev))
			}
		}
	})
}

// randomLine is a line of few hashes, so that lines often share revisions.
func randomLine(t *rapid.T) compat.RevPath {
	n := rapid.IntRange(1, 4).Draw(t, "depth")
	line := compat.RevPath{Start: int64(n)}
	hash := ""
	for range n { // a revision's hash has those before it, as in a tree
		hash += rapid.SampledFrom([]string{"a", "b"}).Draw(t, "hash")
		line.IDs = append(line.IDs, hash)
	}
	slices.Reverse(line.IDs)
	return line
}

func revsOf(line compat.RevPath) (revs []compat.Rev) {
	for n, hash := range line.IDs {
		revs = append(revs, compat.Rev{Pos: line.Start - int64(n), Hash: hash})
	}
	return revs
}
