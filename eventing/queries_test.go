package eventing

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/registry"
)

// TestQueries: statements see what is stored and what the handler has written, use indexes, change
// documents, and end when their loop is left.
func TestQueries(t *testing.T) {
	n := newAlone(t, "src", "dst", "data")
	for i := range 300 {
		n.put("data", fmt.Sprintf("%03d", i), fmt.Sprintf(`{"n":%d,"kind":"k%d"}`, i, i%3))
	}
	n.define("f", `
function OnUpdate(doc, meta) {
	var kind = "k1", sum = 0, seen = 0, ids = [];
	data["new"] = {n: 1000, kind: "k1"};
	delete data["001"];
	var rows = SELECT n, META().id FROM data WHERE kind = $kind AND n >= 200;
	for (var row of rows) { sum += row.n; ids.push(row.id); }
	var first = SELECT n FROM data ORDER BY META().id LIMIT 3;
	for (var row of first) { seen++; if (seen == 2) break; }
	var counted = SELECT COUNT(*) AS c FROM data WHERE kind = "k1";
	var c = 0;
	for (var row of counted) c = row.c;
	UPDATE data SET big = true WHERE n > 297;
	INSERT INTO data (KEY, VALUE) VALUES ("inserted", {"n": -1});
	var again = "none";
	try { INSERT INTO data (KEY, VALUE) VALUES ("inserted", {"n": -1}); } catch (e) { again = e instanceof N1QLError; }
	DELETE FROM data WHERE n < 3 AND n >= 0;
	dst["answer"] = {sum: sum, rows: ids.length, last: ids[ids.length - 1], seen: seen, count: c, again: again};
}`, "", "+dst=dst", "+data=data")
	n.deploy("f")
	n.put("src", "x", `{}`)
	want := 1000
	for i := 200; i < 300; i++ {
		if i%3 == 1 {
			want += i
		}
	}
	n.becomes("dst", "answer", fmt.Sprintf(`{"sum":%d,"rows":34,"last":"new","seen":2,"count":100,"again":true}`, want))
	n.becomes("data", "298", `{"n":298,"kind":"k1","big":true}`)
	n.becomes("data", "new", `{"n":1000,"kind":"k1","big":true}`)
	n.becomes("data", "inserted", `{"n":-1}`)
	for _, id := range []string{"000", "001", "002"} {
		n.becomes("data", id, "")
	}
	n.becomes("data", "003", `{"n":3,"kind":"k0"}`)
}

// TestQueriesOnCollections: bucket.scope.collection is the database whose binding has that for an alias, also
// where a variable names it; in JavaScript there is no such name. What is not bound is refused.
func TestQueriesOnCollections(t *testing.T) {
	n := newAlone(t, "src", "dst", "air")
	n.put("air", "a", `{"name":"A","by":"b"}`)
	n.put("air", "b", `{"name":"B"}`)
	n.define("f", `
function OnUpdate(doc, meta) {
	var where = "default:`+"`travel`.`inventory`.airline"+`", out = [], global = 0;
	var rows = SELECT airline.name FROM travel.inventory.airline WHERE airline.by = "b";
	for (var row of rows) out.push(row.name);
	rows = SELECT RAW b.name FROM :where a JOIN `+"`travel`.`inventory`.`airline`"+` b ON KEYS a.by;
	for (var row of rows) out.push(row);
	UPSERT INTO travel.inventory.airline (KEY, VALUE) VALUES ("c", {"name": "C"});
	rows = SELECT RAW COUNT(*) FROM `+"air.`_default`.`_default`"+`;
	for (var row of rows) out.push(row);
	for (var name of Object.getOwnPropertyNames(globalThis)) if (name.indexOf(".") > 0) global++;
	dst["answer"] = {out: out, global: global};
}`, "", "+dst=dst", "+travel.inventory.airline=air")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "answer", `{"out":["A","B",3],"global":0}`)
	n.becomes("air", "c", `{"name":"C"}`)
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	unbound := *r.Draft
	unbound.Code = "function OnUpdate(doc, meta) { DELETE FROM travel.inventory.hotel; }"
	_, wrong := n.engine.Compile(t.Context(), &unbound)
	require.ErrorContains(t, wrong, "keyspace travel.inventory.hotel is not bound to the function")
}

