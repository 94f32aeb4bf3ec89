package documents

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// anyDesign accepts all design documents.
type anyDesign struct{}

func (anyDesign) CheckDesign(context.Context, string, bool, []byte) error { return nil }

func (anyDesign) CompileRule(ejson.Value, int64) (func(ejson.Value) bool, int64, error) {
	return nil, 0, nil
}

var (
	admin = principal.Principal{Name: "root", Roles: []string{"_admin"}}
	ada   = principal.Principal{Name: "ada"}
	bob   = principal.Principal{Name: "bob"}
	crew  = principal.Principal{Name: "cid", Roles: []string{"crew"}}
)

// newStore is a store with the databases named, each with that _security.
func newStore(t *testing.T, security string, names ...string) *Store {
	t.Helper()
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	stored, err := storage.Open(t.Context(), storage.Options{KV: memkv.New()})
	require.NoError(t, err)
	t.Cleanup(func() { stored.Close() })
	stored.SetHooks(storage.Hooks{Validator: NewValidator(c, anyDesign{}, nil)})
	uuids, err := compat.NewUUIDs(compat.UUIDOptions{})
	require.NoError(t, err)
	rules := &Rules{
		MaxDocIDLength: 1 << 20, MaxDocumentSize: 1 << 20, MaxAttachmentSize: 1000,
		UUIDs: uuids, UsersDB: "_users", PublicFields: []string{"nick"},
		MaxPurgeRevs: 3, MaxLookedUpIDs: 100,
		Hashing:   principal.Hashing{Scheme: principal.SchemePBKDF2, PRF: "sha256", Iterations: 1},
		Passwords: &principal.Policy{},
	}
	for _, name := range names {
		require.NoError(
			t,
			stored.Create(t.Context(), name, storage.CreateOptions{Q: 1, N: 1, Security: []byte(security)}),
		)
	}
	return New(Options{
		Store: stored, Designs: anyDesign{},
		Log: slog.New(slog.DiscardHandler), Verifier: principal.NewVerifier(func(bool) {}),
		Rules:            func() *Rules { return rules },
		CheckReplication: func(ejson.Value) error { return nil },
		UsersChanged:     func() {}, Read: func(int) {}, Written: func(int, int, int) {},
		Evaluated: func(int) {}, Rejected: func() {},
	})
}

// as is a database as a principal sees it, outside of any request.
func (s *Store) as(who principal.Principal, name string) *Database {
	return s.Database(name, who, Origin{})
}

func put(t *testing.T, d *Database, json string) (compat.Rev, error) {
	t.Helper()
	p, err := d.Parser(t.Context(), false)
	require.NoError(t, err)
	doc, err := p.ParseText([]byte(json))
	require.NoError(t, err)
	return d.Write(t.Context(), doc, WriteOptions{})
}

func text(t *testing.T, d *Database, id string) string {
	t.Helper()
	doc, err := d.Get(t.Context(), id, &ReadOptions{})
	if err != nil {
		return err.Error()
	}
	return string(doc.Body)
}

func TestWhoMayUseADatabase(t *testing.T) {
	s := newStore(t, `{"admins":{"names":["ada"]},"members":{"roles":["crew"]}}`, "db", "_users", "_global_changes")
	for _, c := range []struct {
		who            principal.Principal
		db             string
		one, all, boss bool
	}{
		{admin, "db", true, true, true}, {ada, "db", true, true, true}, {crew, "db", true, true, false},
		{bob, "db", false, false, false}, {principal.Principal{}, "db", false, false, false},
		{crew, "_users", true, false, false}, {ada, "_users", true, false, true},
		{ada, "_global_changes", false, false, true},
	} {
		d := s.as(c.who, c.db)
		require.Equal(t, c.one, d.Access().Authorize(t.Context(), false) == nil, c)
		require.Equal(t, c.all, d.Access().Authorize(t.Context(), true) == nil, c)
		require.Equal(t, c.boss, d.Access().CheckAdmin(t.Context()) == nil || c.who.IsAdmin(), c)
	}
	require.ErrorIs(t, s.as(ada, "none").Access().Authorize(t.Context(), false), compat.KindNoDatabase)
	require.ErrorIs(t, s.as(admin, "none").Access().Require(t.Context()), compat.KindNoDatabase)
}

