package mango

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/segment"
)

// mapped are the fields that a text index has of a document, in the order that they are given in:
// name=value, with ~ for text that is analysed. Names of fields are on their own.
func mapped(t *testing.T, kind segment.Kind, definition, doc string) (names, values string) {
	t.Helper()
	m, err := Texts{}.Compile(kind, parsed(t, definition))
	if err != nil {
		t.Fatal(err)
	}
	list, in, err := m.Map(parsed(t, doc))
	if err != nil {
		t.Fatal(err)
	}
	if !in {
		return "", "out"
	}
	var n, v []string
	for _, f := range list {
		text := f.Text
		if f.IsNumber {
			text = fmt.Sprint(f.Number)
		}
		if f.Analyzed {
			text = "~" + text
		}
		if f.Name == fieldNames {
			n = append(n, text)
		} else {
			v = append(v, f.Name+"="+text)
		}
	}
	return strings.Join(n, " "), strings.Join(v, " ")
}

// What CouchDB's text indexes have of documents (mango_native_proc), with the names that it leaves
// out.
func TestFieldsOfTextIndexes(t *testing.T) {
	const doc = `{"_id":"x","a":{"b":"B","c d":1.5},"l":[1,"L",[true]],"n":null,"e":{},"f":[],"A.é":false}`
	for _, row := range []struct {
		kind                          segment.Kind
		definition, doc, names, value string
	}{
		{segment.Clouseau, `{}`, doc,
			"$default A_2e_c3_a9_3aboolean _5fid_3astring a.b_3astring a.c_20d_3anumber e_3aobject " +
				"f._5b_5d_3alength l._5b_5d._5b_5d_3aboolean l._5b_5d._5b_5d_3alength l._5b_5d_3alength l._5b_5d_3anumber " +
				"l._5b_5d_3astring n_3anull",
			"_5fid_3astring=x $default=~x a.b_3astring=B $default=~B a.c_20d_3anumber=1.5 l._5b_5d_3alength=3 " +
				"l._5b_5d_3anumber=1 l._5b_5d_3astring=L $default=~L l._5b_5d._5b_5d_3alength=1 " +
				"l._5b_5d._5b_5d_3aboolean=true n_3anull=true f._5b_5d_3alength=0 A_2e_c3_a9_3aboolean=false"},
		{segment.Clouseau, `{"default_field":false,"index_array_lengths":false}`, `{"f":[],"g":["x"]}`,
			"f._5b_5d_3aarray g._5b_5d_3astring", "g._5b_5d_3astring=x"},
		{segment.Clouseau, `{"fields":[{"name":"a.b","type":"string"},{"name":"l.[]","type":"number"},` +
			`{"name":"A\\.é","type":"boolean"},{"name":"n","type":"string"}]}`,
			`{"a":{"b":"B"},"l":[1,"L"],"n":1,"A.é":true}`,
			"$default A_2e_c3_a9_3aboolean a.b_3astring l._5b_5d_3alength l._5b_5d_3anumber l._5b_5d_3astring n_3anumber",
			"a.b_3astring=B $default=~B l._5b_5d_3alength=2 l._5b_5d_3anumber=1 A_2e_c3_a9_3aboolean=true"},
		{segment.Nouveau, `{"fields":[{"name":"a","type":"text"},{"name":"a","type":"string"}]}`, `{"a":"x y"}`,
			"$default a_3astring", "a_3atext=~x y a_3astring=x y $default=~x y"},
		{segment.Clouseau, `{"partial_filter_selector":{"a":1}}`, `{"a":2}`, "", "out"},
		{segment.Clouseau, `{"selector":{"a":1}}`, `{"a":2}`, "", "out"},
		{segment.Clouseau, `{"default_field":{"enabled":false},"selector":{"a":1}}`, `{"a":1}`,
			"a_3anumber", "a_3anumber=1"},
		{segment.Clouseau, `{}`, `{"` + strings.Repeat("k", maxTextName+1) + `":1,"l":1` + strings.Repeat("0", 400) +
			`}`,
			"l_3anumber", ""},
	} {
		names, values := mapped(t, row.kind, row.definition, row.doc)
		if names != row.names {
			t.Errorf("%s of %.200s has the names\n%s instead of\n%s", row.definition, row.doc, names, row.names)
		}
		if values != row.value {
			t.Errorf("%s of %.200s has\n%s instead of\n%s", row.definition, row.doc, values, row.value)
		}
	}
}

