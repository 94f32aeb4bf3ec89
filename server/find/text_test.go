package find_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// people is a server with full-text search, whose database db has some documents.
func people(t *testing.T, query string) (s *servertest.Server, post func(path, body string) (int, string)) {
	s = servertest.NewSearch(t)
	require.Equal(t, 201, s.Do("PUT", "/db"+query, "").Code)
	prefix := ""
	if query != "" {
		prefix = "p:"
	}
	for i, body := range []string{
		`{"name":{"first":"Ada","last":"Lovelace"},"age":36,"tags":["math","poetry"]}`,
		`{"name":{"first":"Alan","last":"Turing"},"age":41,"tags":["math"],"admin":true}`,
		`{"name":{"first":"Grace","last":"Hopper"},"age":85,"tags":[]}`,
		`{"name":{"first":"Ada","last":"Yonath"},"age":"old"}`,
	} {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/%sdoc%d", prefix, i), body).Code)
	}
	return s, func(path, body string) (int, string) {
		w := s.Do("POST", path, body, "Content-Type", "application/json")
		return w.Code, strings.TrimSpace(w.Body.String())
	}
}

// What CouchDB 3.5.0 stores, lists and answers for text indexes, in its own bytes.
func TestTextIndexes(t *testing.T) {
	s, post := people(t, "")
	for _, kind := range []string{"text", "nouveau"} {
		status, answer := post("/db/_index", `{"index":{},"type":"`+kind+`","ddoc":"`+kind+`","name":"all"}`)
		require.Equal(t, 200, status, answer)
		require.Equal(t, `{"result":"created","id":"_design/`+kind+`","name":"all"}`, answer)
		_, answer = post("/db/_index", `{"index":{},"type":"`+kind+`","ddoc":"`+kind+`","name":"all"}`)
		require.Equal(t, `{"result":"exists","id":"_design/`+kind+`","name":"all"}`, answer)
		member := map[string]string{"text": "indexes", "nouveau": "nouveau"}[kind]
		version := map[string]string{"nouveau": `,"lucene_version":10`}[kind] // since 3.5.2
		require.Contains(t, s.Do("GET", "/db/_design/"+kind, "").Body.String(),
			`"language":"query","`+member+`":{"all":{"index":{"default_analyzer":"keyword","default_field":{},`+
				`"partial_filter_selector":{},"selector":{},"fields":"all_fields","index_array_lengths":true},`+
				`"analyzer":{"name":"perfield","default":"keyword","fields":{"$default":"standard"}}`+version+`}}}`)
	}
	status, answer := post("/db/_index", `{"index":{"fields":[{"name":"age","type":"number"},{"type":"string","name":"name.last"}],
		"default_field":{"enabled":false},"default_analyzer":"english","index_array_lengths":false,
		"partial_filter_selector":{"age":{"$gt":40}}},"type":"text","ddoc":"some","name":"some"}`)
	require.Equal(t, 200, status, answer)
	require.Contains(t, s.Do("GET", "/db/_design/some", "").Body.String(),
		`"indexes":{"some":{"index":{"default_analyzer":"english","default_field":{"enabled":false},`+
			`"partial_filter_selector":{"age":{"$gt":40}},"selector":{},"fields":[{"name":"age","type":"number"},`+
			`{"type":"string","name":"name.last"}],"index_array_lengths":false},"analyzer":"keyword"}}`)
	require.Equal(t, `{"total_rows":4,"indexes":[`+
		`{"ddoc":null,"name":"_all_docs","type":"special","def":{"fields":[{"_id":"asc"}]}},`+
		`{"ddoc":"_design/nouveau","name":"all","type":"nouveau","partitioned":false,"def":{"default_analyzer":"keyword",`+
		`"default_field":{},"selector":{},"fields":[],"index_array_lengths":true}},`+
		`{"ddoc":"_design/some","name":"some","type":"text","partitioned":false,"def":{"default_analyzer":"english",`+
		`"default_field":{"enabled":false},"partial_filter_selector":{"age":{"$gt":40}},"selector":{},`+
		`"fields":[{"age":"number"},{"name.last":"string"}],"index_array_lengths":false}},`+
		`{"ddoc":"_design/text","name":"all","type":"text","partitioned":false,"def":{"default_analyzer":"keyword",`+
		`"default_field":{},"selector":{},"fields":[],"index_array_lengths":true}}]}`,
		strings.TrimSpace(s.Do("GET", "/db/_index", "").Body.String()))
	require.Equal(t, 404, s.Do("DELETE", "/db/_index/text/json/all", "").Code)
	require.Equal(t, 200, s.Do("DELETE", "/db/_index/_design/text/text/all", "").Code)
	require.Equal(t, 404, s.Do("GET", "/db/_design/text", "").Code)
	_, answer = post("/db/_index/_bulk_delete", `{"docids":["some","nouveau"]}`)
	require.Contains(t, answer, `"fail":[]`)
	require.Contains(t, s.Do("GET", "/db/_index", "").Body.String(), `"total_rows":1`)
}

