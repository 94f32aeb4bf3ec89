package mango

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

func treeOf(t *testing.T, text string) *textNode {
	t.Helper()
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := selector.ParseSelector(v)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := textTree(s)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// What CouchDB asks its search server for a selector, which _explain prints, and the fields that an
// index of chosen fields has to have.
func TestTextQueries(t *testing.T) {
	const thereA = "(($fieldnames:a_3a*) OR ($fieldnames:a.*))"
	for _, row := range []struct{ selector, query, fields string }{
		{`{"a":1}`, "(a_3anumber:1)", "a:number"},
		{`{"a":-2.5}`, "(a_3anumber:-2.50000000000000000000e+00)", "a:number"},
		{`{"a":"x y"}`, `(a_3astring:"x\ y")`, "a:string"},
		{`{"a":"x \"1"}`, `(a_3astring:"x "1")`, "a:string"}, // with a digit in it, nothing is escaped
		{`{"a":"b&&c||d"}`, `(a_3astring:"b\&&c\||d")`, "a:string"},
		{`{"a":true}`, "(a_3aboolean:true)", "a:boolean"},
		{`{"a":null}`, "(a_3anull:true)", ""},
		{`{"a":[1,"x"]}`, `((a._5b_5d_3alength:2) AND (a._5b_5d_3anumber:1) AND (a._5b_5d_3astring:"x"))`,
			"a.[]:number a.[]:string"},
		{`{"a":{"b":"x"}}`, `(a.b_3astring:"x")`, "a.b:string"},
		{`{"a":"x","b":1}`, `((a_3astring:"x") AND (b_3anumber:1))`, "a:string b:number"},
		{`{"x y.$z\\.w":1}`, "(x_20y._24z_2ew_3anumber:1)", `x y.$z\.w:number`},
		{`{"é":1}`, "(_c3_a9_3anumber:1)", "é:number"},
		{`{"$text":"some words"}`, `($default:"some\ words")`, "$default"},
		{`{"a":{"$lt":5}}`, "(a_3anumber:[* TO 5})", "a:number"},
		{`{"a":{"$lte":"x"}}`, `(a_3astring:["" TO "x"])`, "a:string"},
		{`{"a":{"$gt":5}}`, "(a_3anumber:{5 TO *])", "a:number"},
		{`{"a":{"$gte":"x"}}`, `(a_3astring:["x" TO u0x10FFFF])`, "a:string"},
		{`{"a":{"$gt":null}}`, thereA, ""},
		{`{"a":{"$lt":[1]}}`, thereA, ""},
		{`{"a":{"$lte":{"$x":1}}}`, thereA, ""},
		{`{"a":{"$ne":1}}`, "(" + thereA + " AND NOT ((a_3anumber:1)))", "a:number"},
		{`{"a":{"$in":[1,"x"]}}`,
			`(((a_3anumber:1) OR (a._5b_5d_3anumber:1)) OR ((a_3astring:"x") OR (a._5b_5d_3astring:"x")))`,
			"a:number a:string"},
		{`{"a":{"$in":[{"b":1}]}}`, "((((a.b_3anumber:1) OR (a._5b_5d.b_3anumber:1))))", "a.b:number"},
		{`{"a":{"$in":[]}}`, "", ""},
		{`{"a":{"$nin":[]}}`, "(" + thereA + ")", ""},
		{`{"a":{"$nin":[1]}}`,
			"(" + thereA + " AND NOT ((((a_3anumber:1) OR (a._5b_5d_3anumber:1)))))", "a:number"},
		{`{"a":{"$all":["x","y"]}}`, `((a._5b_5d_3astring:"x") AND (a._5b_5d_3astring:"y"))`, "a.[]:string"},
		{`{"a":{"$all":[["x"]]}}`, `(((a._5b_5d_3alength:1) AND (a._5b_5d_3astring:"x")) OR ` +
			`((a._5b_5d._5b_5d_3alength:1) AND (a._5b_5d._5b_5d_3astring:"x")))`, "a.[].[]:string a.[]:string"},
		{`{"a":{"$elemMatch":{"b":1}}}`, "(a._5b_5d.b_3anumber:1)", "a.[].b:number"},
		{`{"a":{"$allMatch":{"$eq":"x"}}}`, `(a._5b_5d_3astring:"x")`, "a.[]:string"},
		{`{"a":{"$exists":true}}`, thereA, ""},
		{`{"b":1,"a":{"$exists":false}}`,
			"((b_3anumber:1) AND ($fieldnames:/.*/  AND NOT (" + thereA + ")))", ""},
		{`{"a":{"$type":"string"}}`, thereA, ""},
		{`{"a":{"$mod":[2,0]}}`, "($fieldnames:a_3anumber)", ""},
		{`{"a":{"$regex":"x"}}`, "($fieldnames:a_3astring)", "a:string"},
		{`{"a":{"$beginsWith":"x y"}}`, `(a_3astring:x\ y*)`, "a:string"},
		// CouchDB fails on these two.
		{`{"a":{"$eq":{}}}`, "($fieldnames:a_3aobject)", ""},
		{`{"a":{"$eq":{"b":1,"c":2}}}`, "((a.b_3anumber:1) AND (a.c_3anumber:2))", "a.b:number a.c:number"},
		{`{"a":{"$size":3}}`, "(a._5b_5d_3alength:3)", ""},
		{`{"a":{"$not":{"$size":3}}}`, "(" + thereA + " AND NOT ((a._5b_5d_3alength:3)))", ""},
		{`{"$nor":[{"a":1}]}`, "((" + thereA + " AND NOT ((a_3anumber:1))))", "a:number"},
		{`{"$or":[{"a":1},{"b":2}]}`, "((a_3anumber:1) OR (b_3anumber:2))", "a:number b:number"},
		{`{"$and":[]}`, "", ""},
		{`{"$and":[{"$or":[]},{"a":1}]}`, "((a_3anumber:1))", "a:number"},
		{`{"a.0":"x"}`, `((a.0_3astring:"x") OR (a._5b_5d_3astring:"x"))`, "a.0:string"},
	} {
		tree := treeOf(t, row.selector)
		if got := tree.query(); got != row.query {
			t.Errorf("%s asks for\n%s instead of\n%s", row.selector, got, row.query)
		}
		fields := tree.indexable(nil)
		if slices.Sort(fields); strings.Join(fields, " ") != row.fields {
			t.Errorf("%s needs %q instead of %q", row.selector, fields, row.fields)
		}
	}
}

// Texts that CouchDB's text indexes refuse as queries.
func TestTextThatIsNoString(t *testing.T) {
	v, err := ejson.Parse([]byte(`{"$text":5}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := selector.ParseSelector(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = textTree(s); err == nil || !strings.Contains(err.Error(), "Invalid text operator: $text") {
		t.Errorf("$text of a number: %v", err)
	}
}

// Selectors whose trees would be too large: numbers in the names of nested fields double them.
func TestTextTreesAreBounded(t *testing.T) {
	nested := `{"a":1}`
	for range 300 {
		nested = `{"b.0":{"$elemMatch":` + nested + `}}`
	}
	many := `{"a":{"$in":[` + strings.Repeat("1,", maxTextNodes/2) + `1]}}`
	ix := textIndexes("_design/d", parsed(t, `{"indexes":{"all":{"index":{}}}}`), false)[0]
	for _, text := range []string{nested, many} {
		s, err := selector.ParseSelector(parsed(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := textTree(s); !errors.Is(err, errTextTooLarge) {
			t.Errorf("a tree of too many nodes: %v", err)
		}
		if reason := ix.unusableText(s); reason != reasonFields {
			t.Errorf("the index is %q", reason)
		}
		if s, err = selector.ParseSelector(parsed(t, `{"$and":[{"$text":"x"},`+text+`]}`)); err != nil {
			t.Fatal(err)
		}
		if reason := ix.unusableText(s); reason != "" {
			t.Errorf("no other index can answer, and this one is %q", reason)
		}
	}
}

// The type of a field of a sort is in its name, or what the selector compares it with.
func TestTextSort(t *testing.T) {
	for _, row := range []struct{ selector, sort, want string }{
		{`{"a":{"$gt":0}}`, `["a"]`, "a_3anumber<number>"},
		{`{"a":{"$gt":0}}`, `[{"a":"desc"}]`, "-a_3anumber<number>"},
		{`{"$or":[{"a":{"$gt":0}},{"b":"x"}]}`, `["b","a"]`, "b_3astring<string> a_3anumber<number>"},
		{`{"a":{"$gt":null}}`, `["a:string"]`, "a_3astring<string>"},
		{`{"a":{"$gt":null}}`, `["a.b:number"]`, "a.b_3anumber<number>"},
		{`{"a":{"$gt":null}}`, `["a"]`, "a"},
		{`{"$or":[{"a":1},{"a":"x"}]}`, `["a"]`, "a"},
		{`{"b":{"$in":[1,2]}}`, `["b"]`, "b"},
	} {
		v, err := ejson.Parse([]byte(`{"selector":` + row.selector + `,"sort":` + row.sort + `}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseRequest(v, Defaults{Limit: 25})
		if err != nil {
			t.Fatal(err)
		}
		sort, err := r.textSort(KindText)
		if err != nil {
			const text = "Unspecified or ambiguous sort type. Try appending :number or :string to the sort field. "
			if !strings.HasSuffix(err.Error(), text+row.want) {
				t.Errorf("%s sorted by %s: %v", row.selector, row.sort, err)
			}
			continue
		}
		if got := strings.Join(sort.names, " "); got != row.want {
			t.Errorf("%s sorted by %s is by %s instead of %s", row.selector, row.sort, got, row.want)
		}
	}
}
