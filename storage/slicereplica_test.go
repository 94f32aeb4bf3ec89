package storage

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// sliceReplica is a client: a plain database that has what the feed of a slice told, read and
// fetched as replicators do it.
type sliceReplica struct {
	m     *sliceModel
	who   access.Principals
	db    *DB
	since Seq
	// unsure are documents of which the feed does not tell all that was taken away: leaves beside
	// others that are seen, still or again, what a role or everybody saw, and what was purged.
	unsure map[string]bool
	told   map[string]goneFor // what its user's own name does not see any more
	once   map[string]bool    // ids and revisions that were told; purged and brought back they stay deleted
}

// feedTold is a row that a replica has read and not fetched yet.
type feedTold struct {
	id   string
	revs []compat.Rev
	seq  Seq
}

// replicate makes a client of each of some sets of principals.
func (m *sliceModel) replicate(who ...int) (closed func()) {
	engine := memkv.New()
	s, err := Open(m.t.Context(), Options{KV: engine, Manual: true})
	must(m.t, err)
	for _, i := range who {
		name := fmt.Sprint("replica", i)
		must(m.t, s.Create(m.t.Context(), name, CreateOptions{}))
		r := &sliceReplica{m: m, who: m.who[i], db: s.DB(name), unsure: map[string]bool{}, told: map[string]goneFor{}}
		r.once = map[string]bool{}
		m.replicas = append(m.replicas, r)
	}
	return func() { s.Close(); engine.Close() }
}

// tombstones are those that stand for some revisions of a document.
func (m *sliceModel) tombstones(id string, revs []compat.Rev) (list []compat.Rev) {
	must(m.t, m.db.view(m.t.Context(), func(d *dbRead) error {
		list = nil
		for _, rev := range revs {
			list = append(list, audience.Tombstone(&d.Rec.Access.Secret, id, rev))
		}
		return nil
	}))
	return list
}

// follow notes a change of what the client's user sees of a document.
func (r *sliceReplica) follow(id string, purge bool, before, now []storedLeaf) {
	r.unsure[id] = r.unsure[id] || purge
	told := r.m.gone[access.UserPrefix+*r.who.User()][id]
	stays := func(rev compat.Rev) bool {
		return slices.ContainsFunc(now, func(s storedLeaf) bool { return s.has(rev) })
	}
	for _, l := range before {
		if !stays(l.rev()) && (len(now) > 0 || !slices.Contains(told.revs, l.rev())) {
			r.unsure[id] = true
		}
	}
	for _, rev := range r.told[id].revs { // a row that the client has not read goes with a purge or a grant
		if r.since.Before(r.told[id].seq) && told.seq != r.told[id].seq && !stays(rev) {
			r.unsure[id] = true
		}
	}
	r.told[id] = told
	for _, rev := range told.revs {
		r.once[id+" "+rev.String()] = true
	}
	for _, l := range now {
		r.unsure[id] = r.unsure[id] || r.once[id+" "+l.rev().String()]
	}
}

// read reads the feed from where the client is.
func (r *sliceReplica) read() (rows []feedTold) {
	o := ChangesOptions{Since: r.since, Limit: -1, AllLeaves: true, Revoked: true}
	end, err := r.m.db.As(r.who).Feed().Changes(r.m.t.Context(), o, func(c *Change) error {
		rows = append(rows, feedTold{c.ID, slices.Clone(c.Revs), c.Seq.Seq})
		return nil
	})
	must(r.m.t, err)
	if n := len(rows); n > 0 && end.Last.Seq != rows[n-1].seq || end.Pending != 0 {
		r.m.t.Errorf("the feed ends at %v with %d pending after %v", end.Last, end.Pending, rows)
	}
	return rows
}

// fetch gets the revisions of rows and stores them; false, as a replicator which begins again, when
// one is missing.
func (r *sliceReplica) fetch(rows []feedTold) bool {
	var docs []*compat.Document
	var requests []docread.OpenRevsRequest
	for _, row := range rows {
		o := docread.OpenRevsOptions{Revs: row.revs, Latest: true, Open: docread.OpenOptions{Revs: true}}
		requests = append(requests, docread.OpenRevsRequest{ID: row.id, OpenRevsOptions: o})
	}
	missing := false
	err := r.m.db.As(r.who).BulkGet(r.m.t.Context(), slices.Values(requests),
		func(i int, found []docread.RevResult, _ bool) error {
			for _, f := range found {
				if missing = missing || f.Doc == nil; f.Doc == nil {
					continue
				}
				d := doc(r.m.t, rows[i].id, "", strings.Clone(string(f.Doc.Body)))
				d.Deleted, d.Revs = f.Doc.Deleted, f.Doc.Revs
				if d.Revs.Start > int64(len(d.Revs.IDs)) { // a limit has cut what joins it to older ones
					r.unsure[d.ID] = true
				}
				docs = append(docs, d)
			}
			return nil
		})
	must(r.m.t, err)
	if missing {
		return false
	}
	_, err = r.db.Update(r.m.t.Context(), docs, UpdateOptions{Replicated: true})
	must(r.m.t, err)
	if n := len(rows); n > 0 {
		r.since = rows[n-1].seq
	}
	return true
}

