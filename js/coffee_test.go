package js

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// What a real CouchDB 3.5.0 made of these sources.
func TestCoffeeScript(t *testing.T) {
	kvtest.Long(t)
	const failed = `(new SyntaxError("`
	const where = `", "./share/server/main-coffee.js", 7891)) (`
	p := newTestPool(t, Options{})
	for source, want := range map[string]string{
		"(doc) -> emit doc._id, (-> 5).toString()":                                    `"b2":"function() {\n    return 5;\n  }"|`,
		"f = (doc) -> emit f.toString()":                                              `"function(doc) {\n  return emit(f.toString());\n}":null|`,
		"(doc) -> emit arguments.callee.name, @length":                                `"":1|`,
		"(doc) -> emit \"日本\", 1; é = 5; emit é":                                      `"日本":1|5:null|`,
		"# c\n(doc) -> emit /o+/.test(doc.t), doc.foo ** 2\n":                         `true:4|`,
		"(doc) -> emit require(\"views/lib/m\").x":                                    `7:null|`,
		"(doc) ->\n  try\n    doc.a.b.c\n  catch e\n    emit e.message, e.lineNumber": `"can't access property \"b\", it is null or undefined":4|`,
		"(doc) ->\n  class A\n    constructor: (@a) ->\n    b: => @a\n  a = new A doc.foo\n" +
			"  [x, ..., y] = [1..doc.foo+1]\n" +
			"  emit [x, y, a.b?(), \"#{doc._id} é\"], {x, y} if doc.foo?": `[1,3,2,"b2 é"]:{"x":1,"y":3}|`,
		"->": "",
		"(doc) -> emit ///a\n b#{doc.foo}///g.source, undefinedthing": "!",

		"(doc) -> emit(doc.foo, 1":  failed + "missing )" + where,
		"function(doc){emit(1,2)}":  failed + "reserved word 'function'" + where,
		"(doc) -> yield = 5":        failed + "reserved word 'yield' can't be assigned" + where,
		"(doc) -> emit \"a":         failed + `missing \"` + where,
		"(doc) -> emit 1 }":         failed + "unmatched }" + where,
		"(doc) ->\n\temit 1\n    x": failed + "unexpected indentation" + where,
		"x = 1":                     "Expression does not eval to a function. (",
		"  ":                        "Expression does not eval to a function. (",
	} {
		got, err := mapText(t, p, CoffeeScript.Source(source),
			`{"m":"exports.x = 7"}`, `{"_id":"b2","foo":2,"t":"foo"}`)
		switch {
		case err != nil:
			require.EqualError(t, err, "compilation_error: "+want+source+")", source)
		case want == "!":
			require.Contains(t, got, "undefinedthing is not defined", source)
		default:
			require.Equal(t, want, got, source)
		}
	}
	_, err := mapText(t, p, CoffeeScript.Source(""), "", `{}`)
	require.EqualError(t, err, "not_found: missing function")
}

// Sources are compiled by a parser that calls itself.
func TestCoffeeScriptTooDeep(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	source := "(doc) -> emit "
	for range 5000 {
		source += "["
	}
	_, err := mapText(t, p, CoffeeScript.Source(source), "", `{}`)
	require.ErrorContains(t, err, "compilation_error")
}