// Generated names are CouchDB's: the hash of the request.
func TestNameOfTextIndex(t *testing.T) {
	_, post := people(t, "")
	_, answer := post("/db/_index", `{"index":{},"type":"text","w":3}`)
	require.Equal(t, `{"result":"created","id":"_design/cedc01a027213706d7260b5e5b73c70b9233743a",`+
		`"name":"cedc01a027213706d7260b5e5b73c70b9233743a"}`, answer)
}

// What CouchDB refuses, and how.
func TestTextIndexesThatAreRefused(t *testing.T) {
	s, post := people(t, "")
	for _, row := range []struct {
		index, kind string
		status      int
		answer      string
	}{
		{`[]`, "text", 400, `{"error":"invalid_index","reason":"Text indexes must be an object, not: []"}`},
		{`{"fields":[{"name":"a","type":"garbage"}]}`, "text", 400,
			`{"error":"invalid_index_fields_definition","reason":"Text Index field definitions must be of the form\n` +
				`            {\"name\": \"non-empty fieldname\", \"type\":\n                \"boolean,number, or string\"}. ` +
				`Def: [{[{<<\"name\">>,`},
		{`{"fields":[{"name":"a","type":"garbage"}]}`, "nouveau", 400,
			`{"error":"invalid_index_fields_definition","reason":"Text Index field definitions must be of the form\n` +
				`            {\"name\": \"non-empty fieldname\", \"type\":\n                \"boolean,number,string or text\"}. ` +
				`Def: [{[{<<\"name\">>,`},
		{`{"fields":[{"name":"a","type":"text"}]}`, "text", 400, `"error":"invalid_index_fields_definition"`},
		{`{"fields":[{"name":"","type":"string"}]}`, "text", 400, `"error":"invalid_index_fields_definition"`},
		{`{"fields":[{"name":"a"}]}`, "text", 400, `"error":"invalid_index_fields_definition"`},
		{`{"fields":["a"]}`, "text", 400, `"error":"invalid_index_fields_definition"`},
		{`{"fields":true}`, "text", 400, `"error":"invalid_index_fields_definition"`},
		{`{"fields":"some"}`, "text", 400, `"error":"invalid_index_fields_definition"`},
		{`{"index_array_lengths":1}`, "text", 400, `{"error":"invalid_boolean","reason":"Invalid boolean value: 1"}`},
		{`{"selector":1}`, "text", 400, `"error":"invalid_selector_json"`},
		{`{"foo":1}`, "text", 400, `{"error":"invalid_key","reason":"Invalid key foo for this request."}`},
		{`{}`, "fulltext", 400, `{"error":"invalid_index","reason":"Invalid type for index: fulltext"}`},
	} {
		status, answer := post("/db/_index", `{"index":`+row.index+`,"type":"`+row.kind+`"}`)
		require.Equal(t, row.status, status, answer)
		require.Contains(t, answer, row.answer)
	}
	s.Set("mango", "index_all_disabled", "true")
	status, answer := post("/db/_index", `{"index":{"fields":[]},"type":"text"}`)
	require.Equal(t, 403, status)
	require.Equal(t,
		`{"error":"index_all_disabled","reason":"New text indexes are forbidden to index all fields."}`, answer)
	status, _ = post("/db/_index", `{"index":{"fields":[{"name":"a","type":"string"}]},"type":"text"}`)
	require.Equal(t, 200, status)
	s.Set("mango", "index_all_disabled", "warn")
	status, _ = post("/db/_index", `{"index":{},"type":"text"}`)
	require.Equal(t, 200, status)
	_, answer = post("/db/_find", `{"selector":{"a":"x"}}`)
	require.Equal(t, `{"error":"multiple_text_indexes","reason":"You must specify an index with the `+
		"`use_index`"+` parameter."}`, answer)

	without := servertest.New(t)
	require.Equal(t, 201, without.Do("PUT", "/db", "").Code)
	w := without.Do("POST", "/db/_index", `{"index":{},"type":"nouveau"}`, "Content-Type", "application/json")
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(), `{"error":"required index service unavailable","reason":"nouveau"}`)
}

