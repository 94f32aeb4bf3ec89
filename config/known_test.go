package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is a setting in Known.
func row(t *testing.T, c *Config, section, key string) Known {
	t.Helper()
	for _, k := range c.Known() {
		if k.Section == section && k.Key == key {
			return k
		}
	}
	t.Fatalf("[%s] %s is not among the settings", section, key)
	return Known{}
}

// TestKnownIsTheReference: each row of docs/configuration.md is there with its default and its
// sentence, so that the page and the API cannot say different things, and each setting is there once.
func TestKnownIsTheReference(t *testing.T) {
	c, err := Load(nil)
	require.NoError(t, err)
	known := map[string]Known{}
	for _, k := range c.Known() {
		name := "[" + k.Section + "] " + k.Key
		require.NotContains(t, known, name)
		known[name] = k
	}
	text, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	section, rows, effect := "", 0, true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "### "); ok {
			section = strings.Trim(name, "[]")
		}
		if strings.HasPrefix(line, "## Settings of CouchDB without effect") {
			effect = false
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) != 5 || strings.HasPrefix(line, "| key |") || strings.HasPrefix(line, "| section |") ||
			strings.HasPrefix(line, "|---") {
			continue
		}
		cell := func(i int) string { return strings.ReplaceAll(strings.Trim(cells[i], " `"), "\x00", "|") }
		in, key := section, cell(1)
		if !effect {
			in, key = strings.Trim(cell(1), "[]"), cell(2)
		}
		if rows++; !effect && (key == "(all)" || strings.HasSuffix(in, "*")) {
			continue // rows without a name of their own
		}
		k, ok := known["["+in+"] "+strings.TrimPrefix(key, "(any name)")]
		require.True(t, ok, line)
		require.Equal(t, effect, k.Effect, line)
		require.Equal(t, strings.ReplaceAll(strings.TrimSpace(cells[3]), "\x00", "|"), k.Means)
		if effect {
			require.Equal(t, cell(2), k.Default, line)
			require.Equal(t, k.Default, k.Value, line)
			require.Equal(t, OriginDefault, k.Origin, line)
			require.Equal(t, strings.Contains(line, "eeds a restart"), k.Restart, line)
		}
	}
	require.Greater(t, rows, len(Settings))
}

// TestKnownAgainstModel: after any sets and deletions, with and without being written, and after a
// reload, each value is that of Get, and its origin what a model of the layers says.
func TestKnownAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 6 {
		dir := t.TempDir()
		first, last := filepath.Join(dir, "a.ini"), filepath.Join(dir, "b.ini")
		keys := [][2]string{{"chttpd", "port"}, {"couchdb", "max_document_size"}, {"mine", "key"}, {"log", "level"}}
		// what each layer says; the later goes before
		model := map[string]map[[2]string]string{first: {}, last: {}, OriginMemory: {}}
		for _, k := range keys {
			if random.IntN(2) == 0 {
				model[first][k] = "first"
			}
		}
		var text strings.Builder
		for k, v := range model[first] {
			fmt.Fprintf(&text, "[%s]\n%s = %s\n", k[0], k[1], v)
		}
		require.NoError(t, os.WriteFile(first, []byte(text.String()), 0o600))
		c, err := Load(Stock(), first, last)
		require.NoError(t, err)
		for range 25 {
			k, value := keys[random.IntN(len(keys))], fmt.Sprint(random.IntN(1000))
			switch random.IntN(4) {
			case 0:
				_, err = c.Set(k[0], k[1], value, true)
				model[last][k] = value
				delete(model[OriginMemory], k)
			case 1:
				_, err = c.Set(k[0], k[1], value, false)
				model[OriginMemory][k] = value
			case 2:
				if _, there := c.Get(k[0], k[1]); there {
					_, err = c.Delete(k[0], k[1], true)
					delete(model[last], k)
					delete(model[OriginMemory], k)
				}
			case 3:
				err = c.Reload()
				model[OriginMemory] = map[[2]string]string{}
			}
			require.NoError(t, err)
			for _, k := range keys {
				want := Known{Origin: OriginDefault, Value: Stock()[k[0]][k[1]]}
				if want.Value == "" {
					want.Value = Default(k[0], k[1])
				}
				for _, of := range []string{first, last, OriginMemory} {
					if v, there := model[of][k]; there {
						want = Known{Origin: OriginFile, From: of, Value: v}
						if of == OriginMemory {
							want.Origin, want.From = of, ""
						}
					}
				}
				if _, there := c.Get(k[0], k[1]); !there && Default(k[0], k[1]) == "" {
					continue // nobody knows it, and it is not set
				}
				got := row(t, c, k[0], k[1])
				require.Equal(t, want, Known{Origin: got.Origin, From: got.From, Value: got.Value}, k)
			}
		}
	}
}

