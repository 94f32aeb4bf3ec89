package config

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLayersAndPersistence(t *testing.T) {
	dir := t.TempDir()
	first, last := filepath.Join(dir, "default.ini"), filepath.Join(dir, "local.ini")
	require.NoError(t, os.WriteFile(first, []byte("[log]\nlevel = debug ; loud\n[a]\nx=1=2\n"), 0o600))
	c, err := Load(nil, first, last)
	require.NoError(t, err)
	require.Equal(t, "debug", c.String("log", "level"))
	require.Equal(t, "1=2", c.String("a", "x"))
	require.Equal(t, "8000000", c.String("couchdb", "max_document_size"))
	_, listed := c.Get("couchdb", "max_document_size")
	require.False(t, listed)

	var seen string
	c.Subscribe(func() { seen = c.String("log", "level") })
	old, err := c.Set("log", "level", " info ", true)
	require.NoError(t, err)
	require.Equal(t, "debug", old)
	require.Equal(t, "info", seen)
	old, err = c.Set("a", "m", "memory", false)
	require.NoError(t, err)
	require.Empty(t, old)

	again, err := Load(nil, first, last)
	require.NoError(t, err)
	require.Equal(t, "info", again.String("log", "level"))
	_, set := again.Get("a", "m")
	require.False(t, set)

	old, err = c.Delete("log", "level", true)
	require.NoError(t, err)
	require.Equal(t, "info", old)
	require.Equal(t, "debug", c.String("log", "level"), "the first file still sets it")
	_, err = c.Delete("a", "nope", true)
	require.ErrorIs(t, err, ErrUnknown)
	require.NoError(t, c.Reload())
	_, set = c.Get("a", "m")
	require.False(t, set)
}

func TestTypedGetters(t *testing.T) {
	c, err := Load(nil)
	require.NoError(t, err)
	require.EqualValues(t, 8000000, c.Int("couchdb", "max_document_size", -1))
	require.EqualValues(t, -1, c.Int("chttpd", "max_uri_length", -1))
	_, _ = c.Set("cluster", "q", "many", false)
	require.EqualValues(t, 2, c.Int("cluster", "q", -1))
	_, _ = c.Set("chttpd", "allow_jsonp", "yes", false)
	require.False(t, c.Bool("chttpd", "allow_jsonp"))
}

func TestOldSection(t *testing.T) {
	c, err := Load(nil)
	require.NoError(t, err)
	_, _ = c.Set("httpd", "max_http_request_size", "100", false)
	_, _ = c.Set("httpd", "require_valid_user", "true", false)
	require.EqualValues(t, 100, c.Int("chttpd", "max_http_request_size", -1))
	require.False(t, c.Bool("chttpd", "require_valid_user"), "is read in its new section only")
	_, _ = c.Set("chttpd", "max_http_request_size", "200", false)
	require.EqualValues(t, 200, c.Int("chttpd", "max_http_request_size", -1))
}

