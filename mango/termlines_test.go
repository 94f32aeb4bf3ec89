package mango

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
)

// What a real CouchDB 3.5.0 answers: lines end where Erlang, which counts columns from 1, ends them, and a binary shown
// as numbers stands on a line of its own where lines are broken.
func TestPrettyTermBreaksLinesAsErlang(t *testing.T) {
	for value, want := range map[string]string{
		`{"$and":[{"a":1},[]]}`: `{[{<<"$and">>,
                                             [{[{<<"a">>,1}]},[]]}]}`,
		`{"$or":[{"$nor":[{"$text":"a"}]},{"a.":1}]}`: `{[{<<"$or">>,
                                             [{[{<<"$nor">>,
                                                 [{[{<<"$text">>,
                                                     <<"a">>}]}]}]},
                                              {[{<<"a.">>,1}]}]}]}`,
		`{"bbbbbbbbbb":["\u0000\u0001","bbbbbbbb","c",true,"dddddddd"]}`: `{[{<<"bbbbbbbbbb">>,
                                             [<<0,1>>,
                                              <<"bbbbbbbb">>,<<"c">>,true,
                                              <<"dddddddd">>]}]}`,
	} {
		v, err := ejson.Parse([]byte(value))
		require.NoError(t, err)
		prefix := "Sort must be an array of sort specs, not: "
		require.Equal(t, prefix+want, prettyTerm(prefix, v), value)
	}
}
