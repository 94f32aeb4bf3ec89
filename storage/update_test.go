package storage

import (
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
)

func TestEditCycle(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		want(t, "unknown", show(t, db, "a"), "missing")
		want(t, "create", put(t, db, "a", "", `{"v":1}`), "1-7a7e4b29f3af401e69b6f86e4c26b727")
		want(t, "again", put(t, db, "a", "", `{"v":1}`), "conflict")
		want(
			t,
			"update",
			put(t, db, "a", "1-7a7e4b29f3af401e69b6f86e4c26b727", `{"v":2}`),
			"2-d0df861eb528e79690cd2ff3c4d394f3",
		)
		want(t, "old rev", put(t, db, "a", "1-7a7e4b29f3af401e69b6f86e4c26b727", `{"v":3}`), "conflict")
		want(t, "read", show(t, db, "a"), `2-d0df861eb528e79690cd2ff3c4d394f3 {"v":2}`)
		rev := compat.Rev{Pos: 1, Hash: path(t, "1-7a7e4b29f3af401e69b6f86e4c26b727").IDs[0]}
		want(t, "old body", string(open(t, db, "a", docread.OpenOptions{Rev: rev}).Body), `{"v":1}`)
		rev3 := remove(t, db, "a", "2-d0df861eb528e79690cd2ff3c4d394f3")
		want(t, "deleted", show(t, db, "a"), "deleted")
		want(t, "delete again", remove(t, db, "a", rev3), "conflict")
		want(t, "write over the tombstone's rev", put(t, db, "a", rev3, `{}`), "conflict")
		rev4 := put(t, db, "a", "", `{"v":4}`)
		want(t, "recreated", rev4[:2], "4-")
		d := open(t, db, "a", docread.OpenOptions{Revs: true, RevsInfo: true})
		var infos []string
		for _, i := range d.RevsInfo {
			infos = append(infos, i.Rev.String()[:2]+i.Status.String())
		}
		want(t, "revs info", infos, "[4-available 3-deleted 2-available 1-available]")
		want(t, "revs", len(d.Revs.IDs), 4)
	})
}

func TestRecreateVector(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		put(t, db, "a", "", `{"v":1}`)
		want(
			t,
			"delete",
			remove(t, db, "a", "1-7a7e4b29f3af401e69b6f86e4c26b727"),
			"2-d9b15b235a7d0afdfe6058d5fb8afbd1",
		)
		want(t, "recreate", put(t, db, "a", "", `{"v":2}`), "3-67738dadce07b296ee5510c66239e11b")
		put(t, db, "b", "", `{"x":1}`)
		remove(t, db, "b", "1-0785e9eb543380151003dc452c3a001a")
		want(t, "of generation 0", put(t, db, "b", "0-1", `{}`), "3-287ba638dd2faffc6fc6c9806821df60")
	})
}

func TestUnknownParent(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		want(t, "in a database never written to", put(t, db, "a", "1-abc", `{"v":1}`), "conflict")
		put(t, db, "other", "", `{}`)
		want(t, "create with a rev", put(t, db, "a", "1-abc", `{"v":1}`), "2-faee4c0d7be6f35f158e17bb137f693c")
		d := open(t, db, "a", docread.OpenOptions{RevsInfo: true})
		want(t, "parent", d.RevsInfo[1].Status, "missing")
		want(t, "design document", put(t, db, "_design/a", "1-abc", `{}`), "conflict")
		put(t, db, "_design/a", "", `{}`)
		want(t, "after a design document", put(t, db, "b", "1-abc", `{"v":1}`), "conflict")
		got := update(t, db, UpdateOptions{}, doc(t, "c", "", `{}`), doc(t, "d", "1-abc", `{}`))
		want(t, "in a request", got[1], "conflict")
		want(t, "later", put(t, db, "b", "1-abc", `{"v":1}`), "2-faee4c0d7be6f35f158e17bb137f693c")
	})
}

