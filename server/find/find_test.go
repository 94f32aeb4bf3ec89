package find_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// What an index of the users database holds is for its admins; other users see of documents what
// they always see.
func TestIndexesOfUsersAreForAdmins(t *testing.T) {
	s := servertest.NewWithOpenUsers(t, 2)
	const query = `{"selector":{"derived_key":{"$gt":null}},"fields":["_id","derived_key"]}`
	post := func(path, body string, headers ...string) (int, string) {
		w := s.Do("POST", path, body, append(headers, "Content-Type", "application/json")...)
		return w.Code, w.Body.String()
	}
	_, answer := post("/_users/_find", query, servertest.As("joe1")...)
	require.NotContains(t, answer, "joe0")
	_, answer = post("/_users/_index", `{"index":{"fields":["derived_key"]},"ddoc":"d","name":"n"}`)
	require.Contains(t, answer, `"created"`)
	status, answer := post("/_users/_find", query, servertest.As("joe1")...)
	require.Equal(t, 403, status, answer)
	_, answer = post("/_users/_find", query)
	require.Contains(t, answer, "joe0")
}

// An index is used by the query that follows, and seen by it after each write.
func TestQueriesSeeIndexesAndWritesAtOnce(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/x", `{"a":1}`).Code)
	post := func(path, body string) string {
		return s.Do("POST", "/db/"+path, body, "Content-Type", "application/json").Body.String()
	}
	require.Contains(t, post("_find", `{"selector":{"a":{"$gt":0}},"sort":["a"]}`), "no_usable_index")
	require.Contains(t, post("_index", `{"index":{"fields":["a"]},"ddoc":"d","name":"n"}`), `"created"`)
	const query = `{"selector":{"a":{"$gt":0}},"sort":["a"],"fields":["_id"],"count":true,"limit":1}`
	require.Contains(t, post("_find", query), `{"_id":"x"}`)
	require.Equal(t, 201, s.Do("PUT", "/db/w", `{"a":0.5}`).Code)
	answer := post("_find", query)
	require.Contains(t, answer, `{"_id":"w"}`)
	require.Contains(t, answer, "\"count\": 2")
	require.Contains(t, post("_find", `{"selector":{"$and":[]},"count":true}`), "\"count\": 0")
	require.Equal(t, 200, s.Do("DELETE", "/db/_index/d/json/n", "").Code)
	require.Contains(t, post("_find", query), "no_usable_index")
}

// CouchDB took filters that this server does not: such an index is listed, but not used, as it
// holds nothing.
func TestUnreadableFilter(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/x", `{"a":"ab"}`).Code)
	ddoc := `{"language":"query","views":{"n":{"map":{"fields":{"a":"asc"},"partial_filter_selector":{"a":{"$regex":"a(?=b)"}}},"reduce":"_count","options":{"def":{}}}}}`
	require.Equal(t, 201, s.Do("PUT", "/db/_design/d", ddoc).Code)
	require.Contains(t, s.Do("GET", "/db/_index", "").Body.String(), `"name":"n"`)
	w := s.Do("POST", "/db/_find", `{"selector":{"a":{"$gt":""}},"use_index":"d"}`, "Content-Type", "application/json")
	require.Contains(t, w.Body.String(), `"_id":"x"`)
	w = s.Do("POST",
		"/db/_index",
		`{"index":{"fields":["a"],"partial_filter_selector":{"a":{"$regex":"a(?=b)"}}}}`,
		"Content-Type",
		"application/json",
	)
	require.Equal(t, 400, w.Code)
}

// The least double is itself in documents and requests, however it is written, and with an index as
// without.
func TestLeastDouble(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/x", `{"a":4.9e-324}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/y", `{"a":0.0}`).Code)
	for range 2 {
		for _, value := range []string{"4.9e-324", "5e-324", "3e-324", "5.0e-324"} {
			w := s.Do("POST", "/db/_find", `{"selector":{"a":`+value+`},"fields":["a"]}`, "Content-Type", "application/json")
			require.Contains(t, w.Body.String(), "[\r\n{\"a\":5.0e-324}\r\n]", value)
		}
		w := s.Do("POST", "/db/_find", `{"selector":{"a":{"$gt":0}},"fields":["_id"]}`, "Content-Type", "application/json")
		require.Contains(t, w.Body.String(), "[\r\n{\"_id\":\"x\"}\r\n]")
		s.Do("POST", "/db/_index", `{"index":{"fields":["a"]}}`, "Content-Type", "application/json")
	}
}