// TestUsersSeeTheirOwn writes and reads user documents in the name of several principals.
func TestUsersSeeTheirOwn(t *testing.T) {
	s := newStore(t, `{}`, "_users")
	const doc = `{"_id":"org.couchdb.user:ada","name":"ada","type":"user","roles":[],"password":"geheim","nick":"a"}`
	_, err := put(t, s.as(bob, "_users"), doc)
	require.ErrorIs(t, err, compat.KindNotFound, "another user's document is not there")
	_, err = put(t, s.as(ada, "_users"), doc)
	require.NoError(t, err)
	own := text(t, s.as(ada, "_users"), "org.couchdb.user:ada")
	require.Contains(t, own, "derived_key")
	require.NotContains(t, own, "geheim")
	require.Equal(t, own, text(t, s.as(admin, "_users"), "org.couchdb.user:ada"))
	require.Equal(t, `{"nick":"a"}`, text(t, s.as(bob, "_users"), "org.couchdb.user:ada"))
	require.ErrorIs(t, s.as(bob, "_users").CheckQuery(t.Context()), compat.KindForbidden)
	err = s.as(
		bob,
		"_users",
	).BulkGet(
		t.Context(),
		slices.Values(
			[]docread.OpenRevsRequest{
				{ID: "org.couchdb.user:ada", OpenRevsOptions: docread.OpenRevsOptions{All: true}},
			},
		),
		func(_ int, results []docread.RevResult, _ bool, refused *compat.Error) error {
			require.Nil(t, refused)
			require.NotContains(t, string(results[0].Doc.Body), "derived_key")
			return nil
		},
	)
	require.NoError(t, err)
}

// TestFeedsAndListsHideCredentials: what one read hides, all do.
func TestFeedsAndListsHideCredentials(t *testing.T) {
	const db = "team/_replicator"
	s := newStore(t, `{}`, db)
	_, err := put(
		t,
		s.as(ada, db),
		`{"_id":"r","source":"http://me:geheim@127.0.0.1:1/a","target":"http://127.0.0.1:1/b"}`,
	)
	require.NoError(t, err)
	_, err = put(
		t,
		s.as(ada, db),
		`{"_id":"r2","owner":"bob","source":"http://127.0.0.1:1/a","target":"http://127.0.0.1:1/b"}`,
	)
	require.ErrorIs(t, err, compat.KindForbidden)
	show := func(who principal.Principal) string {
		d := s.as(who, db)
		all := []byte(text(t, d, "r"))
		feed, err := d.Feed(t.Context(), &FeedOptions{IncludeDocs: true}, nil)
		require.NoError(t, err)
		_, err = feed.Scan(t.Context(), storage.Seq{}, -1, func(ch *storage.Change) (err error) {
			all, err = feed.AppendDoc(t.Context(), all, ch, nil)
			return err
		})
		require.NoError(t, err)
		list := d.List(ListAll, &ListOptions{Range: storage.RangeOptions{IncludeDocs: true, Limit: -1}})
		require.NoError(t, list.Rows(t.Context(), sink{t, list, &all}))
		require.Equal(t, 3, strings.Count(string(all), "127.0.0.1:1/a"))
		return string(all)
	}
	require.Equal(t, 3, strings.Count(show(ada), "geheim"))
	require.Equal(t, 3, strings.Count(show(admin), "geheim"))
	require.Zero(t, strings.Count(show(bob), "geheim"))
}

// sink appends the documents of a list.
type sink struct {
	t    *testing.T
	list *List
	out  *[]byte
}

func (s sink) Head(ListHead) error   { return nil }
func (s sink) NotFound([]byte) error { return nil }
func (s sink) Row(r *storage.ListRow) (err error) {
	*s.out, err = s.list.AppendDoc(s.t.Context(), *s.out, r, nil)
	return err
}

func TestOnlyAdminsWriteDesignDocuments(t *testing.T) {
	s := newStore(t, `{"admins":{"names":["ada"]}}`, "db")
	_, err := put(t, s.as(bob, "db"), `{"_id":"_design/d"}`)
	require.ErrorIs(t, err, compat.KindForbidden)
	_, err = put(t, s.as(principal.Principal{}, "db"), `{"_id":"_design/d"}`)
	require.ErrorIs(t, err, compat.KindUnauthorized)
	_, err = put(t, s.as(ada, "db"), `{"_id":"_design/d"}`)
	require.NoError(t, err)
}

