package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/listeners"
	"github.com/settee-db/settee/storage/verify"
)

// storedLeaf is a leaf as an administrator reads it.
type storedLeaf struct {
	path    compat.RevPath
	line    compat.RevPath // as it is stored, which a lower limit cuts only at the next write
	deleted bool
	body    string
}

func (l *storedLeaf) rev() compat.Rev { return l.path.Rev() }

func (l *storedLeaf) has(rev compat.Rev) bool {
	i := l.line.Start - rev.Pos
	return i >= 0 && i < int64(len(l.line.IDs)) && l.line.IDs[i] == rev.Hash
}

// goneFor is what a principal's feed tells of a document that it does not see any more.
type goneFor struct {
	seq  Seq
	revs []compat.Rev
}

// sliceModel knows, from the outside, who may read each leaf, and compares what each set of
// principals is shown with a plain database that has just those leaves.
type sliceModel struct {
	t     *rapid.T
	db    *DB
	ids   []string
	lists map[string]map[compat.Rev][]string
	gone  map[string]map[string]goneFor // principal, id
	who   []access.Principals

	replicas []*sliceReplica
}

func (m *sliceModel) leaves(id string) (leaves []storedLeaf) {
	o := docread.OpenRevsOptions{All: true, Open: docread.OpenOptions{Revs: true}}
	err := m.db.OpenRevs(m.t.Context(), id, o, func(revs []docread.RevResult) error {
		for _, r := range revs {
			leaves = append(leaves, storedLeaf{path: r.Doc.Revs, deleted: r.Doc.Deleted, body: string(r.Doc.Body)})
		}
		return nil
	})
	if err != compat.ErrMissing {
		must(m.t, err)
	}
	must(m.t, m.db.view(m.t.Context(), func(d *dbRead) error {
		stored, err := d.Leaves(id)
		for i := range leaves {
			for j := range stored {
				if stored[j].Rev == leaves[i].rev() {
					leaves[i].line = stored[j].PathTo(stored[j].Rev)
				}
			}
		}
		return err
	}))
	return leaves
}

// listFor is who a new leaf is for, from the leaves before it; line is what the edit said of those
// that it replaces, of which the store may keep less.
func (m *sliceModel) listFor(
	id string, l *storedLeaf, line compat.RevPath, before []storedLeaf,
) []string {
	list, given, err := access.Parse([]byte(l.body))
	must(m.t, err)
	if given || !l.deleted {
		return list
	}
	for i, hash := range line.IDs {
		rev := compat.Rev{Pos: line.Start - int64(i), Hash: hash}
		var below []string
		for j := range before {
			if before[j].rev() == rev {
				return m.lists[id][rev]
			}
			if before[j].has(rev) {
				below = append(below, m.lists[id][before[j].rev()]...)
			}
		}
		if below != nil {
			slices.Sort(below)
			return slices.Compact(below)
		}
	}
	return nil
}

// sees are the leaves of a document that name one of some principals, the winner first.
func (m *sliceModel) sees(who access.Principals, id string, leaves []storedLeaf) []storedLeaf {
	return seenBy(m.lists[id], who, leaves)
}

func seenBy(lists map[compat.Rev][]string, who access.Principals, leaves []storedLeaf) (seen []storedLeaf) {
	for _, l := range leaves {
		if who.Sees(lists[l.rev()]) {
			seen = append(seen, l)
		}
	}
	slices.SortFunc(seen, func(a, b storedLeaf) int {
		if a.deleted != b.deleted {
			if a.deleted {
				return 1
			}
			return -1
		}
		return b.rev().Compare(a.rev())
	})
	return seen
}

// seq is where the feed of all has a document, zero if it has it not.
func (m *sliceModel) seq(id string) (seq Seq) {
	_, err := m.db.Feed().ByID(m.t.Context(), []string{id}, ChangesOptions{Limit: -1}, func(c *Change) error {
		seq = c.Seq.Seq
		return nil
	})
	must(m.t, err)
	return seq
}

