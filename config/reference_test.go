package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const referenceFile = "../docs/configuration.md"

func TestReference(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(referenceFile, []byte(Reference()), 0o644))
	}
	text, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	require.Equal(t, Reference(), string(text), "stale: run go generate ./config")
}

func TestSettingsAreNamedOnce(t *testing.T) {
	seen := make(map[[2]string]bool)
	for _, s := range Settings {
		name := [2]string{s.Section, s.Key}
		require.False(t, seen[name], name)
		seen[name] = true
		require.NotEmpty(t, s.Doc, name)
	}
}

// TestStockSettings: each setting of the ini file of a stock CouchDB 3.5.0 or of its main
// (a6778e5d4), rel/overlay/etc/default.ini, has effect or a sentence that says what is here
// instead; and each such sentence is about one of them.
func TestStockSettings(t *testing.T) {
	text, err := os.ReadFile("testdata/stock.txt")
	require.NoError(t, err)
	used := make(map[*IgnoredSetting]bool)
	for line := range strings.Lines(string(text)) {
		section, key, _ := strings.Cut(strings.TrimSpace(line)[1:], "] ")
		row := ignored(section, key)
		require.Equal(t, row == nil, has(section, key), "%s is in both lists or in none", line)
		used[row] = true
	}
	for i, s := range Ignored {
		require.True(t, used[&Ignored[i]], "[%s] %s is not CouchDB's", s.Section, s.Key)
		require.True(t, strings.HasSuffix(s.Means, "."), "a sentence: %s", s.Means)
	}
}

// TestWithoutEffect: what a file or the API sets differently from a stock CouchDB is named if it
// does nothing.
func TestWithoutEffect(t *testing.T) {
	file := t.TempDir() + "/local.ini"
	require.NoError(t, os.WriteFile(file, []byte(`
[couchdb]
max_dbs_open = 5000
max_document_size = 100
[nouveau]
url = http://127.0.0.1:5987
[smoosh.my_channel]
priority = ratio
[smoosh]
cleanup_channels = x
[mine]
key = value
[cors:http://example.com]
origins = *
`), 0o600))
	c, err := Load(Stock(), file)
	require.NoError(t, err)
	found := c.WithoutEffect()
	require.Len(t, found, 2, found)
	require.Contains(t, found["[couchdb] max_dbs_open"], "any number")
	require.Contains(t, found, "[smoosh.my_channel] priority")
	_, err = c.Set("nouveau", "url", "http://search:5987", true)
	require.NoError(t, err)
	require.Contains(t, c.WithoutEffect(), "[nouveau] url")
}
