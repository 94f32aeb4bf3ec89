package selector

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"pgregory.net/rapid"
)

func parseJSON(t testing.TB, text string) ejson.Value {
	t.Helper()
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestMatch reads documents and selectors from files, and says whether the last document passes.
func TestMatch(t *testing.T) {
	var doc ejson.Value
	datadriven.RunTest(t, "testdata/match", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "document" {
			doc = parseJSON(t, d.Input)
			return ""
		}
		s, err := ParseSelector(parseJSON(t, d.Input))
		if err != nil {
			return err.Error()
		}
		passes, err := s.Match(doc)
		if err != nil {
			return err.Error()
		}
		return strconv.FormatBool(passes)
	})
}

// TestFieldNames: a name that cannot be read is an error wherever it stands, and named as it stands
// there. A backslash at the end of a name does not join it to the next one.
func TestFieldNames(t *testing.T) {
	for _, name := range []string{"", ".", "a.", ".a", "a..b", `a\...b`} {
		for _, form := range []string{
			`{%s:1}`, `{"a":{%s:{"$gt":1}}}`, `{"$or":[{},{"$not":{%s:1}}]}`, `{"a":{"$elemMatch":{%s:1}}}`,
			`{"a":{"$allMatch":{"b":{%s:1}}}}`, `{"a":{"$not":{"$keyMapMatch":{%s:1}}}}`,
		} {
			text := fmt.Sprintf(form, ejson.AppendString(nil, name))
			_, err := ParseSelector(parseJSON(t, text))
			e, ok := compat.AsError(err)
			if !ok || e.Name != "invalid_field_name" || e.Reason != "Invalid field name: "+name {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	s, err := ParseSelector(parseJSON(t, `{"a\\":{"b":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	for doc, want := range map[string]bool{`{"a":{"b":1}}`: true, `{"a.b":1}`: false} {
		if got, err := s.Match(parseJSON(t, doc)); got != want || err != nil {
			t.Errorf("%s: %t, %v", doc, got, err)
		}
	}
}

// TestLateNames: with the names of 3.5 one that cannot be read is an error of a document in which it
// is looked up, with the part that cannot be read; below $elemMatch and its like it passes nothing.
func TestLateNames(t *testing.T) {
	doc := parseJSON(t, `{"a":1,"l":[1],"a.b":7,"o":{"b":2}}`)
	const no, yes = "false", "true"
	for text, want := range map[string]string{
		`{"a":{".b":1}}`: ".b", `{"a":{"":1}}`: "", `{"x..":{"":1}}`: "x..", `{"$not":{"b..c":1}}`: "b..c",
		`{"a":2,"b..c":1}`: no, `{"b..c":1,"a":2}`: "b..c", `{"$or":[{"a":1},{"b..c":1}]}`: yes,
		`{"l":{"$elemMatch":{"b..c":1}}}`: no, `{"l":{"$allMatch":{"":1}}}`: yes,
		`{"l":{"$not":{"$elemMatch":{"b..c":1}}}}`: yes, `{"o":{"$keyMapMatch":{".":1}}}`: no,
		`{"":{"a":1}}`: yes, `{"":1,"a":1}`: no, `{"":{"$type":"object"},"a":1}`: yes,
		`{"a\\":{"b":7}}`: yes, `{"o\\":{"b":2}}`: no,
	} {
		s, err := ParseSelector35(parseJSON(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		passes, err := s.Match(doc)
		got := strconv.FormatBool(passes)
		if e, ok := compat.AsError(err); ok {
			got = strings.TrimPrefix(e.Reason, "Invalid field name: ")
		}
		if got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
	for _, text := range []string{`{"":1}`, `{"$not":{"":1}}`, `{"$gt":1}`} { // refused by both versions
		_, want := ParseSelector(parseJSON(t, text))
		if _, err := ParseSelector35(parseJSON(t, text)); want == nil || !errors.Is(err, want) {
			t.Errorf("%s: %v, not %v", text, err, want)
		}
	}
}

func TestOnlyMeta(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `{"_id":"a"}`: true, `{"$or":[{"_id":"a"},{"_deleted":true}]}`: true, `{"_id":{"$not":{"$regex":"^_design/"}}}`: true,
		`{"a":1}`: false, `{"_id":"a","b":1}`: false, `{"$and":[{"$eq":1}]}`: false, `{"_id.x":1}`: false,
	} {
		s, err := ParseSelector(parseJSON(t, text))
		if err != nil || s.OnlyMeta() != want {
			t.Errorf("%s: %v, %v", text, s.OnlyMeta(), err)
		}
	}
}

func TestDeepSelector(t *testing.T) {
	deep := strings.Repeat(`{"$not":`, 100000) + `{"a":1}` + strings.Repeat(`}`, 100000)
	if _, err := ParseSelector(parseJSON(t, deep)); !errors.Is(err, errTooDeep) {
		t.Errorf("%v", err)
	}
	value := strings.Repeat(`[`, 100000) + strings.Repeat(`]`, 100000)
	if _, err := ParseSelector(parseJSON(t, `{"a":{"$mod":`+value+`}}`)); err == nil {
		t.Error("no error")
	}
}

// TestFields reads documents and lists of fields from files, and shows of the last document what a
// list names.
func TestFields(t *testing.T) {
	var doc ejson.Value
	datadriven.RunTest(t, "testdata/fields", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "document" {
			doc = parseJSON(t, d.Input)
			return ""
		}
		f, err := ParseFields(parseJSON(t, d.Input))
		if err != nil {
			return err.Error()
		}
		if f.All() {
			return string(doc.AppendJSON(nil))
		}
		shown, err := f.AppendJSON(nil, doc.AppendJSON(nil))
		if err != nil {
			return err.Error()
		}
		return string(shown)
	})
}

var values = []string{
	`null`,
	`false`,
	`true`,
	`-1`,
	`0`,
	`1`,
	`1.0`,
	`2`,
	`""`,
	`"a"`,
	`"A"`,
	`"é"`,
	`[]`,
	`[1]`,
	`["a",1]`,
	`{}`,
	`{"x":1}`,
}

// anyCondition is a selector whose fields are a and b.
func anyCondition(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if depth == 0 || rapid.Bool().Draw(t, "leaf") {
			value := rapid.SampledFrom(values).Draw(t, "value")
			field := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "field")
			o := rapid.SampledFrom(
				[]string{"$lt", "$lte", "$eq", "$ne", "$gte", "$gt", "$in", "$nin", "$exists"},
			).Draw(
				t,
				"op",
			)
			switch o {
			case "$in", "$nin":
				value = "[" + value + "," + rapid.SampledFrom(values).Draw(t, "second") + "]"
			case "$exists":
				value = "true"
			}
			return `{"` + field + `":{"` + o + `":` + value + `}}`
		}
		o := rapid.SampledFrom([]string{"$and", "$or", "$nor", "$not"}).Draw(t, "op")
		first := anyCondition(depth-1).Draw(t, "first")
		if o == "$not" {
			return `{"$not":` + first + `}`
		}
		return `{"` + o + `":[` + first + `,` + anyCondition(depth-1).Draw(t, "second") + `]}`
	})
}

// naive evaluates a condition of anyCondition as it reads, for a document that has both fields.
func naive(condition, doc ejson.Value) bool {
	for name, arg := range condition.Members() {
		results := []bool{}
		for e := range arg.Elements() {
			results = append(results, naive(e, doc))
		}
		switch name.Text() {
		case "$and":
			return results[0] && results[1]
		case "$or":
			return results[0] || results[1]
		case "$nor":
			return !results[0] && !results[1]
		case "$not":
			return !naive(arg, doc)
		default:
			value, _ := doc.Get(name.Text())
			return naiveValue(arg, value)
		}
	}
	return false
}

func naiveValue(condition, value ejson.Value) bool {
	for o, arg := range condition.Members() {
		order := collate.Compare(value, arg)
		switch o.Text() {
		case "$lt":
			return order < 0
		case "$lte":
			return order <= 0
		case "$eq":
			return order == 0
		case "$ne":
			return order != 0
		case "$gte":
			return order >= 0
		case "$gt":
			return order > 0
		case "$in":
			return naiveIn(value, arg)
		case "$nin":
			return !naiveIn(value, arg)
		}
	}
	return true
}

func naiveIn(value, list ejson.Value) bool {
	in := false
	for e := range list.Elements() {
		if value.Kind() != ejson.Array {
			in = in || collate.Compare(value, e) == 0
		}
		for element := range value.Elements() {
			in = in || collate.Compare(element, e) == 0
		}
	}
	return in
}

// TestMatchIsNaive: the normal form means what was written, negations included.
func TestMatchIsNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := anyCondition(3).Draw(rt, "selector")
		doc := parseJSON(
			t,
			`{"a":`+rapid.SampledFrom(values).Draw(rt, "a")+`,"b":`+rapid.SampledFrom(values).Draw(rt, "b")+`}`,
		)
		s, err := ParseSelector(parseJSON(t, text))
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		got, err := s.Match(doc)
		if want := naive(parseJSON(t, text), doc); got != want || err != nil {
			rt.Fatalf("%s on %s: %v, want %v, %v; normal form %s", text, doc.Raw(), got, want, err, s.AppendJSON(nil))
		}
	})
}

// FuzzSelector: nothing panics, and a normal form is its own normal form.
func FuzzSelector(f *testing.F) {
	for _, text := range []string{
		`{"a":1,"b.c":{"$gt":1,"$lt":{"x":[]}}}`, `{"$not":{"$or":[{"a":{"$in":[1]}},{"b":{"$exists":false}}]}}`, `{"a":{"$elemMatch":{"$not":{"$gt":1},"b":2}}}`,
		`{"a\\":{"b..c":1},"":{"x":{".":2}}}`, `{"$nor":[{"a":{"$regex":"^[a\\w]$"}},{"a":{"$all":[[1]]}}]}`, `{"$text":"x","a":{"$allMatch":{"$mod":[2,0]}}}`, `{"a":{"$keyMapMatch":{"$beginsWith":"é"}}}`,
	} {
		f.Add([]byte(text), []byte(`{"a":[1,2,{"b":2}],"b":{"c":2},"é":"e\u0301"}`))
	}
	f.Fuzz(func(t *testing.T, selector, document []byte) {
		v, err := ejson.Parse(selector)
		if err != nil || v.Kind() != ejson.Object {
			return
		}
		s, err := ParseSelector35(v)
		if of36, err36 := ParseSelector(v); err36 == nil && bytes.Contains(selector, []byte(`\`)) {
			s, err = of36, nil // in 3.5 a backslash at the end may take a dot with it
		} else if err36 == nil && (err != nil || string(of36.AppendJSON(nil)) != string(s.AppendJSON(nil))) {
			t.Fatalf("%s is %s with the names of 3.6, and not with those of 3.5: %v", selector, of36.AppendJSON(nil), err)
		}
		if err != nil {
			return
		}
		normal := s.AppendJSON(nil)
		again, err := ParseSelector35(parseJSON(t, string(normal)))
		if err != nil || string(again.AppendJSON(nil)) != string(normal) {
			t.Fatalf("%s becomes %s, %v", normal, again.AppendJSON(nil), err)
		}
		doc, err := ejson.Parse(document)
		if err != nil {
			return
		}
		x, errX := s.Match(doc)
		y, errY := again.Match(doc)
		if x != y || (errX == nil) != (errY == nil) {
			t.Fatalf("%s: %v %v, its normal form %v %v", selector, x, errX, y, errY)
		}
	})
}

// FuzzFields: nothing panics, and what is shown is JSON.
func FuzzFields(f *testing.F) {
	f.Add([]byte(`["a","a.0","b\\.c",".",""]`), []byte(`{"a":[1],"b.c":{"d":1}}`))
	f.Fuzz(func(t *testing.T, list, document []byte) {
		v, err := ejson.Parse(list)
		if err != nil {
			return
		}
		fields, err := ParseFields(v)
		if err != nil {
			return
		}
		doc, err := ejson.Parse(document)
		if err != nil {
			return
		}
		if shown, err := fields.AppendJSON(nil, doc.AppendJSON(nil)); err == nil {
			parseJSON(t, string(shown))
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	doc := []byte(
		`{"_id":"0123456789abcdef","_rev":"1-53bb45222f0ad689b97e55700b6c2819","type":"order","customer":{"name":"Ada Lovelace","city":"London"},"total":129.5,"tags":["new","paid"],"created":"2024-05-17T12:00:00Z"}`,
	)
	for name, text := range map[string]string{
		"equal":  `{"type":"order"}`,
		"nested": `{"customer.city":"London","total":{"$gt":100},"tags":{"$elemMatch":{"$eq":"paid"}}}`,
		"regex":  `{"created":{"$regex":"^2024-0[1-6]"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			s, err := ParseSelector(parseJSON(b, text))
			if err != nil {
				b.Fatal(err)
			}
			var p ejson.Parser
			b.ReportAllocs()
			for b.Loop() {
				v, err := p.Parse(doc)
				if err != nil {
					b.Fatal(err)
				}
				if ok, err := s.Match(v); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
