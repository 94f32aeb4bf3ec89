package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/revtree"
	"github.com/settee-db/settee/storage/verify"
)

// model is a database as plain maps: trees and the body of every revision that was ever accepted
// and not purged.
type model struct {
	limit   int64
	trees   map[string]revtree.Tree
	bodies  map[string]map[compat.Rev]string
	updates uint64
}

func (m *model) keep(id string, rev compat.Rev, body string) {
	if m.bodies[id] == nil {
		m.bodies[id] = map[compat.Rev]string{}
	}
	if _, known := m.bodies[id][rev]; !known {
		m.bodies[id][rev] = body
	}
}

// prune forgets bodies of revisions that are on no line any more.
func (m *model) prune(id string) {
	for rev := range m.bodies[id] {
		if m.trees[id].Find(rev) < 0 {
			delete(m.bodies[id], rev)
		}
	}
}

func lines(t revtree.Tree) string {
	t = slices.Clone(t)
	t.Sort()
	var b strings.Builder
	for i := range t {
		fmt.Fprintf(&b, "%v %v %x; ", t[i].Rev, t[i].Deleted, t[i].Ancestors.AppendTo(nil, 0))
	}
	return b.String()
}

// replicated merges a line and reports whether that changed anything.
func (m *model) replicated(id string, p compat.RevPath, deleted bool, body string) {
	before := lines(m.trees[id])
	known := len(m.bodies[id])
	rev := p.Rev()
	wasLeaf := m.trees[id].Leaf(rev) >= 0
	tree, _ := revtree.Merge(slices.Clone(m.trees[id]), revtree.FromPath(p, deleted, 0))
	tree = revtree.Stem(tree, m.limit)
	for i := range tree { // the flag of a revision stays
		if n := m.trees[id].Leaf(tree[i].Rev); n >= 0 {
			tree[i].Deleted = m.trees[id][n].Deleted
		}
	}
	m.trees[id] = tree
	if !wasLeaf && m.trees[id].Find(rev) >= 0 {
		m.keep(id, rev, body)
	}
	m.prune(id)
	if lines(m.trees[id]) != before || len(m.bodies[id]) != known {
		m.updates++
	}
}

// edited is an interactive edit; the store says which revision it made.
func (m *model) edited(id string, parent compat.Rev, deleted bool, body string, got EditResult, t *rapid.T) {
	tree := m.trees[id]
	allowed := false
	var ancestors []string
	switch {
	case len(tree) == 0:
		allowed = parent.IsZero() || m.updates > 0
	case tree.Deleted():
		allowed = parent.IsZero() && !deleted
		tombstone := tree[tree.Winner()].Rev
		ancestors = []string{tombstone.Hash}
	default:
		allowed = tree.Leaf(parent) >= 0
	}
	if !parent.IsZero() {
		ancestors = []string{parent.Hash}
	}
	if allowed != (got.Err == nil) {
		t.Fatalf("edit of %s on %v: %v, allowed %v; tree %s", id, parent, got.Err, allowed, lines(tree))
	}
	if !allowed {
		m.trees[id] = revtree.Stem(slices.Clone(tree), m.limit)
		if m.prune(id); lines(m.trees[id]) != lines(tree) {
			m.updates++
		}
		return
	}
	leaf := revtree.Leaf{Rev: got.Rev, Deleted: deleted, Ancestors: revtree.NewLine(got.Rev.Pos-1, ancestors)}
	tree, _ = revtree.Merge(slices.Clone(tree), leaf)
	m.trees[id] = revtree.Stem(tree, m.limit)
	m.keep(id, got.Rev, body)
	m.prune(id)
	m.updates++
}

func (m *model) purged(id string, revs []compat.Rev) {
	tree := slices.Clone(m.trees[id])
	before := len(tree)
	for _, rev := range revs {
		if n := tree.Leaf(rev); n >= 0 {
			tree = slices.Delete(tree, n, n+1)
		}
	}
	m.updates++
	if len(tree) == before {
		return
	}
	if len(tree) > 0 {
		m.updates += uint64(len(tree)) - 1
	}
	m.trees[id] = tree
	m.prune(id)
}