// step makes a change of some documents and takes over what it made; lines are what edits replace.
func (m *sliceModel) step(purge bool, lines map[string]compat.RevPath, change func()) {
	before := map[string][]storedLeaf{}
	for _, id := range m.ids {
		before[id] = m.leaves(id)
	}
	change()
	for _, id := range m.ids {
		now := m.leaves(id)
		named := map[string]bool{} // principals before and after
		for _, l := range before[id] {
			for _, p := range m.lists[id][l.rev()] {
				named[p] = true
			}
		}
		lists := map[compat.Rev][]string{}
		for i := range now {
			rev := now[i].rev()
			if old, known := m.lists[id][rev]; known {
				lists[rev] = old
			} else {
				lists[rev] = m.listFor(id, &now[i], lines[id], before[id])
			}
			for _, p := range lists[rev] {
				named[p] = true
			}
		}
		old := m.lists[id]
		for p := range named {
			one := func(lists map[compat.Rev][]string, leaves []storedLeaf) (seen []compat.Rev) {
				for _, l := range leaves {
					if slices.Contains(lists[l.rev()], p) {
						seen = append(seen, l.rev())
					}
				}
				return seen
			}
			seen := one(old, before[id])
			switch {
			case one(lists, now) != nil:
				delete(m.gone[p], id)
			case seen != nil && !purge:
				if m.gone[p] == nil {
					m.gone[p] = map[string]goneFor{}
				}
				m.gone[p][id] = goneFor{m.seq(id), seen}
			}
		}
		if len(now) == 0 {
			for p := range m.gone {
				delete(m.gone[p], id)
			}
		}
		for _, r := range m.replicas {
			r.follow(id, purge, seenBy(old, r.who, before[id]), seenBy(lists, r.who, now))
		}
		m.lists[id] = lists
	}
}

// compare asks for each set of principals what it is shown.
func (m *sliceModel) compare(engine kv.Store) {
	for _, who := range m.who {
		m.compareSlice(who)
	}
	violations, err := verify.Check(m.t.Context(), engine, nil)
	must(m.t, err)
	for _, v := range violations {
		m.t.Errorf("%s", v)
	}
}

func (m *sliceModel) revsLimit() int64 {
	rec, err := m.db.Settings().Record(m.t.Context())
	must(m.t, err)
	return rec.RevsLimit
}

// plain is a database that has only what somebody sees, with lines as long as there.
func (m *sliceModel) plain(who access.Principals) (*DB, func()) {
	engine := memkv.New()
	s, err := Open(m.t.Context(), Options{KV: engine, Manual: true})
	must(m.t, err)
	must(m.t, s.Create(m.t.Context(), "slice", CreateOptions{}))
	must(m.t, s.DB("slice").Settings().SetRevsLimit(m.t.Context(), m.revsLimit()))
	for _, id := range m.ids {
		for _, l := range m.sees(who, id, m.leaves(id)) {
			d := doc(m.t, id, "", l.body)
			d.Deleted, d.Revs = l.deleted, l.path
			_, err := s.DB("slice").Update(m.t.Context(), []*compat.Document{d}, UpdateOptions{Replicated: true})
			must(m.t, err)
		}
	}
	return s.DB("slice"), func() { s.Close(); engine.Close() }
}

func (m *sliceModel) compareSlice(who access.Principals) {
	t, ctx := m.t, m.t.Context()
	name := fmt.Sprint(slices.Collect(who.All()))
	plain, closed := m.plain(who)
	defer closed()
	slice := m.db.As(who)
	for _, descending := range []bool{false, true} {
		for _, docs := range []bool{false, true} {
			o := RangeOptions{Limit: -1, Descending: descending, IncludeDocs: docs, Conflicts: docs}
			want(t, "list of "+name, listed(t, slice, o), listed(t, plain, o))
			o.Limit, o.Skip = 1, 1
			want(t, "page of "+name, listed(t, slice, o), listed(t, plain, o))
		}
	}
	keys := append(slices.Clone(m.ids), "unknown")
	want(t, "keys of "+name, byKeys(t, slice, keys), byKeys(t, plain, keys))
	a, err := slice.Info(ctx)
	must(t, err)
	b, err := plain.Info(ctx)
	must(t, err)
	want(t, "counts of "+name, []int64{a.DocCount, a.DocDelCount}, []int64{b.DocCount, b.DocDelCount})
	for _, id := range keys {
		want(t, id+" as "+name, openedAs(t, slice, id), openedAs(t, plain, id))
		var all []compat.Rev
		for _, l := range m.leaves(id) {
			all = append(all, l.rev())
		}
		want(t, "difference of "+id+" as "+name, diff(t, slice, id, all), diff(t, plain, id, all))
	}
	m.compareFeed(who, slice)
}

// shown is a row of a feed as it is compared.
type shown struct {
	seq Seq
	row string
}

