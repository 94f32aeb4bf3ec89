package find_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

func askJSON(s *servertest.Server, path, body string, headers ...string) (int, string) {
	w := s.Do("POST", path, body, append(headers, "Content-Type", "application/json")...)
	return w.Code, w.Body.String()
}

// Documents are put into groups, in a database and in one partition of it, and _explain tells how.
func TestAggregate(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db?partitioned=true", "").Code)
	for i := range 12 {
		body := fmt.Sprintf(`{"status":"%s","n":%d,"day":"2026-%02d-01"}`, []string{"open", "done", "done"}[i%3], i, 10+i%2)
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/p%d:d%d", i%2, i), body).Code)
	}
	require.Equal(t, 201, s.Do("PUT", "/db/p0:other", `{"n":1}`).Code)
	const request = `{"group_by":["status"],"values":{"n":{"$count":true},"total":{"$sum":"n"}},"sort":[{"total":"desc"}]}`
	status, answer := askJSON(s, "/db/_aggregate", request)
	require.Equal(t, 200, status, answer)
	require.JSONEq(t, `{"groups":[{"key":["done"],"n":8,"total":48},{"key":["open"],"n":4,"total":18}],
		"ungrouped":1,"bookmark":""}`, answer)
	status, answer = askJSON(s, "/db/_partition/p1/_aggregate", request)
	require.Equal(t, 200, status, answer)
	require.JSONEq(t, `{"groups":[{"key":["done"],"n":4,"total":24},{"key":["open"],"n":2,"total":12}],
		"ungrouped":0,"bookmark":""}`, answer)
	_, answer = askJSON(s, "/db/_aggregate",
		`{"group_by":[{"field":"day","prefix":7}],"values":{"n":{"$count":true}},"limit":1}`)
	var page struct {
		Groups   []json.RawMessage
		Bookmark string
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &page))
	require.Len(t, page.Groups, 1)
	require.JSONEq(t, `{"key":["2026-10"],"n":6}`, string(page.Groups[0]))
	_, answer = askJSON(s, "/db/_aggregate",
		`{"group_by":[{"field":"day","prefix":7}],"values":{"n":{"$count":true}},"bookmark":"`+page.Bookmark+`"}`)
	require.JSONEq(t, `{"groups":[{"key":["2026-11"],"n":6}],"ungrouped":1,"bookmark":""}`, answer)

	status, answer = askJSON(s, "/db/_explain", request)
	require.Equal(t, 200, status, answer)
	require.Contains(t, answer, `"aggregate":{"plan":"hashed"`)
	_, answer = askJSON(s, "/db/_index", `{"index":{"fields":["status"]},"partitioned":false}`)
	require.Contains(t, answer, `"created"`)
	const counts = `{"group_by":["status"],"values":{"n":{"$count":true}},"execution_stats":true}`
	_, answer = askJSON(s, "/db/_explain", counts)
	require.Contains(t, answer, `"aggregate":{"plan":"counted"`)
	_, answer = askJSON(s, "/db/_aggregate", counts)
	require.Contains(t, answer, `{"key":["done"],"n":8}`)
	require.Contains(t, answer, `"ungrouped": 1`)
	require.Contains(t, answer, `"total_keys_examined":2`)
}

// An index with values has the sums of groups. It is listed with them, and one without is stored as
// before.
func TestAggregateOfIndexValues(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for i := range 9 {
		body := fmt.Sprintf(`{"status":"%s","price":%d}`, []string{"open", "done", "done"}[i%3], i)
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/d%d", i), body).Code)
	}
	many := `[` + strings.Repeat(`"a",`, 16) + `"b"]`
	for _, values := range []string{`"price"`, `[]`, `[1]`, `["a..b"]`, `["a","a"]`, many} {
		status, answer := askJSON(s, "/db/_index", `{"index":{"fields":["status"],"values":`+values+`}}`)
		require.Equal(t, 400, status, answer)
		require.Contains(t, answer, `"error":"invalid_values"`)
	}
	_, answer := askJSON(s, "/db/_index", `{"index":{"fields":["status"]},"ddoc":"plain","name":"i"}`)
	require.Contains(t, answer, `"created"`)
	_, answer = askJSON(s, "/db/_index", `{"index":{"fields":["status"],"values":["price"]},"ddoc":"sums","name":"i"}`)
	require.Contains(t, answer, `"created"`)
	require.Contains(t, s.Do("GET", "/db/_design/plain", "").Body.String(), `"views":{"i":{"map":{"fields":{"status":"asc"},`+
		`"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["status"]}}}}`)
	require.Contains(t, s.Do("GET", "/db/_design/sums", "").Body.String(), `"views":{"i":{"map":{"fields":{"status":"asc"},`+
		`"partial_filter_selector":{},"values":["price"]},"reduce":"_count",`+
		`"options":{"def":{"fields":["status"],"values":["price"]}}}}`)
	require.Contains(t, s.Do("GET", "/db/_index", "").Body.String(), `"def":{"fields":[{"status":"asc"}],"values":["price"]}`)

	const sums = `{"group_by":["status"],"values":{"n":{"$count":true},"total":{"$sum":"price"},"most":{"$max":"price"}}}`
	_, answer = askJSON(s, "/db/_explain", sums)
	require.Contains(t, answer, `"aggregate":{"plan":"summed","index":{"ddoc":"_design/sums","name":"i"},"reads":"sums of groups"`)
	_, answer = askJSON(s, "/db/_aggregate", sums)
	require.Contains(t, answer, `{"key":["done"],"n":6,"total":27,"most":8}`)
	_, answer = askJSON(s, "/db/_find", `{"selector":{"status":"open"},"fields":["status"],"use_index":["sums","i"]}`)
	require.Contains(t, answer, `{"status":"open"}`)
	require.Contains(t, s.Do("GET", "/db/_design/sums/_view/i?group=true", "").Body.String(), `{"key":["done"],"value":6}`)
}