// adopted is a Shared whose store is a map.
type adopted struct {
	c      *Config
	common Common
}

// Change implements Shared.
func (a *adopted) Change(section, key string, change Change) (*string, error) {
	if a.common[section] == nil {
		a.common[section] = map[string]*string{}
	}
	a.common[section][key] = change.Value
	a.c.Adopt(a.common)
	return change.Value, nil
}

// TestKnownOrigins: what nodes share, overrides, older sections and variables.
func TestKnownOrigins(t *testing.T) {
	over := filepath.Join(t.TempDir(), "over.ini")
	require.NoError(t, os.WriteFile(over, []byte("[couchdb]\nmax_document_size = 5\n"), 0o600))
	c, err := Load(Stock())
	require.NoError(t, err)
	require.NoError(t, c.Override(over))
	c.Share(&adopted{c, Common{}})
	_, err = c.Set("couchdb", "delayed_commits", "x", true)
	require.NoError(t, err)
	_, err = c.Set("log", "level", "debug", true)
	require.NoError(t, err)
	require.Equal(t, OriginStore, row(t, c, "log", "level").Origin)
	_, err = c.Delete("log", "level", true)
	require.NoError(t, err)
	require.Equal(t, OriginDefault, row(t, c, "log", "level").Origin)
	require.Equal(t, over, row(t, c, "couchdb", "max_document_size").From)
	unknown := row(t, c, "couchdb", "delayed_commits")
	require.Equal(t, Known{
		Section: "couchdb", Key: "delayed_commits", Value: "x", Origin: OriginStore,
	}, unknown)

	_, err = c.Set("httpd", "allow_jsonp", "true", false)
	require.NoError(t, err)
	jsonp := row(t, c, "chttpd", "allow_jsonp")
	require.Equal(t, []string{"true", "false", OriginMemory}, []string{jsonp.Value, jsonp.Default, jsonp.Origin})
	_, err = c.Set("couch_httpd_auth", "timeout", "7", false)
	require.NoError(t, err)
	require.Equal(t, "7", row(t, c, "chttpd_auth", "timeout").Value)

	_, err = c.Set("admins", "anna", "hash", false)
	require.NoError(t, err)
	c.FromEnvironment("admins", "anna", "COUCHDB_PASSWORD")
	require.Equal(t, "COUCHDB_PASSWORD", row(t, c, "admins", "anna").From)
	_, err = c.Set("admins", "anna", "another", false)
	require.NoError(t, err)
	require.Equal(t, OriginMemory, row(t, c, "admins", "anna").Origin)
}

// TestKnownMasksSecrets: no secret is shown, and nothing else is hidden.
func TestKnownMasksSecrets(t *testing.T) {
	c, err := Load(Stock())
	require.NoError(t, err)
	secrets := [][2]string{
		{"admins", "anna"}, {"chttpd_auth", "secret"}, {"couch_httpd_auth", "secret"}, {"jwt_keys", "hmac:_default"},
		{"replicator", "password"}, {"nouveau", "ssl_password"}, {"mine", "api_token"}, {"mine", "DB_PASSWORD"},
		{"otel", "headers"},
	}
	for _, k := range secrets {
		_, err := c.Set(k[0], k[1], "hidden", false)
		require.NoError(t, err)
	}
	_, err = c.Set("chttpd_auth", "proxy_use_secret", "hidden", false)
	require.NoError(t, err)
	_, err = c.Set("chttpd_auth", "x_auth_token", "hidden", false)
	require.NoError(t, err)
	shown, masked := 0, 0
	for _, k := range c.Known() {
		if k.Value == "hidden" {
			shown++
		}
		if k.Secret && k.Value == mask {
			masked++
		}
		require.False(t, strings.Contains(fmt.Sprint(k), "hidden") && k.Secret)
	}
	require.Equal(t, 2, shown)
	require.Equal(t, len(secrets), masked)
}
