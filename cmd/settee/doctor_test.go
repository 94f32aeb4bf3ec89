package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
)

// runDoctor runs the command with --json.
func runDoctor(t *testing.T, args ...string) (diagnosis, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(append([]string{"doctor", "--json"}, args...))
	err := root.ExecuteContext(t.Context())
	var d diagnosis
	require.NoError(t, json.Unmarshal(out.Bytes(), &d), out.String())
	return d, err
}

// statusOf is the exit status of an error.
func statusOf(err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.status
	}
	if err != nil {
		return 1
	}
	return 0
}

// kinds are severities and ids of findings, with subjects where there are any.
func kinds(list []finding) []string {
	names := []string{}
	for _, f := range list {
		names = append(names, strings.TrimSpace(f.Severity+" "+f.ID+" "+f.Subject))
	}
	return names
}

// TestDoctorNumbers makes each fault of a machine, and looks at both sides of the bounds.
func TestDoctorNumbers(t *testing.T) {
	const gb = 1 << 30
	meminfo := "MemTotal: 1000 kB\nSwapTotal: 500 kB\nSwapFree: "
	mounts := "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:5 / /mem\\040a rw shared:1 - tmpfs tmpfs rw\n" +
		"3 1 0:6 / /nfs rw - nfs4 a:/b rw\n4 1 0:7 / /lay rw - overlay overlay rw\n" +
		"5 1 0:8 / /twice rw - ext4 /dev/b rw\n6 5 0:9 / /twice rw - ramfs none rw\n"
	one := func(found []finding, err error) string {
		if err != nil {
			return "unknown"
		}
		require.LessOrEqual(t, len(found), 1)
		return strings.Join(kinds(found), "")
	}
	for name, c := range map[string]struct{ got, want string }{
		"files":         {one(judgeFiles(1024)), "warning few_files"},
		"enough files":  {one(judgeFiles(fewFiles)), ""},
		"unknown files": {one(judgeFiles(0)), "unknown"},
		"memory":        {one(judgeMemory("8589934592", 8*gb)), "critical memory_beyond_limit [settee] memory"},
		"nearly all":    {one(judgeMemory("8589934591", 8*gb)), "warning memory_beyond_limit [settee] memory"},
		"its part":      {one(judgeMemory("1073741824", 8*gb)), ""},
		"auto":          {one(judgeMemory("auto", 8*gb)), ""},
		"a unit":        {one(judgeMemory("4GB", 8*gb)), "warning setting_not_a_number [settee] memory"},
		"no bound":      {one(judgeMemory("auto", math.MaxInt64)), "unknown"},
		"swapped":       {one(judgeSwap(meminfo + "399 kB\n")), "warning memory_swapped"},
		"not swapped":   {one(judgeSwap(meminfo + "400 kB\n")), ""},
		"no meminfo":    {one(judgeSwap("MemTotal: x")), "unknown"},
		"disk":          {one(judgeDisk(100, 15), nil), "warning disk_nearly_full"},
		"full disk":     {one(judgeDisk(100, 5), nil), "critical disk_nearly_full"},
		"empty disk":    {one(judgeDisk(100, 16), nil), ""},
		"local":         {one(judgeFileSystem(mounts, "/memory")), ""},
		"tmpfs":         {one(judgeFileSystem(mounts, "/mem a/x")), "critical data_in_memory /mem a/x"},
		"nfs":           {one(judgeFileSystem(mounts, "/nfs")), "warning data_over_network /nfs"},
		"overlay":       {one(judgeFileSystem(mounts, "/lay/x")), "critical data_in_container /lay/x"},
		"mounted over":  {one(judgeFileSystem(mounts, "/twice")), "critical data_in_memory /twice"},
		"no mounts":     {one(judgeFileSystem("x", "/")), "unknown"},
		"scans":         {one(judgeQueries(1101, 10, 1), nil), "warning queries_scan"},
		"few scans":     {one(judgeQueries(1100, 10, 1), nil), "notice queries_scan"},
		"one scan":      {one(judgeScans("db", []scanUse{{nil, 2, 1101, 10}}), nil), "warning index_missing db"},
		"an answer":     {one(judgeScans("db", []scanUse{{nil, 2, 1100, 10}}), nil), ""},
		"no scans":      {one(judgeQueries(1100, 10, 0), nil), ""},
	} {
		require.Equal(t, c.want, c.got, name)
	}
}

