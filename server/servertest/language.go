package servertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views"
)

// OpenViews opens views in Language or of Mango for the time of the test.
func OpenViews(t testing.TB, store *storage.Store, engine kv.Store) *views.Views {
	t.Helper()
	languages := map[string]views.Language{"member": Language{}, mango.Language: mango.Views{}}
	v, err := views.Open(views.Options{Store: store, KV: engine, Languages: languages})
	require.NoError(t, err)
	t.Cleanup(func() { v.Close() })
	return v
}

// PutViews makes the database db of ten documents, in the partition p if it has partitions, and a
// design document on them. query is that of the request which makes the database: "" or
// "?partitioned=true".
func (s *Server) PutViews(query string) {
	s.t.Helper()
	require.Equal(s.t, 201, s.Do("PUT", "/db"+query, "").Code)
	prefix := ""
	if query != "" {
		prefix = "p:"
	}
	for i := range 10 {
		body := fmt.Sprintf(`{"k":%d,"v":{"_id":"%sd%d"},"g":["g",%d]}`, i, prefix, (i+1)%10, i%3)
		require.Equal(s.t, 201, s.Do("PUT", fmt.Sprintf("/db/%sd%d", prefix, i), body).Code)
	}
	s.PutDesign("d", `{"language":"member","views":{"m":{"map":"k"},"l":{"map":"k v"},"r":{"map":"g k","reduce":"_sum"}}}`)
}

// Language is the language "member": the map function "k v" emits the members k and v of documents
// that have k, and fails for documents whose k is the text "bad".
type Language struct{}

type memberMapper struct{ key, value string }

// Compile is of views.Language.
func (Language) Compile(def views.Definition) (views.Mapper, error) {
	source, err := ejson.Parse(def.Map)
	if err != nil {
		return nil, err
	}
	key, value, _ := strings.Cut(source.Text(), " ")
	return memberMapper{key, value}, nil
}

// Map emits one row for a document that has the member m.key. The key "bad" makes it fail, so that
// tests can see what a failing map function does.
func (m memberMapper) Map(doc *docread.Document, emit func(key, value []byte)) error {
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return err
	}
	key, ok := body.Get(m.key)
	if !ok {
		return nil
	}
	if key.TextIs("bad") {
		return errors.New("a bad key")
	}
	value, ok := body.Get(m.value)
	if !ok {
		emit(key.AppendJSON(nil), []byte("null"))
		return nil
	}
	emit(key.AppendJSON(nil), value.AppendJSON(nil))
	return nil
}
