package documents

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
)

// TestLuceneVersions: only new design documents get a version, and only indexes that are objects
// without one.
func TestLuceneVersions(t *testing.T) {
	in := `{"a":1,"nouveau":{"x":{},"y":{"index":"f"},"z":{"lucene_version":null,"n":1},"w":5},"b":{"nouveau":{}}}`
	versioned := `{"a":1,"nouveau":{"x":{"lucene_version":10},"y":{"index":"f","lucene_version":10},` +
		`"z":{"lucene_version":null,"n":1},"w":5},"b":{"nouveau":{}}}`
	next := compat.RevPath{Start: 1, IDs: []string{"a"}}
	for _, c := range []struct {
		doc      compat.Document
		in, want string
	}{
		{compat.Document{ID: "_design/d"}, in, versioned},
		{compat.Document{ID: "_design/d", Revs: next}, in, in},
		{compat.Document{ID: "d"}, in, in},
		{compat.Document{ID: "_design/d"}, `{"nouveau":[{}]}`, `{"nouveau":[{}]}`},
		{compat.Document{ID: "_design/d"}, `{"nouveau":{}}`, `{"nouveau":{}}`},
	} {
		body, err := compat.NewBody([]byte(c.in))
		require.NoError(t, err)
		c.doc.Body = body
		require.NoError(t, setLuceneVersions(&c.doc))
		require.Equal(t, c.want, string(c.doc.Body.JSON))
		want, err := compat.NewBody([]byte(c.want))
		require.NoError(t, err)
		require.Equal(t, want, c.doc.Body, "size and revision follow the text")
	}
}
