package documents_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

func fieldsQuery(list string) string { return "fields=" + url.QueryEscape(list) }

// TestFields: GET of a document shows the fields that are asked for of what it would show without
// them, with _id and _rev. The ETag is of the revision and the list.
func TestFields(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	put := s.Do("PUT", "/db/d", `{"a":[1,{"b":2.50}],"o":{"p":{"q":1,"r":2},"s":3},"x.y":4,
		"_attachments":{"f":{"content_type":"text/plain","data":"YWJj"}}}`)
	rev := servertest.ETag(put)
	require.Equal(t, 201, s.Do("PUT", "/db/_local/l", `{"a":{"b":1},"c":2}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/_design/dd", `{"a":{"b":1},"c":2}`).Code)
	head := `{"_id":"d","_rev":` + rev
	tags := map[string]string{}
	for query, want := range map[string]string{
		fieldsQuery(`["o.p.r","a"]`):                                   head + `,"o":{"p":{"r":2}},"a":[1,{"b":2.5}]}`,
		fieldsQuery(`["a.1.b","x\\.y","no","o.no"]`):                   head + `,"a":{"1":{"b":2.5}},"x.y":4}`,
		fieldsQuery(`["_id","o.s","_rev","o"]`):                        head + `,"o":{"p":{"q":1,"r":2},"s":3}}`,
		fieldsQuery(`["no"]`):                                          head + `}`,
		fieldsQuery(`["_attachments.f.length"]`):                       head + `,"_attachments":{"f":{"length":3}}}`,
		"attachments=true&" + fieldsQuery(`["_attachments.f.data"]`):   head + `,"_attachments":{"f":{"data":"YWJj"}}}`,
		"rev=" + strings.Trim(rev, `"`) + "&" + fieldsQuery(`["o.s"]`): head + `,"o":{"s":3}}`,
	} {
		w := s.Do("GET", "/db/d?"+query, "", "Accept", "multipart/related, application/json")
		servertest.Expect(t, w, 200, want+"\n")
		tag := servertest.ETag(w)
		require.True(t, strings.HasPrefix(tag, rev[:len(rev)-1]+"."), tag)
		require.Empty(t, tags[tag], query)
		tags[tag] = query
		require.Equal(t, 304, s.Do("GET", "/db/d?"+query, "", "If-None-Match", tag).Code)
	}
	all := s.Do("GET", "/db/d", "")
	for _, query := range []string{"fields=", fieldsQuery(`[]`)} {
		w := s.Do("GET", "/db/d?"+query, "")
		servertest.Expect(t, w, 200, all.Body.String())
		require.Equal(t, rev, servertest.ETag(w))
	}
	w := s.Do("GET", "/db/d?revs=true&revs_info=true&"+fieldsQuery(`["_revisions.start","_revs_info.0.status"]`), "")
	servertest.Expect(t, w, 200, head+`,"_revisions":{"start":1},"_revs_info":{"0":{"status":"available"}}}`+"\n")
	require.Empty(t, w.Header().Get("ETag"))
	for id, want := range map[string]string{"_local/l": `"a":{"b":1}}`, "_design/dd": `"a":{"b":1}}`} {
		body := s.Do("GET", "/db/"+id+"?"+fieldsQuery(`["a.b"]`), "").Body.String()
		require.Contains(t, body, want)
		require.NotContains(t, body, `"c"`)
	}
}

// TestFieldsThatCannotBeRead: such a list is 400 on each route that shows documents, and nothing of
// them is shown. Where no documents are shown nobody looks at it, nor where it is a function's.
func TestFieldsThatCannotBeRead(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/d", `{"a":1,"f":{"content_type":"text/plain"}}`).Code)
	s.PutDesign("views", `{"language":"member","views":{"a":{"map":"a a"}}}`)
	bad := map[string]string{
		`a,b`: "bad_request", `"a"`: "invalid_fields", `{"a":1}`: "invalid_fields", `[1]`: "invalid_field",
		`[{"a":1}]`: "invalid_field", `["a..b"]`: "invalid_field_name", `[""]`: "invalid_field_name",
	}
	shown := [][2]string{
		{"GET", "/db/d?"}, {"GET", "/db/d?open_revs=all&"}, {"POST", "/db/_bulk_get?"},
		{"GET", "/db/_all_docs?include_docs=true&"}, {"POST", "/db/_all_docs/queries?include_docs=true&"},
		{"GET", "/db/_changes?include_docs=true&"}, {"GET", "/db/_design/views/_view/a?include_docs=true&"},
		{"POST", "/db/_design/views/_view/a/queries?include_docs=true&"},
	}
	others := [][2]string{
		{"GET", "/db/_all_docs?"}, {"GET", "/db/_changes?"}, {"GET", "/db/_design/views/_view/a?"},
		{"PUT", "/db/e?"}, {"GET", "/db?"},
	}
	body := map[string]string{"PUT": `{}`, "POST": `{"docs":[{"id":"d"}],"queries":[{}]}`}
	for list, word := range bad {
		for _, r := range shown {
			w := s.Do(r[0], r[1]+fieldsQuery(list), body[r[0]])
			require.Equal(t, 400, w.Code, "%s %.30s: %s", r, list, w.Body)
			require.Contains(t, w.Body.String(), fmt.Sprintf(`{"error":%q`, word), "%s %.30s", r, list)
		}
	}
	for _, r := range others {
		w := s.Do(r[0], r[1]+fieldsQuery("a,b"), body[r[0]])
		require.Less(t, w.Code, 300, "%s: %s", r, w.Body)
	}
	require.Equal(t, 400, s.Do("GET", "/db/d?pointer=/a&"+fieldsQuery(`["a"]`), "").Code)
	// In a body there is room for many, and for long ones.
	for list, status := range map[string]int{
		`[` + strings.Repeat(`"a",`, 999) + `"a"]`: 200, `[` + strings.Repeat(`"a",`, 1000) + `"a"]`: 400,
		`["` + strings.Repeat(`a.`, 255) + `a"]`: 200, `["` + strings.Repeat(`a.`, 256) + `a"]`: 400,
	} {
		for _, path := range []string{"/db/_all_docs", "/db/_design/views/_view/a"} {
			w := s.Do("POST", path, `{"include_docs":true,"fields":`+list+`}`)
			require.Equal(t, status, w.Code, "%.30s: %.300s", list, w.Body)
		}
	}
}

