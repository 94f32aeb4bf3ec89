package index

import (
	"runtime"
	"strings"
	"testing"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// Patterns and words whose automata would be large are refused, and take next to nothing.
func TestLargeAutomataAreRefused(t *testing.T) {
	w := newWorld(1, segment.Clouseau)
	for range 100 {
		w.step()
	}
	or := func(n query.Node) query.Node {
		b := &query.Bool{}
		for range 1000 {
			b.Clauses = append(b.Clauses, query.BoolClause{Occur: query.Should, Node: n})
		}
		return b
	}
	for name, n := range map[string]query.Node{
		"text times a count": &query.Regexp{Field: "t", Pattern: "(" + strings.Repeat("a", 20_000) + "){1000}"},
		"many of them":       or(&query.Regexp{Field: "t", Pattern: "(abcdefg){1000}"}),
		"wildcards":          &query.Wildcard{Field: "t", Pattern: strings.Repeat("?", 500_000)},
		"a long pattern":     &query.Regexp{Field: "t", Pattern: strings.Repeat("a?", 500_000)},
		"a long word":        &query.Fuzzy{Field: "t", Text: strings.Repeat("a", 30_000), Edits: 2},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := w.index(w.now(), false).Search(t.Context(), &Request{Query: n, Limit: 10})
		runtime.ReadMemStats(&after)
		if name != "a long word" && (err == nil || !strings.Contains(err.Error(), "more than 10000 states")) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
			t.Errorf("%s: %d MB", name, took>>20)
		}
	}
}
