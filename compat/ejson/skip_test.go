package ejson

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// checkSkip compares what is found in the printed text of a value without a tape with the tape, at
// all depths.
func checkSkip(t failer, v Value) {
	text := v.AppendJSON(nil)
	var got, want []string
	for name, value := range TextMembers(text) {
		got = append(got, fmt.Sprintf("%s %s", name, value))
	}
	for element := range TextElements(text) {
		got = append(got, string(element))
	}
	for name, value := range v.Members() {
		want = append(want, fmt.Sprintf("%s %s", name.AppendJSON(nil), value.AppendJSON(nil)))
		checkSkip(t, value)
	}
	for element := range v.Elements() {
		want = append(want, string(element.AppendJSON(nil)))
		checkSkip(t, element)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("%q has %q, want %q", text, got, want)
	}
}

// TestSkipModel: canonical texts have the members and elements of their values.
func TestSkipModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		if v, err := Parse([]byte(text)); err == nil {
			checkSkip(t, v)
		}
	})
}

// FuzzSkip: no text makes the skipper panic or give what is not in the text, and texts as they are
// printed are read right. Eight bytes are looked at together: brackets stand at each of them.
func FuzzSkip(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `[[]]`, `{"a":{}}`, `{"a":[1,{"b":"]}"}],"c\\":"\\","d\"":"\"}","e":-0.5,"":null}`, `["\\\\\"",[[[[[[[[1]]]]]]]],2]`,
		`{"a`, `{"a"`, `{"a":`, `{"a":[`, `{"a":[}`, `[1`, `["\`, `{1:2}`, `{,}`, `{[`, `{"Z[{]}":[9999999[9999999]9999999{}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, value := range TextMembers(text) {
			if !bytes.Contains(text, name) || !bytes.Contains(text, value) || len(name)+len(value) > len(text) {
				t.Fatalf("%q has %q, %q", text, name, value)
			}
		}
		for element := range TextElements(text) {
			if !bytes.Contains(text, element) {
				t.Fatalf("%q has %q", text, element)
			}
		}
		if v, err := Parse(text); err == nil {
			checkSkip(t, v)
		}
	})
}