// TestFieldsOfLists: lists with documents show of each the fields that GET shows of it.
func TestFieldsOfLists(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	docs := `{"docs":[{"_id":"x","a":1,"b":{"c":2,"d":3}},{"_id":"y","a":{"_id":"x"},"b":7},{"_id":"z","b":{"d":4}}]}`
	require.Equal(t, 201, s.Do("POST", "/db/_bulk_docs", docs).Code)
	large := fmt.Sprintf(`{"a":2,"pad":%q,"b":{"d":{"e":1}}}`, strings.Repeat("7 ", 300_000))
	require.Equal(t, 201, s.Do("PUT", "/db/large", large).Code)
	s.PutDesign("views", `{"language":"member","views":{"a":{"map":"a a"}}}`)
	const list = `["b.d"]`
	fields := fieldsQuery(list)
	doc := map[string]string{}
	for id, want := range map[string]string{"x": `,"b":{"d":3}}`, "y": `}`, "z": `,"b":{"d":4}}`, "large": `,"b":{"d":{"e":1}}}`} {
		doc[id] = strings.TrimSpace(s.Do("GET", "/db/"+id+"?"+fields, "").Body.String())
		require.Regexp(t, `^{"_id":"`+id+`","_rev":"1-[0-9a-f]{32}"`+strings.ReplaceAll(want, "}", "\\}")+"$", doc[id])
	}
	const multipart = "multipart/mixed, multipart/related, application/json"
	body := fmt.Sprintf(`{"include_docs":true,"fields":%s}`, list)
	queries := fmt.Sprintf(`{"queries":[%s]}`, body)
	for _, r := range [][3]string{
		{"GET", "/db/_all_docs?include_docs=true&" + fields}, {"POST", "/db/_all_docs", body},
		{"POST", "/db/_all_docs/queries", queries}, {"POST", "/db/_all_docs?" + fields, `{"include_docs":true,"keys":["x","y","z","large"]}`},
		{"GET", "/db/_changes?include_docs=true&" + fields}, {"GET", "/db/_changes?include_docs=true&filter=_doc_ids&doc_ids=%5B%22x%22%2C%22y%22%2C%22z%22%2C%22large%22%5D&" + fields},
		{"POST", "/db/_changes?include_docs=true&filter=_selector&" + fields, `{"selector":{}}`},
		{"POST", "/db/_changes?include_docs=true&filter=_selector&" + fieldsQuery(`["pad"]`), `{"selector":{},"fields":["_id","_rev","b.d"]}`},
		{"POST", "/db/_bulk_get?" + fields, `{"docs":[{"id":"x"},{"id":"y"},{"id":"z"},{"id":"large"}]}`},
	} {
		answer := s.Do(r[0], r[1], r[2], "Accept", multipart).Body.String()
		for id, shown := range doc {
			require.Contains(t, answer, ":"+shown+"}", "%s %s", r, id)
		}
		require.NotContains(t, answer, "7 7", r)
		require.NotContains(t, answer, `"c":2`, r)
	}
	// A view has rows for what has the member; one of them names another document.
	for _, r := range [][3]string{
		{"GET", "/db/_design/views/_view/a?include_docs=true&" + fields}, {"POST", "/db/_design/views/_view/a", body},
		{"POST", "/db/_design/views/_view/a/queries", queries},
	} {
		answer := s.Do(r[0], r[1], r[2]).Body.String()
		require.Contains(t, answer, `"doc":`+doc["x"], r)
		require.Contains(t, answer, `"doc":`+doc["large"], r)
		require.NotContains(t, answer, "7 7", r)
	}
	revs := s.Do("GET", "/db/x?open_revs=all&"+fields, "", "Accept", multipart).Body.String()
	require.Equal(t, `[{"ok":`+doc["x"]+"}]\n", revs)
}
