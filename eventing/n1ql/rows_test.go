package n1ql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func people(t testing.TB) *fake {
	return newFake(t, map[string]string{
		"ann":  `{"name":"Ann","age":30,"city":"Oslo","tags":["a","b"]}`,
		"bob":  `{"name":"Bob","age":25,"city":"Rome","tags":["b"]}`,
		"cat":  `{"name":"cat","age":35,"city":"Oslo"}`,
		"dora": `{"name":"Dora","age":null,"city":"Rome","tags":[]}`,
		"emil": `{"name":"Emil","city":"Bonn","address":{"zip":"53"}}`,
	})
}

func TestSelect(t *testing.T) {
	f := people(t)
	wantRows(t, f, `SELECT * FROM p USE KEYS "bob"`, `{"p":{"name":"Bob","age":25,"city":"Rome","tags":["b"]}}`)
	wantRows(t, f, `SELECT * FROM p AS x USE KEYS "emil"`,
		`{"x":{"name":"Emil","city":"Bonn","address":{"zip":"53"}}}`)
	wantRows(t, f, `SELECT x.* FROM p x USE KEYS "bob"`, `{"name":"Bob","age":25,"city":"Rome","tags":["b"]}`)
	wantRows(t, f, `SELECT x.*, 1 AS age FROM p x USE KEYS "bob"`, `{"name":"Bob","age":1,"city":"Rome","tags":["b"]}`)
	wantRows(t, f, `SELECT name, address.zip, tags[0], age + 1, age AS years FROM p USE KEYS ["emil", "bob", "none"]`,
		`{"name":"Emil","zip":"53"}`, `{"name":"Bob","$1":"b","$2":26,"years":25}`)
	wantRows(t, f, `SELECT META().id, META(p).cas IS VALUED AS c FROM p WHERE city = "Rome"`,
		`{"id":"bob","c":true}`, `{"id":"dora","c":true}`)
	wantRows(t, f, `SELECT RAW name FROM p WHERE city = "Oslo"`, `"Ann"`, `"cat"`)
	wantRows(t, f, `SELECT RAW age FROM p`, `30`, `25`, `35`, `null`, `null`)
	wantRows(t, f, `SELECT DISTINCT city FROM p`, `{"city":"Oslo"}`, `{"city":"Rome"}`, `{"city":"Bonn"}`)
	wantRows(t, f, `SELECT RAW name FROM p LIMIT 2`, `"Ann"`, `"Bob"`)
	wantRows(t, f, `SELECT RAW name FROM p LIMIT 2 OFFSET 3`, `"Dora"`, `"Emil"`)
	wantRows(t, f, `SELECT RAW name FROM p LIMIT 0`)
	wantRows(t, f, `SELECT RAW name FROM p ORDER BY age DESC, name`, `"cat"`, `"Ann"`, `"Bob"`, `"Dora"`, `"Emil"`)
	wantRows(t, f, `SELECT RAW name FROM p ORDER BY age, name DESC`, `"Emil"`, `"Dora"`, `"Bob"`, `"Ann"`, `"cat"`)
	wantRows(t, f, `SELECT name, age * 2 AS x FROM p ORDER BY x DESC LIMIT 1 OFFSET 1`, `{"name":"Ann","x":60}`)
	wantRows(t, f, `SELECT DISTINCT city FROM p ORDER BY city`, `{"city":"Bonn"}`, `{"city":"Oslo"}`, `{"city":"Rome"}`)
	wantRows(t, f, `SELECT RAW name FROM p ORDER BY name`, `"Ann"`, `"Bob"`, `"Dora"`, `"Emil"`, `"cat"`)
	wantRows(t, f, `SELECT COUNT(*) AS n, COUNT(age) AS k, COUNT(DISTINCT city) AS c, SUM(age), MIN(name), MAX(age), `+
		`AVG(age), SUM(name) FROM p`,
		`{"n":5,"k":3,"c":3,"$1":90,"$2":"Ann","$3":35,"$4":30,"$5":null}`)
	wantRows(t, f, `SELECT RAW COUNT(*) FROM p WHERE city = "Paris"`, `0`)
	// In order, with NULL and without what is MISSING.
	wantRows(t, f, `SELECT ARRAY_AGG(age) AS a, ARRAY_AGG(DISTINCT city) AS c, ARRAY_LENGTH(ARRAY_AGG(p)) AS n, `+
		`ARRAY_AGG(tags) AS t FROM p`,
		`{"a":[null,25,30,35],"c":["Bonn","Oslo","Rome"],"n":5,"t":[[],["a","b"],["b"]]}`)
	wantRows(t, f, `SELECT RAW ARRAY_AGG(age) FROM p WHERE city = "Paris"`, `null`)
	wantRows(t, f, `SELECT MAX(age) - MIN(age) AS span FROM p WHERE age IS NOT NULL`, `{"span":10}`)
	wantRows(t, f, `SELECT RAW MAX(tags) FROM p`, `["b"]`)
	wantRows(t, f, `SELECT RAW name FROM p WHERE ANY t IN tags SATISFIES t = "a" END`, `"Ann"`)
	// A variable of LET hides the field of its name, in the selector as well.
	wantRows(t, f, `SELECT RAW name FROM p LET city = age + 1 WHERE city = 31`, `"Ann"`)
	wantRows(t, f, `SELECT city, COUNT(*) AS n, MAX(age) AS most FROM p GROUP BY city HAVING COUNT(*) > 1 ORDER BY city`,
		`{"city":"Oslo","n":2,"most":35}`, `{"city":"Rome","n":2,"most":25}`)
	wantRows(t, f, `SELECT d AS decade, c FROM p GROUP BY FLOOR(p.age / 10) AS d LETTING c = COUNT(*) HAVING d > 2`,
		`{"decade":3,"c":2}`)
	wantRows(t, f, `SELECT RAW t FROM p UNNEST tags AS t ORDER BY t DESC LIMIT 2`, `"b"`, `"b"`)
	wantRows(t, f, `SELECT 1 AS x, "y"`, `{"x":1,"$1":"y"}`)
	wantRows(t, f, `SELECT 1 WHERE FALSE`)
}