func TestReplicatedEdits(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		replicate(t, db, "a", "3-c,b,a", "3-d,b,a", "2-x,a!", "3-c,b,a")
		d := open(t, db, "a", docread.OpenOptions{Conflicts: true, DeletedConflicts: true, Revs: true, LocalSeq: true})
		want(t, "winner", d.Rev, "3-d")
		want(t, "conflicts", d.Conflicts, "[3-c]")
		want(t, "deleted conflicts", d.DeletedConflicts, "[2-x]")
		want(t, "revs", d.Revs, "{3 [d b a]}")
		want(t, "updates, the known leaf ignored", d.LocalSeq, 3)
		want(t, "edit the loser", put(t, db, "a", "3-c", `{}`)[:2], "4-")
		wantMissing := compat.Rev{Pos: 2, Hash: "b"}
		_, err := db.Open(t.Context(), "a", docread.OpenOptions{Rev: wantMissing})
		wantError(t, err, compat.ErrMissing)
		replicate(t, db, "a", "2-b,a")
		inner := open(t, db, "a", docread.OpenOptions{Rev: wantMissing})
		want(t, "inner body filled in", string(inner.Body), `{"rev":"2-b,a"}`)
		replicate(t, db, "a", "2-b,a")
		info, err := db.Info(t.Context())
		must(t, err)
		want(t, "updates", info.UpdateSeq.N, 5)
	})
}

// TestRefusedBeforeTheMerge: what CouchDB refuses or ignores before it merges changes nothing,
// where a conflict that is found by merging cuts the lines to a limit that was lowered. Recorded
// from CouchDB 3.5.0.
func TestRefusedBeforeTheMerge(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		replicate(t, db, "a", "4-d,c,b,a")
		replicate(t, db, "_design/a", "4-d,c,b,a")
		replicate(t, db, "b", "4-d,c,b,a", "2-x,a!")
		must(t, db.Settings().SetRevsLimit(t.Context(), 2))
		line := func(id string) []any {
			d := open(t, db, id, docread.OpenOptions{RevsInfo: true, LocalSeq: true})
			return []any{len(d.RevsInfo), d.LocalSeq}
		}
		want(t, "an edit of a design document", put(t, db, "_design/a", "1-x", `{}`), "conflict")
		want(t, "its line and sequence", line("_design/a"), "[4 3]")
		put(t, db, "_design/b", "", `{}`)
		want(t, "an edit after one of a design document", put(t, db, "a", "1-x", `{}`), "conflict")
		want(t, "its line and sequence", line("a"), "[4 2]")
		replicate(t, db, "a", "3-c,b,a,0", "4-d,c,b,a,0")
		want(t, "with known revisions", line("a"), "[4 2]")
		_, err := db.Purge(t.Context(), []IDRevs{{"b", []compat.Rev{{Pos: 2, Hash: "x"}}}})
		must(t, err)
		want(t, "after a purge", line("b"), "[4 6]")
		put(t, db, "y", "", `{}`)
		want(t, "another edit", put(t, db, "a", "1-x", `{}`), "conflict")
		want(t, "its line and sequence", line("a"), "[2 8]")
	})
}

func TestSameDocumentTwice(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		first, second := "1-7a7e4b29f3af401e69b6f86e4c26b727", "2-d9b15b235a7d0afdfe6058d5fb8afbd1"
		chain := []*compat.Document{doc(t, "c", "", `{"v":1}`), deleted(t, "c", first), doc(t, "c", "", `{"v":2}`)}
		want(
			t,
			"in a database never written to",
			update(t, db, UpdateOptions{}, chain...),
			[]string{first, "conflict", "conflict"},
		)
		for _, d := range chain {
			d.ID = "d"
		}
		want(
			t,
			"edits that build on each other",
			update(t, db, UpdateOptions{}, chain...),
			[]string{first, second, "3-67738dadce07b296ee5510c66239e11b"},
		)
		want(
			t,
			"a tombstone is no parent",
			update(
				t,
				db,
				UpdateOptions{},
				doc(t, "e", "", `{"v":1}`),
				deleted(t, "e", first),
				doc(t, "e", first, `{"v":2}`),
				deleted(t, "e", second),
			),
			[]string{first, second, "conflict", "conflict"},
		)
		got := update(
			t,
			db,
			UpdateOptions{},
			doc(t, "b", "", `{"v":1}`),
			doc(t, "a", "", `{}`),
			doc(t, "b", "", `{"v":2}`),
			doc(t, "b", "1-7a7e4b29f3af401e69b6f86e4c26b727", `{"v":2}`),
		)
		want(
			t,
			"results",
			got,
			"[1-7a7e4b29f3af401e69b6f86e4c26b727 1-967a00dff5e02add41819138abb3284d conflict 2-d0df861eb528e79690cd2ff3c4d394f3]",
		)
		want(t, "read", show(t, db, "b"), `2-d0df861eb528e79690cd2ff3c4d394f3 {"v":2}`)
		rev := path(t, got[0]).Rev()
		want(t, "the first one's body", string(open(t, db, "b", docread.OpenOptions{Rev: rev}).Body), `{"v":1}`)
	})
}

