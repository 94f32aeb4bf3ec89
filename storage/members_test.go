package storage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/verify"
)

// manyMembers is the text of an object of some members, of lengths that add up to a size about; all
// texts that are looked for are in strings, too.
func manyMembers(r *rand.Rand, members, size int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		fill := strings.Repeat(`\",\"m1\":}]{[`, r.IntN(2*size/members)/14)
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, `"m%d":"%s"`, i, fill)
		case 1:
			fmt.Fprintf(&b, `"m%d":{"m0":"%s","x":[%d]}`, i, fill, i)
		default:
			fmt.Fprintf(&b, `"m%d":%d`, i, i)
		}
	}
	b.WriteByte('}')
	return b.String()
}

// membersOf is an object of the members of some names, the model of what is wanted of a body.
func membersOf(body []byte, names [][]byte) string {
	var parts []string
	for name, value := range ejson.TextMembers(body) {
		if slices.ContainsFunc(names, func(n []byte) bool { return bytes.Equal(n, name) }) {
			parts = append(parts, string(name)+":"+string(value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// tableKey is where the table of the members of a document's body is, if it has one.
func tableKey(t *testing.T, db *DB, id string) (key []byte) {
	t.Helper()
	must(t, db.view(t.Context(), func(d *dbRead) error {
		leaves, err := d.Heads(id)
		must(t, err)
		e, err := d.LeafEntry(id, &leaves[len(leaves)-1])
		must(t, err)
		key = tuple.AppendInt(d.Keys.Attachment(nil, keyspace.TagAtt, e.BodyApart.Ref), formats.MembersChunk)
		return nil
	}))
	return key
}

// TestMembersOfBodies: what is wanted of a body is what a model takes out of all of it: of bodies in
// entries, apart, uploaded before; of the winner, leaves and replaced revisions; with a table of the
// members and without, as in an older store.
func TestMembersOfBodies(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, c := range []struct{ members, size int }{
			{5, 1000}, {5, formats.MaxInline + 5000}, {4, 3 * keyspace.MaxValue}, {300, 400_000}, {1, 200_000},
			{5000, 200_000}, {40, shorter(2_500_000, 1_200_000)},
		} {
			id := fmt.Sprint(c)
			docs := []*compat.Document{docOf(id, compat.Rev{}, manyMembers(r, c.members, c.size))}
			revs := []compat.Rev{store(t, db, UpdateOptions{}, docs[0])}
			docs = append(docs, docOf(id, revs[0], manyMembers(r, c.members, c.size)))
			revs = append(revs, store(t, db, UpdateOptions{}, docs[1]))
			check := func() {
				for range 8 {
					names := [][]byte{}
					for range r.IntN(4) {
						names = append(names, fmt.Appendf(nil, `"m%d"`, r.IntN(c.members+2)))
					}
					for i, rev := range revs {
						body := open(t, db, id, docread.OpenOptions{Rev: rev, Members: names}).Body
						want(t, "members", membersOf(body, names), membersOf(docs[i].Body.JSON, names))
					}
					body := open(t, db, id, docread.OpenOptions{Members: names}).Body
					want(t, "members of the winner", membersOf(body, names), membersOf(docs[1].Body.JSON, names))
				}
			}
			check()
			checkDB(t, db)
			if len(docs[1].Body.JSON) <= keyspace.MaxValue {
				continue
			}
			key := tableKey(t, db, id)
			must(t, db.update(t.Context(), func(tx *dbTx) error {
				value, err := tx.tx.Get(key)
				must(t, err)
				want(t, "there is a table", value != nil, c.members < 5000) // else it would be longer than it is worth
				tx.tx.Clear(key)
				return nil
			}))
			check()
		}
	})
}

// TestMembersOfManyBodies: what lists, feeds and readers of several documents have of bodies is what
// the model takes out of all of them, with bodies around the limits of what is read together.
func TestMembersOfManyBodies(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		r := rand.New(rand.NewPCG(7, 8))
		bodies := map[string][]byte{}
		var ids []string
		for i, size := range []int{
			1000, formats.MaxInline - 500, formats.MaxInline + 500, keyspace.MaxValue, 2 * keyspace.MaxValue,
			docread.LargeAhead/2 + 9, docread.LargeAhead / 3, docread.LargeAhead + 7, 300_000, 100_000,
		} {
			for n := range shorter(2, 1) {
				id := fmt.Sprintf("%c%d", 'a'+n, i)
				doc := docOf(id, compat.Rev{}, manyMembers(r, 1+r.IntN(12), size))
				store(t, db, UpdateOptions{}, doc)
				ids, bodies[id] = append(ids, id), doc.Body.JSON
			}
		}
		for range shorter(3, 2) {
			names := docread.Members{}
			for range r.IntN(4) {
				names = append(names, fmt.Appendf(nil, `"m%d"`, r.IntN(13)))
			}
			seen := 0
			check := func(doc *docread.Document) {
				seen++
				want(t, doc.ID, membersOf(doc.Body, names), membersOf(bodies[doc.ID], names))
			}
			row := func(r *ListRow) error {
				check(r.Doc)
				return nil
			}
			o := RangeOptions{Limit: -1, IncludeDocs: true, Members: names, Descending: r.IntN(2) == 0}
			noHeader := func(ListHeader) error { return nil }
			must(t, db.AllDocs(t.Context(), o, noHeader, row))
			must(t, db.DocsByID(t.Context(), slices.Values(ids), o, noHeader, row))
			feed := ChangesOptions{Limit: -1, IncludeDocs: true, Members: names}
			_, err := db.Feed().Changes(t.Context(), feed, func(c *Change) error {
				check(c.Doc)
				return nil
			})
			must(t, err)
			refs := make([]docread.DocRef, len(ids))
			for i, id := range ids {
				refs[i] = docread.DocRef{ID: id, Members: names}
			}
			must(t, db.View(t.Context(), func(s *Snapshot) error {
				return s.OpenEach(refs, func(_ int, doc *docread.Document) error {
					check(doc)
					return nil
				})
			}))
			want(t, "documents", seen, 4*len(ids))
		}
	})
}

// TestCostOfMembers counts what a member of a large document costs: not much more bytes than the
// chunk that it is in, however large the document is and wherever the member.
func TestCostOfMembers(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	s := openStore(t, count)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	several := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"m%d":%q,`, i, strings.Repeat("x", size))
		}
		return `{"a":1,` + b.String() + `"z":{"n":2}}`
	}
	for id, body := range map[string]string{
		"one": several(1, 600_000), "eight": several(8, 1_000_000), "thousand": several(1000, 8000),
		"many": several(20_000, 200),
	} {
		store(t, db, UpdateOptions{}, docOf(id, compat.Rev{}, body))
		for _, name := range []string{`"a"`, `"z"`, `"missing"`} {
			count.Reset()
			got := open(t, db, id, docread.OpenOptions{Members: [][]byte{[]byte(name)}}).Body
			want(t, "member", membersOf(got, [][]byte{[]byte(name)}), membersOf([]byte(body), [][]byte{[]byte(name)}))
			if c := count.Counts(); c.BytesRead > 2*keyspace.MaxValue+20_000 || c.Gets+c.Rows > 6 {
				t.Errorf("%s of %s, %d bytes: %+v", name, id, len(body), c)
			}
		}
	}
	count.Reset()
	open(t, db, "eight", docread.OpenOptions{})
	if c := count.Counts(); c.BytesRead < 8_000_000 {
		t.Errorf("%+v", c)
	}
}

// TestCheckKnowsMembers: a table that is not that of its body is found.
func TestCheckKnowsMembers(t *testing.T) {
	s, err := Open(t.Context(), Options{KV: memkv.New(), Manual: true})
	must(t, err)
	defer s.Close()
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	store(t, db, UpdateOptions{}, docOf("a", compat.Rev{}, `{"a":1,"b":"`+strings.Repeat("x", 200_000)+`","c":3}`))
	violations, err := verify.Check(t.Context(), s.kv, nil)
	must(t, err)
	want(t, "violations", len(violations), 0)
	key := tableKey(t, db, "a")
	must(t, db.update(t.Context(), func(tx *dbTx) error {
		value, err := tx.tx.Get(key)
		must(t, err)
		value = bytes.Clone(value)
		value[1]++ // of the first name's hash
		tx.tx.Set(key, value)
		return nil
	}))
	violations, err = verify.Check(t.Context(), s.kv, nil)
	must(t, err)
	want(t, "violations", len(violations), 1)
}
