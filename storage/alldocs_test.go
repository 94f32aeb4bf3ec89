package storage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// list gives header and rows of a list as text.
func list(t testing.TB, db *DB, o RangeOptions) string {
	t.Helper()
	var out strings.Builder
	must(t, db.AllDocs(t.Context(), o, func(h ListHeader) error {
		fmt.Fprintf(&out, "%d/%d", h.Offset, h.Total)
		return nil
	}, func(r *ListRow) error {
		out.WriteString(" " + r.ID)
		if r.Doc != nil {
			out.WriteString(string(r.Doc.Body))
			for _, c := range r.Doc.Conflicts {
				out.WriteString("!" + c.String())
			}
		}
		return nil
	}))
	return out.String()
}

func at(id string) Bound     { return Bound{ID: id, Set: true} }
func before(id string) Bound { return Bound{ID: id, Set: true, Exclusive: true} }

func TestAllDocs(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		for _, id := range []string{"a", "b", "c", "_design/x", "a\x00", "d", "_design/y"} {
			put(t, db, id, "", fmt.Sprintf(`{"id":%q}`, id[:1]))
		}
		remove(t, db, "c", put(t, db, "c", open(t, db, "c", docread.OpenOptions{}).Rev.String(), `{}`))
		replicate(t, db, "b", "2-x,y", "2-w,y", "9-z!")
		all := RangeOptions{Limit: -1}
		want(t, "all", list(t, db, all), "0/6 _design/x _design/y a a\x00 b d")
		want(
			t,
			"descending",
			list(t, db, RangeOptions{Limit: -1, Descending: true}),
			"0/6 d b a\x00 a _design/y _design/x",
		)
		want(t, "range", list(t, db, RangeOptions{Limit: -1, Start: at("a"), End: at("b")}), "2/6 a a\x00 b")
		want(t, "exclusive", list(t, db, RangeOptions{Limit: -1, Start: before("a"), End: before("b")}), "3/6 a\x00")
		want(
			t,
			"descending range",
			list(t, db, RangeOptions{Limit: -1, Descending: true, Start: at("c"), End: at("a")}),
			"1/6 b a\x00 a",
		)
		want(t, "limit and skip", list(t, db, RangeOptions{Limit: 2, Skip: 1, Start: at("_design/y")}), "2/6 a a\x00")
		want(t, "limit 0", list(t, db, RangeOptions{Start: at("b")}), "4/6")
		want(t, "skip all", list(t, db, RangeOptions{Limit: -1, Skip: 99}), "6/6")
		want(t, "inverted", list(t, db, RangeOptions{Limit: -1, Start: at("b"), End: at("a")}), "4/6")
		want(t, "design", list(t, db, RangeOptions{Limit: -1, Namespace: NamespaceDesign}), "0/2 _design/x _design/y")
		want(
			t,
			"design range",
			list(t, db, RangeOptions{Limit: -1, Namespace: NamespaceDesign, Start: at("_design/y"), End: at("b")}),
			"1/2 _design/y",
		)
		want(
			t,
			"design descending",
			list(t, db, RangeOptions{Limit: -1, Namespace: NamespaceDesign, Descending: true, Start: at("b")}),
			"2/2 _design/y _design/x",
		)
		docs := RangeOptions{Limit: -1, IncludeDocs: true, Conflicts: true, Start: at("a")}
		want(t, "documents", list(t, db, docs), `2/6 a{"id":"a"} a`+"\x00"+`{"id":"a"} b{"rev":"2-x,y"}!2-w!1-`+
			hexRev(t, db, "b")+` d{"id":"d"}`)
		docs.Descending, docs.Start, docs.Conflicts = true, Bound{}, false
		want(
			t,
			"documents descending",
			strings.Split(list(t, db, docs), " _design")[0],
			`0/6 d{"id":"d"} b{"rev":"2-x,y"} a`+"\x00"+`{"id":"a"} a{"id":"a"}`,
		)
		want(
			t,
			"by id",
			byID(t, db, []string{"d", "c", "zz", "d", "_local/u"}, RangeOptions{Limit: -1, IncludeDocs: true}),
			`0/6 d{"id":"d"} -c ?zz d{"id":"d"} ?_local/u`,
		)
		want(
			t,
			"design by id",
			byID(t, db, []string{"_design/x", "_design/n"}, RangeOptions{Namespace: NamespaceDesign}),
			"0/2 _design/x ?_design/n",
		)
	})
}

