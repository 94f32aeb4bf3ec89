package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb"
)

func partition(name string) kivik.Option { return couchdb.OptionPartition(name) }

func TestKivikDocument(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	first := put(t, db, "doc", body{"name": "one", "n": 1})
	if !strings.HasPrefix(first, "1-") {
		t.Errorf("first revision %q", first)
	}
	rev, err := db.GetRev(ctx, "doc")
	must(t, err)
	if rev != first {
		t.Errorf("GetRev %q instead of %q", rev, first)
	}
	wantJSON(t, `{"_id":"doc","_rev":"`+first+`","name":"one","n":1}`, get(t, db, "doc"))

	second := put(t, db, "doc", body{"_rev": first, "name": "two"})
	_, err = db.Put(ctx, "doc", body{"_rev": first, "name": "stale"})
	wantStatus(t, http.StatusConflict, err)
	_, err = db.Put(ctx, "doc", body{"name": "without a revision"})
	wantStatus(t, http.StatusConflict, err)
	wantJSON(t, `{"_id":"doc","_rev":"`+first+`","name":"one","n":1}`, get(t, db, "doc", kivik.Rev(first)))
	meta := get(t, db, "doc", kivik.Param("revs", true), kivik.Param("revs_info", true), kivik.Param("local_seq", true))
	if meta["_local_seq"] == nil || meta["name"] != "two" {
		t.Errorf("with metadata: %v", meta)
	}
	wantJSON(t, `{"start":2,"ids":["`+second[2:]+`","`+first[2:]+`"]}`, meta["_revisions"])
	wantJSON(
		t,
		`[{"rev":"`+second+`","status":"available"},{"rev":"`+first+`","status":"available"}]`,
		meta["_revs_info"],
	)

	third, err := db.Delete(ctx, "doc", second)
	must(t, err)
	if !strings.HasPrefix(third, "3-") {
		t.Errorf("tombstone %q", third)
	}
	var gone body
	wantStatus(t, http.StatusNotFound, db.Get(ctx, "doc").ScanDoc(&gone))
	wantJSON(t, `{"_id":"doc","_rev":"`+third+`","_deleted":true}`, get(t, db, "doc", kivik.Rev(third)))
	_, err = db.GetRev(ctx, "doc")
	wantStatus(t, http.StatusNotFound, err)
	_, err = db.Delete(ctx, "none", first)
	wantStatus(t, http.StatusNotFound, err)
	if again := put(t, db, "doc", body{"name": "again"}); !strings.HasPrefix(again, "4-") {
		t.Errorf("recreated as %q", again)
	}
}

func TestKivikOddIDs(t *testing.T) {
	db := kivikDB(t)
	for _, id := range []string{"a/b", "ä ö", "+plus", "q?m#h&=", "_design/x y", "100%", "日本", "\x01", `"quoted"`} {
		rev := put(t, db, id, body{"id": id})
		if got := get(t, db, id); got["_id"] != id || got["_rev"] != rev || got["id"] != id {
			t.Errorf("%q comes back as %v", id, got)
		}
	}
}

func TestKivikCreateAndCopy(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	id, rev, err := db.CreateDoc(ctx, body{"v": 1})
	must(t, err)
	if len(id) != 32 || !strings.HasPrefix(rev, "1-") {
		t.Errorf("CreateDoc gave %q %q", id, rev)
	}
	named, _, err := db.CreateDoc(ctx, body{"_id": "named", "v": 2})
	must(t, err)
	if named != "named" {
		t.Errorf("CreateDoc with an id gave %q", named)
	}
	copied, err := db.Copy(ctx, "copy", id)
	must(t, err)
	wantJSON(t, `{"_id":"copy","_rev":"`+copied+`","v":1}`, get(t, db, "copy"))
	_, err = db.Copy(ctx, "copy", id)
	wantStatus(t, http.StatusConflict, err)
	again, err := db.Copy(ctx, "copy?rev="+copied, "named")
	must(t, err)
	wantJSON(t, `{"_id":"copy","_rev":"`+again+`","v":2}`, get(t, db, "copy"))
	_, err = db.Copy(ctx, "x", "none")
	wantStatus(t, http.StatusNotFound, err)
}

