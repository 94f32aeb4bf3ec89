package definition_test

import (
	"strings"
	"testing"

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

// TestRefused: what a definition may not have. Each row replaces a part of whole.
func TestRefused(t *testing.T) {
	for name, row := range map[string]struct {
		old, new string
		code     definition.Code
	}{
		"no JSON":               {`{"appname"`, `{"appname`, 63},
		"no text":               {`"appname":"f"`, `"appname":1`, 63},
		"another name":          {`"appname":"f"`, `"appname":"g"`, 29},
		"a setting's type":      {`"dcp_stream_boundary":"everything"`, `"worker_count":"3"`, 38},
		"from_prior":            {`"everything"`, `"from_prior"`, 38},
		"half a number":         {`"dcp_stream_boundary":"everything"`, `"worker_count":1.5`, 38},
		"a status' type":        {`"deployment_status":false`, `"deployment_status":"no"`, 23},
		"false and true":        {`"processing_status":false`, `"processing_status":true`, 38},
		"a selector's type":     {`{ "type": "order" }`, `"all"`, 38},
		"dead letters":          {`"dcp_stream_boundary":"everything"`, `"dead_letter_database":"A"`, 38},
		"no source":             {`"source_bucket":"src"`, `"source_bucket":""`, 38},
		"a source's name":       {`"source_bucket":"src"`, `"source_bucket":"SRC"`, 38},
		"a scope":               {`"source_scope":"_default"`, `"source_scope":"inventory"`, 56},
		"a collection":          {`"source_collection":"_default"`, `"source_collection":"c"`, 56},
		"source is metadata":    {`"metadata_bucket":"meta"`, `"metadata_bucket":"src"`, 17},
		"a bound scope":         {`"scope_name":"_default"`, `"scope_name":"*"`, 56},
		"access":                {`"access":"rw"`, `"access":"w"`, 38},
		"an alias' form":        {`"alias":"dst"`, `"alias":"1dst"`, 38},
		"a long alias":          {`"alias":"dst"`, `"alias":"` + strings.Repeat("a", 65) + `"`, 38},
		"no alias":              {`"alias":"dst"`, `"alias":""`, 38},
		"a word of JavaScript":  {`"alias":"dst"`, `"alias":"function"`, 38},
		"a word of queries":     {`"alias":"dst"`, `"alias":"Upsert"`, 38},
		"an alias twice":        {`"alias":"dst"`, `"alias":"other"`, 38},
		"a URL's alias twice":   {`"value":"api"`, `"value":"dst"`, 38},
		"a constant twice":      {`"value":"debug"`, `"value":"api"`, 38},
		"no literal":            {`"literal":"true"`, `"literal":" "`, 38},
		"a file":                {`"https://h/p"`, `"file:///etc/passwd"`, 38},
		"no host":               {`"https://h/p"`, `"https:///p"`, 38},
		"a password in the URL": {`"https://h/p"`, `"https://u:p@h/p"`, 38},
		"an auth_type":          {`"auth_type":"basic"`, `"auth_type":"kerberos"`, 38},
		"scope of a function":   {`{"bucket":"*","scope":"*"}`, `{"bucket":"b","scope":"s"}`, 56},
		"bucket of a function":  {`{"bucket":"*","scope":"*"}`, `{"bucket":"B","scope":"_default"}`, 63},
		"settings' type":        {`"settings":{`, `"settings":[],"x":{`, 16},
	} {
		require.Contains(t, whole, row.old, name)
		_, err := definition.Parse([]byte(strings.Replace(whole, row.old, row.new, 1)),
			definition.ParseOptions{Name: "f"})
		require.Error(t, err, name)
		require.Equal(t, row.code, definition.AsError(err).Code, "%s: %v", name, err)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"f", "F-1_x", "0", strings.Repeat("a", 100)} {
		require.NoError(t, definition.CheckName(name), name)
	}
	for _, name := range []string{"", "-f", "_f", "a b", "a/b", "ä", strings.Repeat("a", 101), "f\n"} {
		require.Error(t, definition.CheckName(name), name)
	}
}

func TestCodeSize(t *testing.T) {
	code := strings.Repeat("x", definition.DefaultCodeSize)
	require.NoError(t, definition.CheckCodeSize(code, 0))
	err := definition.CheckCodeSize(code+"x", 0)
	require.Equal(t, definition.CodeCodeSize, definition.AsError(err).Code)
	require.NoError(t, definition.CheckCodeSize(code+"x", definition.DefaultCodeSize+1))
}

// TestEnforceSchema: unknown names are passed over unless the function wants them refused, wherever
// they are.
func TestEnforceSchema(t *testing.T) {
	for _, row := range [][2]string{
		{`"appname":"f"`, `"appname":"f","unknown":1`},
		{`"source_bucket":"src"`, `"source_bucket":"src","unknown":1`},
		{`"alias":"dst"`, `"alias":"dst","unknown":1`},
		{`"deployment_status":false`, `"deployment_status":false,"unknown":1`},
	} {
		lax := strings.Replace(whole, row[0], row[1], 1)
		parse(t, lax, definition.ParseOptions{})
		_, err := definition.Parse([]byte(strings.Replace(lax, `"enforce_schema":false`, `"enforce_schema":true`, 1)),
			definition.ParseOptions{})
		require.Error(t, err, row[1])
		require.Equal(t, definition.CodeInvalidConfig, definition.AsError(err).Code)
	}
	parse(t, strings.Replace(whole, `"enforce_schema":false`, `"enforce_schema":true`, 1), definition.ParseOptions{})
}

func TestParseList(t *testing.T) {
	for text, count := range map[string]int{`[]`: 0, ` {"a":1} `: 1, `[{"a":1},{"b":2}]`: 2} {
		list, err := definition.ParseList([]byte(text))
		require.NoError(t, err, text)
		require.Len(t, list, count, text)
	}
	for _, text := range []string{``, `1`, `{"a":1}{`, `[`, `"f"`} {
		_, err := definition.ParseList([]byte(text))
		require.Error(t, err, text)
		require.Equal(t, definition.CodeInvalidRequest, definition.AsError(err).Code)
	}
}

func TestScopes(t *testing.T) {
	s, err := definition.NewScope("", "")
	require.NoError(t, err)
	require.Equal(t, definition.Global, s)
	s, err = definition.NewScope("db", "")
	require.NoError(t, err)
	require.Equal(t, definition.Scope{Bucket: "db", Scope: "_default"}, s)
	for _, pair := range [][2]string{{"*", "s"}, {"db", "*"}, {"DB", "_default"}, {"", "_default"}} {
		_, err := definition.NewScope(pair[0], pair[1])
		require.Error(t, err, "%v", pair)
	}
}

// FuzzParse: what is accepted is printed so that it is the same function again, and its shown form
// has no secret.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"appname":"a","appcode":"","depcfg":{"source_bucket":"s"},"settings":{}}`))
	f.Add([]byte(`{"appname":"a","depcfg":{"source_bucket":"s","buckets":null},"settings":{"worker_count":3e0}}`))
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
		require.Equal(t, fn, again)
		shown := fn.Shown(definition.Deployed)
		_, err = shown.KeepSecrets(fn)
		require.NoError(t, err)
		require.Equal(t, fn.Bindings, shown.Bindings)
	})
}
