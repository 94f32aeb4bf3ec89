package definition_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// whole is a function with all that a function can have.
const whole = `{"appname":"f","appcode":"function OnUpdate(doc,meta){}","version":"evt-7.6.0-0000-ee",
 "enforce_schema":false,"handleruuid":123,"function_instance_id":"123-AbC","function_scope":{"bucket":"*","scope":"*"},
 "depcfg":{"source_bucket":"src","source_scope":"_default","source_collection":"_default","metadata_bucket":"meta",
  "metadata_scope":"_default","metadata_collection":"_default",
  "buckets":[{"alias":"dst","bucket_name":"d","scope_name":"_default","collection_name":"_default","access":"rw"},
   {"alias":"other","bucket_name":"o","access":"r"}],
  "curl":[{"hostname":"https://h/p","value":"api","auth_type":"basic","username":"u","password":"secret",
   "bearer_key":"","allow_cookies":false,"validate_ssl_certificate":true}],
  "constants":[{"value":"debug","literal":"true"}]},
 "settings":{"deployment_status":false,"processing_status":false,"dcp_stream_boundary":"everything",
  "selector":{ "type": "order" }}}`

func parse(t testing.TB, text string, o definition.ParseOptions) *definition.Function {
	t.Helper()
	f, err := definition.Parse([]byte(text), o)
	require.NoError(t, err)
	return f
}

func TestParse(t *testing.T) {
	f := parse(t, whole, definition.ParseOptions{Name: "f"})
	require.Equal(t, "f", f.Name)
	require.Equal(t, definition.Ref{Scope: definition.Global, Name: "f"}, f.Ref())
	require.Equal(t, "f", f.Ref().String())
	require.Zero(t, f.UUID, "numbers are the server's")
	require.Empty(t, f.InstanceID)
	require.Equal(t, definition.NewestLanguage, f.Settings.Compatibility)
	require.JSONEq(t, `{"type":"order"}`, string(f.Settings.Selector))
	require.Equal(t, "_default", f.Bindings.Buckets[1].ScopeName)
	require.Equal(t, []string{"d"}, f.Writes())
	require.Equal(t, []string{"o"}, f.Reads())
	require.Equal(t, []string{"d", "o", "src"}, f.Databases())
	require.False(t, f.WritesSource())

	text, err := definition.JSON(f)
	require.NoError(t, err)
	again := parse(t, string(text), definition.ParseOptions{})
	require.Equal(t, f, again)
	require.Equal(t, f, f.Clone())

	imported := parse(t, whole, definition.ParseOptions{Import: true})
	require.Equal(t, definition.OldestLanguage, imported.Settings.Compatibility)
	scoped := parse(t, whole, definition.ParseOptions{Scope: definition.Scope{Bucket: "src", Scope: "_default"}})
	require.Equal(t, "src/_default/f", scoped.Ref().String())
}

// TestMetadataKeyspace: nothing is kept there, so that it need not be one that there could be.
func TestMetadataKeyspace(t *testing.T) {
	text := strings.NewReplacer(`"metadata_bucket":"meta"`, `"metadata_bucket":"Meta"`,
		`"metadata_scope":"_default"`, `"metadata_scope":"eventing"`).Replace(whole)
	b := parse(t, text, definition.ParseOptions{}).Bindings
	require.Equal(t, [3]string{"Meta", "eventing", "_default"},
		[3]string{b.MetadataBucket, b.MetadataScope, b.MetadataCollection})
}

// TestAliases: of the reserved words of queries only those that statements begin with are no
// aliases.
func TestAliases(t *testing.T) {
	for _, alias := range []string{"user", "value", "index", "map", "_", "$1", "Select1"} {
		f := parse(t, strings.Replace(whole, `"alias":"dst"`, `"alias":"`+alias+`"`, 1), definition.ParseOptions{})
		require.Equal(t, alias, f.Bindings.Buckets[0].Alias)
	}
}

