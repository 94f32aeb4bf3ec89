package js

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// A function that counts what it has seen in its realm.
const countingMap = `function(doc) {
	n = typeof n === 'undefined' ? 1 : n + 1;
	if (doc.fatal) throw ["fatal", "a", "b"];
	emit(n);
}`

// TestRealmsOutliveCalls: a realm serves later calls for the same database and program, and no
// other one; one of a call that failed serves none.
func TestRealmsOutliveCalls(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{Workers: 1})
	counted := func(tenant string, doc string, maps ...string) string {
		t.Helper()
		results, err := p.Map(t.Context(), NewMapProgram(tenant, maps, nil), [][]byte{[]byte(doc)})
		if err != nil {
			return err.Error()
		}
		var b []byte
		for _, r := range results[0] {
			b = append(append(b, r.Rows[0].Key...), ' ')
		}
		return string(bytes.TrimSpace(b))
	}
	const doc = `{"_id":"a"}`
	require.Equal(t, "1", counted("db", doc, countingMap))
	require.Equal(t, "2", counted("db", doc, countingMap))
	require.Equal(t, "1", counted("other", doc, countingMap), "another database")
	require.Equal(t, "1 1", counted("db", doc, countingMap, countingMap), "another program, each function has its own")
	require.Equal(t, "2 2", counted("db", doc, countingMap, countingMap))
	require.Equal(t, "3", counted("db", doc, countingMap))
	require.Contains(t, counted("db", `{"_id":"a","fatal":true}`, countingMap), "b")
	require.Equal(t, "1", counted("db", doc, countingMap), "the call before failed")

	reduced := func(tenant string) string {
		t.Helper()
		const source = `function() { n = typeof n === 'undefined' ? 1 : n + 1; return n; }`
		results, err := p.Reduce(t.Context(), tenant, source, ReduceLimit{}, []ReduceGroup{{Rereduce: true}})
		require.NoError(t, err)
		return string(results[0].Value)
	}
	require.Equal(t, "1", reduced("db"))
	require.Equal(t, "2", reduced("db"))
	require.Equal(t, "1", reduced("other"))
}

// TestRealmsKeepNoMemory: what a function gathers in its realm without end does not fill the
// worker, and what a large document took is given back.
func TestRealmsKeepNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector slows what the workers allocate ten times; the other tests of realms run under it")
	}
	p := newTestPool(t, Options{Workers: 1, Memory: 256 << 20})
	program := NewMapProgram("db", []string{`function(doc) {
		kept = typeof kept === 'undefined' ? [] : kept;
		kept.push(String.fromCharCode(97 + kept.length % 20).repeat(8 << 20));
		emit(kept.length);
	}`}, nil)
	most := 0
	for range 60 {
		results, err := p.Map(t.Context(), program, [][]byte{[]byte(`{"_id":"a"}`)})
		require.NoError(t, err)
		n, err := strconv.Atoi(string(results[0][0].Rows[0].Key))
		require.NoError(t, err)
		most = max(most, n)
	}
	require.Greater(t, most, 2)
	require.Zero(t, p.Stats().Killed)

	w := newWorker(&bytes.Buffer{})
	f, err := w.newMapFunction(&mapProgram{maps: []string{"function(doc) { emit(doc, doc); }"}, root: libRoot(nil)}, 0)
	require.NoError(t, err)
	var e encoder
	large := `{"_id":"` + strings.Repeat("x", 1<<20) + `"}`
	require.NoError(t, mapDocument(&e, []*mapFunction{f}, []byte(large)))
	key := realmKey(commandMap, "db", digest{}, 0)
	w.keepRealm(key, f)
	again, ok := takeRealm[*mapFunction](w, key)
	require.True(t, ok)
	require.Same(t, f, again)
	require.Zero(t, cap(f.text)+cap(f.scratch)+cap(f.rows))
	_, ok = takeRealm[*mapFunction](w, key)
	require.False(t, ok, "it was taken")
}