// TestDrafts: attachments come before their document, within the limits, and are gone with a
// document that is refused.
func TestDrafts(t *testing.T) {
	s := newStore(t, `{}`, "db")
	d := s.as(ada, "db")
	ctx := t.Context()
	rev, err := d.Attachments().Put(
		ctx,
		"a",
		compat.Rev{},
		storage.Upload{Name: "x", Type: "text/plain", Length: 5},
		strings.NewReader("hello"),
	)
	require.NoError(t, err)
	att, err := d.Attachments().Find(ctx, "a", "x", &ReadOptions{})
	require.NoError(t, err)
	var got bytes.Buffer
	require.NoError(t, d.Attachments().Read(ctx, att, storage.AttachmentRange{To: -1}, &got))
	require.Equal(t, "hello", got.String())
	_, err = d.Attachments().Put(
		ctx,
		"a",
		rev,
		storage.Upload{Name: "y", Length: 1001},
		strings.NewReader(strings.Repeat("y", 1001)),
	)
	require.ErrorIs(t, err, compat.KindAttachmentTooLarge)
	_, err = d.Attachments().Put(ctx, "a", compat.Rev{}, storage.Upload{Name: "y", Length: 1}, strings.NewReader("y"))
	require.ErrorIs(t, err, compat.KindConflict)
	_, err = d.Attachments().Delete(ctx, "a", rev, "none")
	require.ErrorIs(t, err, compat.KindNotFound)
	_, err = d.Attachments().Delete(ctx, "a", compat.Rev{}, "x")
	require.ErrorIs(t, err, compat.KindConflict)
	copied, err := d.Copy(ctx, "a", rev, "b", compat.Rev{})
	require.NoError(t, err)
	next, err := d.Attachments().Delete(ctx, "b", copied, "x")
	require.NoError(t, err)
	require.Equal(t, int64(2), next.Pos)
	_, err = d.Attachments().Find(ctx, "b", "x", &ReadOptions{})
	require.ErrorIs(t, err, compat.KindNotFound)
}

func TestPurgeKeepsTheLimit(t *testing.T) {
	d := newStore(t, `{}`, "db").as(admin, "db")
	rev := compat.Rev{Pos: 1, Hash: "a"}
	_, err := d.Purge(t.Context(), slices.Values([]storage.IDRevs{{ID: "a", Revs: []compat.Rev{rev, rev, rev, rev}}}))
	require.ErrorIs(t, err, compat.KindBadRequest)
	_, err = d.Purge(t.Context(), slices.Values([]storage.IDRevs{{ID: "a", Revs: []compat.Rev{rev}}}))
	require.NoError(t, err)
}

// TestParseAll: documents that are read side by side come in their order, with ids that ascend, and
// the error is that of the first one that has any.
func TestParseAll(t *testing.T) {
	d := newStore(t, `{}`, "db").as(admin, "db")
	parser, err := d.Parser(t.Context(), false)
	require.NoError(t, err)
	list := func(n int, text func(i int) string) ejson.Value {
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, "%c%s", "[,"[min(i, 1)], text(i))
		}
		v, err := ejson.Parse(append(b.Bytes(), ']'))
		require.NoError(t, err)
		return v
	}
	asked := 0
	before := func(ejson.Value) error {
		asked++
		return nil
	}
	for _, n := range []int{1, parsedAhead, parsedAhead + 1, 1000} {
		asked = 0
		all := list(n, func(i int) string {
			return fmt.Sprintf(`{"n":%d,"half":%d.5e0,"text":"é\u00e9\n","n":%d}`, i, i, i)
		})
		got, err := parser.ParseAll(all.Elements(), n, before)
		require.NoError(t, err)
		require.Len(t, got, n)
		require.Equal(t, n, asked)
		for i, doc := range got {
			require.Equal(t, fmt.Sprintf(`{"half":%d.5,"text":"éé\n","n":%d}`, i, i), string(doc.Body.JSON))
			require.True(t, i == 0 || doc.ID > got[i-1].ID, "ids do not ascend")
		}
	}
	for _, tc := range []struct{ bad, refused, want int }{{999, -1, 999}, {700, 300, -1}, {300, 700, 300}, {0, -1, 0}} {
		asked = 0
		all := list(1000, func(i int) string {
			if i >= tc.bad {
				return fmt.Sprintf(`{"_bad%d":1}`, i)
			}
			return `{}`
		})
		_, err := parser.ParseAll(all.Elements(), 1000, func(ejson.Value) error {
			if asked++; asked-1 == tc.refused {
				return compat.ErrTimeout
			}
			return nil
		})
		if tc.want < 0 {
			require.Equal(t, compat.ErrTimeout, err)
		} else {
			require.ErrorContains(t, err, fmt.Sprintf("_bad%d", tc.want))
		}
	}
}
