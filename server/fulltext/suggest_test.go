package fulltext_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSuggest: words for what somebody types, in both APIs alike.
func TestSuggest(t *testing.T) {
	s := fruit(t)
	for _, c := range []struct {
		path   string
		status int
		answer string
	}{
		{"_search_suggest/fruit?prefix=P", 200, `{"suggestions":[{"term":"pear","docs":1},{"term":"plum","docs":1}]}`},
		{"_nouveau_suggest/fruit?prefix=P&field=name", 200, `{"suggestions":[{"term":"pear","docs":1},{"term":"plum",`},
		{"_search_suggest/fruit?prefix=&limit=2", 200, `{"suggestions":[{"term":"red","docs":2},{"term":"apple","docs":1}]}`},
		{"_search_suggest/fruit?word=aplpe&edits=1", 200, `{"suggestions":[{"term":"apple","docs":1,"edits":1}]}`},
		{"_search_suggest/fruit?word=pear&edits=0", 200, `{"suggestions":[{"term":"pear","docs":1,"edits":0}]}`},
		{"_nouveau_suggest/fruit?word=reed&field=name", 200,
			`{"suggestions":[{"term":"red","docs":2,"edits":1},{"term":"green","docs":1,"edits":2}]}`},
		{"_nouveau_suggest/fruit?prefix=kit&field=place", 200, `{"suggestions":[{"term":"kitchen","docs":2}]}`},
		{"_search_suggest/fruit?prefix=a&field=nowhere", 200, `{"suggestions":[]}`},
		{"_search_suggest/fruit", 400, `{"error":"query_parse_error","reason":"Query must include one of the arguments ` +
			`'prefix' and 'word'"}`},
		{"_search_suggest/fruit?word=a&prefix=b", 400, `one of the arguments`},
		{"_search_suggest/fruit?word=a&edits=3", 400, `edits must be 0, 1 or 2`},
		{"_search_suggest/fruit?word=a&limit=201", 400, `Value for limit is too large, must not exceed 200`},
		{"_search_suggest/fruit?word=a&stale=no", 400, `stale only available as stale=ok`},
		{"_nouveau_suggest/fruit?word=a&update=x", 400, `"Invalid value for update: <<\"x\">>"`},
		{"_search_suggest/fruit?word=a&partition=x", 400, "`partition` not supported on this index"},
		{"_search_suggest/gone?word=a", 404, `{"error":"not_found","reason":"gone not found."}`},
	} {
		check(t, s, "GET", "/db/_design/d/", c.path, "", c.status, c.answer)
	}
	require.Equal(t, 201, s.Do("POST", "/db", `{"_id":"new","name":"pineapple","price":1}`).Code)
	check(t, s, "GET", "/db/_design/d/", "_search_suggest/fruit?prefix=pi&stale=ok", "", 200, `{"suggestions":[]}`)
	check(t, s, "GET", "/db/_design/d/", "_search_suggest/fruit?prefix=pi", "", 200, `"pineapple"`)
	require.Equal(t, 201, s.Do("PUT", "/parts?partitioned=true", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/parts/_design/d", ddoc).Code)
	for _, id := range []string{"a:1", "a:2", "b:1"} {
		require.Equal(t, 201, s.Do("PUT", "/parts/"+id, `{"name":"fruit","price":1}`).Code)
	}
	check(t, s, "GET", "/parts/_design/d/", "_search_suggest/fruit?prefix=f&partition=a", "", 200, `"docs":2}]}`)
	check(t, s, "GET", "/parts/_design/d/", "_search_suggest/fruit?prefix=f", "", 400, "`partition` parameter is mandatory")
	check(t, s, "GET", "/parts/_design/d/", "_nouveau_suggest/fruit?prefix=f&field=name&partition=b", "", 200, `"docs":1}]}`)
}