// feed is what the feed of somebody has to have, from all leaves.
func (m *sliceModel) feed(who access.Principals) (rows []shown) {
	for _, id := range m.ids {
		leaves := m.sees(who, id, m.leaves(id))
		if len(leaves) > 0 {
			var revs []compat.Rev
			for i := range leaves {
				revs = append(revs, leaves[i].rev())
			}
			rows = append(rows, shown{m.seq(id), fmt.Sprint(id, leaves[0].deleted, false, revs, leaves[0].body)})
			continue
		}
		for p := range who.All() {
			if g, ok := m.gone[p][id]; ok && strings.HasPrefix(p, access.UserPrefix) {
				rows = append(rows, shown{g.seq, fmt.Sprint(id, true, true, m.tombstones(id, g.revs), "{}")})
			}
		}
	}
	slices.SortFunc(rows, func(a, b shown) int { return a.seq.Compare(b.seq) })
	return rows
}

func (m *sliceModel) compareFeed(who access.Principals, slice *DB) {
	all := m.feed(who)
	read := func(o ChangesOptions) (rows []shown, end ChangesEnd) {
		o.AllLeaves, o.IncludeDocs, o.Revoked = true, true, true
		end, err := slice.Feed().Changes(m.t.Context(), o, func(c *Change) error {
			body := ""
			if c.Doc != nil {
				body = string(c.Doc.Body)
			}
			rows = append(rows, shown{c.Seq.Seq, fmt.Sprint(c.ID, c.Deleted, c.Revoked, c.Revs, body)})
			return nil
		})
		must(m.t, err)
		return rows, end
	}
	name := fmt.Sprint(slices.Collect(who.All()))
	got, _ := read(ChangesOptions{Limit: -1})
	want(m.t, "feed of "+name, got, all)
	got, _ = read(ChangesOptions{Limit: -1, Descending: true})
	slices.Reverse(got)
	want(m.t, "descending feed of "+name, got, all)
	got, _ = read(ChangesOptions{Limit: -1, Unnumbered: true})
	want(m.t, "unnumbered feed of "+name, got, all)
	var paged []shown
	for since := (Seq{}); ; {
		page, end := read(ChangesOptions{Limit: 2, Since: since})
		if len(page) > 2 {
			m.t.Errorf("a page of %d rows", len(page))
		}
		if len(page) == 0 {
			break
		}
		paged, since = append(paged, page...), end.Last.Seq
	}
	want(m.t, "pages of the feed of "+name, paged, all)
}

func listed(t *rapid.T, db *DB, o RangeOptions) (rows []string) {
	err := db.AllDocs(t.Context(), o, func(ListHeader) error { return nil }, func(r *ListRow) error {
		row := fmt.Sprint(r.ID, r.Rev)
		if r.Doc != nil {
			row += fmt.Sprint(string(r.Doc.Body), r.Doc.Conflicts)
		}
		rows = append(rows, row)
		return nil
	})
	must(t, err)
	return rows
}

func byKeys(t *rapid.T, db *DB, ids []string) (rows []string) {
	err := db.DocsByID(t.Context(), slices.Values(ids), RangeOptions{IncludeDocs: true, Conflicts: true},
		func(ListHeader) error { return nil },
		func(r *ListRow) error {
			row := fmt.Sprint(r.ID, r.Found, r.Rev, r.Deleted)
			if r.Doc != nil {
				row += fmt.Sprint(string(r.Doc.Body), r.Doc.Conflicts)
			}
			rows = append(rows, row)
			return nil
		})
	must(t, err)
	return rows
}

// TestSlices: after each step of random histories of a database with access for each document, on a
// store that fails at random, every set of principals is shown what a plain database shows that has
// only the leaves that name one of them, in the order of the feed of all, and is told what has left
// its slice; clients that follow the feed have what is in it (slicereplica_test.go); no edit
// of a user takes away a leaf that the user does not see; and the check finds
// nothing.
func TestSlices(t *testing.T) {
	history := func(rt *rapid.T) {
		faults := faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.05, UnknownCommitted: 0.05}
		engine := wrapkv.WithLimits(
			faultkv.New(memkv.New(), faultkv.Random(rapid.Uint64().Draw(rt, "seed"), faults)),
			kv.Limits{TransactionSize: rapid.SampledFrom([]int{0, 640_000}).Draw(rt, "limit")}, time.Now,
		)
		s, err := Open(rt.Context(), Options{KV: engine, Manual: true})
		must(rt, err)
		defer engine.Close()
		defer s.Close()
		must(rt, s.Create(rt.Context(), "db", CreateOptions{Access: true}))
		if rapid.Bool().Draw(rt, "share any") {
			must(rt, s.DB("db").Settings().SetShare(rt.Context(), access.ShareAny))
		}
		m := &sliceModel{
			t: rt, db: s.DB("db"), ids: []string{"_design/d", "a", "b", "c\x00"},
			lists: map[string]map[compat.Rev][]string{}, gone: map[string]map[string]goneFor{},
			who: []access.Principals{
				access.Of("ann", nil), access.Of("ann", []string{"x"}), access.Of("bob", []string{"x", "y"}),
				access.Nobody,
			},
		}
		defer m.replicate(0, 1)()
		var states []listeners.State
		for n := range rapid.IntRange(8, 20).Draw(rt, "steps") {
			late := m.readFeeds()
			state, err := readStates(m.db)(rt.Context(), nil)
			must(rt, err)
			states = append(states, state)
			m.random(n)
			m.compare(engine)
			for _, since := range states {
				m.compareNamed(since.Value)
			}
			m.catchUp(late)
		}
	}
	rapid.Check(t, history)
	if !testing.Short() {
		for range 4 { // 500 histories
			rapid.Check(t, history)
		}
	}
}