// compare reads everything back.
func (m *model) compare(t *rapid.T, db *DB) {
	ctx := t.Context()
	var live, dead int64
	for id, tree := range m.trees {
		if len(tree) == 0 {
			continue
		}
		tree = slices.Clone(tree)
		tree.Sort()
		if dead++; !tree[0].Deleted {
			live, dead = live+1, dead-1
		}
		doc, err := db.Open(
			ctx,
			id,
			docread.OpenOptions{Deleted: true, Conflicts: true, DeletedConflicts: true, RevsInfo: true},
		)
		must(t, err)
		want(t, "winner of "+id, doc.Rev, tree[0].Rev)
		want(t, "leaves of "+id, len(doc.Conflicts)+len(doc.DeletedConflicts)+1, len(tree))
		for i, rev := range slices.Concat([]compat.Rev{doc.Rev}, doc.Conflicts, doc.DeletedConflicts) {
			want(t, "leaf of "+id, rev, tree[i].Rev)
		}
		for _, info := range doc.RevsInfo {
			_, known := m.bodies[id][info.Rev]
			want(t, "status of "+info.Rev.String(), info.Status != docread.RevMissing, known)
		}
		for rev, body := range m.bodies[id] {
			doc, err := db.Open(ctx, id, docread.OpenOptions{Rev: rev})
			must(t, err)
			want(t, id+" "+rev.String(), string(doc.Body), body)
		}
	}
	info, err := db.Info(ctx)
	must(t, err)
	want(
		t,
		"counts",
		[]any{info.DocCount, info.DocDelCount, info.UpdateSeq.N},
		fmt.Sprint([]any{live, dead, m.updates}),
	)
	violations, err := verify.Check(ctx, db.store.kv, func(done, total int64) {})
	must(t, err)
	for _, v := range violations {
		t.Errorf("%s", v)
	}
}

// Random edits, replicated lines, purges and limits leave the database as the model says, on a
// store that fails at random. Some bodies are apart from their documents, and with limits uploaded
// before them.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		faults := faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.05, UnknownCommitted: 0.05}
		limits := kv.Limits{TransactionSize: rapid.SampledFrom([]int{0, 640_000}).Draw(rt, "limit")}
		store := wrapkv.WithLimits(
			faultkv.New(memkv.New(), faultkv.Random(rapid.Uint64().Draw(rt, "seed"), faults)),
			limits,
			time.Now,
		)
		s, err := Open(rt.Context(), Options{KV: store, Manual: true})
		must(rt, err)
		defer store.Close()
		defer s.Close()
		must(rt, s.Create(rt.Context(), "db", CreateOptions{}))
		m := &model{
			limit:  keyspace.DefaultRevsLimit,
			trees:  map[string]revtree.Tree{},
			bodies: map[string]map[compat.Rev]string{},
		}
		runModel(rt, s.DB("db"), m)
		m.compare(rt, s.DB("db"))
	})
}

func runModel(t *rapid.T, db *DB, m *model) {
	ctx := t.Context()
	anyRev := func(id string) compat.Rev {
		var revs []compat.Rev
		for _, l := range m.trees[id] {
			revs = append(
				revs,
				l.Rev,
				compat.Rev{Pos: l.Rev.Pos - 1, Hash: strings.Join(l.Ancestors.First(1).AppendTo(nil, 0), "")},
			)
		}
		revs = append(revs, compat.Rev{}, compat.Rev{Pos: 1, Hash: "q"})
		return rapid.SampledFrom(revs).Draw(t, "rev")
	}
	for n := range rapid.IntRange(1, 25).Draw(t, "steps") {
		id := rapid.SampledFrom([]string{"a", "b", "c\x00"}).Draw(t, "id")
		isDeleted := rapid.IntRange(0, 3).Draw(t, "deleted") == 0
		body := fmt.Sprintf(`{"n":%d}`, n)
		if rapid.IntRange(0, 4).Draw(t, "large") == 0 {
			body = fmt.Sprintf(`{"n":%d,"s":%q}`, n, strings.Repeat("s", formats.MaxInline))
		}
		switch rapid.IntRange(0, 9).Draw(t, "op") {
		case 0, 1, 2, 3:
			d := doc(t, id, "", body)
			d.Deleted = isDeleted
			rev := anyRev(id)
			if !rev.IsZero() {
				d.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
			}
			results, err := db.Update(ctx, []*compat.Document{d}, UpdateOptions{})
			must(t, err)
			m.edited(id, rev, isDeleted, body, results[0], t)
		case 4, 5, 6, 7:
			depth := rapid.IntRange(1, 6).Draw(t, "depth")
			history := rapid.StringOfN(rapid.SampledFrom([]rune("aaab")), depth, depth, -1).Draw(t, "history")
			p := compat.RevPath{Start: int64(depth)}
			for i := depth; i > rapid.IntRange(0, depth-1).Draw(t, "stemmed"); i-- {
				p.IDs = append(p.IDs, history[:i])
			}
			d := doc(t, id, "", body)
			d.Deleted, d.Revs = isDeleted, p
			_, err := db.Update(ctx, []*compat.Document{d}, UpdateOptions{Replicated: true})
			must(t, err)
			m.replicated(id, p, isDeleted, body)
		case 8:
			revs := []compat.Rev{anyRev(id), anyRev(id)}
			_, err := db.Purge(ctx, []IDRevs{{id, revs}})
			must(t, err)
			m.purged(id, revs)
		case 9:
			m.limit = rapid.Int64Range(1, 6).Draw(t, "limit")
			must(t, db.Settings().SetRevsLimit(ctx, m.limit))
		}
	}
}
