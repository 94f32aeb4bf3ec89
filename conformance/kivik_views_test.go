package conformance

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-kivik/kivik/v4"
)

// viewsDB returns a database of 40 orders in 4 regions with views on them.
func viewsDB(t *testing.T, options ...kivik.Option) *kivik.DB {
	t.Helper()
	db := kivikDB(t, options...)
	docs := make([]any, 0, 40)
	for i := range cap(docs) {
		docs = append(
			docs,
			body{
				"_id":    "p" + strconv.Itoa(i%4) + ":o" + strconv.Itoa(10+i),
				"region": "r" + strconv.Itoa(i%4),
				"n":      i,
				"next":   "p" + strconv.Itoa((i+1)%4) + ":o" + strconv.Itoa(10+(i+1)%40),
			},
		)
	}
	results, err := db.BulkDocs(t.Context(), docs)
	must(t, err)
	for _, r := range results {
		must(t, r.Error)
	}
	put(t, db, "_design/orders", body{"views": body{
		"region": body{"map": "function (doc) { emit([doc.region, doc.n], doc.n) }", "reduce": "_sum"},
		"even":   body{"map": "function (doc) { if (doc.n % 2 === 0) emit(doc.n, {_id: doc.next}) }"},
	}})
	put(t, db, "_design/custom", body{"views": body{"first": body{
		"map":    "function (doc) { emit(doc.region, doc._id) }",
		"reduce": "function (keys, values, rereduce) { return values.reduce(function (a, b) { return a <= b ? a : b }) }",
	}}})
	return db
}

// viewRows reads all rows as "key=value" lines, with the id of map rows in front.
func viewRows(t *testing.T, rs *kivik.ResultSet) string {
	t.Helper()
	defer rs.Close()
	var lines []string
	for rs.Next() {
		var key, value json.RawMessage
		must(t, rs.ScanKey(&key))
		must(t, rs.ScanValue(&value))
		line := string(key) + "=" + string(value)
		if id, err := rs.ID(); err == nil && id != "" {
			line = id + " " + line
		}
		lines = append(lines, line)
	}
	must(t, rs.Err())
	return strings.Join(lines, "\n")
}

func wantRows(t *testing.T, rs *kivik.ResultSet, lines ...string) {
	t.Helper()
	if got, want := viewRows(t, rs), strings.Join(lines, "\n"); got != want {
		t.Errorf("rows:\n%s\ninstead of:\n%s", got, want)
	}
}

func TestKivikViewRanges(t *testing.T) {
	db, ctx := viewsDB(t), t.Context()
	mapped := kivik.Param("reduce", false)
	rs := db.Query(
		ctx,
		"orders",
		"region",
		mapped,
		kivik.Param("startkey", []any{"r1", 30}),
		kivik.Param("endkey", []any{"r2", 3}),
	)
	wantRows(t, rs, `p1:o43 ["r1",33]=33`, `p1:o47 ["r1",37]=37`, `p2:o12 ["r2",2]=2`)
	rs = db.Query(
		ctx,
		"orders",
		"region",
		mapped,
		kivik.Params(map[string]any{"descending": true, "limit": 2, "skip": 1}),
	)
	wantRows(t, rs, `p3:o45 ["r3",35]=35`, `p3:o41 ["r3",31]=31`)
	rs = db.Query(ctx, "orders", "even", kivik.Param("keys", []any{4, 1, 2}))
	wantRows(t, rs, `p0:o14 4={"_id":"p1:o15"}`, `p2:o12 2={"_id":"p3:o13"}`)
	rs = db.Query(ctx, "orders", "even", kivik.Param("key", 7))
	wantRows(t, rs)
	rs = db.Query(ctx, "orders", "even", kivik.Params(map[string]any{"startkey": 10, "limit": 0, "update_seq": true}))
	wantRows(t, rs)
	meta, err := rs.Metadata()
	must(t, err)
	if meta.TotalRows != 20 || meta.Offset != 5 || meta.UpdateSeq == "" {
		t.Errorf("metadata %+v", meta)
	}
}