// random makes one step.
func (m *sliceModel) random(n int) {
	t, ctx := m.t, m.t.Context()
	names := []string{`"ann"`, `"bob"`, `"role:x"`, `"role:y"`, `"_users"`}
	edit := func(id string) *compat.Document {
		body := fmt.Sprintf(`{"n":%d}`, n)
		if rapid.IntRange(0, 4).Draw(t, "listed") > 0 {
			list := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID[string]).Draw(t, "list")
			body = fmt.Sprintf(`{"n":%d,"_access":[%s]}`, n, strings.Join(list, ","))
		}
		if rapid.IntRange(0, 5).Draw(t, "large") == 0 {
			body = strings.TrimSuffix(body, "}") + `,"s":"` + strings.Repeat("s", 5000) + `"}`
		}
		d := doc(t, id, "", body)
		d.Deleted = rapid.IntRange(0, 3).Draw(t, "deleted") == 0
		return d
	}
	parent := func(id string) compat.RevPath {
		var revs []compat.RevPath
		for _, l := range m.leaves(id) {
			revs = append(revs, compat.RevPath{Start: l.path.Start, IDs: l.path.IDs[:1]})
		}
		if len(revs) == 0 || rapid.IntRange(0, 4).Draw(t, "without a parent") == 0 {
			revs = []compat.RevPath{{}}
		}
		return rapid.SampledFrom(revs).Draw(t, "parent")
	}
	line := func() compat.RevPath {
		depth := rapid.IntRange(1, 4).Draw(t, "depth")
		history := rapid.StringOfN(rapid.SampledFrom([]rune("aab")), depth, depth, -1).Draw(t, "history")
		p := compat.RevPath{Start: int64(depth)}
		for i := depth; i > 0; i-- {
			p.IDs = append(p.IDs, history[:i])
		}
		return p
	}
	who := access.Everybody
	if rapid.Bool().Draw(t, "a user") {
		who = rapid.SampledFrom(m.who).Draw(t, "who")
	}
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom(m.ids), 1, 2, rapid.ID[string]).Draw(t, "ids")
	hidden := map[string][]compat.Rev{}
	for _, id := range ids {
		for _, l := range m.leaves(id) {
			if !who.Sees(m.lists[id][l.rev()]) {
				hidden[id] = append(hidden[id], l.rev())
			}
		}
	}
	switch op := rapid.IntRange(0, 11).Draw(t, "op"); {
	case op < 8:
		var docs []*compat.Document
		lines := map[string]compat.RevPath{}
		for _, id := range ids {
			d := edit(id)
			d.Revs = parent(id)
			lines[id] = d.Revs
			if op > 4 {
				d.Revs = line()
				lines[id] = compat.RevPath{Start: d.Revs.Start - 1, IDs: d.Revs.IDs[1:]}
			}
			docs = append(docs, d)
		}
		m.step(false, lines, func() {
			_, err := m.db.As(who).Update(ctx, docs, UpdateOptions{Replicated: op > 4})
			must(t, err)
		})
	case op < 11:
		m.step(true, nil, func() {
			var revs []compat.Rev
			for _, l := range m.leaves(ids[0]) {
				revs = append(revs, l.rev())
			}
			if len(revs) > 1 { // what is left is for others, maybe
				from := rapid.IntRange(0, len(revs)-1).Draw(t, "purged")
				revs = revs[from : from+1]
			}
			_, err := m.db.Purge(ctx, []IDRevs{{ids[0], revs}})
			must(t, err)
		})
		return
	default:
		// only less: no line grows again
		limit := rapid.Int64Range(1, min(5, m.revsLimit())).Draw(t, "revs_limit")
		must(t, m.db.Settings().SetRevsLimit(ctx, limit))
		must(t, m.db.Compact(ctx))
	}
	for id, revs := range hidden {
		for _, l := range m.leaves(id) {
			revs = slices.DeleteFunc(revs, func(r compat.Rev) bool { return r == l.rev() })
		}
		want(t, "leaves of others that are gone from "+id, len(revs), 0)
	}
}

