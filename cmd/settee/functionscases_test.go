package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExamplesPass: each function of docs/examples has cases, and they pass.
func TestExamplesPass(t *testing.T) {
	const dir = "../../docs/examples"
	codes, err := filepath.Glob(filepath.Join(dir, "*.js"))
	require.NoError(t, err)
	require.Len(t, codes, 13)
	for _, code := range codes {
		require.FileExists(t, strings.TrimSuffix(code, ".js")+".test.json")
	}
	out, err := run(t, "functions", "test", dir)
	require.NoError(t, err, out)
	require.Contains(t, out, " cases ran, of 13 files")
}

// writeFunction writes a function f of src that may write dst and ask api, with the cases of a file.
func writeFunction(t *testing.T, code, file string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"f.js": code, "f.test.json": file, "f.json": `{"appname": "f", "depcfg": {"source_bucket": "src",
			"buckets": [{"alias": "dst", "bucket_name": "dst", "access": "rw"}],
			"curl": [{"value": "api", "hostname": "https://x.example.com"}]}}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// TestCasesThatFail: whatever is not as a case expects fails it, and says what.
func TestCasesThatFail(t *testing.T) {
	const code = `
function Ring(context) { log('rings'); }
function OnUpdate(doc, meta) {
  if (doc.throws) throw new Error('as told');
  if (doc.rings) createTimer(Ring, new Date(Date.now() + 1000), 'r', {});
  if (doc.asks) log(curl('GET', api, {path: '/a'}).body);
  if (doc.forever) couchbase.upsert(src, {id: 'x' + Math.random()}, doc, {self_recursion: true});
  dst[meta.id] = {n: doc.n, now: Date.now()};
}`
	set := func(doc, rest string) string {
		return `{"cases":[{"name":"c","now":"1970-01-01T00:00:01Z","steps":[{"set":"1","doc":` + doc + `},` + rest + `]}]}`
	}
	for _, row := range []struct{ name, file, says string }{
		{"passes", set(`{"n":1}`, `{"expect":{"documents":{"dst":{"1":{"now":1000,"n":1}}}}}`), ""},
		{"another value", set(`{"n":1}`, `{"expect":{"documents":{"dst":{"1":{"n":2,"now":1000}}}}}`), `+  "n": 1`},
		{"a document too many", set(`{"n":1}`, `{"expect":{"documents":{"dst":{}}}}`), `+ "1": {`},
		{"a document that is missing", set(`{"n":1}`, `{"expect":{"documents":{"src":{"1":{"n":1},"2":{}}}}}`), `- "2": {}`},
		{"a timer", set(`{"rings":true}`, `{"expect":{"timers":[]}}`), `+  "callback": "Ring"`},
		{"rings", set(`{"rings":true}`, `{"advance":"1s"},{"expect":{"log":["\"rings\""],"timers":[]}}`), ""},
		{"rings later", set(`{"rings":true}`, `{"advance":"999ms"},{"expect":{"log":["\"rings\""]}}`), `- "\"rings\""`},
		{"a call", set(`{"asks":true}`, `{"expect":{"calls":[]}}`), `+  "url": "https://x.example.com/a"`},
		{"no answer", set(`{"asks":true}`, `{"expect":{"log":[]}}`), `the case has no more answers of api`},
		{"thrown", set(`{"throws":true}`, `{"expect":{"log":[]}}`), `+ "Error: as told"`},
		{"thrown at the end", set(`{}`, `{"expect":{"log":[]}},{"set":"1","doc":{"throws":true}}`), `+ "Error: as told"`},
		{"thrown as expected", set(`{"throws":true}`, `{"expect":{"failures":["Error: as told"]}}`), ""},
		{"not thrown", set(`{}`, `{"expect":{"failures":["Error: as told"]}}`), `- "Error: as told"`},
		{"a body that is none", set(`5`, `{"expect":{"log":[]}}`), "step 1: 1 in src"},
		{"an unknown database", set(`{}`, `{"expect":{"documents":{"other":{}}}}`), "database other: "},
		{"no case", `{"cases":[]}`, "there is no case in it"},
		{"expects nothing", set(`{}`, `{"delete":"1"}`), `case 1, "c": it expects nothing`},
		{"unknown member", set(`{}`, `{"expects":{}}`), `unknown field "expects"`},
		{"two things", set(`{}`, `{"delete":"1","expect":{"log":[]}}`), "step 2: one of set"},
		{"no JSON", "{", "unexpected EOF"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, "functions", "test", writeFunction(t, code, row.file))
			if row.says == "" {
				require.NoError(t, err, out)
				return
			}
			require.EqualError(t, err, "1 failed", out)
			require.Contains(t, out, row.says)
		})
	}
	_, err := run(t, "functions", "test", t.TempDir())
	require.ErrorContains(t, err, "there is no file NAME.test.json")
	for _, row := range []struct{ code, says string }{
		{"function OnUpdate(doc) {", "SyntaxError"},
		{"function OnDeploy() { throw new Error('no') }\nfunction OnUpdate(doc) {}", "OnDeploy has failed: no"},
		{"function OnUpdate(doc, meta) { dst[meta.id] = {v: dst.v}; }", "documents of dst"},
	} {
		out, err := run(t, "functions", "test", writeFunction(t, row.code,
			set(`{}`, `{"expect":{"documents":{"dst":{}}}}`)))
		require.EqualError(t, err, "1 failed", out)
		require.Contains(t, out, row.says)
	}
}