// Queries of text indexes: answers, what _explain tells, and that a write is seen by the query that
// follows.
func TestTextQueries(t *testing.T) {
	for _, kind := range []string{"text", "nouveau"} {
		t.Run(kind, func(t *testing.T) {
			s, post := people(t, "")
			status, answer := post("/db/_index", `{"index":{},"type":"`+kind+`","ddoc":"d","name":"n"}`)
			require.Equal(t, 200, status, answer)
			find := func(request string) string {
				status, answer := post("/db/_find", request)
				require.Equal(t, 200, status, answer)
				return answer
			}
			ids := func(request string) string { // by score they are as the kind of index has it
				var ids []string
				for _, part := range strings.Split(find(request), `{"_id":"`)[1:] {
					id, _, _ := strings.Cut(part, `"`)
					ids = append(ids, id)
				}
				if !strings.Contains(request, `"sort"`) {
					slices.Sort(ids)
				}
				return strings.Join(ids, " ")
			}
			for _, row := range []struct{ request, want string }{
				{`{"selector":{"$text":"lovelace"}`, "doc0"},
				{`{"selector":{"$text":"ada"}`, "doc0 doc3"},
				{`{"selector":{"$text":"ada lovelace"}`, "doc0"},
				{`{"selector":{"$text":"math poetry"}`, "doc0"},
				{`{"selector":{"$text":"the"}`, ""},
				{`{"selector":{"$text":"ada","age":{"$gt":1}}`, "doc0"},
				{`{"selector":{"$or":[{"$text":"turing"},{"age":85}]},"sort":["age"]`, "doc1 doc2"},
				{`{"selector":{"age":{"$gt":1}},"sort":["age"]`, "doc0 doc1 doc2"},
				{`{"selector":{"age":{"$gt":1}},"sort":[{"age":"desc"}],"limit":2`, "doc2 doc1"},
				{`{"selector":{"age":{"$gt":1}},"sort":[{"age":"desc"}],"skip":1`, "doc1 doc0"},
				{`{"selector":{"name.first":{"$exists":true}},"sort":["name.last:string"]`, "doc2 doc0 doc1 doc3"},
				{`{"selector":{"name.first":"Ada"},"limit":0`, ""},
				{`{"selector":{"tags":{"$size":1}}`, "doc1"},
				{`{"selector":{"tags.0":"math"}`, "doc0 doc1"},
				{`{"selector":{"admin":{"$exists":false}}`, "doc0 doc2 doc3"},
			} {
				want := row.want
				if kind == "nouveau" && strings.Contains(row.request, `"the"`) {
					continue // the standard analyzer of Nouveau has no stop words; no document has this one
				}
				require.Equal(t, want, ids(row.request+`,"fields":["_id"]}`), row.request)
			}
			require.Equal(t, 201, s.Do("PUT", "/db/new", `{"age":1000,"name":{"first":"Zuse"}}`).Code)
			require.Equal(t, "new", ids(`{"selector":{"$text":"zuse"}}`))
			w := s.Do("GET", "/db/new", "")
			_, rev, _ := strings.Cut(w.Body.String(), `"_rev":"`)
			require.Equal(t, 200, s.Do("DELETE", "/db/new?rev="+rev[:34], "").Code)
			require.Equal(t, "", ids(`{"selector":{"$text":"zuse"}}`))
			answer = find(`{"selector":{"age":{"$gt":1}},"execution_stats":true,"count":true,"limit":1,"sort":["age:number"]}`)
			keys := map[string]int{"text": 1, "nouveau": 0}[kind]
			require.Contains(t, answer, fmt.Sprintf(`"total_keys_examined":%d,"total_docs_examined":1,`, keys))
			require.Contains(t, answer, "\"count\": 3")
			require.NotContains(t, answer, "warning")

			_, answer = post("/db/_explain", `{"selector":{"$text":"a b","age":{"$lt":5}},"sort":[{"age":"desc"}],"limit":1000}`)
			require.Contains(t, answer, `"type":"`+kind+`"`)
			require.Contains(t, answer, `"limit":200,"skip":0,"fields":[],"index_candidates":[{"index":{"ddoc":null,`)
			order := map[string]string{"text": "<number>", "nouveau": ""}[kind]
			require.Contains(t, answer, `"selector_hints":[{"type":"json","indexable_fields":["age"],"unindexable_fields":`+
				`["$default"]},{"type":"`+kind+`","indexable_fields":["$default","age"],"unindexable_fields":[]}],`+
				`"query":"(($default:\"a\\ b\") AND (age_3anumber:[* TO 5}))","partition":null,"sort":["-age_3anumber`+
				order+`"]}`)
			_, answer = post("/db/_explain", `{"selector":{"age":5}}`)
			order = map[string]string{"text": `"relevance"`, "nouveau": "null"}[kind]
			require.Contains(t, answer, `"sort":`+order+"}")

			status, answer = post("/db/_find", `{"selector":{"age":{"$exists":true}},"sort":["age"]}`)
			require.Equal(t, 400, status)
			require.Equal(t, `{"error":"text_sort_error","reason":"Unspecified or ambiguous sort type. Try appending `+
				`:number or :string to the sort field. age"}`, answer)
			_, answer = post("/db/_find", `{"selector":{}}`)
			require.Contains(t, answer, "No matching index found")
			_, answer = post("/db/_index", `{"index":{"fields":["age"]},"ddoc":"j"}`)
			require.Contains(t, answer, "created")
			_, answer = post("/db/_explain", `{"selector":{"age":5}}`)
			require.Contains(t, answer, `"type":"json"`)
			require.Contains(t, answer, `{"usable":true,"reasons":[{"name":"unfavored_type"}],"ranking":1,"covering":null}`)
			_, answer = post("/db/_explain", `{"selector":{"age":5},"use_index":["d","n"]}`)
			require.Contains(t, answer, `"query":"(age_3anumber:5)"`)
		})
	}
}