// TestSliceLocals: _local documents are their user's own, and nobody without a name has any.
func TestSliceLocals(t *testing.T) {
	s := openStore(t, memkv.New())
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	db := s.DB("db")
	ann, bob := db.As(access.Of("ann", nil)), db.As(access.Of("bob", nil))
	for i, own := range []*DB{db, ann, bob} {
		results, err := own.Update(t.Context(), []*compat.Document{doc(t, "_local/x", "", fmt.Sprintf(`{"n":%d}`, i))},
			UpdateOptions{})
		require.NoError(t, err)
		require.Nil(t, results[0].Err)
	}
	for i, own := range []*DB{db, ann, bob} {
		doc, err := own.Open(t.Context(), "_local/x", docread.OpenOptions{})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(`{"n":%d}`, i), string(doc.Body))
		var ids []string
		require.NoError(t, own.Locals().List(t.Context(), RangeOptions{Limit: -1}, func(r *ListRow) error {
			ids = append(ids, r.ID)
			return nil
		}))
		require.Equal(t, []string{"_local/x"}, ids)
	}
	nobody := db.As(access.Nobody)
	_, err := nobody.Open(t.Context(), "_local/x", docread.OpenOptions{})
	require.ErrorIs(t, err, compat.KindNotFound)
	results, err := nobody.Update(t.Context(), []*compat.Document{doc(t, "_local/x", "", `{}`)}, UpdateOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, compat.KindForbidden)
}

// TestSliceRefusals: what is about all of a database is refused to who sees a slice, and changes
// nothing elsewhere.
func TestSliceRefusals(t *testing.T) {
	s := openStore(t, memkv.New())
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	must(t, s.Create(t.Context(), "plain", CreateOptions{}))
	calls := map[string]func(context.Context, *DB) error{
		"View": func(ctx context.Context, db *DB) error { return db.View(ctx, func(*Snapshot) error { return nil }) },
		"ViewAgain": func(ctx context.Context, db *DB) error {
			return db.ViewAgain(ctx, func(*Snapshot) error { return nil })
		},
		"Transact": func(ctx context.Context, db *DB) error { return db.Transact(ctx, func(*Tx) error { return nil }) },
		"Purge": func(ctx context.Context, db *DB) error {
			_, err := db.Purge(ctx, []IDRevs{{"a", nil}})
			return err
		},
		"Compact":      (func(ctx context.Context, db *DB) error { return db.Compact(ctx) }),
		"StartCompact": func(ctx context.Context, db *DB) error { return db.StartCompact(ctx) },
		"PartitionInfo": func(ctx context.Context, db *DB) error {
			_, err := db.PartitionInfo(ctx, "p")
			return err
		},
		"Times": func(ctx context.Context, db *DB) error {
			_, err := db.Feed().Times(ctx)
			return err
		},
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		for _, who := range []access.Principals{access.Of("ann", nil), access.Nobody} {
			require.ErrorIs(t, calls[name](t.Context(), s.DB("db").As(who)), compat.KindForbidden, name)
			require.NoError(t, calls[name](t.Context(), s.DB("plain").As(who)), name)
		}
		require.NoError(t, calls[name](t.Context(), s.DB("db").As(access.Everybody)), name)
	}
}

// TestInvalidAccess: a document with a list that is none is refused to everybody, and only where
// lists mean something.
func TestInvalidAccess(t *testing.T) {
	s := openStore(t, memkv.New())
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	must(t, s.Create(t.Context(), "plain", CreateOptions{}))
	bad := func() []*compat.Document { return []*compat.Document{doc(t, "a", "", `{"_access":"ann"}`)} }
	results, err := s.DB("db").Update(t.Context(), bad(), UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "invalid_access", results[0].Err.Word())
	results, err = s.DB("plain").Update(t.Context(), bad(), UpdateOptions{})
	require.NoError(t, err)
	require.Nil(t, results[0].Err)
}