// TestDoctorSettings: mistakes in an ini file are found, in a server's settings by the same rules.
func TestDoctorSettings(t *testing.T) {
	t.Setenv("COUCHDB_USER", "")
	t.Setenv("COUCHDB_SECRET", "")
	dir := t.TempDir()
	file := filepath.Join(dir, "a.ini")
	load := func(text string) []string {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		c, err := config.Load(config.Stock(), file)
		require.NoError(t, err)
		return append(kinds(judgeSettings(c.Known())), kinds(judgeStart(c))...)
	}
	const clean = "[admins]\nadmin = x\n[chttpd_auth]\nsecret = s\n"
	require.Empty(t, load(clean))
	for text, want := range map[string]string{
		"[chttpd]\nprot = 1\n":                                                            "warning setting_unknown [chttpd] prot",
		"[couchdb]\nmax_dbs_open = 5\n":                                                   "warning setting_without_effect [couchdb] max_dbs_open",
		"[couchdb]\ndefault_security = everyone\n":                                        "warning unsafe_setting [couchdb] default_security",
		"[chttpd]\nbind_address = 0.0.0.0\n":                                              "notice unsafe_setting [chttpd] bind_address",
		"[chttpd]\nbind_address = any\n[ssl]\nenable=true":                                "",
		"[chttpd]\nenable_cors=true\n[cors]\norigins = *\n":                               "",
		"[chttpd]\nenable_cors=true\n[cors]\norigins = http://a, *\ncredentials = true\n": "warning unsafe_setting [cors] origins",
		"[chttpd]\nauthentication_handlers = {chttpd_auth, proxy_authentication_handler}\n": "critical unsafe_setting " +
			"[chttpd_auth] proxy_use_secret",
	} {
		require.Equal(t, want, strings.Join(load(clean+text), ", "), text)
	}
	require.Equal(t, []string{"warning no_admin", "notice secret_missing"}, load(""))
	t.Setenv("COUCHDB_USER", "a")
	t.Setenv("COUCHDB_PASSWORD", "b")
	t.Setenv("COUCHDB_SECRET", "c")
	require.Empty(t, load(""))
}

// TestDoctorMachine: what cannot be looked at is named and has its error, and what is found beside
// it is told.
func TestDoctorMachine(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "local.ini")
	require.NoError(t, os.WriteFile(file, []byte("[chttpd]\nprot = 1\n"), 0o600))
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(file, later, later))
	d, err := runDoctor(t, "--data", dir)
	require.Error(t, err)
	require.Contains(t, kinds(d.Findings), "warning setting_unknown [chttpd] prot")
	require.Contains(t, kinds(d.Findings), "warning clock_wrong local.ini")
	require.Subset(t, d.Looked, []string{"settings", "disk space", "clock"})

	d, err = runDoctor(t, "--data", filepath.Join(dir, "new", "data"), "--config", filepath.Join(dir, "none.ini"))
	require.Error(t, err)
	require.Equal(t, "ini file", d.NotLooked[0].What)
	require.Contains(t, d.Looked, "disk space", "of the directory that the data will be in")

	d = diagnosis{}
	d.machine(&appOptions{dataDir: dir, dataChosen: true}, filepath.Join(dir, "no proc"))
	var names []string
	for _, n := range d.NotLooked {
		names = append(names, n.What)
	}
	require.Subset(t, names, []string{"swap", "file system"})
	require.Contains(t, d.text(), "NOT LOOKED AT: swap: open ")
}

// TestDoctorReport: notices alone are clean, and the worst is told first.
func TestDoctorReport(t *testing.T) {
	var out bytes.Buffer
	d := diagnosis{Looked: []string{"a", "b"}}
	require.NoError(t, d.report(&out, false))
	require.Equal(t, "Looked at: a, b.\n", out.String())
	d.Findings = []finding{{ID: "n", Severity: notice}}
	require.NoError(t, d.report(&out, false))
	d.NotLooked = []notLooked{{"c", "why"}}
	require.Equal(t, 2, statusOf(d.report(&out, false)))
	d.Findings = append(d.Findings, finding{
		ID: "c", Severity: critical, Subject: "x\x1b[2J", Text: "T.", Do: "D.", Doc: "P",
	})
	out.Reset()
	require.Equal(t, 1, statusOf(d.report(&out, false)))
	require.Contains(t, out.String(), "critical c x [2J\n         T.\n         To do: D. (P)\nnotice   n\n")
}

