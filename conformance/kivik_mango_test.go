package conformance

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-kivik/kivik/v4"
)

// ordersDB returns a database of 30 orders.
func ordersDB(t *testing.T, options ...kivik.Option) *kivik.DB {
	t.Helper()
	db := kivikDB(t, options...)
	docs := make([]any, 0, 30)
	for i := range cap(docs) {
		docs = append(
			docs,
			body{
				"_id":      "p" + strconv.Itoa(i%2) + ":" + strconv.Itoa(10+i),
				"n":        i,
				"region":   "r" + strconv.Itoa(i%3),
				"customer": body{"name": "c" + strconv.Itoa(i%5)},
			},
		)
	}
	results, err := db.BulkDocs(t.Context(), docs)
	must(t, err)
	for _, r := range results {
		must(t, r.Error)
	}
	return db
}

// found reads all documents of a query as their members `n`, and what comes after them.
func found(t *testing.T, rs *kivik.ResultSet) (numbers string, meta *kivik.ResultMetadata) {
	t.Helper()
	defer rs.Close()
	var list []string
	for rs.Next() {
		var doc struct{ N int }
		must(t, rs.ScanDoc(&doc))
		list = append(list, strconv.Itoa(doc.N))
	}
	must(t, rs.Err())
	meta, err := rs.Metadata()
	must(t, err)
	return strings.Join(list, " "), meta
}

func TestKivikFind(t *testing.T) {
	db, ctx := ordersDB(t), t.Context()
	numbers, meta := found(t, db.Find(ctx, body{"selector": body{"region": "r1", "n": body{"$gt": 20}}}))
	if numbers != "22 28 25" || !strings.HasPrefix(meta.Warning, "No matching index found") {
		t.Error(numbers, meta.Warning)
	}
	must(t, db.CreateIndex(ctx, "orders", "by-region", body{"fields": []string{"region", "n"}}))
	numbers, meta = found(t, db.Find(ctx, body{"selector": body{"region": "r1", "n": body{"$gt": 20}}}))
	if numbers != "22 25 28" || meta.Warning != "" {
		t.Error(numbers, meta.Warning)
	}
	numbers, _ = found(
		t,
		db.Find(
			ctx,
			body{
				"selector": body{"region": "r1"},
				"sort":     []any{body{"region": "desc"}, body{"n": "desc"}},
				"limit":    3,
				"skip":     1,
				"fields":   []string{"n"},
			},
		),
	)
	if numbers != "25 22 19" {
		t.Error(numbers)
	}
	numbers, _ = found(
		t,
		db.Find(
			ctx,
			body{
				"selector": body{
					"customer.name": body{"$in": []string{"c1", "c4"}},
					"$nor":          []any{body{"n": body{"$lt": 20}}},
				},
			},
		),
	)
	if numbers != "24 26 21 29" {
		t.Error(numbers)
	}
	numbers, _ = found(
		t,
		db.Find(ctx, body{"selector": body{"region": body{"$regex": "^r[02]$"}, "n": body{"$mod": []int{10, 3}}}}),
	)
	if numbers != "3 23" {
		t.Error(numbers)
	}
}

func TestKivikFindPages(t *testing.T) {
	db, ctx := ordersDB(t), t.Context()
	must(t, db.CreateIndex(ctx, "orders", "n", body{"fields": []string{"n"}}))
	var pages []string
	bookmark := ""
	for range 4 {
		numbers, meta := found(
			t,
			db.Find(ctx, body{"selector": body{"n": body{"$gte": 0}}, "limit": 10, "bookmark": bookmark}),
		)
		pages, bookmark = append(pages, numbers), meta.Bookmark
	}
	if want := []string{"0 1 2 3 4 5 6 7 8 9", "10 11 12 13 14 15 16 17 18 19", "20 21 22 23 24 25 26 27 28 29", ""}; strings.Join(
		pages,
		"|",
	) != strings.Join(
		want,
		"|",
	) {
		t.Error(pages)
	}
	rs := db.Find(ctx, body{"selector": body{"n": 1}, "bookmark": "no bookmark"})
	rs.Next()
	if err := rs.Err(); kivik.HTTPStatus(err) != http.StatusBadRequest {
		t.Error(err)
	}
}

func TestKivikIndexes(t *testing.T) {
	db, ctx := ordersDB(t), t.Context()
	must(t, db.CreateIndex(ctx, "orders", "by-region", body{"fields": []string{"region"}}))
	must(
		t,
		db.CreateIndex(
			ctx,
			"orders",
			"late",
			body{"fields": []string{"n"}, "partial_filter_selector": body{"n": body{"$gt": 25}}},
		),
	)
	indexes, err := db.GetIndexes(ctx)
	must(t, err)
	var names []string
	for _, ix := range indexes {
		names = append(names, ix.DesignDoc+"/"+ix.Type+"/"+ix.Name)
	}
	if got := strings.Join(names, " "); got != "/special/_all_docs _design/orders/json/by-region _design/orders/json/late" {
		t.Error(got)
	}
	numbers, _ := found(
		t,
		db.Find(ctx, body{"selector": body{"n": body{"$gt": 25}}, "use_index": []string{"orders", "late"}}),
	)
	if numbers != "26 27 28 29" {
		t.Error(numbers)
	}
	must(t, db.DeleteIndex(ctx, "orders", "late"))
	if err := db.DeleteIndex(ctx, "orders", "late"); kivik.HTTPStatus(err) != http.StatusNotFound {
		t.Error(err)
	}
	must(t, db.DeleteIndex(ctx, "_design/orders", "by-region"))
	if _, err := db.GetRev(ctx, "_design/orders"); kivik.HTTPStatus(err) != http.StatusNotFound {
		t.Error(err)
	}
}

func TestKivikExplain(t *testing.T) {
	db, ctx := ordersDB(t), t.Context()
	must(t, db.CreateIndex(ctx, "orders", "by-region", body{"fields": []string{"region", "n"}}))
	plan, err := db.Explain(ctx, body{"selector": body{"region": "r1", "n": body{"$gt": 20}}, "fields": []string{"n"}})
	must(t, err)
	if plan.Index["name"] != "by-region" || plan.Limit != 25 {
		t.Errorf("%+v", plan)
	}
	if _, err := db.Explain(ctx, body{"selector": body{"region": body{"$in": 1}}}); kivik.HTTPStatus(
		err,
	) != http.StatusBadRequest {
		t.Error(err)
	}
}

func TestKivikFindInPartitions(t *testing.T) {
	db, ctx := ordersDB(t, kivik.Param("partitioned", true)), t.Context()
	must(t, db.CreateIndex(ctx, "orders", "n", body{"fields": []string{"n"}}))
	numbers, meta := found(
		t,
		db.Find(ctx, body{"selector": body{"n": body{"$gt": 20}}}, kivik.Param("partition", "p1")),
	)
	if numbers != "21 23 25 27 29" || meta.Warning != "" {
		t.Error(numbers, meta.Warning)
	}
	numbers, _ = found(t, db.Find(ctx, body{"selector": body{"n": body{"$gt": 26}}}))
	if numbers != "28 27 29" {
		t.Error(numbers)
	}
}