// An index of chosen fields answers what it has the fields for.
func TestTextIndexOfChosenFields(t *testing.T) {
	_, post := people(t, "")
	_, answer := post("/db/_index", `{"index":{"fields":[{"name":"age","type":"number"}]},"type":"text","ddoc":"d"}`)
	require.Contains(t, answer, "created")
	for _, row := range []struct{ selector, kind, found string }{
		{`{"age":36}`, `"type":"text"`, "doc0"},
		{`{"age":"old"}`, `"type":"special"`, "doc3"},
		{`{"age":{"$regex":"old"}}`, `"type":"special"`, "doc3"},
		{`{"tags":{"$size":2}}`, `"type":"text"`, "doc0"},
		{`{"admin":{"$exists":true}}`, `"type":"text"`, "doc1"},
		{`{"$text":"ada"}`, `"type":"text"`, ""},
		{`{"age":{"$in":[85]}}`, `"type":"text"`, "doc2"},
	} {
		_, answer := post("/db/_explain", `{"selector":`+row.selector+`}`)
		_, answer, _ = strings.Cut(answer, `"index":`)
		require.Contains(t, answer[:strings.Index(answer, `"selector"`)], row.kind, row.selector)
		_, answer = post("/db/_find", `{"selector":`+row.selector+`,"fields":["_id"]}`)
		want := `{"docs":[` + "\r\n"
		if row.found != "" {
			want += `{"_id":"` + row.found + `"}`
		}
		require.Contains(t, answer, want, row.selector)
	}
}

// Partitions: a query of one reads indexes of partitions.
func TestTextIndexesOfPartitions(t *testing.T) {
	s, post := people(t, "?partitioned=true")
	require.Equal(t, 201, s.Do("PUT", "/db/q:doc", `{"age":36}`).Code)
	_, answer := post("/db/_index", `{"index":{},"type":"text","ddoc":"local"}`)
	require.Contains(t, answer, "created")
	_, answer = post("/db/_index", `{"index":{},"type":"text","ddoc":"global","partitioned":false}`)
	require.Contains(t, answer, "created")
	_, answer = post("/db/_partition/p/_find", `{"selector":{"age":36},"fields":["_id"]}`)
	require.Contains(t, answer, `{"docs":[`+"\r\n"+`{"_id":"p:doc0"}`+"\r\n]")
	_, answer = post("/db/_find", `{"selector":{"age":36},"fields":["_id"]}`)
	require.Contains(t, answer, `{"_id":"p:doc0"},`+"\r\n"+`{"_id":"q:doc"}`)
	_, answer = post("/db/_partition/p/_explain", `{"selector":{"age":36}}`)
	require.Contains(t, answer, `"query":"(age_3anumber:36)","partition":"p","sort":"relevance"}`)
	require.Contains(t, answer, `"ddoc":"_design/local"`)
}

// _search and what belongs to it see Mango's indexes as those of JavaScript.
func TestSearchOfMangoIndex(t *testing.T) {
	s, post := people(t, "")
	_, answer := post("/db/_index", `{"index":{},"type":"text","ddoc":"d","name":"n"}`)
	require.Contains(t, answer, "created")
	require.Contains(t, s.Do("GET", "/db/_design/d/_search/n?q=$default:turing", "").Body.String(), `"total_rows":1`)
	require.Contains(t, s.Do("GET", "/db/_design/d/_search/n?q=age_3anumber:[30+TO+50]", "").Body.String(),
		`"total_rows":2`)
	require.Contains(t, s.Do("GET", "/db/_design/d/_search_info/n", "").Body.String(), `"doc_count":4`)
}