func TestKivikLocalAndDesignDocs(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	put(t, db, "plain", body{})
	put(t, db, "_design/one", body{"language": "javascript"})
	put(t, db, "_design/two", body{})
	if rev := put(t, db, "_local/a", body{"v": 1}); rev != "0-1" {
		t.Errorf("local revision %q", rev)
	}
	if rev := put(t, db, "_local/a", body{"_rev": "0-1", "v": 2}); rev != "0-2" {
		t.Errorf("local revision %q", rev)
	}
	put(t, db, "_local/b", body{})
	if got := get(t, db, "_local/a"); got["v"] != 2.0 {
		t.Errorf("local document %v", got)
	}
	wantJSON(t, `["_design/one","_design/two"]`, ids(rows(t, db.DesignDocs(ctx), false)))
	locals := rows(t, db.LocalDocs(ctx, kivik.IncludeDocs()), true)
	wantJSON(t, `["_local/a","_local/b"]`, ids(locals))
	wantJSON(t, `{"_id":"_local/a","_rev":"0-2","v":2}`, locals[0].Doc)
	wantJSON(t, `["_design/one","_design/two","plain"]`, ids(rows(t, db.AllDocs(ctx), false)))
	_, err := db.Delete(ctx, "_local/b", "0-1")
	must(t, err)
	wantJSON(t, `["_local/a"]`, ids(rows(t, db.LocalDocs(ctx), false)))
}

func TestKivikAllDocs(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	revs := map[string]string{}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		revs[id] = put(t, db, id, body{"is": id})
	}
	rs := db.AllDocs(
		ctx,
		kivik.IncludeDocs(),
		kivik.Param("startkey", "b"),
		kivik.Param("endkey", "d"),
		kivik.Param("update_seq", true),
	)
	got := rows(t, rs, true)
	wantJSON(t, `["b","c","d"]`, ids(got))
	wantJSON(t, `{"rev":"`+revs["b"]+`"}`, got[0].Value)
	wantJSON(t, `{"_id":"d","_rev":"`+revs["d"]+`","is":"d"}`, got[2].Doc)
	meta, err := rs.Metadata()
	must(t, err)
	if meta.TotalRows != 5 || meta.Offset != 1 || meta.UpdateSeq == "" {
		t.Errorf("metadata %+v", meta)
	}
	wantJSON(
		t,
		`["e","d"]`,
		ids(rows(t, db.AllDocs(ctx, kivik.Param("descending", true), kivik.Param("limit", 2)), false)),
	)
	wantJSON(t, `["c"]`, ids(rows(t, db.AllDocs(ctx, kivik.Param("key", "c")), false)))
	wantJSON(t, `["d","e"]`, ids(rows(t, db.AllDocs(ctx, kivik.Param("skip", 3)), false)))

	rs = db.AllDocs(ctx, kivik.Param("keys", []string{"e", "a"}))
	wantJSON(t, `["e","a"]`, ids(rows(t, rs, false)))

	rs = db.AllDocs(ctx, kivik.Param("queries", []any{
		body{"keys": []string{"c"}}, body{"startkey": "d", "limit": 1}, body{"startkey": "x"},
	}))
	var sets [][]string
	for rs.NextResultSet() {
		var set []string
		for rs.Next() {
			id, err := rs.ID()
			must(t, err)
			set = append(set, id)
		}
		if len(set) > 0 {
			sets = append(sets, set)
		}
	}
	must(t, rs.Err())
	wantJSON(t, `[["c"],["d"]]`, sets)
}