func TestParameters(t *testing.T) {
	f := people(t)
	have, err := rows(t, f, `SELECT RAW name FROM :b WHERE city = $city AND age > :age LIMIT $n`,
		`{"$b":"p","$city":"Oslo","$age":31,"$n":5}`)
	if err != nil || !slices.Equal(have, []string{`"cat"`}) {
		t.Error(have, err)
	}
	if have, err = rows(t, f, `SELECT * FROM :b USE KEYS :k`, `{"$b":"p","$k":"emil"}`); err != nil ||
		len(have) != 1 || !strings.HasPrefix(have[0], `{"p":{`) {
		t.Error(have, err)
	}
	if have, err = rows(t, f, `SELECT RAW $2 || $1`, `["a","b"]`); err != nil || !slices.Equal(have, []string{`"ba"`}) {
		t.Error(have, err)
	}
	for _, c := range []struct{ text, params, want string }{
		{`SELECT $x`, ``, "$x has no value"}, {`SELECT $x`, `{`, "no JSON"},
		{`SELECT a FROM $x`, `{"x":1}`, "no string"}, {`SELECT a FROM b LIMIT "x"`, ``, "LIMIT is no integer"},
		{`SELECT a FROM b OFFSET 1.5`, ``, "OFFSET is no integer"}, {`SELECT a FROM b USE KEYS 1`, ``, "USE KEYS"},
		{`SELECT a FROM b USE KEYS ["a", 1]`, ``, "USE KEYS"}, {`SELECT a FROM unknown`, ``, "no keyspace"},
		{`INSERT INTO b VALUES (1, {})`, ``, "key of INSERT"}, {`UPSERT INTO b VALUES ("a", MISSING)`, ``, "value of UPSERT"},
		{`INSERT INTO b VALUES ("a", {}, {"ttl": 1})`, ``, "no option ttl"},
		{`INSERT INTO b VALUES ("a", {}, {"expiration": "x"})`, ``, "OPTIONS"},
	} {
		if _, err := rows(t, f, c.text, c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, wanted %s", c.text, err, c.want)
		}
	}
}

