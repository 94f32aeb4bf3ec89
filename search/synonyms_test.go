package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// Queries take synonyms for each other, as words and in phrases, in both kinds of index; the index
// does not change with them.
func TestSynonyms(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	design := func(synonyms string) string {
		return `{"indexes":{"c":{"index":"f","analyzer":"english","synonyms":` + synonyms + `}},` +
			`"nouveau":{"n":{"index":"g","default_analyzer":"english","synonyms":` + synonyms + `}}}`
	}
	for id, text := range map[string]string{
		"a": "a fast car", "b": "some fast automobiles", "c": "a slow car", "d": "television", "e": "the TV set",
	} {
		b.put(t, id, fmt.Sprintf(`{"index":[["default",%q,{}]],"nouveau":[["text","default",%q,{}]]}`, text, text))
	}
	var signatures []string
	for _, c := range []struct{ synonyms, query, found string }{
		{`[]`, `car`, "2 a c"},
		{`[["cars","Automobile"],["tv","television","the"]]`, `car`, "3 a b c"},
		{`[["cars","Automobile"]]`, `"fast car"`, "2 a b"},
		{`[["cars","Automobile"]]`, `"fast automobile"`, "2 a b"},
		{`[["cars","Automobile"]]`, `automobile AND slow`, "1 c"},
		{`[["cars","Automobile"]]`, `auto*`, "1 b"},
		{`[["tv","television"]]`, `television`, "2 d e"},
		{`[["tv","television"]]`, `"television set"`, "1 e"},
		{`[["tv","television"]]`, `_id:tv`, "0 "},
		{`[["tv","television"],["tv","slow"]]`, `tv`, "3 c d e"},
		{`[["tv","television"],["tv","slow"]]`, `slow`, "2 c e"},
	} {
		b.put(t, "_design/d", design(c.synonyms))
		for kind, name := range map[segment.Kind]string{segment.Clouseau: "c", segment.Nouveau: "n"} {
			def := b.lookup(t, kind, name)
			want(t, name+" "+c.query, b.ask(t, def, c.query), c.found)
			signatures = append(signatures, name+fmt.Sprintf("%x", def.signature))
		}
	}
	for _, s := range signatures {
		if strings.HasPrefix(s, "c") && s != signatures[0] && s != signatures[1] {
			t.Error("synonyms make an index anew")
		}
	}
	for _, wrong := range []string{`{}`, `["a"]`, `[["a",1]]`, `[["a","two words"]]`, `"a"`} {
		b.put(t, "_design/d", design(wrong))
		for kind, name := range map[segment.Kind]string{segment.Clouseau: "c", segment.Nouveau: "n"} {
			_, err := b.indexes.Lookup(context.Background(), b.db, kind, "_design/d", name)
			if !errors.Is(err, errSynonyms) {
				t.Errorf("%s: %v", wrong, err)
			}
		}
	}
}