func TestKivikBulk(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	rev := put(t, db, "old", body{"v": 1})
	results, err := db.BulkDocs(ctx, []any{
		body{
			"_id": "new",
			"v":   1,
		}, body{"_id": "old", "_rev": rev, "v": 2}, body{"_id": "old", "v": "conflict"}, body{"v": "generated"},
	})
	must(t, err)
	if len(results) != 4 || results[0].ID != "new" || results[0].Error != nil ||
		!strings.HasPrefix(results[1].Rev, "2-") ||
		len(results[3].ID) != 32 {
		t.Fatalf("BulkDocs %+v", results)
	}
	wantStatus(t, http.StatusConflict, results[2].Error)

	first, second := "1-"+strings.Repeat("a", 32), "2-"+strings.Repeat("b", 32)
	results, err = db.BulkDocs(ctx, []any{
		body{
			"_id":        "replicated",
			"_rev":       second,
			"_revisions": body{"start": 2, "ids": []string{second[2:], first[2:]}},
			"v":          2,
		},
	}, kivik.Param("new_edits", false))
	must(t, err)
	if len(results) != 0 {
		t.Errorf("new_edits=false: %+v", results)
	}
	if got := get(t, db, "replicated"); got["_rev"] != second {
		t.Errorf("replicated: %v", got)
	}

	rs := db.BulkGet(
		ctx,
		[]kivik.BulkGetReference{{ID: "replicated"}, {ID: "old", Rev: rev}, {ID: "none", Rev: first}},
		kivik.Param("revs", true),
	)
	var docs []json.RawMessage
	var failed []string
	for rs.Next() {
		var doc json.RawMessage
		if err := rs.ScanDoc(&doc); err != nil {
			failed = append(failed, err.Error())
			continue
		}
		docs = append(docs, doc)
	}
	must(t, rs.Err())
	wantJSON(t, `["not_found: missing"]`, failed)
	wantJSON(
		t,
		`[{"_id":"replicated","_rev":"`+second+`","v":2,"_revisions":{"start":2,"ids":["`+second[2:]+`","`+first[2:]+`"]}},
		{"_id":"old","_rev":"`+rev+`","v":1,"_revisions":{"start":1,"ids":["`+rev[2:]+`"]}}]`,
		docs,
	)

	other := "3-" + strings.Repeat("c", 32)
	diffs := map[string]kivik.RevDiff{}
	asked := map[string][]string{"replicated": {second, other}, "unknown": {first}, "new": {}}
	for _, r := range rows(t, db.RevsDiff(ctx, asked), false) {
		var diff kivik.RevDiff
		must(t, json.Unmarshal(r.Value, &diff))
		diffs[r.ID] = diff
	}
	wantJSON(
		t,
		`{"replicated":{"missing":["`+other+`"],"possible_ancestors":["`+second+`"]},"unknown":{"missing":["`+first+`"]}}`,
		diffs,
	)
}

func TestKivikConflictsAndPurge(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	one, two, tomb := "1-"+strings.Repeat("1", 32), "1-"+strings.Repeat("2", 32), "1-"+strings.Repeat("0", 32)
	_, err := db.BulkDocs(ctx, []any{
		body{"_id": "doc", "_rev": one, "v": "one"}, body{"_id": "doc", "_rev": two, "v": "two"},
		body{"_id": "doc", "_rev": tomb, "_deleted": true},
	}, kivik.Param("new_edits", false))
	must(t, err)
	doc := get(t, db, "doc", kivik.Param("conflicts", true), kivik.Param("deleted_conflicts", true))
	wantJSON(
		t,
		`{"_id":"doc","_rev":"`+two+`","v":"two","_conflicts":["`+one+`"],"_deleted_conflicts":["`+tomb+`"]}`,
		doc,
	)

	openRevs := func(revs ...string) []string {
		t.Helper()
		rs := db.OpenRevs(ctx, "doc", revs)
		defer rs.Close()
		found := []string{}
		for rs.Next() {
			var leaf struct {
				Rev string `json:"_rev"`
				V   string
			}
			must(t, rs.ScanDoc(&leaf))
			found = append(found, leaf.Rev+" "+leaf.V)
		}
		must(t, rs.Err())
		slices.Sort(found)
		return found
	}
	wantJSON(t, `["`+tomb+` ","`+one+` one","`+two+` two"]`, openRevs(one, two, tomb))
	wantJSON(t, `["`+one+` one"]`, openRevs(one))

	purged, err := db.Purge(ctx, map[string][]string{"doc": {two, "9-" + strings.Repeat("9", 32)}, "none": {one}})
	must(t, err)
	wantJSON(t, `{"doc":["`+two+`"],"none":[]}`, purged.Purged)
	if got := get(t, db, "doc", kivik.Param("conflicts", true)); got["_rev"] != one || got["_conflicts"] != nil {
		t.Errorf("after the purge: %v", got)
	}
	wantJSON(t, `["`+tomb+` ","`+one+` one"]`, openRevs(one, tomb))
}