// TestKeyReads: where the ids are known, nothing is searched.
func TestKeyReads(t *testing.T) {
	f := people(t)
	for _, text := range []string{
		`SELECT RAW name FROM p USE KEYS "bob"`, `SELECT RAW name FROM p WHERE META().id = "bob"`,
		`SELECT RAW name FROM p x WHERE age > 1 AND "bob" = META(x).id`, `SELECT RAW name FROM p WHERE META().id IN ["bob", "bob", 1]`,
		`SELECT RAW name FROM p USE KEYS ["bob", "ann"] WHERE age < 28`,
	} {
		wantRows(t, f, text, `"Bob"`)
	}
	wantRows(t, f, `SELECT RAW name FROM p WHERE META().id = 5`)
	wantRows(t, f, `SELECT RAW name FROM p USE KEYS MISSING`)
	wantRows(t, f, `SELECT RAW name FROM p USE KEYS ["bob", "bob"]`, `"Bob"`, `"Bob"`)
	if len(f.finds) != 0 {
		t.Errorf("%d searches", len(f.finds))
	}
	many := make([]string, 250)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d"`, i)
	}
	f.gets = nil
	wantRows(t, f, `SELECT RAW name FROM p USE KEYS [`+strings.Join(many, ",")+`]`)
	if len(f.gets) != 3 {
		t.Errorf("%d reads", len(f.gets))
	}
}

// TestStreaming: a SELECT reads while rows are fetched, and stops with them.
func TestStreaming(t *testing.T) {
	f := people(t)
	s, err := Parse(`SELECT RAW name FROM p WHERE age IS NOT MISSING`)
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Rows(t.Context(), f)
	if err != nil || len(f.finds) != 0 {
		t.Fatal(err, f.finds)
	}
	if row, ok, err := r.Next(); string(row) != `"Ann"` || !ok || err != nil || f.read != 1 {
		t.Errorf("%s %v %v, %d read", row, ok, err, f.read)
	}
	r.Close()
	r.Close()
	if _, ok, err := r.Next(); ok || err != nil || f.read != 1 {
		t.Errorf("%v %v, %d read", ok, err, f.read)
	}
	wantRows(t, f, `SELECT RAW name FROM p LIMIT 2`, `"Ann"`, `"Bob"`)
	if f.read != 3 || f.finds[1].Limit != 2 {
		t.Errorf("%d read, %+v", f.read, f.finds[1])
	}
	ctx, cancel := context.WithCancel(t.Context())
	if r, err = q.Rows(ctx, f); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, ok, err := r.Next(); ok || !errors.Is(err, context.Canceled) {
		t.Error(ok, err)
	}
	if _, ok, err := r.Next(); ok || !errors.Is(err, context.Canceled) {
		t.Error(ok, err)
	}
}

func TestSortByID(t *testing.T) {
	f := people(t)
	want := []string{`"Emil"`, `"Dora"`}
	wantRows(t, f, `SELECT RAW name FROM p ORDER BY META().id DESC LIMIT 2`, want...)
	if f.sorts = true; len(f.finds) != 2 { // refused, then sorted in memory
		t.Errorf("%d searches", len(f.finds))
	}
	f.read = 0
	wantRows(t, f, `SELECT RAW name FROM p ORDER BY META().id DESC LIMIT 2`, want...)
	if f.read != 2 {
		t.Errorf("%d read", f.read)
	}
	if selector := string(f.finds[2].Selector); selector != `{"_id":{"$gt":null}}` {
		t.Error(selector)
	}
	// Where a field is asked for, an index may be worth more than the order.
	wantRows(t, f, `SELECT RAW name FROM p WHERE city = "Oslo" ORDER BY META().id DESC`, `"cat"`, `"Ann"`)
	if last := f.finds[len(f.finds)-1]; last.Sort != nil {
		t.Errorf("%+v", last)
	}
}