func TestLargeBodies(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		long := strings.Repeat("0123456789", 30_000)
		many := `{"a":[` + strings.Repeat(`"x",{"y":1.0},`, 10_000) + `null]}`
		for i, body := range []string{`{"a":"` + long + `"}`, many, `{}`, `{"z":{},"a":[],"m":{"q":[[]]}}`} {
			id := string(rune('a' + i))
			rev := put(t, db, id, "", body)
			want(t, "read", show(t, db, id) == rev+" "+body, true)
			rev2 := put(t, db, id, rev, `{"small":true}`)
			want(t, "smaller", show(t, db, id), rev2+` {"small":true}`)
			old := open(t, db, id, docread.OpenOptions{Rev: path(t, rev).Rev()})
			want(t, "old body", string(old.Body) == body, true)
		}
	})
}

func TestStemming(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		must(t, db.Settings().SetRevsLimit(t.Context(), 3))
		rev := put(t, db, "a", "", `{}`)
		first := path(t, rev).Rev()
		for range 4 {
			rev = put(t, db, "a", rev, `{}`)
		}
		d := open(t, db, "a", docread.OpenOptions{RevsInfo: true})
		want(t, "line", len(d.RevsInfo), 3)
		_, err := db.Open(t.Context(), "a", docread.OpenOptions{Rev: first})
		wantError(t, err, compat.ErrMissing)
		must(t, db.Settings().SetRevsLimit(t.Context(), 2))
		d = open(t, db, "a", docread.OpenOptions{RevsInfo: true, Revs: true})
		want(t, "reading trims revisions, not the info", len(d.Revs.IDs)+10*len(d.RevsInfo), 32)
		must(t, db.Settings().SetRevsLimit(t.Context(), 1))
		put(t, db, "a", rev, `{"last":1}`)
		d = open(t, db, "a", docread.OpenOptions{RevsInfo: true})
		want(t, "line of one", len(d.RevsInfo), 1)
		info, err := db.Info(t.Context())
		must(t, err)
		want(t, "documents", info.DocCount, 1)
		assertHistory(t, db, 0)
	})
}

// assertHistory checks the counter of replaced bodies.
func assertHistory(t *testing.T, db *DB, rows int64) {
	t.Helper()
	must(t, db.view(t.Context(), func(d *dbRead) error {
		counts, err := d.Stats(keyspace.HistoryRows, keyspace.HistorySize)
		want(t, "history rows", counts[0], rows)
		if rows == 0 {
			want(t, "history bytes", counts[1], 0)
		}
		return err
	}))
}

func TestLocalDocuments(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		want(t, "create", put(t, db, "_local/a", "", `{"x":1}`), "0-1")
		want(t, "without a rev", put(t, db, "_local/a", "", `{"x":2}`), "0-1")
		want(t, "any rev", put(t, db, "_local/a", "0-5", `{"x":3}`), "0-6")
		want(t, "read", show(t, db, "_local/a"), `0-6 {"x":3}`)
		want(t, "bad rev", put(t, db, "_local/a", "1-abc", `{}`), "error")
		large := `{"l":"` + strings.Repeat("y", 200_000) + `"}`
		put(t, db, "_local/b", "", large)
		want(t, "large", show(t, db, "_local/b") == "0-1 "+large, true)
		var ids []string
		must(t, db.Locals().List(t.Context(), RangeOptions{Limit: -1, IncludeDocs: true}, func(r *ListRow) error {
			ids = append(ids, r.ID, r.Rev.String(), string(r.Doc.Body[:4]))
			return nil
		}))
		want(t, "list", ids, `[_local/a 0-6 {"x" _local/b 0-1 {"l"]`)
		want(t, "delete", remove(t, db, "_local/a", "0-6"), "0-0")
		want(t, "gone", show(t, db, "_local/a"), "missing")
		info, err := db.Info(t.Context())
		must(t, err)
		want(t, "not counted", info.DocCount+int64(info.UpdateSeq.N), 0)
	})
}