// TestQueriesThatJoin: joins read by ids, by an index and by a scan, and see what the handler has
// written; groups have their rows.
func TestQueriesThatJoin(t *testing.T) {
	n := newAlone(t, "src", "dst", "orders", "people")
	n.put("people", "_design/ix", `{"language":"query","views":{"by-city":{"map":{"fields":{"city":"asc"},
		"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["city"]}}}}}`)
	for i := range 20 {
		n.put("people", fmt.Sprintf("p%02d", i), fmt.Sprintf(`{"name":"n%d","city":"c%d","age":%d}`, i, i%4, i))
		n.put("orders", fmt.Sprintf("o%02d", i), fmt.Sprintf(
			`{"by":["p%02d"],"place":"c%d","lines":[{"sku":"a","n":%d},{"sku":"b","n":1}]}`, i/2, i%5, i))
	}
	n.define("f", `
function OnUpdate(doc, meta) {
	people["new"] = {name: "new", city: "c4", age: 100};
	var out = {keys: [], index: 0, scan: 0, sums: {}, nested: 0};
	var rows = SELECT o.place, p.name FROM orders o JOIN people p ON KEYS o.by WHERE p.age >= 8 ORDER BY META(o).id;
	for (var row of rows) out.keys.push(row.name);
	rows = SELECT p.name FROM orders o JOIN people AS p ON p.city = o.place;
	for (var row of rows) out.index++;
	rows = SELECT p.name FROM orders o JOIN people AS p ON p.age = o.lines[0].n;
	for (var row of rows) out.scan++;
	rows = SELECT l.sku, SUM(l.n) AS total FROM orders UNNEST lines AS l GROUP BY l.sku HAVING COUNT(*) > 1;
	for (var row of rows) out.sums[row.sku] = row.total;
	rows = SELECT RAW ARRAY_LENGTH(p) FROM orders o LEFT NEST people p ON p.city = o.place ORDER BY META(o).id LIMIT 1;
	for (var row of rows) out.nested = row;
	dst["answer"] = out;
}`, "", "+dst=dst", "orders=orders", "+people=people")
	n.deploy("f")
	n.put("src", "x", `{}`)
	// Of cities c0 to c3 five people each meet four orders; the new one is in c4, as four orders are.
	n.becomes("dst", "answer", `{"keys":["n8","n8","n9","n9"],"index":84,"scan":20,"sums":{"a":190,"b":20},"nested":5}`)
}

// TestSubqueriesInHandlers: subqueries see what the handler has written, and what a statement that
// writes only reads may be bound for reading.
func TestSubqueriesInHandlers(t *testing.T) {
	n := newAlone(t, "src", "dst", "data")
	for i := range 20 {
		n.put("data", fmt.Sprintf("d%02d", i), fmt.Sprintf(`{"n":%d,"next":"d%02d"}`, i, i+1))
		n.put("dst", fmt.Sprintf("x%02d", i), fmt.Sprintf(`{"of":%d}`, 2*i))
	}
	n.define("f", `
function OnUpdate(doc, meta) {
	var least = 17, out = [];
	dst["new"] = {of: 18};
	var rows = SELECT a.n, (SELECT RAW b.n FROM data b USE KEYS a.next)[0] AS next FROM data a
		WHERE a.n IN (SELECT RAW d.of FROM dst d WHERE d.of >= $least) ORDER BY a.n;
	for (var row of rows) out.push(row);
	rows = (SELECT n FROM data WHERE n < 2) UNION (SELECT d.of AS n FROM dst d WHERE d.of < 4) ORDER BY n;
	for (var row of rows) out.push(row.n);
	UPDATE dst d SET d.name = (SELECT RAW a.next FROM data a WHERE a.n = d.of)[0] WHERE d.of = 4;
	MERGE INTO dst USING (SELECT a.n, META(a).id FROM data a WHERE a.n IN [3, 30, 5]) AS s ON KEY "x0" || TO_STRING(s.n)
		WHEN MATCHED THEN UPDATE SET dst.merged = s.id WHEN NOT MATCHED THEN INSERT s;
	dst["answer"] = {out: out};
}`, "", "+dst=dst", "data=data")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "answer", `{"out":[{"n":18,"next":19},0,1,2]}`)
	n.becomes("dst", "x02", `{"of":4,"name":"d05"}`)
	n.becomes("dst", "x03", `{"of":6,"merged":"d03"}`)
}