// Definitions that CouchDB passes over, and a text index that is not there.
func TestTextIndexesThatAreNone(t *testing.T) {
	body := `{"language":"query","indexes":{
		"script":{"index":"function (doc) {}","analyzer":"standard"},"none":{},"more":{"index":{"foo":1}},
		"bad":{"index":{"fields":[{"name":"a","type":"text"}]}},"good":{"index":{"fields":[]}}},
		"nouveau":{"good":{"index":{"fields":[{"name":"a","type":"text"}]}}}}`
	list := IndexesOf("_design/d", parsed(t, body), false)
	if len(list) != 2 || list[0].Kind != KindText || list[1].Kind != KindNouveau || list[0].Name != "good" {
		t.Errorf("there are %v", list)
	}
	if list = IndexesOf("_design/d", parsed(t, strings.Replace(body, "query", "javascript", 1)),
		false); len(list) > 0 {
		t.Errorf("in a design document of another language there are %v", list)
	}
	_, _, err := RemoveFrom(parsed(t, body), true, KindText, "nothing")
	e, _ := compat.AsError(err)
	if e == nil || e.Word() != "index_not_found" || e.Reason != "Text index nothing not found in this design doc." {
		t.Errorf("removing what is not there: %v", err)
	}
	next, empty, err := RemoveFrom(parsed(t, `{"language":"query","indexes":{"a":{"index":{}}}}`), true, KindText,
		"a")
	if err != nil || !empty {
		t.Errorf("removing the last index leaves %s, %v", next, err)
	}
}

// Which indexes are offered, and why others are not.
func TestChoiceOfTextIndexes(t *testing.T) {
	indexes := append([]*Index{AllDocs}, IndexesOf("_design/d", parsed(t, `{"language":"query",
		"views":{"json":{"map":{"fields":{"a":"asc"}},"options":{}}},
		"indexes":{"all":{"index":{"fields":"all_fields"}}},"nouveau":{"all":{"index":{"fields":"all_fields"}},
		"some":{"index":{"fields":[{"name":"a","type":"number"}]}}}}`), false)...)
	for _, row := range []struct{ request, index, reasons string }{
		{`{"selector":{}}`, "special",
			"json field_mismatch, nouveau empty_selector, nouveau empty_selector, text empty_selector"},
		{`{"selector":{"a":1}}`, "json",
			"nouveau unfavored_type, nouveau unfavored_type, special unfavored_type, text unfavored_type"},
		{`{"selector":{"$text":"x"}}`, "text",
			"json needs_text_search, nouveau unfavored_type, nouveau unfavored_type, special unfavored_type"},
		{`{"selector":{"b":1}}`, "text",
			"json field_mismatch, nouveau field_mismatch, nouveau unfavored_type, special unfavored_type"},
		{`{"selector":{"a":{"$regex":"x"}},"use_index":["d","some"]}`, "json",
			"nouveau field_mismatch, nouveau unfavored_type, special unfavored_type, text unfavored_type"},
		{`{"selector":{"a":1},"use_index":["d","some"]}`, "nouveau", "text excluded_by_user"},
	} {
		r, err := ParseRequest(parsed(t, row.request), Defaults{Limit: 25, TextLimit: 3, NouveauLimit: 4})
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(r, indexes, false, true)
		if err != nil {
			t.Errorf("%s: %v", row.request, err)
			continue
		}
		if got := p.Index().Kind.String(); got != row.index {
			t.Errorf("%s is answered by %s instead of %s", row.request, got, row.index)
		}
		if want := map[string]int64{"text": 3, "nouveau": 4}[row.index]; want > 0 && p.limit.n != want {
			t.Errorf("%s has the limit %d", row.request, p.limit.n)
		}
		explained, err := p.AppendExplain(t.Context(), new(Source), nil, "db")
		if err != nil {
			t.Fatal(err)
		}
		var reasons []string
		candidates, _ := parsed(t, string(explained)).Get("index_candidates")
		for c := range candidates.Elements() {
			ix, _ := c.Get("index")
			analysis, _ := c.Get("analysis")
			list, _ := analysis.Get("reasons")
			for reason := range list.Elements() {
				reasons = append(reasons, memberText(ix, "type")+" "+memberText(reason, "name"))
			}
		}
		slices.Sort(reasons)
		if got := strings.Join(reasons, ", "); !strings.Contains(got, row.reasons) {
			t.Errorf("%s: %s instead of %s", row.request, got, row.reasons)
		}
	}
	r, err := ParseRequest(parsed(t, `{"selector":{"a":1},"use_index":"e"}`), Defaults{Limit: 25})
	if err != nil {
		t.Fatal(err)
	}
	body := parsed(t, `{"language":"query","nouveau":{"a":{"index":{}},"b":{"index":{}}}}`)
	two := IndexesOf("_design/e", body, false)
	_, err = NewPlan(r, two, false, false)
	if e, _ := compat.AsError(err); e == nil || e.Word() != "multiple_nouveau_indexes" {
		t.Errorf("two indexes that can answer: %v", err)
	}
}

func memberText(v ejson.Value, name string) string {
	member, _ := v.Get(name)
	return member.Text()
}