func TestPurge(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		replicate(t, db, "a", "3-c,b,a", "3-d,b,a")
		rev := put(t, db, "b", "", `{}`)
		rev = put(t, db, "b", rev, `{"v":2}`)
		ask := []IDRevs{
			{"b", []compat.Rev{path(t, rev).Rev(), {Pos: 9, Hash: "x"}}},
			{"a", []compat.Rev{{Pos: 3, Hash: "d"}, {Pos: 2, Hash: "b"}}},
			{"nothing", []compat.Rev{{Pos: 1, Hash: "x"}}},
		}
		got, err := db.Purge(t.Context(), ask)
		must(t, err)
		want(t, "purged", got, "[{b ["+rev+"]} {a [3-d]} {nothing []}]")
		want(t, "b", show(t, db, "b"), "missing")
		want(t, "a", show(t, db, "a")[:3], "3-c")
		infos, err := db.Purges().Remembered(t.Context())
		must(t, err)
		want(t, "infos", len(infos), 3)
		want(t, "order", infos[0].ID+infos[1].ID, "ab")
		info, err := db.Info(t.Context())
		must(t, err)
		want(t, "counts", []any{info.DocCount, info.DocDelCount, info.PurgeSeq.N, info.UpdateSeq.N}, "[1 0 3 5]")
		_, err = db.Purge(t.Context(), nil)
		must(t, err)
		info, err = db.Info(t.Context())
		must(t, err)
		want(t, "after a purge of nothing", []any{info.PurgeSeq.N, info.UpdateSeq.N}, "[3 5]")
		assertHistory(t, db, 0)
	})
}

func TestOpenRevs(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		replicate(t, db, "a", "3-c,b,a", "3-d,b,a", "1-z", "2-x,a!")
		show := func(o docread.OpenRevsOptions) string {
			var out []string
			must(t, db.OpenRevs(t.Context(), "a", o, func(revs []docread.RevResult) error {
				for _, r := range revs {
					s := r.Rev.String()
					if r.Doc == nil {
						s = "no " + s
					}
					out = append(out, s)
				}
				return nil
			}))
			return strings.Join(out, " ")
		}
		want(t, "all", show(docread.OpenRevsOptions{All: true}), "1-z 2-x 3-c 3-d")
		rev := func(s string) compat.Rev { return path(t, s).Rev() }
		want(
			t,
			"some",
			show(docread.OpenRevsOptions{
				Revs: []compat.Rev{rev("9-q"), rev("3-d"), rev("2-b"), rev("1-z"), rev("1-z")},
			}),
			"1-z 3-d no 2-b no 9-q",
		)
		want(
			t,
			"latest",
			show(docread.OpenRevsOptions{Revs: []compat.Rev{rev("2-b"), rev("5-y")}, Latest: true}),
			"3-c 3-d no 5-y",
		)
		err := db.OpenRevs(t.Context(), "unknown", docread.OpenRevsOptions{All: true}, nil)
		wantError(t, err, compat.ErrMissing)
		var order []string
		must(
			t,
			db.BulkGet(
				t.Context(),
				slices.Values([]docread.OpenRevsRequest{
					{ID: "a", OpenRevsOptions: docread.OpenRevsOptions{All: true}},
					{ID: "u", OpenRevsOptions: docread.OpenRevsOptions{All: true}},
				}),
				func(_ int, revs []docread.RevResult, more bool) error {
					for _, r := range revs {
						order = append(order, r.Rev.String())
					}
					if !more {
						order = append(order, ";")
					}
					return nil
				},
			),
		)
		want(t, "bulk order", order, "[1-z 3-c 3-d 2-x ; ;]")
		diffs, err := revsDiffs(
			t.Context(),
			db,
			[]IDRevs{
				{"a", []compat.Rev{rev("9-b"), rev("4-a"), rev("3-c")}},
				{"u", []compat.Rev{rev("2-b"), rev("1-a")}},
			},
		)
		must(t, err)
		want(t, "diff", diffs, "[{a [4-a 9-b] [3-d 3-c 1-z 2-x]} {u [2-b 1-a] []}]")
	})
}