func TestKivikViewDocuments(t *testing.T) {
	db, ctx := viewsDB(t), t.Context()
	rs := db.Query(ctx, "orders", "even", kivik.IncludeDocs(), kivik.Param("key", 8))
	defer rs.Close()
	if !rs.Next() {
		t.Fatal("no row: ", rs.Err())
	}
	var doc body
	must(t, rs.ScanDoc(&doc))
	if doc["_id"] != "p1:o19" || doc["n"] != 9.0 {
		t.Errorf("linked document %v", doc)
	}
}

func TestKivikViewReduce(t *testing.T) {
	db, ctx := viewsDB(t), t.Context()
	wantRows(t, db.Query(ctx, "orders", "region"), `null=780`)
	wantRows(
		t,
		db.Query(ctx, "orders", "region", kivik.Param("group_level", 1)),
		`["r0"]=180`,
		`["r1"]=190`,
		`["r2"]=200`,
		`["r3"]=210`,
	)
	wantRows(
		t,
		db.Query(ctx, "orders", "region", kivik.Param("group", true), kivik.Param("limit", 2), kivik.Param("skip", 9)),
		`["r0",36]=36`,
		`["r1",1]=1`,
	)
	wantRows(
		t,
		db.Query(ctx, "custom", "first", kivik.Param("group", true), kivik.Param("keys", []string{"r3", "r0"})),
		`"r3"="p3:o13"`,
		`"r0"="p0:o10"`,
	)
	wantStatus(t, http.StatusBadRequest, db.Query(ctx, "orders", "even", kivik.Param("group", true)).Err())
	wantStatus(t, http.StatusNotFound, db.Query(ctx, "orders", "none").Err())
}

func TestKivikViewFollowsWrites(t *testing.T) {
	db, ctx := viewsDB(t), t.Context()
	wantRows(t, db.Query(ctx, "orders", "region", kivik.Param("key", []any{"r0", 4})), `null=4`)
	doc := get(t, db, "p0:o14")
	doc["n"] = 1000
	put(t, db, "p0:o14", doc)
	_, err := db.Delete(ctx, "p0:o10", get(t, db, "p0:o10")["_rev"].(string))
	must(t, err)
	stale := db.Query(ctx, "orders", "region", kivik.Param("update", "false"), kivik.Param("group_level", 0))
	wantRows(t, stale, `null=780`)
	wantRows(t, db.Query(ctx, "orders", "region"), `null=1776`)
	wantRows(t, db.Query(ctx, "orders", "even", kivik.Param("endkey", 4)), `p2:o12 2={"_id":"p3:o13"}`)
}

func TestKivikViewsOfPartitions(t *testing.T) {
	db, ctx := viewsDB(t, kivik.Param("partitioned", true)), t.Context()
	wantStatus(t, http.StatusBadRequest, db.Query(ctx, "orders", "region").Err())
	wantRows(t, db.Query(ctx, "orders", "region", partition("p2")), `null=200`)
	wantRows(
		t,
		db.Query(ctx, "orders", "even", partition("p2"), kivik.Param("limit", 2)),
		`p2:o12 2={"_id":"p3:o13"}`,
		`p2:o16 6={"_id":"p3:o17"}`,
	)
	wantRows(t, db.Query(ctx, "orders", "even", partition("p1")))
}

func TestKivikDesignDocuments(t *testing.T) {
	db, ctx := viewsDB(t), t.Context()
	rs := db.DesignDocs(ctx)
	defer rs.Close()
	var found []string
	for rs.Next() {
		id, err := rs.ID()
		must(t, err)
		found = append(found, id)
	}
	if len(found) != 2 || found[0] != "_design/custom" || found[1] != "_design/orders" {
		t.Errorf("design documents %q", found)
	}
	_, err := db.Put(ctx, "_design/bad", body{"views": body{"v": body{"map": "function ("}}})
	wantStatus(t, http.StatusBadRequest, err)
	_, err = db.Put(ctx, "_design/bad", body{"views": body{"v": body{"map": "function (doc) {}", "reduce": "_nope"}}})
	wantStatus(t, http.StatusBadRequest, err)
	must(t, db.Compact(ctx))
	must(t, db.CompactView(ctx, "orders"))
	must(t, db.ViewCleanup(ctx))
}
