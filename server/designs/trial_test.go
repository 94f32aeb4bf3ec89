package designs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// try posts to _design_test: a design document, the other members of the body.
func try(t *testing.T, s *servertest.Server, ddoc, rest string) (int, string) {
	t.Helper()
	w := s.Do("POST", "/db/_design_test", fmt.Sprintf(`{"ddoc":%s,%s}`, ddoc, rest))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func trialServer(t *testing.T) *servertest.Server {
	t.Helper()
	s := servertest.NewJS(t)
	for i := range 3 {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprint("/db/d", i), fmt.Sprintf(`{"n":%d}`, i)).Code)
	}
	return s
}

// A view that is tried gives the rows and the value that it has when it is stored.
func TestTriedFunctionsAnswerAsStoredOnes(t *testing.T) {
	s := trialServer(t)
	before := s.Do("GET", "/db", "").Body.String()
	for _, reduce := range []string{"_sum", "_count", "_stats", "function (keys, values, re) { return values.length }"} {
		ddoc := fmt.Sprintf(`{"views":{"lib":{"one":"exports.one = 1"},"v":{
			"map":"function (doc) { emit(doc._id, doc.n); if (doc.n === 1) emit('again', require('views/lib/one').one) }",
			"reduce":%q}}}`, reduce)
		code, tried := try(t, s, ddoc, `"kind":"map","name":"v","docs":["d0","d1","gone","d2"]`)
		require.Equal(t, 200, code, tried)
		var answer struct {
			Results []struct {
				ID, Error string
				Rows      []struct{ Key, Value any }
			}
			Reduce struct{ Value any }
		}
		require.NoError(t, json.Unmarshal([]byte(tried), &answer), tried)
		require.Equal(t, "not_found", answer.Results[2].Error)
		rows := 0
		for _, result := range answer.Results {
			rows += len(result.Rows)
		}
		require.Equal(t, before, s.Do("GET", "/db", "").Body.String(), "nothing is stored")

		s := trialServer(t) // of its own: the stored one would change the next round
		s.PutDesign("d", ddoc)
		var stored struct {
			TotalRows int `json:"total_rows"`
			Rows      []struct{ Value any }
		}
		body := s.Do("GET", "/db/_design/d/_view/v", "").Body.Bytes()
		require.NoError(t, json.Unmarshal(body, &stored))
		require.Equal(t, stored.Rows[0].Value, answer.Reduce.Value, reduce)
		body = s.Do("GET", "/db/_design/d/_view/v?reduce=false", "").Body.Bytes()
		require.NoError(t, json.Unmarshal(body, &stored))
		require.Equal(t, stored.TotalRows, rows)
	}
}

func TestTrialsOfEachKind(t *testing.T) {
	s := trialServer(t)
	ddoc := `{"views":{"v":{"map":"function (doc) { throw new Error('no ' + doc.n) }"},"bad":{"map":"function (doc) {\n emit(\n}"}},
		"filters":{"f":"function (doc, req) { return doc.n == req.query.n && req.userCtx.name === 'ann' }"},
		"shows":{"s":"function (doc, req) { return {code: 201, headers: {'X-A': 'b'}, body: doc.n + ' for ' + req.userCtx.name} }","none":"function () { return 3 }"},
		"lists":{"l":"function (head, req) { start({headers: {'X-A': 'b'}}); send(head.total_rows + ':'); var row; while (row = getRow()) send(' ' + row.id + ' ' + row.doc.n); return '.' }",
			"fails":"function () { send('begun'); getRow(); throw new Error('halfway') }"},
		"updates":{"u":"function (doc, req) { doc.n += Number(req.body); return [doc, 'was ' + req.method] }"},
		"validate_doc_update":"function (doc, old, user) { if (user.roles.indexOf('editor') < 0) throw {unauthorized: 'editors only'}; if (doc.n < old.n) throw {forbidden: 'less'} }"}`
	for rest, want := range map[string]string{
		`"kind":"map","name":"v","docs":["d1"]`:                                                         `"error":"exception","reason":"function raised exception`,
		`"kind":"map","name":"bad","docs":["d1"]`:                                                       `"error":"compilation_error"`,
		`"kind":"filter","name":"f","docs":["d1","d2"],"req":{"query":{"n":"2"}},"user":{"name":"ann"}`: `{"results":[{"id":"d1","passes":false},{"id":"d2","passes":true}]}`,
		`"kind":"filter","name":"f","docs":["d2"],"req":{"query":{"n":"2"}}`:                            `"passes":false`,
		`"kind":"update","name":"u","docs":["d2"],"req":{"method":"POST","body":"5"}`:                   `"n":7,"_revisions"`,
		`"kind":"show","name":"s","docs":["d1"],"user":{"name":"ann"}`:                                  `"response":{"code":201,"headers":{"X-A":"b"},"body":"1 for ann"}`,
		`"kind":"show","name":"none","docs":["d1"]`:                                                     `"error":"render_error","reason":"undefined response from show function"`,
		`"kind":"list","name":"l","docs":["d2","gone","d1"]`:                                            `"list":{"body":"2: d1 1 d2 2.","response":{"headers":{`,
		`"kind":"list","name":"fails","docs":["d2"]`:                                                    `"list":{"body":"begun","response":{"headers":{}},"error":"render_error","reason":"function raised error`,
		`"kind":"validate","docs":["d2"]`:                                                               `"error":"unauthorized","reason":"editors only"`,
		`"kind":"validate","docs":["d2"],"user":{"name":"e","roles":["editor"]}`:                        `"accepted":true`,
		`"kind":"validate","docs":["d2"],"doc":{"n":1},"user":{"name":"e","roles":["editor"]}`:          `"error":"forbidden","reason":"less"`,
	} {
		code, answer := try(t, s, ddoc, rest)
		require.Equal(t, 200, code, answer)
		require.Contains(t, answer, want, rest)
	}
	require.Contains(t, s.Do("GET", "/db/d2", "").Body.String(), `"n":2`, "an update that is tried stores nothing")
}