// readFeeds reads the feeds of some clients, which fetch what they told after the next change.
func (m *sliceModel) readFeeds() [][]feedTold {
	late := make([][]feedTold, len(m.replicas))
	for i, r := range m.replicas {
		if rapid.IntRange(0, 2).Draw(m.t, "late") == 0 {
			late[i] = r.read()
		}
	}
	return late
}

// catchUp brings clients up to date, unless they are offline, and compares them with their slices:
// the live leaves are those that the user sees. What they send back changes nothing.
func (m *sliceModel) catchUp(late [][]feedTold) {
	for i, r := range m.replicas {
		for _, row := range late[i] {
			if !r.fetch([]feedTold{row}) {
				if !r.unsure[row.id] {
					m.t.Errorf("%v of %s was told and is missing", row.revs, row.id)
				}
				break
			}
		}
		if rapid.IntRange(0, 2).Draw(m.t, "offline") == 0 {
			continue
		}
		if rows := r.read(); !r.fetch(rows) {
			m.t.Errorf("a revision of %v is missing", rows)
		}
		for _, id := range m.ids {
			if !r.unsure[id] {
				r.compare(id)
			}
		}
	}
}

func (r *sliceReplica) compare(id string) {
	m := r.m
	live := func(leaves []storedLeaf) (list []string) {
		for _, l := range leaves {
			if !l.deleted {
				list = append(list, fmt.Sprint(l.rev(), l.body))
			}
		}
		slices.Sort(list)
		return list
	}
	all := m.leaves(id)
	here := (&sliceModel{t: m.t, db: r.db}).leaves(id)
	want(m.t, "live leaves of the client's "+id, live(here), live(m.sees(r.who, id, all)))
	before, err := m.db.Feed().Last(m.t.Context())
	must(m.t, err)
	for _, l := range here {
		if !l.deleted || len(l.path.IDs) < 2 || slices.ContainsFunc(all, func(s storedLeaf) bool {
			return s.has(l.rev())
		}) {
			continue
		}
		above := compat.Rev{Pos: l.path.Start - 1, Hash: l.path.IDs[1]}
		if !slices.ContainsFunc(all, func(s storedLeaf) bool { return s.has(above) }) {
			continue // it has been cut off
		}
		want(m.t, "a revocation", []compat.Rev{l.rev()}, m.tombstones(id, []compat.Rev{above}))
		for _, who := range []access.Principals{r.who, access.Everybody} {
			lacks := diff(m.t, m.db.As(who), id, []compat.Rev{l.rev()})
			want(m.t, "what the server lacks of a revocation", lacks, "[] []")
			d := doc(m.t, id, "", "{}")
			d.Deleted, d.Revs = true, l.path
			results, err := m.db.As(who).Update(m.t.Context(), []*compat.Document{d}, UpdateOptions{Replicated: true})
			must(m.t, err)
			want(m.t, "sent back", results[0].Err == nil && !results[0].Made, true)
		}
	}
	after, err := m.db.Feed().Last(m.t.Context())
	must(m.t, err)
	want(m.t, "changes made by revocations that come back", after, before)
}

func openedAs(t *rapid.T, db *DB, id string) string {
	doc, err := db.Open(t.Context(), id, docread.OpenOptions{Conflicts: true, DeletedConflicts: true, Revs: true})
	if err != nil {
		return err.Error()
	}
	simple, err := db.Open(t.Context(), id, docread.OpenOptions{})
	must(t, err)
	return fmt.Sprint(doc.Rev, string(doc.Body), doc.Revs, doc.Conflicts, doc.DeletedConflicts, simple.Rev)
}

func diff(t *rapid.T, db *DB, id string, revs []compat.Rev) (found string) {
	if len(revs) == 0 {
		return ""
	}
	err := db.RevsDiff(t.Context(), slices.Values([]IDRevs{{id, revs}}), func(_ *IDRevs, d *RevsDiff) error {
		missing := slices.Clone(d.Missing)
		slices.SortFunc(missing, compat.Rev.Compare)
		found = fmt.Sprint(missing, d.PossibleAncestors)
		return nil
	})
	must(t, err)
	return found
}