// TestAliasesOfCollections: an alias may be the path of a collection, for statements; the default one of a
// database needs none.
func TestAliasesOfCollections(t *testing.T) {
	of := func(alias string) error {
		text := strings.Replace(whole, `"alias":"dst"`, `"alias":"`+alias+`"`, 1)
		_, err := definition.Parse([]byte(text), definition.ParseOptions{})
		return err
	}
	require.NoError(t, of("travel-1.inventory.airline"))
	require.NoError(t, of("d._default.airline"))
	for _, alias := range []string{
		"a.b", "a.b.c.d", "a..c", ".b.c", "a.b.", "d._default._default", "a.b.c d", "a.b." + strings.Repeat("c", 101),
	} {
		require.ErrorContains(t, of(alias), "bucket.scope.collection", alias)
	}
}

// TestNoAccess: definitions of before version 6.5 do not say what may be written: all but the
// source.
func TestNoAccess(t *testing.T) {
	f := parse(t, `{"appname":"f","appcode":"function OnUpdate(doc, meta) {}","depcfg":{"source_bucket":"src",
		"buckets":[{"alias":"a","bucket_name":"src"},{"alias":"b","bucket_name":"d"}]}}`, definition.ParseOptions{})
	require.Equal(t, definition.ReadOnly, f.Bindings.Buckets[0].Access)
	require.Equal(t, definition.ReadWrite, f.Bindings.Buckets[1].Access)
	require.Equal(t, []string{"d"}, f.Writes())
}

// TestShown: secrets do not come back, the state is told by the statuses, and the original stays as
// it is.
func TestShown(t *testing.T) {
	f := parse(t, whole, definition.ParseOptions{})
	text, err := definition.JSON(f.Shown(definition.Pausing))
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret")
	require.Contains(t, string(text), `"password": "*****"`)
	require.Contains(t, string(text), `"bearer_key": "*****"`)
	require.Contains(t, string(text), `"deployment_status": true`)
	require.Contains(t, string(text), `"processing_status": false`)
	require.Equal(t, "secret", f.Bindings.Curl[0].Password)
	require.True(t, strings.HasPrefix(string(text), "{\n \"appname\": \"f\",\n"), "indented by one space")
}

func TestKeepSecrets(t *testing.T) {
	stored := parse(t, whole, definition.ParseOptions{})
	shown := stored.Masked()
	warnings, err := shown.KeepSecrets(stored)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, stored, shown)

	elsewhere := stored.Masked()
	elsewhere.Bindings.Curl[0].Hostname = "https://other/p"
	_, err = elsewhere.KeepSecrets(stored)
	require.Error(t, err, "a secret stays with its host")
	path := stored.Masked()
	path.Bindings.Curl[0].Hostname = "https://h/other"
	_, err = path.KeepSecrets(stored)
	require.NoError(t, err)

	imported := stored.Masked()
	warnings, err = imported.KeepSecrets(nil)
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	require.Empty(t, imported.Bindings.Curl[0].Password)

	given := stored.Masked()
	given.Bindings.Curl[0].Password = "new"
	_, err = given.KeepSecrets(stored)
	require.NoError(t, err)
	require.Equal(t, "new", given.Bindings.Curl[0].Password)
}

// TestCases shows what is read of definitions, or why they are refused: testdata/cases. Each line
// of an input is a case; a long text is a letter and how often it stands there: a*100.
//
//	define [strict]   whole with a part of it replaced, the two with an arrow => between
//	names, lists      names of functions; lists of functions as a request has them
//	scope             bucket and scope, with a bar between
//	settings [lax]    settings over the defaults
//	config            the configuration of all functions, over its defaults
func TestCases(t *testing.T) {
	long := regexp.MustCompile(`(\pL)\*(\d+)`)
	datadriven.RunTest(t, "testdata/cases", func(t *testing.T, d *datadriven.TestData) string {
		shown := ""
		for line := range strings.SplitSeq(d.Input, "\n") {
			text := long.ReplaceAllStringFunc(line, func(s string) string {
				n, err := strconv.Atoi(s[2:])
				require.NoError(t, err)
				return strings.Repeat(s[:1], n)
			})
			result := "taken"
			if err := readCase(t, d, text); err != nil {
				e := definition.AsError(err)
				result = fmt.Sprintf("%s: %s", e.Code.Name(), strings.ReplaceAll(e.Error(), text, "…"))
			}
			shown += strings.TrimSpace(line+" → "+result) + "\n"
		}
		return shown
	})
}