// TestEditKeepsOtherLines: an edit is read back, and changes nothing else, comments included.
func TestEditKeepsOtherLines(t *testing.T) {
	name := rapid.StringMatching(`[a-z][a-z0-9_]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		text := []byte("; head\n[one]\n; about x\nx = 1\n\n[two]\ny = 2\n")
		want := values{"one": {"x": "1"}, "two": {"y": "2"}}
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			section, key := rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "section"), name.Draw(t, "key")
			value := rapid.StringMatching(`[a-z0-9{}=,.:-]{1,10}`).Draw(t, "value")
			if rapid.Bool().Draw(t, "delete") {
				text = edit(t, text, section, key, nil)
				want.remove(section, key)
			} else {
				text = edit(t, text, section, key, &value)
				want.set(section, key, value)
			}
		}
		got := make(values)
		readINI(layer{got, make(values)}, text, "")
		require.Equal(t, want, got)
		require.Contains(t, string(text), "; head\n")
		require.Contains(t, string(text), "; about x\n")
	})
}

func FuzzReadINI(f *testing.F) {
	f.Add("[a]\nb = c ; d\n; e\n[f]\ng=h=i\n")
	f.Add("= x\n[\n]")
	f.Fuzz(func(t *testing.T, text string) {
		v := "v"
		was, is := make(values), make(values)
		readINI(layer{was, make(values)}, []byte(text), "")
		edited, err := editINI([]byte(text), "s", "k", &v)
		require.NoError(t, err)
		was.set("s", "k", v)
		readINI(layer{is, make(values)}, edited, "")
		require.Equal(t, was, is)
	})
}

func edit(t require.TestingT, text []byte, section, key string, value *string) []byte {
	text, err := editINI(text, section, key, value)
	require.NoError(t, err)
	return text
}

// TestDialect: lines are read as CouchDB reads them (config:parse_ini), and settings that cannot be
// or that a file cannot hold are refused: testdata/dialect. Its inputs are the text of a file, or
// settings as section, key and value with bars between; what is in quotes is read as Go reads it.
func TestDialect(t *testing.T) {
	unquoted := func(text string) string {
		if plain, err := strconv.Unquote(text); err == nil {
			return plain
		}
		return text
	}
	datadriven.RunTest(t, "testdata/dialect", func(t *testing.T, d *datadriven.TestData) string {
		shown := ""
		if d.Cmd == "read" {
			got := make(values)
			readINI(layer{got, make(values)}, []byte(unquoted(d.Input)), "")
			for _, section := range slices.Sorted(maps.Keys(got)) {
				for _, key := range slices.Sorted(maps.Keys(got[section])) {
					shown += fmt.Sprintf("[%s] %q = %q\n", section, key, got[section][key])
				}
			}
			return shown
		}
		path, text := filepath.Join(t.TempDir(), "local.ini"), "[a]\nk = 1\n"
		for line := range strings.SplitSeq(d.Input, "\n") {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			c, err := Load(nil, path)
			require.NoError(t, err)
			part, result := strings.Split(line, "|"), "taken"
			if _, err := c.Set(unquoted(part[0]), unquoted(part[1]), unquoted(part[2]), d.Cmd == "write"); err != nil {
				result = err.Error()
				is, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, text, string(is), "what is refused changes nothing")
			}
			shown += line + " → " + result + "\n"
		}
		return shown
	})
}

// TestHeaderWithComment: a section ends where the reader sees the next one begin, too.
func TestHeaderWithComment(t *testing.T) {
	v := "3"
	require.Equal(
		t,
		"[one]\nx = 3\n[two] ; other\nx = 2\n",
		string(edit(t, []byte("[one]\nx = 1\n[two] ; other\nx = 2\n"), "one", "x", &v)),
	)
}

// TestWhatIsWrittenIsReadBack: a setting that a file cannot hold is refused and changes nothing;
// all others are there after a restart.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	text := []byte("[a]\nk = 1\n\n[b]\nk = 2\n")
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.StringMatching("[ab \\t;=#\"`'%:.\\\\-]{1,6}")
		section, key, value := odd.Draw(t, "section"), odd.Draw(t, "key"), strings.TrimSpace(odd.Draw(t, "value"))
		edited, err := editINI(text, section, key, &value)
		if err != nil {
			return
		}
		want, got := make(values), make(values)
		readINI(layer{want, make(values)}, text, "")
		if want.remove(section, key); value != "" { // an empty one is not there after a restart, as in CouchDB
			want.set(section, key, value)
		}
		readINI(layer{got, make(values)}, edited, "")
		require.Equal(t, want, got, "%s", edited)
	})
}

// TestDirectories: a directory stands for its ini files, and the last of them receives changes, even if it cannot be
// replaced.
func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o640))
		return path
	}
	local := write("local.ini", "[a]\nk=1\nl=1\n")
	write("local.d/20-b.ini", "[a]\nk=3\n")
	write("local.d/10-a.ini", "[a]\nk=2\n")
	write("local.d/notes.txt", "[a]\nk=9\n")
	c, err := Load(nil, local, filepath.Join(dir, "local.d"))
	require.NoError(t, err)
	require.Equal(t, "3", c.String("a", "k"))
	require.Equal(t, filepath.Join(dir, "local.d", "20-b.ini"), c.File())
	_, err = c.Set("a", "k", "4", true)
	require.NoError(t, err)
	info, err := os.Stat(c.File())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())

	last := write("local.d/30-c.ini", "")
	require.NoError(t, c.Reload())
	require.Equal(t, last, c.File())
	require.Equal(t, "4", c.String("a", "k"))
}

func TestAddStock(t *testing.T) {
	c, err := Load(nil)
	require.NoError(t, err)
	_, _ = c.Set("couchdb", "uuid", "mine", false)
	c.AddStock("couchdb", "uuid", "stock")
	require.Equal(t, "mine", c.String("couchdb", "uuid"))
	_, err = c.Delete("couchdb", "uuid", false)
	require.NoError(t, err)
	require.Equal(t, "stock", c.String("couchdb", "uuid"))
}

// TestDiskThreshold: thresholds count where the monitor is on, and what is no number is the default.
func TestDiskThreshold(t *testing.T) {
	c, err := Load(nil)
	require.NoError(t, err)
	const key = "background_view_indexing_threshold"
	for _, set := range []struct {
		key, value string
		want       int64
	}{
		{key, "-1", math.MaxInt64}, {"enable", "true", -1}, {key, "x", 80}, {key, "5", 5},
		{"enable", "1", math.MaxInt64},
	} {
		_, err := c.Set("disk_monitor", set.key, set.value, false)
		require.NoError(t, err)
		require.Equal(t, set.want, c.DiskThreshold(key), "%+v", set)
	}
}

// TestFollows36: the newer answers are given only where the setting names that version.
func TestFollows36(t *testing.T) {
	c, err := Load(nil)
	require.NoError(t, err)
	for value, want := range map[string]bool{"3.5": false, "3.6": true, "4": false} {
		_, err := c.Set("settee", "compatibility", value, false)
		require.NoError(t, err)
		require.Equal(t, want, c.Follows36(), value)
	}
	_, err = c.Delete("settee", "compatibility", false)
	require.NoError(t, err)
	require.False(t, c.Follows36(), "unset")
}