// An index over all fields is asked how many documents have each value, until there is a document
// that it has nothing of.
func TestAggregateOfAllFields(t *testing.T) {
	s := servertest.NewAllFields(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for i := range 9 {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/d%d", i), fmt.Sprintf(`{"status":%d}`, i%2)).Code)
	}
	require.Equal(t, 201, s.Do("PUT", "/db/other", `{}`).Code)
	_, answer := askJSON(s, "/db/_index", `{"index":{"max_values":3},"type":"auto","ddoc":"auto","name":"all"}`)
	require.Contains(t, answer, `"created"`)
	const request = `{"group_by":["status"],"values":{"n":{"$count":true}},"execution_stats":true}`
	_, answer = askJSON(s, "/db/_find", `{"selector":{"status":1},"limit":1}`) // waits for the index
	require.Contains(t, answer, `"docs"`)
	require.Eventually(t, func() bool {
		_, answer = askJSON(s, "/db/_explain", request)
		return strings.Contains(answer, `"aggregate":{"plan":"entries"`)
	}, time.Minute, 10*time.Millisecond)
	require.Contains(t, answer, `"index":{"ddoc":"_design/auto","name":"all"},"reads":"entries of a field","estimate":9,`)
	_, answer = askJSON(s, "/db/_aggregate", request)
	require.Contains(t, answer, `{"key":[0],"n":5}`)
	require.Contains(t, answer, `"ungrouped": 1`)
	require.Contains(t, answer, `"total_keys_examined":9,"total_docs_examined":0`)

	require.Equal(t, 201, s.Do("PUT", "/db/large", `{"status":1,"a":1,"b":2,"c":3,"d":4}`).Code)
	_, answer = askJSON(s, "/db/_explain", request)
	require.Contains(t, answer, `"aggregate":{"plan":"hashed","index":{"ddoc":"","name":"_all_docs"},"reads":"rows","estimate":12,`)
	_, answer = askJSON(s, "/db/_aggregate", request)
	require.Contains(t, answer, `{"key":[1],"n":5}`)
}

// The sums and statistics of groups are those that a view with the same groups has, by every plan.
func TestAggregateEqualsAView(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	numbers := []string{"1", "-2", "0.5", "9223372036854775807", "18446744073709551616", "-1e3",
		"1" + strings.Repeat("0", 40)}
	for i := range 60 {
		a, b := []string{`"x"`, `"y"`, "null", "7"}[i%4], i%3
		body := fmt.Sprintf(`{"k":[%s,%d],"a":%s,"b":%d,"v":%s}`, a, b, a, b, numbers[i%7])
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/d%d", i), body).Code)
	}
	s.PutDesign("view", `{"language":"member","views":{"stats":{"map":"k v","reduce":"_stats"},
		"sum":{"map":"k v","reduce":"_sum"}}}`)
	type group struct {
		Key, Value, Stats, Sum json.RawMessage
	}
	rows := func(view string, level int) (rows []group) {
		var answer struct{ Rows []group }
		body := s.Do("GET", fmt.Sprintf("/db/_design/view/_view/%s?group_level=%d", view, level), "").Body
		require.NoError(t, json.Unmarshal(body.Bytes(), &answer))
		return answer.Rows
	}
	for _, plan := range []string{"hashed", "summed"} {
		for level, by := range []string{1: `"a"`, 2: `"a","b"`} {
			if level == 0 {
				continue
			}
			request := `{"selector":{"a":{"$exists":true},"b":{"$exists":true}},"group_by":[` + by +
				`],"values":{"stats":{"$stats":"v"},"sum":{"$sum":"v"}}}`
			_, text := askJSON(s, "/db/_explain", request)
			require.Contains(t, text, `"aggregate":{"plan":"`+plan+`"`)
			var answer struct{ Groups []group }
			_, text = askJSON(s, "/db/_aggregate", request)
			require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
			stats, sums := rows("stats", level), rows("sum", level)
			require.Len(t, answer.Groups, len(stats))
			for i, g := range answer.Groups {
				require.Equal(t, string(stats[i].Key), string(g.Key))
				require.Equal(t, string(stats[i].Value), string(g.Stats), "%s of %s", plan, g.Key)
				require.Equal(t, string(sums[i].Value), string(g.Sum), "%s of %s", plan, g.Key)
			}
		}
		_, text := askJSON(s, "/db/_index", `{"index":{"fields":["a","b"],"values":["v"]}}`)
		require.Contains(t, text, `"result"`)
	}
}

// A request that takes longer than the setting says ends with an error, and with nothing before it.
func TestAggregateTimeout(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/d", `{"a":1}`).Code)
	s.Set("mango", "aggregate_timeout", "0")
	status, answer := askJSON(s, "/db/_aggregate", `{"group_by":["a"],"values":{"n":{"$count":true}}}`)
	require.Equal(t, 500, status, answer)
	require.Contains(t, answer, `{"error":"timeout"`)
}

// What cannot be read is refused with a status, an error and a reason, and is no fault of the server.
func TestAggregateRefuses(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	values := `"values":{"n":{"$count":true}}`
	for body, word := range map[string]string{
		`{}`:                                                                   "missing_required_key",
		`{"values":{}}`:                                                        "invalid_values",
		`{"values":{"key":{"$count":true}}}`:                                   "invalid_values",
		`{"values":{"n":{"$count":false}}}`:                                    "invalid_values",
		`{"values":{"n":{"$sum":1}}}`:                                          "invalid_values",
		`{"values":{"n":{"$median":"a"}}}`:                                     "invalid_values",
		`{"values":{"n":{"$sum":"a..b"}}}`:                                     "invalid_field_name",
		`{` + values + `,"group_by":"a"}`:                                      "invalid_group_by",
		`{` + values + `,"group_by":["a","a"]}`:                                "invalid_group_by",
		`{` + values + `,"group_by":[{"field":"a","floor":0}]}`:                "invalid_group_by",
		`{` + values + `,"group_by":[{"field":"a","prefix":1,"floor":1}]}`:     "invalid_group_by",
		`{` + values + `,"group_by":[""]}`:                                     "invalid_field_name",
		`{` + values + `,"sort":["x"]}`:                                        "invalid_sort_field",
		`{` + values + `,"sort":{"n":"asc"}}`:                                  "invalid_sort_json",
		`{` + values + `,"limit":-1}`:                                          "invalid_non_neg_integer",
		`{` + values + `,"bookmark":"x"}`:                                      "invalid_bookmark",
		`{` + values + `,"selector":1}`:                                        "invalid_selector_json",
		`{` + values + `,"selector":{"a":{"$x":1}}}`:                           "invalid_operator",
		`{` + values + `,"use_index":1}`:                                       "invalid_index_name",
		`{` + values + `,"skip":1}`:                                            "invalid_key",
		`{` + values + `,"execution_stats":1}`:                                 "invalid_boolean",
		`{"values":{` + strings.Repeat(`"a":{"$count":true},`, 70) + `"b":1}}`: "invalid_values",
	} {
		status, answer := askJSON(s, "/db/_aggregate", body)
		require.Equal(t, 400, status, "%s: %s", body, answer)
		require.Contains(t, answer, `"error":"`+word+`"`, body)
	}
}

// Who does not see all of a database gets nothing that is computed of it.
func TestAggregateHidesUsers(t *testing.T) {
	s := servertest.NewWithOpenUsers(t, 2)
	const request = `{"group_by":["name"],"values":{"n":{"$count":true}}}`
	status, answer := askJSON(s, "/_users/_aggregate", request, servertest.As("joe1")...)
	require.Equal(t, 403, status, answer)
	_, answer = askJSON(s, "/_users/_aggregate", request)
	require.Contains(t, answer, `{"key":["joe0"],"n":1}`)
}