func readCase(t *testing.T, d *datadriven.TestData, text string) error {
	switch d.Cmd {
	case "define":
		old, replaced, _ := strings.Cut(text, " => ")
		require.Contains(t, whole, old)
		text = strings.Replace(whole, old, replaced, 1)
		if d.HasArg("strict") {
			text = strings.Replace(text, `"enforce_schema":false`, `"enforce_schema":true`, 1)
		}
		_, err := definition.Parse([]byte(text), definition.ParseOptions{Name: "f"})
		return err
	case "names":
		return definition.CheckName(text)
	case "lists":
		_, err := definition.ParseList([]byte(text))
		return err
	case "scope":
		bucket, scope, _ := strings.Cut(text, "|")
		_, err := definition.NewScope(bucket, scope)
		return err
	case "settings":
		s := definition.DefaultSettings()
		return s.Merge([]byte(text), !d.HasArg("lax"))
	case "config":
		c := definition.DefaultConfig()
		return c.Merge([]byte(text))
	}
	d.Fatalf(t, "unknown command")
	return nil
}

func TestCodeSize(t *testing.T) {
	code := strings.Repeat("x", definition.DefaultCodeSize)
	require.NoError(t, definition.CheckCodeSize(code, 0))
	err := definition.CheckCodeSize(code+"x", 0)
	require.Equal(t, definition.CodeCodeSize, definition.AsError(err).Code)
	require.NoError(t, definition.CheckCodeSize(code+"x", definition.DefaultCodeSize+1))
}

func TestParseList(t *testing.T) {
	for text, count := range map[string]int{`[]`: 0, ` {"a":1} `: 1, `[{"a":1},{"b":2}]`: 2} {
		list, err := definition.ParseList([]byte(text))
		require.NoError(t, err, text)
		require.Len(t, list, count, text)
	}
}

func TestScopes(t *testing.T) {
	s, err := definition.NewScope("", "")
	require.NoError(t, err)
	require.Equal(t, definition.Global, s)
	s, err = definition.NewScope("db", "")
	require.NoError(t, err)
	require.Equal(t, definition.Scope{Bucket: "db", Scope: "_default"}, s)
}

// FuzzParse: what is accepted is printed so that it is the same function again, and its shown form
// has no secret.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"appname":"a","appcode":"","depcfg":{"source_bucket":"s"},"settings":{}}`))
	f.Add([]byte(`{"appname":"a","depcfg":{"source_bucket":"s","buckets":null},"settings":{"worker_count":3e0}}`))
	f.Add([]byte(`{"appname":"a","appcode":"","depcfg":{"source_bucket":"s"},"settings":{"deadline_timeout":1}}`))
	f.Add([]byte(`{"appname":"a","x":[{"y":{}}],"depcfg":{"source_bucket":"s","buckets":[{"acces":"r"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fn, err := definition.Parse(text, definition.ParseOptions{})
		if err != nil {
			var e *definition.Error
			require.ErrorAs(t, err, &e)
			return
		}
		printed, err := definition.JSON(fn)
		require.NoError(t, err)
		again, err := definition.Parse(printed, definition.ParseOptions{})
		require.NoError(t, err)
		fn.WithoutUnknown() // they are told once
		require.Equal(t, fn, again)
		shown := fn.Shown(definition.Deployed)
		_, err = shown.KeepSecrets(fn)
		require.NoError(t, err)
		require.Equal(t, fn.Bindings, shown.Bindings)
	})
}