// TestTriedListsAndShowsAnswerAsStoredOnes: the body is the one that the stored function gives.
func TestTriedListsAndShowsAnswerAsStoredOnes(t *testing.T) {
	s := trialServer(t)
	ddoc := `{"views":{"v":{"map":"function (doc) { emit([2 - doc.n], doc.n); if (doc.n) emit('é' + doc.n, null) }"}},
		"lists":{"l":"function (head, req) { provides('html', function () { send(JSON.stringify(head)); var row; while (row = getRow()) send(JSON.stringify(row) + '\\n'); return 'end' }) }"},
		"shows":{"s":"function (doc, req) { return '<b>' + doc.n + req.query.a + '</b>' }"}}`
	code, tried := try(t, s, ddoc, `"kind":"list","name":"l","view":"v","docs":["d0","d1","d2"],
		"req":{"headers":{"Accept":"text/html"},"query":{}}`)
	require.Equal(t, 200, code, tried)
	var answer struct {
		List    struct{ Body string }
		Results []struct{ Response struct{ Body string } }
	}
	require.NoError(t, json.Unmarshal([]byte(tried), &answer), tried)
	_, shown := try(t, s, ddoc, `"kind":"show","name":"s","docs":["d1"],"req":{"query":{"a":"x"}}`)
	s.PutDesign("d", ddoc)
	html := []string{"Accept", "text/html"}
	require.Equal(t, s.Do("GET", "/db/_design/d/_list/l/v", "", html...).Body.String(), answer.List.Body)
	require.Contains(t, answer.List.Body, `{"id":"d2","key":[0],"value":2}`)
	require.NoError(t, json.Unmarshal([]byte(shown), &answer), shown)
	require.Equal(t, s.Do("GET", "/db/_design/d/_show/s/d1?a=x", "").Body.String(), answer.Results[0].Response.Body)
}

func TestTrialsThatAreNone(t *testing.T) {
	s := trialServer(t)
	ids := strings.TrimSuffix(strings.Repeat(`"d1",`, 21), ",")
	for body, code := range map[string]int{
		`{}`: 400, `[]`: 400, `{"ddoc":{},"kind":"map","name":"v","docs":["d1"]}`: 404,
		`{"ddoc":{"views":{"v":{"map":"x"}}},"kind":"rewrite","name":"v","docs":["d1"]}`:                 400,
		`{"ddoc":{"lists":{"v":"x"}},"kind":"list","name":"v","view":"w","docs":["d1"]}`:                 404,
		`{"ddoc":{"views":{"v":{"map":"x"}}},"kind":"map","name":"v","docs":[]}`:                         400,
		`{"ddoc":{"views":{"v":{"map":"x"}}},"kind":"map","name":"v","docs":[1]}`:                        400,
		`{"ddoc":{"views":{"v":{"map":"x"}}},"kind":"map","name":"v","docs":[` + ids + `]}`:              400,
		`{"ddoc":{"language":"erlang","views":{"v":{"map":"x"}}},"kind":"map","name":"v","docs":["d1"]}`: 400,
		`{"ddoc":{"views":3},"kind":"map","name":"v","docs":["d1"]}`:                                     404,
	} {
		require.Equal(t, code, s.Do("POST", "/db/_design_test", body).Code, body)
	}
	require.Equal(t, 401, s.Anyone("POST", "/db/_design_test", `{}`).Code)
}

// Functions that run wild cost their time once, and what they give has a bound.
func TestHostileTrials(t *testing.T) {
	s := trialServer(t)
	s.JS.SetTimeout(time.Second)
	view := func(code string) string { return fmt.Sprintf(`{"views":{"v":{"map":%q}}}`, code) }
	const all = `"kind":"map","name":"v","docs":["d0","d1","d2"]`
	code, answer := try(t, s, view("function (doc) { if (doc.n) for (;;); emit(1, 1) }"), all)
	require.Equal(t, 200, code, answer)
	require.Contains(t, answer, `{"id":"d0","rows":[{"key":1,"value":1}]},{"id":"d1","error":"os_process_error"`)
	require.NotContains(t, answer, "d2", "the others are not tried")
	s.JS.SetTimeout(time.Minute)
	code, answer = try(t, s, view("function (doc) { for (var i = 0; i < 20000; i++) emit(i, new Array(100).join('x')) }"), all)
	require.Equal(t, 500, code, answer[:min(300, len(answer))])
	require.Contains(t, answer, `"too_large"`)
	code, answer = try(t, s, `{"updates":{"u":"function (doc) { doc.s = new Array(2000000).join('x'); return [doc, ''] }"}}`,
		`"kind":"update","name":"u","docs":["d0"],"req":{"method":"POST"}`)
	require.Equal(t, 500, code, answer[:min(300, len(answer))])
	require.Contains(t, answer, `"too_large"`)
	code, answer = try(t, s, `{"filters":{"f":"function (doc) { for (;;); }"}}`, `"kind":"validate","docs":["d0"]`)
	require.Equal(t, 404, code, answer)
}