// TestStatementsInTrials: a test shows how each statement has read, by ids, by an index or by a scan, and
// that a join has found no index.
func TestStatementsInTrials(t *testing.T) {
	n := newAlone(t, "src", "data")
	n.put("data", "_design/ix", `{"language":"query","views":{"by-city":{"map":{"fields":{"city":"asc"},
		"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["city"]}}}}}`)
	for i := range 20 {
		n.put("data", fmt.Sprintf("d%02d", i), fmt.Sprintf(`{"n":%d,"city":"c%d"}`, i, i%4))
	}
	n.define("f", `
function OnUpdate(doc, meta) {
	for (var row of SELECT n FROM data USE KEYS ["d00", "none"]) {}
	for (var row of SELECT n FROM data WHERE city = "c1") {}
	for (var row of SELECT n FROM data WHERE n > 3) {}
	for (var row of SELECT a.n FROM data a JOIN data b ON b.n = a.n + 1) {}
	for (var row of SELECT a.n FROM data a USE KEYS ["d00", "d01"] JOIN data b ON b.city = a.city) {}
}`, "", "data=data")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	answer, wrong := n.engine.Test(t.Context(), r.Draft, registry.Principal{Name: "root", Roles: admin.Roles},
		json.RawMessage(`{"id":"x","doc":{}}`))
	require.Nil(t, wrong)
	var have struct {
		Outcome    string
		Statements []struct {
			Text string
			Plan []map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(answer, &have))
	require.Equal(t, "success", have.Outcome, string(answer))
	shown := ""
	for _, s := range have.Statements {
		for _, w := range s.Plan {
			shown += fmt.Sprintln(w["keyspace"], w["way"], w["index"], w["times"], w["documents"])
		}
		shown += "\n"
	}
	require.Equal(t, `data ids <nil> 1 1

data index by-city 1 5

data scan <nil> 1 16

data scan <nil> 2 40
data unindexed <nil> 1 0

data ids <nil> 1 2
data index by-city 2 10

`, shown)
	require.Contains(t, have.Statements[4].Text, "b.city = a.city")
}

// TestQueryErrors: a statement that fails throws where it stands, and voids nothing that the
// handler catches.
func TestQueryErrors(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	var where = doc.where;
	try {
		var rows = SELECT * FROM $where;
		for (var row of rows) {}
		dst[meta.id] = {ok: true};
	} catch (e) { dst[meta.id] = {n1ql: e instanceof N1QLError}; }
}`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "unknown", `{"where":"nowhere"}`)
	n.put("src", "known", `{"where":"dst"}`)
	n.becomes("dst", "unknown", `{"n1ql":true}`)
	n.becomes("dst", "known", `{"ok":true}`)
}

// TestQueriesOnExpiry: statements read and set when documents expire; up to 30 days are counted
// from now.
func TestQueriesOnExpiry(t *testing.T) {
	n := newAlone(t, "src", "dst", "data")
	n.define("f", `
function OnUpdate(doc, meta) {
	var now = Date.now() / 1000, late = Math.floor(now) + 1000000, ids = [], times = [];
	if (doc.step == 1) {
		INSERT INTO data (KEY, VALUE, OPTIONS) VALUES ("soon", {}, {"expiration": 1000}), ("late", {}, {"expiration": $late}),
			("never", {});
		UPDATE data USE KEYS "never" SET META().expiration = 100000;
	} else {
		UPDATE data SET seen = true WHERE META().expiration > $late - 500000;
		UPDATE data USE KEYS "never" SET META(data).expiration = 0;
	}
	var rows = SELECT META().id, META().expiration - $now AS rest FROM data ORDER BY META().expiration;
	for (var row of rows) { ids.push(row.id); times.push(Math.round(row.rest / 1000)); }
	dst[meta.id] = {ids: ids.join(), times: doc.step == 1 ? times : times.slice(1)};
}`, "", "+dst=dst", "+data=data")
	n.deploy("f")
	n.put("src", "a", `{"step":1}`)
	n.becomes("dst", "a", `{"ids":"soon,never,late","times":[1,100,1000]}`)
	n.put("src", "b", `{"step":2}`)
	n.becomes("dst", "b", `{"ids":"never,soon,late","times":[1,1000]}`)
	n.becomes("data", "late", `{"seen":true}`)
	n.becomes("data", "soon", `{}`)
}

// TestQueriesOnDocumentsThatChange: a handler that adds up by a query and a write loses nothing
// beside others.
func TestQueriesOnDocumentsThatChange(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { UPDATE dst USE KEYS "count" SET n = n + 1; }`, `{"worker_count":3}`, "+dst=dst")
	n.put("dst", "count", `{"n":0}`)
	n.deploy("f")
	for i := range 60 {
		n.put("src", fmt.Sprint(i), `{}`)
	}
	n.becomes("dst", "count", `{"n":60}`)
}