// Where nothing is in the range, the offset is counted where the range begins, as CouchDB does.
func TestOffsetOfDesignDocsOutsideTheirNamespace(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		for _, id := range []string{"A", "_design/m", "_design/y", "a"} {
			put(t, db, id, "", `{}`)
		}
		design := func(start, end string, descending bool) string {
			return list(t, db, RangeOptions{
				Limit: -1, Namespace: NamespaceDesign, Start: at(start), End: at(end), Descending: descending,
			})
		}
		want(t, "end before all", design("_design/y", "Z", false), "2/2")
		want(t, "backward from before all to after all", design("_", "b", true), "2/2")
		want(t, "backward to after all", design("_design/n", "b", true), "2/2")
		want(t, "backward after all", design("b", "aa", true), "1/2")
	})
}

// hexRev is the hash of the document's first revision, which lost.
func hexRev(t *testing.T, db *DB, id string) string {
	d := open(t, db, id, docread.OpenOptions{Conflicts: true})
	_, hash, _ := strings.Cut(d.Conflicts[len(d.Conflicts)-1].String(), "-")
	return hash
}

func byID(t *testing.T, db *DB, ids []string, o RangeOptions) string {
	t.Helper()
	var out strings.Builder
	must(t, db.DocsByID(t.Context(), slices.Values(ids), o, func(h ListHeader) error {
		fmt.Fprintf(&out, "%d/%d", h.Offset, h.Total)
		return nil
	}, func(r *ListRow) error {
		out.WriteString(" ")
		if !r.Found {
			out.WriteString("?")
		} else if r.Deleted {
			out.WriteString("-")
		}
		out.WriteString(r.ID)
		if r.Doc != nil {
			out.Write(r.Doc.Body)
		}
		return nil
	}))
	return out.String()
}

// A list over bodies in one value and in chunks, tombstones with bodies and conflicts gives each
// winner once, both ways.
func TestListDocsAllForms(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		bodies := map[string]string{}
		for i := range 30 {
			id := fmt.Sprintf("%02d", i)
			body := `{"n":` + fmt.Sprint(i) + `,"list":[1,2.0,{"x":null}]}`
			if i%3 == 0 {
				body = `{"long":"` + strings.Repeat(id, 60_000) + `"}`
			}
			rev := put(t, db, id, "", body)
			bodies[id] = body
			if i%4 == 1 {
				replicate(t, db, id, "2-aa,bb", "3-dd,cc!")
				bodies[id] = `{"rev":"2-aa,bb"}`
			}
			if i%5 == 2 {
				d := doc(t, id, rev, `{"why":"gone"}`)
				d.Deleted = true
				update(t, db, UpdateOptions{}, d)
				if delete(bodies, id); i%4 == 1 {
					bodies[id] = `{"rev":"2-aa,bb"}`
				}
			}
		}
		for _, descending := range []bool{false, true} {
			var ids []string
			must(t, db.AllDocs(t.Context(), RangeOptions{Limit: -1, IncludeDocs: true, Descending: descending},
				func(ListHeader) error { return nil }, func(r *ListRow) error {
					ids = append(ids, r.ID)
					if string(r.Doc.Body) != bodies[r.ID] {
						t.Errorf("%s: body of %d bytes, want %d", r.ID, len(r.Doc.Body), len(bodies[r.ID]))
					}
					return nil
				}))
			if descending {
				slices.Reverse(ids)
			}
			want(t, "rows", len(ids), len(bodies))
			want(t, "sorted", slices.IsSorted(ids), true)
		}
	})
}

