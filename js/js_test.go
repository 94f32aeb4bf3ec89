package js

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

func TestMain(m *testing.M) {
	RunWorkerIfAsked()
	os.Exit(m.Run())
}

func newTestPool(t testing.TB, opts Options) *Pool {
	t.Helper()
	if opts.Timeout == 0 {
		opts.Timeout = time.Minute // machines that run tests may be busy
	}
	p := NewPool(opts)
	t.Cleanup(p.Close)
	return p
}

// mapText gives the rows of one function for documents as one text: key:value|key:value.
func mapText(t testing.TB, p *Pool, source, lib string, docs ...string) (string, error) {
	t.Helper()
	var texts [][]byte
	for _, d := range docs {
		texts = append(texts, []byte(d))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	results, err := p.Map(ctx, NewMapProgram("db", []string{source}, []byte(lib)), texts)
	if err != nil {
		return "", err
	}
	out := ""
	for _, r := range results {
		require.Len(t, r, 1)
		if r[0].Err != "" {
			out += "!" + r[0].Err
		}
		for _, row := range r[0].Rows {
			out += string(row.Key) + ":" + string(row.Value) + "|"
		}
	}
	return out, nil
}

func TestMap(t *testing.T) {
	p := newTestPool(t, Options{})
	got, err := mapText(
		t,
		p,
		"function(doc){ emit(doc._id, doc.n); emit([doc.n, 'é'], null) }",
		"",
		`{"_id":"a","n":1}`,
		`{"_id":"b","n":12345678901234567890}`,
	)
	require.NoError(t, err)
	require.Equal(t, `"a":1|[1,"é"]:null|"b":12345678901234567000|[12345678901234567000,"é"]:null|`, got)
}

func TestHalfCharactersAreReplaced(t *testing.T) {
	p := newTestPool(t, Options{})
	got, err := mapText(
		t,
		p,
		`function(doc){ emit(doc.k[0], [doc.k.charAt(1), '\\ud83e', {'\ud83e': 1}]) }`,
		"",
		`{"_id":"a","k":"🪀"}`,
	)
	require.NoError(t, err)
	require.Equal(t, "\"\uFFFD\":[\"\uFFFD\",\"\\\\ud83e\",{\"\uFFFD\":1}]|", got)
}

// mapAll is MapEach with all results.
func mapAll(t *testing.T, p *Pool, program *MapProgram, docs [][]byte) (all []DocResult) {
	t.Helper()
	_, err := MapEach(t.Context(), p, program, docs, func(results []DocResult) error {
		all = append(all, results...)
		return nil
	})
	require.NoError(t, err)
	return all
}

// TestMuch lets the documents of a call give more rows than one crossing may bring.
func TestMuch(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{MaxResult: 1 << 20})
	docs := make([][]byte, 8)
	for i := range docs {
		docs[i] = []byte(`{"n":12345678901234567890}`)
	}
	program := NewMapProgram("db", []string{"function(doc){ emit(1, 'x'.repeat(300000)); }"}, nil)
	require.Len(t, mapAll(t, p, program, docs), 8)
	few := newTestPool(t, Options{MaxRows: 400_000})
	results, err := few.Map(context.Background(), program, docs)
	require.NoError(t, err)
	require.Len(t, results, 1, "rows have a bound of their own")
	_, err = p.Map(
		context.Background(),
		NewMapProgram("db", []string{"function(doc){ emit(1, 'x'.repeat(2e6)); }"}, nil),
		docs,
	)
	require.ErrorIs(t, err, errTooMuch)
}