// TestSortByIDOfMany: what is too much to be sorted is found in the order of ids.
func TestSortByIDOfMany(t *testing.T) {
	f := newFake(t, map[string]string{"a": `{"n":1}`, "b": `{"n":1}`, "c": `{"n":1}`, "d": `{"n":1}`, "e": `{"n":2}`})
	text := `SELECT n, REPEAT("x", 15000000) AS x FROM p WHERE n > 0 ORDER BY META().id DESC`
	if _, err := rows(t, f, text, ""); !isKind(err, KindLimit) {
		t.Error(err)
	}
	f.sorts = true
	have, err := rows(t, f, text, "")
	if err != nil || len(have) != 5 || have[0][:6] != `{"n":2` || have[4][:6] != `{"n":1` {
		t.Error(len(have), err)
	}
}

// TestSortBound: a sort keeps what its LIMIT needs, and refuses to keep too much.
func TestSortBound(t *testing.T) {
	docs := map[string]string{}
	for i := range 5000 {
		docs[fmt.Sprintf("%04d", i)] = fmt.Sprintf(`{"n":%d,"x":[%d]}`, i*7919%5000, i)
	}
	f := newFake(t, docs)
	wantRows(t, f, `SELECT RAW n FROM p ORDER BY n DESC LIMIT 3 OFFSET 1`, "4998", "4997", "4996")
	have, err := rows(t, f, `SELECT RAW n FROM p ORDER BY n`, "")
	if err != nil || len(have) != 5000 || have[0] != "0" || have[4999] != "4999" {
		t.Error(len(have), err)
	}
	if _, err = rows(t, f, `SELECT REPEAT("x", 100000) AS x FROM p ORDER BY n`, ""); !isKind(err, KindLimit) {
		t.Error(err)
	}
	if have, err = rows(t, f, `SELECT RAW LENGTH(REPEAT("x", 100000)) FROM p ORDER BY n LIMIT 1`, ""); err != nil ||
		len(have) != 1 {
		t.Error(have, err)
	}
}

// TestMemory: whatever a statement keeps or makes is asked for before, and ends the statement where
// it is refused.
func TestMemory(t *testing.T) {
	docs := map[string]string{}
	for i := range 2000 {
		docs[fmt.Sprintf("%0500d", i)] = fmt.Sprintf(`{"n":%d,"x":"%0100d"}`, i, i)
	}
	for _, text := range []string{
		`SELECT n FROM p ORDER BY x`,
		`SELECT DISTINCT x FROM p`,
		`SELECT ARRAY_AGG(x) FROM p`,
		`SELECT COUNT(DISTINCT x) FROM p`,
		`SELECT MIN(REPEAT(x, 2000)) FROM p`,
		`UPDATE p SET n = 0 LIMIT 1900 RETURNING x`,
		`DELETE FROM p`,
		`SELECT REPEAT("x", 1000000) AS x FROM p LIMIT 1`,
		`SELECT LENGTH(RPAD("x", 1000000)) FROM p LIMIT 1`,
		`SELECT LENGTH(REPLACE(x, "0", "0123456789012345678901234567890")) FROM p WHERE LENGTH(REPEAT(x, 4000)) > 0`,
		`SELECT LENGTH(CONCAT(REPEAT("x", 90000), REPEAT("x", 90000), REPEAT("x", 90000))) FROM p LIMIT 1`,
	} {
		f := newFake(t, docs)
		if _, err := rows(t, f, text, ""); err != nil || f.held < 64<<10 {
			t.Errorf("%s holds %d: %v", text, f.held, err)
		}
		f = newFake(t, docs)
		f.most = 130_000
		if _, err := rows(t, f, text, ""); !isKind(err, KindLimit) || len(f.docs) < len(docs) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
