package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersions: `settee version` and GET / say the same of what was built and of the CouchDB it
// answers as, and the members of GET / up to what CouchDB has not are CouchDB's, in its order, as
// of one with both of its full-text servers.
func TestVersions(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, localFile),
		[]byte("[couchdb]\nuuid = u\n[chttpd_auth]\niterations = 10\n[log]\nlevel = none\n"), 0o600))
	base, stop := startServe(t, dir)
	defer stop()
	r, err := http.Get(base + "/")
	require.NoError(t, err)
	defer r.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(r.Body)
	require.NoError(t, err)
	couchdb, _, _ := strings.Cut(body.String(), `,"settee":{`)
	require.Equal(t, `{"couchdb":"Welcome","version":"3.5.2","git_sha":"`+buildVersion()+`","uuid":"u",`+
		`"features":["search","nouveau","access-ready","partitioned","pluggable-storage-engines","reshard","scheduler"],`+
		`"vendor":{"name":"The Apache Software Foundation"}`, couchdb)

	var welcome struct {
		Version string
		Build   string `json:"git_sha"`
	}
	require.NoError(t, json.Unmarshal(body.Bytes(), &welcome))
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs([]string{"version"})
	root.SetOut(&out)
	require.NoError(t, root.Execute())
	require.Equal(t, "settee "+welcome.Build+" (CouchDB "+welcome.Version+", "+runtime.Version()+")\n", out.String())
}

func TestChooseVersion(t *testing.T) {
	for module, want := range map[string]string{
		"":                                   release, // a test, or no git
		"(devel)":                            release,
		"v" + release:                        release, // the tag, as of `go install …@latest`
		"v" + release + "+dirty":             release + "+dirty",
		"v0.0.0-20261128165713-64be1ef0ab12": release + "+git.64be1ef0ab12",
		"v0.1.1-0.20261128165713-64be1ef0ab12+dirty":      release + "+git.64be1ef0ab12.dirty",
		"v0.2.0-rc.1.0.20261128165713-64be1ef0ab12":       release + "+git.64be1ef0ab12",
		"v0.0.0-20261128165713-64be1ef0ab12+incompatible": release,
	} {
		require.Equal(t, want, chooseVersion(&debug.BuildInfo{Main: debug.Module{Version: module}}), module)
	}
	require.Equal(t, release, chooseVersion(nil))
}

// TestReleaseIsInTheChangelog: the newest version of CHANGELOG.md is the one that the program says,
// and so is that of the chart.
func TestReleaseIsInTheChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	headings := regexp.MustCompile(`(?m)^## (\S+)(?: - \d{4}-\d{2}-\d{2})?$`).FindAllStringSubmatch(string(text), 2)
	require.Len(t, headings, 2)
	require.Equal(t, "Unreleased", headings[0][1])
	require.Equal(t, release, headings[1][1])
	chart, err := os.ReadFile("../../docker/chart/Chart.yaml")
	require.NoError(t, err)
	require.Contains(t, string(chart), `appVersion: "`+release+`"`)
}
