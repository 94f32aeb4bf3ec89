package stringify

import (
	"strconv"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/ejson"
)

// stringified is what JSON.stringify makes of what JSON.parse reads, printed as CouchDB prints texts.
func stringified(t require.TestingT, text string) string {
	vm := goja.New()
	require.NoError(t, vm.Set("text", text))
	v, err := vm.RunString("JSON.stringify(JSON.parse(text))")
	require.NoError(t, err)
	return v.String()
}

// agrees compares the document, in the form in which it is stored, with the engine, where it is
// certain of a text.
func agrees(t require.TestingT, text string) (certain bool) {
	parsed, err := ejson.Parse([]byte(text))
	require.NoError(t, err)
	doc, err := ejson.Parse(parsed.AppendJSON(nil))
	require.NoError(t, err)
	require.True(t, doc.Canonical(), text)
	got, ok, err := Document(doc, new(ejson.Parser))
	require.NoError(t, err)
	if ok {
		require.Equal(t, stringified(t, text), string(got.Raw()), "of %s", text)
	}
	return ok
}

// TestDocumentsAsTheEnginePrintsThem: of each of these the text is known, and the engine's.
func TestDocumentsAsTheEnginePrintsThem(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"a":12.0}`, `{"a":[1.5,1e3,1e21,1e-7,0.000001,123456789.123456789,5e-324]}`,
		`{"a":{"b":["ä","\n",true,null]}}`, `{"a":9007199254740991}`, `{"a":0.1,"b":100.50}`,
	} {
		require.True(t, agrees(t, text), text)
	}
	for _, text := range []string{`{"1":2,"a":1}`, `{"a":9007199254740993}`, `{"a":"\u0001"}`} {
		doc, err := ejson.Parse([]byte(text))
		require.NoError(t, err)
		_, ok, _ := Document(doc, new(ejson.Parser))
		require.False(t, ok, text)
	}
}

// TestDocumentsAgainstTheEngine: whatever a document has, a text that is given is the engine's.
func TestDocumentsAgainstTheEngine(t *testing.T) {
	scalar := rapid.OneOf(
		rapid.Map(rapid.Float64(), func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }),
		rapid.Map(rapid.Float64Range(-1e6, 1e6), func(f float64) string { return strconv.FormatFloat(f, 'f', 4, 64) }),
		rapid.Map(rapid.Int64(), func(n int64) string { return strconv.FormatInt(n, 10) }),
		rapid.SampledFrom([]string{"null", "true", `"a"`, `"é\t"`, `"\u0007"`, "1.0", "-0.0", "1E5", "0.10"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteByte('{')
		for i, v := range rapid.SliceOfN(scalar, 0, 6).Draw(t, "values") {
			if i > 0 {
				b.WriteByte(',')
			}
			name := rapid.SampledFrom([]string{"a", "b", "x1", "-1", "é"}).Draw(t, "name") + strings.Repeat("_", i)
			b.WriteString(`"` + name + `":[` + v + `]`)
		}
		b.WriteByte('}')
		agrees(t, b.String())
	})
}

// TestDeepValues: what is nested too deep is told, whatever else there is.
func TestDeepValues(t *testing.T) {
	for _, c := range []struct {
		depth, around int
		deep          bool
	}{{10, 0, false}, {MaxDepth, 0, false}, {MaxDepth + 1, 0, true}, {MaxDepth, 1, true}} {
		v, err := ejson.Parse([]byte(strings.Repeat("[", c.depth) + strings.Repeat("]", c.depth)))
		require.NoError(t, err)
		require.Equal(t, c.deep, IsDeep(v, c.around), "%+v", c)
	}
}