// A list goes on in a new snapshot when the old one expires, with every row once.
func TestListOutlivesSnapshots(t *testing.T) {
	expire := false
	n := 0
	plan := faultkv.Plan{TooOld: func(r faultkv.Read) bool {
		if n++; expire && !r.Update && n%40 == 0 {
			time.Sleep(2 * time.Millisecond)
			return true
		}
		return false
	}}
	limits := kv.FDBLimits
	limits.ReadTime = 2
	store := faultkv.New(wrapkv.WithLimits(memkv.New(), limits, func() time.Time { return time.Time{} }), plan)
	s := openStore(t, store)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	var docs []*compat.Document
	var ids []string
	for i := range 300 {
		ids = append(ids, fmt.Sprintf("%03d", i))
		docs = append(docs, doc(t, ids[i], "", `{}`))
	}
	update(t, db, UpdateOptions{}, docs...)
	expire = true
	for _, o := range []RangeOptions{
		{Limit: -1}, {Limit: -1, Descending: true},
		{Limit: 200, Skip: 50, IncludeDocs: true}, {Limit: -1, IncludeDocs: true, Descending: true},
	} {
		wanted := slices.Clone(ids)
		if o.Descending {
			slices.Reverse(wanted)
		}
		wanted = wanted[o.Skip:]
		if o.Limit >= 0 {
			wanted = wanted[:o.Limit]
		}
		var got []string
		must(t, db.AllDocs(t.Context(), o, func(ListHeader) error { return nil }, func(r *ListRow) error {
			got = append(got, r.ID)
			return nil
		}))
		want(t, "rows", got, wanted)
	}
}

// Offsets and rows agree with counting for random ranges, also where rows to be skipped are found
// by their rank, among counts of which a part is folded.
func TestOffsets(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	db.store.sizes.RankFan, db.store.sizes.FoldItems, db.store.sizes.Skipped = 4, 40, 3
	rng := rand.New(rand.NewPCG(1, 2))
	var ids []string
	for _, i := range rng.Perm(400)[:250] {
		id := fmt.Sprintf("%03d", i)
		ids = append(ids, id)
		if rev := put(t, db, id, "", `{}`); rng.IntN(5) == 0 {
			remove(t, db, id, rev)
			ids = ids[:len(ids)-1]
		}
	}
	slices.Sort(ids)
	for range 400 {
		o := RangeOptions{
			Descending:  rng.IntN(2) == 0,
			IncludeDocs: rng.IntN(4) == 0,
			Limit:       int64(rng.IntN(3)),
			Skip:        int64(rng.IntN(1 + rng.IntN(len(ids)+10))),
			Start:       Bound{ID: fmt.Sprintf("%03d", rng.IntN(400)), Set: true, Exclusive: rng.IntN(2) == 0},
		}
		if rng.IntN(4) == 0 {
			o.Start = Bound{}
		}
		if rng.IntN(2) == 0 {
			o.End = Bound{ID: fmt.Sprintf("%03d", rng.IntN(400)), Set: true, Exclusive: rng.IntN(2) == 0}
		}
		order := slices.Clone(ids)
		if o.Descending {
			slices.Reverse(order)
		}
		follows := func(id string, b Bound) bool { // in the list's direction
			return (id > b.ID) != o.Descending && id != b.ID || id == b.ID && !b.Exclusive
		}
		n := 0
		var rows []string
		for _, id := range order {
			end := Bound{ID: o.End.ID, Exclusive: !o.End.Exclusive}
			switch {
			case o.Start.Set && !follows(id, o.Start):
				n++
			case !o.End.Set || !follows(id, end):
				rows = append(rows, id)
			}
		}
		wanted := fmt.Sprintf("%d/%d", min(n+int(o.Skip), len(ids)), len(ids))
		rows = rows[min(int(o.Skip), len(rows)):]
		for _, id := range rows[:min(int(o.Limit), len(rows))] {
			if wanted += " " + id; o.IncludeDocs {
				wanted += "{}"
			}
		}
		want(t, fmt.Sprintf("%+v", o), list(t, db, o), wanted)
	}
}
