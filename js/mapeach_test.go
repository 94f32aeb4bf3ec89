package js

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// killedMapper is a worker's behaviour in small: a document's text says which functions it ends the
// worker for ("0" for the first one) and whether it fails the call ("f"). Results of the documents
// before are told in groups of some, as those of a worker are, or not at all.
type killedMapper struct {
	group         int
	calls, killed int
}

var errThrown = errors.New("thrown")

func (m *killedMapper) Map(_ context.Context, p *MapProgram, docs [][]byte) ([]DocResult, error) {
	m.calls++
	var results []DocResult
	for i, doc := range docs {
		result := make(DocResult, len(p.Maps))
		for n, source := range p.Maps {
			if strings.Contains(string(doc), source) {
				m.killed++
				return results[:i/m.group*m.group], errTimedOut
			}
			result[n].Rows = []Emitted{{Key: doc, Value: []byte(source)}}
		}
		if strings.Contains(string(doc), "f") {
			return results[:i/m.group*m.group], errThrown
		}
		results = append(results, result)
	}
	return results, nil
}

// mapEach collects what MapEach gives.
func mapEach(ctx context.Context, m Mapper, p *MapProgram, docs [][]byte) (all []DocResult, err error) {
	done, err := MapEach(ctx, m, p, docs, func(more []DocResult) error {
		all = append(all, more...)
		return nil
	})
	if done != len(all) {
		err = errors.New("other results than are said")
	}
	return all, err
}

// TestMapEach compares with each document and each function by itself: those that end workers, and
// nothing else, have an error, at a cost of two workers for each at most, beside one for each of
// several functions. Where it ends early that is at the first document that fails the call, or
// after maxKilled in a row.
func TestMapEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []string{"", "", "", "", "", "", "", "", "0", "1", "01", "f"}
		if rapid.Bool().Draw(t, "many") {
			kinds = []string{"", "0", "0", "0", "0", "0", "0"}
		}
		docs := [][]byte{}
		// The names are Greek: they must not have an f or a digit in them.
		for i, kind := range rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 40).Draw(t, "docs") {
			docs = append(docs, fmt.Appendf(nil, "doc%c%s", 'Α'+rune(i), kind))
		}
		maps := []string{"0", "1"}[:rapid.IntRange(1, 2).Draw(t, "functions")]
		m := &killedMapper{group: rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "group")}
		got, err := mapEach(t.Context(), m, NewMapProgram("db", maps, nil), docs)

		inRow, blamed, end := 0, 0, len(docs)
		var want error
		for i, doc := range docs {
			killed := slices.ContainsFunc(maps, func(f string) bool { return strings.Contains(string(doc), f) })
			if inRow++; !killed {
				inRow = 0
			}
			if killed {
				blamed++
			}
			if strings.Contains(string(doc), "f") && !killed {
				end, want = i, errThrown
			} else if inRow == min(maxKilled, len(docs)) {
				end, want = i+1, errTimedOut
			}
			if want != nil {
				break
			}
		}
		if !errors.Is(err, want) {
			t.Fatalf("%v instead of %v", err, want)
		}
		if want == errThrown { // what was not told of before counts for nothing
			end = len(got)
		}
		if len(got) != end {
			t.Fatalf("%d results instead of %d", len(got), end)
		}
		for i := range got {
			for n, f := range maps {
				killed := strings.Contains(string(docs[i]), f)
				if r := got[i][n]; r.Killed != killed || (r.Err != "") != killed || (len(r.Rows) == 1) == killed {
					t.Fatalf("%s, function %s: %+v", docs[i], f, r)
				}
			}
		}
		if most := (2 + len(maps)) * blamed; m.killed > most {
			t.Fatalf("%d workers for %d documents", m.killed, blamed)
		}
		if most := 2*len(docs) + 4*blamed + 1; m.calls > most {
			t.Fatalf("%d calls for %d documents", m.calls, len(docs))
		}
	})
}

// TestMapEachEndsWorkers: in real workers, what a function does not survive is found, and the
// others have their rows.
func TestMapEachEndsWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector slows what the workers allocate ten times; the other tests of MapEach run under it")
	}
	p := newTestPool(t, Options{Memory: 128 << 20, Timeout: hostileTime})
	p.opts.MaxResult = 1 << 20
	source := `function (doc) {
		if (doc.how === "endless") for (;;) {}
		if (doc.how === "memory") for (var all = [];;) all.push("x".repeat(1e7 + all.length));
		if (doc.how === "rows") for (var n = 0; n < 3000; n++) emit(n, "x".repeat(1000));
		emit(doc._id, 1);
	}`
	var docs [][]byte
	for i, how := range []string{"", "", "endless", "", "memory", "", "rows", ""} {
		docs = append(docs, fmt.Appendf(nil, `{"_id":"d%d","how":%q}`, i, how))
	}
	results, err := mapEach(t.Context(), p, NewMapProgram("db", []string{source}, nil), docs)
	require.NoError(t, err)
	for i, result := range results {
		bad := i == 2 || i == 4 || i == 6
		require.Equal(t, bad, result[0].Killed, "%s: %s", docs[i], result[0].Err)
		if !bad {
			require.Len(t, result[0].Rows, 1, docs[i])
		}
	}
	require.Contains(t, results[2][0].Err, "timed out")
	require.Contains(t, results[6][0].Err, "too much")
}

// TestMapEachInPieces: of documents whose rows are many a search index gets those of a few at a
// time, and all in order.
func TestMapEachInPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector slows what the workers allocate ten times; the other tests of MapEach run under it")
	}
	p := newTestPool(t, Options{})
	program := NewIndexProgram("db", ClouseauIndex,
		`function (doc) { for (var i = 0; i < 1000; i++) index(doc._id, "x".repeat(500)); }`)
	var docs [][]byte
	for i := range 60 { // of half a megabyte each
		docs = append(docs, fmt.Appendf(nil, `{"_id":"d%d"}`, i))
	}
	most, n := 0, 0
	done, err := MapEach(t.Context(), p, program, docs, func(more []DocResult) error {
		most = max(most, len(more))
		for _, result := range more {
			require.Len(t, result[0].Rows, 1000)
			require.Equal(t, fmt.Sprintf(`["d%d"`, n), string(result[0].Rows[0].Key[:len(fmt.Sprint(n))+4]))
			n++
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, len(docs), done)
	require.LessOrEqual(t, most, largestCrossing/500_000+1)
}
