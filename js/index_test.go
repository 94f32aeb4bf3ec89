package js

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestIndexFunctions: what index() takes and refuses, for both search servers.
func TestIndexFunctions(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	for _, c := range []struct {
		of           SearchIndex
		source, want string
	}{
		{ClouseauIndex, `index("a", doc.n); index("b", "x", {store: true}); index("c", true); emit(1, 2)`,
			`["a",1]:{}|["b","x"]:{"store":true}|["c",true]:{}|`},
		{ClouseauIndex, `index("a", NaN)`, `["a",null]:{}|`},
		{ClouseauIndex, `index("a", 1); index("a", [])`, `!function raised exception ({name:"TypeError", ` +
			`message:"value must be a string, a number or boolean not object"}) with doc._id x`},
		{ClouseauIndex, `index("_a", 1)`, `!function raised exception ({name:"ReservedName", ` +
			`message:"name must not start with an underscore"}) with doc._id x`},
		{ClouseauIndex, `index("a", 1, 2)`, `!function raised exception ({name:"TypeError", ` +
			`message:"options must be an object not number"}) with doc._id x`},
		{NouveauIndex, `index("text", "a", "x", {store: true}); index("double", "b", doc.n); index("stored", "c", 2)`,
			`["text","a","x"]:{"store":true}|["double","b",1]:{"store":false}|["stored","c",2]:{"store":false}|`},
		{NouveauIndex, `index("double", "a", "x")`, `!function raised exception ({name:"TypeError", ` +
			`message:"type of value must be a number not string"}) with doc._id x`},
		{NouveauIndex, `index("point", "a", 1)`, `!function raised exception ({name:"TypeError", ` +
			`message:"point not supported"}) with doc._id x`},
	} {
		program := NewIndexProgram("db", c.of, "function (doc) {"+c.source+"}")
		results, err := p.Map(context.Background(), program, [][]byte{[]byte(`{"_id":"x","n":1}`)})
		require.NoError(t, err, c.source)
		got := ""
		if results[0][0].Err != "" {
			got = "!" + results[0][0].Err
		}
		for _, row := range results[0][0].Rows {
			got += string(row.Key) + ":" + string(row.Value) + "|"
		}
		require.Equal(t, c.want, got, c.source)
	}
	_, err := p.Map(context.Background(), NewMapProgram("db", []string{"function (doc) { index(1) }"}, nil),
		[][]byte{[]byte(`{"_id":"x"}`)})
	require.NoError(t, err)
}
