package documents_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// rule is a design document whose validate_doc_update is a selector.
func rule(selector string) string {
	return `{"language":"query","validate_doc_update":` + selector + `}`
}

// TestRulesAreRead: a validate_doc_update that cannot be asked is refused with its design document,
// whichever way that comes, and nothing is in force then.
func TestRulesAreRead(t *testing.T) {
	s := servertest.NewJS(t)
	const badName, badType = "invalid_field_name", "invalid_design_doc"
	for _, c := range []struct{ design, name, reason string }{
		{rule(`{"newDoc.a":{"$foo":1}}`), "invalid_operator", "Invalid operator: $foo"},
		{rule(`{"newDoc.a":{"$in":1}}`), "bad_arg", "Bad argument for operator $in: 1"},
		{rule(`{"newDoc.a":{"$regex":"("}}`), "bad_arg", "Bad argument for operator $regex: "},
		{rule(`{"newDoc.a":{"$regex":"(?=a)b"}}`), "bad_arg", "Bad argument for operator $regex: "},
		{rule(`{"$where":1}`), "not_supported", "Unsupported operator: $where"},
		{rule(`{"$eq":1}`), "invalid_selector", "One or more conditions is missing a field name."},
		{rule(`{"$nor":[{"$and":[` + strings.Repeat(`{"newDoc.a":1},`, 3000) + `{}]}]}`), "invalid_selector",
			"The selector of validate_doc_update has too many conditions."},
		{rule(`"function(doc) {}"`), badType, "`validate_doc_update` field must have object type"},
		{rule(`7`), badType, "`validate_doc_update` field must have object or string type"},
		{`{"validate_doc_update":{}}`, badType, "`validate_doc_update` field must have string type"},
		{`{"language":"erlang","validate_doc_update":{}}`, badType,
			"`validate_doc_update` field must have string type"},
	} {
		w := s.Do("PUT", "/db/_design/v", c.design)
		require.Equal(t, 400, w.Code, "%s: %s", c.design, w.Body)
		v, err := ejson.Parse(w.Body.Bytes())
		require.NoError(t, err)
		name, _ := v.Get("error")
		reason, _ := v.Get("reason")
		require.Equal(t, c.name, name.Text(), c.design)
		require.True(t, strings.HasPrefix(reason.Text(), c.reason), "%s: %s", c.design, reason.Text())
		replicated := `{"new_edits":false,"docs":[{"_id":"_design/v","_rev":"1-a",` + c.design[1:] + `]}`
		w = s.Do("POST", "/db/_bulk_docs", replicated)
		require.Contains(t, w.Body.String(), `"error":"`+c.name+`"`, c.design)
		require.Equal(t, 404, s.Do("GET", "/db/_design/v", "").Code)
	}
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{}`).Code)
	s.PutDesign("Q", strings.Replace(rule(`{"newDoc.a":1}`), "query", "QUERY", 1))
	require.Equal(t, 403, s.Do("PUT", "/db/b", `{"a":2}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/b", `{"a":1}`).Code)
}

// TestTrustedRules: where a restored database has a selector that cannot be read, its documents are
// refused with the reason, and the design document can be mended.
func TestTrustedRules(t *testing.T) {
	s := servertest.NewJS(t)
	bad := `{"new_edits":false,"docs":[{"_id":"_design/v","_rev":"1-a",` + rule(`{"newDoc.a":{"$foo":1}}`)[1:] + `]}`
	w := s.Do("POST", "/db/_bulk_docs", bad, compat.TrustedHeader, "true")
	require.Equal(t, "[]\n", w.Body.String())
	w = s.Do("PUT", "/db/a", `{}`)
	require.Equal(t, 403, w.Code)
	require.Contains(t, w.Body.String(), `"forbidden","reason":"_design/v cannot be read: Invalid operator: $foo"`)
	require.Equal(t, 201, s.Do("PUT", "/db/_local/a", `{}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/_design/v?rev=1-a", rule(`{"newDoc.a":1}`)).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{"a":1}`).Code)
}