// TestDoctorServer: of a running server its warnings, its settings, its clock and its queries are
// told; who is no administrator is not told that all is well.
func TestDoctorServer(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, localFile), []byte(
		"[chttpd_auth]\niterations = 10\n[couchdb]\nmax_dbs_open = 5\n[chttpd]\nprot = 1\n"), 0o600))
	base, stop := startServe(t, dir)
	defer stop()
	d, err := runDoctor(t, "--url", base)
	require.Equal(t, 1, statusOf(err), err)
	require.Subset(t, kinds(d.Findings), []string{
		"warning setting_unknown [chttpd] prot", "warning setting_without_effect [couchdb] max_dbs_open",
	})
	require.NotContains(t, strings.Join(kinds(d.Findings), " "), "queries_scan")
	require.Empty(t, d.NotLooked)
	require.NotContains(t, d.Looked, "disk space", "of this machine")

	require.Equal(t, 201, request(t, "PUT", base+"/db", ""))
	status, _, _ := ask(t, "admin:secret", "POST", base+"/db/_find", `{"selector": {"a": 1}}`)
	require.Equal(t, 200, status)
	d, err = runDoctor(t, "--url", base)
	require.Error(t, err)
	require.Contains(t, kinds(d.Findings), "notice queries_scan")

	t.Setenv("COUCHDB_PASSWORD", "wrong")
	d, err = runDoctor(t, "--url", base)
	require.Equal(t, 2, statusOf(err))
	require.Len(t, d.NotLooked, 4)
	require.Empty(t, d.Looked)
	d, err = runDoctor(t, "--url", base+"/db")
	require.Equal(t, 2, statusOf(err))
	require.Equal(t, "server", d.NotLooked[0].What)
}

// TestDoctorClocks: a server whose clock is another one.
func TestDoctorClocks(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{
			"/_node/_local/_settings": `{"settings":[]}`, "/_node/_local/_overview": `{"now":1,"warnings":[]}`,
			"/_all_dbs": `[]`,
		}[r.URL.Path]
		if answer == "" {
			answer = "{}"
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer s.Close()
	d, err := runDoctor(t, "--url", s.URL)
	require.Error(t, err)
	require.Contains(t, kinds(d.Findings), "warning clock_wrong")
	require.Equal(t, []notLooked{{"queries", "the server does not count them"}}, d.NotLooked)
}

// TestDoctorIndexes: of design documents that are older than a month the indexes are named which no
// query has used since, each by its kind; of younger ones nothing is asked.
func TestDoctorIndexes(t *testing.T) {
	answers := map[string]string{
		"/_all_dbs": `["a/b"]`,
		"/a%2Fb/_index_use": `{"designs":[
			{"ddoc":"_design/new","changed":"2026-05-20T00:00:00Z","indexes":[]},
			{"ddoc":"_design/old","changed":"2026-03-01T00:00:00Z","indexes":[
				{"type":"view","name":"used","last_used":"2026-05-03T00:00:00Z"},
				{"type":"view","name":"left","last_used":"2026-05-01T00:00:00Z"},
				{"type":"nouveau","name":"text","last_used":"2026-05-31T00:00:00Z"}]},
			{"ddoc":"_design/rules","changed":"2026-03-01T00:00:00Z","indexes":[]},
			{"ddoc":"_design/unknown","indexes":[]}]}`,
		"/a%2Fb/_design/old": `{"views":{"used":{},"left":{},"never":{},"lib":{}},"indexes":{"text":{}},
			"nouveau":{"text":{}},"auto":{"all":{}}}`,
		"/a%2Fb/_design/rules": `{"validate_doc_update":"x","views":{"lib":{"f":"x"}}}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.EscapedPath()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer s.Close()
	asked, _, err := parseSite(s.URL)
	require.NoError(t, err)
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	found, err := unusedIndexes(t.Context(), asked, now)
	require.NoError(t, err)
	require.Equal(t, []string{"notice index_unused a/b/_design/old"}, kinds(found))
	require.Contains(t, found[0].Text, "No query has used all, left, never, text for 30 days")
	found, err = unusedIndexes(t.Context(), asked, now.AddDate(0, -1, 0))
	require.NoError(t, err)
	require.Contains(t, found[0].Text, "No query has used all, never, text for 30 days", "text of Clouseau's kind")
	delete(answers, "/a%2Fb/_design/old")
	_, err = unusedIndexes(t.Context(), asked, now)
	require.Error(t, err)
}

// FuzzDoctorProc: whatever the kernel's files say, the answers are findings or an error.
func FuzzDoctorProc(f *testing.F) {
	f.Add("MemTotal: 1 kB\nSwapTotal: 1 kB\nSwapFree: 0 kB\n", "/a")
	f.Add("1 0 8:1 / / rw - tmpfs tmpfs rw\n", "/")
	f.Fuzz(func(t *testing.T, text, dir string) {
		for _, judge := range []func() ([]finding, error){
			func() ([]finding, error) { return judgeSwap(text) },
			func() ([]finding, error) { return judgeFileSystem(text, dir) },
		} {
			found, err := judge()
			require.False(t, err != nil && len(found) > 0)
			require.LessOrEqual(t, len(found), 1)
		}
	})
}