// TestRulesSeeEveryWrite: whichever way a revision comes, a selector is asked about it, and each
// refusal is counted.
func TestRulesSeeEveryWrite(t *testing.T) {
	s := servertest.NewJS(t)
	const rejects = "/_node/_local/_stats/couchdb/query_server/vdu_rejects"
	require.Equal(t, 201, s.Do("PUT", "/db/plain", `{}`).Code)
	s.PutDesign("u", `{"updates":{"u":"function(doc, req) { return [{_id:'made', type:req.query.type}, 'x'] }"}}`)
	s.PutDesign("v", rule(`{"newDoc":{"type":{"$type":"string"}}}`))
	rev := strings.Trim(servertest.ETag(s.Do("HEAD", "/db/plain", "")), `"`)
	refusals := 0
	for _, c := range []struct{ method, path, body, header string }{
		{"PUT", "/db/a", `{}`, ""},
		{"POST", "/db", `{}`, ""},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"}]}`, ""},
		{"POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"a","_rev":"1-a"}]}`, ""},
		{"PUT", "/db/a/att", `x`, ""},
		{"PUT", "/db/plain/att?rev=" + rev, `x`, ""},
		{"COPY", "/db/plain", ``, "copied"},
		{"DELETE", "/db/plain?rev=" + rev, ``, ""},
		{"POST", "/db/_design/u/_update/u", ``, ""},
	} {
		w := s.Do(c.method, c.path, c.body, "Destination", c.header)
		require.Contains(t, w.Body.String(), `"error":"forbidden","reason":"document is not valid"`, c.path)
		refusals++
	}
	require.Contains(t, s.Do("GET", rejects, "").Body.String(), fmt.Sprintf(`"value":%d,`, refusals))
	require.Equal(t, 201, s.Do("POST", "/db/_design/u/_update/u?type=x", "").Code)
	require.Equal(t, 200, s.Do("GET", "/db/made", "").Code)
}

// TestRulesCost: a selector is asked without a worker and without a read: a write takes the round
// trips that it takes beside a design document that validates nothing.
func TestRulesCost(t *testing.T) {
	trips := func(design string) (counts [4]int64) {
		engine := latencykv.New(memkv.New(), latencykv.Options{})
		s := servertest.NewJSOn(t, engine)
		s.PutDesign("v", design)
		require.Equal(t, 201, s.Do("PUT", "/db/warm", `{"a":1}`).Code)
		counts = [4]int64{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
		long := `{"a":2,"pad":"` + strings.Repeat("x", 5000) + `"}`
		for try := range 5 { // what the server does besides may be counted with one of them
			rev := ""
			for i, body := range []string{`{"a":1}`, long, `{"a":3}`, `{"a":-1}`} {
				engine.Reset()
				w := s.Do("PUT", fmt.Sprintf("/db/doc%d?rev=%s", try, rev), body)
				counts[i] = min(counts[i], engine.Counts().RoundTrips)
				if w.Code == 201 {
					rev = strings.Trim(servertest.ETag(w), `"`)
				}
			}
		}
		require.Zero(t, s.JS.Stats().Started, "workers for %s", design)
		return counts
	}
	both := rule(`{"newDoc.a":{"$gte":0},"$or":[{"oldDoc":null},{"oldDoc.a":{"$gte":0}}]}`)
	require.Equal(t, trips(`{"language":"query"}`), trips(both))
}

// interpreter is a validation function with an evaluator of its own for the selectors that
// genSelector makes.
const interpreter = `function(newDoc, oldDoc) {
	function rank(v) {
		return v === null ? 0 : typeof v === "boolean" ? 1 : typeof v === "number" ? 2 : typeof v === "string" ? 3 :
			Array.isArray(v) ? 4 : 5;
	}
	function compare(a, b) {
		if (rank(a) !== rank(b)) return rank(a) - rank(b);
		if (rank(a) < 4) return a < b ? -1 : a > b ? 1 : 0;
		if (rank(a) === 5) {
			a = Object.keys(a).map(function(k) { return [k, a[k]] });
			b = Object.keys(b).map(function(k) { return [k, b[k]] });
		}
		for (var i = 0; i < a.length && i < b.length; i++) {
			var c = compare(a[i], b[i]);
			if (c) return c;
		}
		return a.length - b.length;
	}
	function test(op, arg, v, not) {
		switch (op) {
		case "$gt": return compare(v, arg) > 0 !== not;
		case "$lte": return compare(v, arg) <= 0 !== not;
		case "$eq": return compare(v, arg) === 0 !== not;
		case "$ne": return compare(v, arg) !== 0 !== not;
		case "$in": return (Array.isArray(v) ? v : [v]).some(function(e) {
			return arg.some(function(a) { return compare(e, a) === 0 })
		}) !== not;
		case "$type":
			return (["null", "boolean", "number", "string", "array", "object"][rank(v)] === arg) !== not;
		case "$size": return (Array.isArray(v) && v.length === arg) !== not;
		case "$elemMatch": return (Array.isArray(v) && v.some(function(e) {
			return Object.keys(arg).every(function(op) { return test(op, arg[op], e, false) })
		})) !== not;
		}
		throw "no operator " + op;
	}
	function matches(selector, not) {
		return Object.keys(selector)[not ? "some" : "every"](function(name) {
			var arg = selector[name];
			switch (name) {
			case "$and": return arg[not ? "some" : "every"](function(s) { return matches(s, not) });
			case "$or": return arg[not ? "every" : "some"](function(s) { return matches(s, not) });
			case "$nor": return arg[not ? "some" : "every"](function(s) { return matches(s, !not) });
			case "$not": return matches(arg, !not);
			}
			var v = {newDoc: newDoc, oldDoc: oldDoc}, parts = name.split(".");
			for (var i = 0; i < parts.length; i++) {
				if (v === null || typeof v !== "object") return false;
				if (!Object.prototype.hasOwnProperty.call(v, parts[i])) {
					return !Array.isArray(v) && "$exists" in arg && arg.$exists === not;
				}
				v = v[parts[i]];
			}
			var op = Object.keys(arg)[0];
			return op === "$exists" ? arg.$exists !== not : test(op, arg[op], v, not);
		});
	}
	if (!matches(%s, false)) throw {forbidden: "document is not valid"};
}`

// TestRulesAndFunctionsAgree: a selector refuses what a function with the same rule does, of new
// documents, of updates and of deletions: selectors that refuse nothing and everything, and random
// ones.
func TestRulesAndFunctionsAgree(t *testing.T) {
	s := servertest.NewJS(t)
	value := rapid.SampledFrom([]string{`null`, `true`, `0`, `1`, `-2.5`, `"a"`, `"ab"`, `[]`, `[1,"a"]`, `{}`, `{"b":1}`})
	field := rapid.SampledFrom([]string{"newDoc", "oldDoc", "newDoc.a", "newDoc.a.b", "newDoc.a.0", "newDoc.c", "oldDoc.a",
		"oldDoc.c", "newDoc._deleted", "newDoc._revisions.start", "userCtx.name"})
	var condition func(t *rapid.T, depth int) string
	leaf := func(t *rapid.T) string {
		switch rapid.IntRange(0, 8).Draw(t, "operator") {
		case 0:
			return fmt.Sprintf(`{"$exists":%t}`, rapid.Bool().Draw(t, "exists"))
		case 1:
			kinds := []string{"null", "boolean", "number", "string", "array", "object", "none"}
			return `{"$type":"` + rapid.SampledFrom(kinds).Draw(t, "kind") + `"}`
		case 2:
			return fmt.Sprintf(`{"$size":%d}`, rapid.IntRange(0, 2).Draw(t, "size"))
		case 3:
			return `{"$in":[` + strings.Join(rapid.SliceOfN(value, 0, 3).Draw(t, "values"), ",") + `]}`
		case 4:
			return `{"$elemMatch":{"$gt":` + value.Draw(t, "more than") + `}}`
		}
		op := rapid.SampledFrom([]string{"$gt", "$lte", "$eq", "$ne"}).Draw(t, "comparison")
		return `{"` + op + `":` + value.Draw(t, "with") + `}`
	}
	condition = func(t *rapid.T, depth int) string {
		kind := rapid.IntRange(0, 6).Draw(t, "condition")
		if depth == 0 || kind > 3 {
			return `{"` + field.Draw(t, "field") + `":` + leaf(t) + `}`
		}
		if kind == 0 {
			return `{"$not":` + condition(t, depth-1) + `}`
		}
		kids := make([]string, rapid.IntRange(1, 3).Draw(t, "conditions"))
		for i := range kids {
			kids[i] = condition(t, depth-1)
		}
		return `{"` + []string{"", "$and", "$or", "$nor"}[kind] + `":[` + strings.Join(kids, ",") + `]}`
	}
	round := 0
	// agree makes edits of documents in a database with the selector and in one with the function, and
	// gives the answers, which have to be the same.
	agree := func(t rapid.TB, selector string, olds, edits []string) string {
		round++
		databases := []string{fmt.Sprintf("/rule%d", round), fmt.Sprintf("/function%d", round)}
		function := string(ejson.AppendString(nil, fmt.Sprintf(interpreter, selector)))
		designs := []string{rule(selector), `{"validate_doc_update":` + function + `}`}
		answers := make([]string, len(databases))
		for i, db := range databases {
			if w := s.Do("PUT", db, ""); w.Code != 201 {
				t.Fatal(w.Body)
			}
			first := `{"new_edits":false,"docs":[` + strings.Join(olds, ",") + `]}`
			require.Equal(t, 201, s.Do("POST", db+"/_bulk_docs", first).Code)
			if w := s.Do("PUT", db+"/_design/v", designs[i]); w.Code != 201 {
				t.Fatal(w.Body)
			}
			changes := `{"docs":[` + strings.Join(edits, ",") + `]}`
			answers[i] = s.Do("POST", db+"/_bulk_docs", changes).Body.String()
			s.Do("DELETE", db, "")
		}
		if answers[0] != answers[1] {
			t.Fatalf("%s\nselector: %s\nfunction: %s", selector, answers[0], answers[1])
		}
		return answers[0]
	}
	for selector, outcome := range map[string]string{
		`{"newDoc.a":{"$exists":true}}`: `"ok":true`, `{"newDoc.a":{"$exists":false}}`: `"forbidden"`,
	} {
		answer := agree(t, selector, []string{`{"_id":"1","_rev":"1-a"}`, `{"_id":"2","_rev":"1-a"}`}, []string{
			`{"_id":"1","_rev":"1-a","a":1}`, `{"_id":"2","_rev":"1-a","a":1,"_deleted":true}`, `{"_id":"new","a":1}`,
		})
		require.Equal(t, 3, strings.Count(answer, outcome), answer)
	}
	rapid.Check(t, func(t *rapid.T) {
		selector := condition(t, 3)
		var olds, edits []string
		for i := range 12 {
			body := fmt.Sprintf(`"a":%s`, value.Draw(t, "a"))
			if rapid.Bool().Draw(t, "with c") {
				body += fmt.Sprintf(`,"c":%s`, value.Draw(t, "c"))
			}
			olds = append(olds, fmt.Sprintf(`{"_id":"%d","_rev":"1-a",%s}`, i, body))
			edits = append(edits, fmt.Sprintf(`{"_id":"new%d",%s}`, i, body),
				fmt.Sprintf(`{"_id":"%d","_rev":"1-a","a":%s,"_deleted":%t}`,
					i, value.Draw(t, "new a"), rapid.IntRange(0, 3).Draw(t, "deleted") == 0))
		}
		agree(t, selector, olds, edits)
	})
}

// TestRulesOfADatabaseAreBounded: design documents whose selectors would take more memory together
// than those of a database may are not compiled: nothing but design documents is written until one
// of them is gone.
func TestRulesOfADatabaseAreBounded(t *testing.T) {
	s := servertest.NewJS(t)
	large := rule(`{"newDoc.a":{"$not":{"$regex":"^[ab]{300}[ab]{300}[ab]{300}$"}}}`)
	stored := 0
	for ; ; stored++ {
		require.Less(t, stored, 40, "they have no bound")
		s.PutDesign(fmt.Sprintf("%02d", stored), large)
		w := s.Do("PUT", fmt.Sprintf("/db/doc%d", stored), `{"a":"b"}`)
		if w.Code == 201 {
			continue
		}
		require.Equal(t, 403, w.Code)
		require.Contains(t, w.Body.String(), fmt.Sprintf("_design/%02d cannot be read: The selector", stored))
		break
	}
	require.Greater(t, stored, 4)
	etag := servertest.ETag(s.Do("GET", "/db/_design/00", ""))
	require.Equal(t, 200, s.Do("DELETE", "/db/_design/00", "", "If-Match", etag).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/again", `{"a":"b"}`).Code)
}
