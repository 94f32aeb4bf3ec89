package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/settee-db/settee/compat/ejson"
)

// FuzzElements: whatever a server sends, its list is read as encoding/json reads the whole, or is an
// error; none of the readers of elements panics.
func FuzzElements(f *testing.F) {
	f.Add([]byte(`{"total_rows":1,"rows":[{"id":"a","key":[1],"value":null},{"key":2}],"last_seq":"5-x"}`))
	f.Add([]byte(`{"rows":[{"id":"a","doc":{"_id":"a","_rev":"1-a","_attachments":{"b":{"digest":"x"}}}}`))
	f.Add([]byte(`{"rows":[{"id":"a","changes":[{"rev":"1-a"}],"docs":[{"ok":{"_id":"a","_rev":"1-a"}}]}]}`))
	f.Add([]byte(`{"rows":[{"docs":[{"error":{"error":"not_found"}},{"ok":1}]}]}{`))
	f.Add([]byte(`{"error":"not_found"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var rows []string
		var failed error
		for element, err := range elements(iotest.HalfReader(bytes.NewReader(text)), "rows") {
			if failed = err; err != nil {
				break
			}
			rows = append(rows, string(element))
			_, _, _ = changesRow(element)
			_ = readLeaves(element, map[string]map[string]leaf{})
			_, _ = readLocalRow(element)
			_, _ = readTally(element, true)
			_, _ = readTally(element, false)
		}
		var whole map[string]json.RawMessage
		var want []json.RawMessage
		if json.NewDecoder(bytes.NewReader(text)).Decode(&whole) != nil ||
			json.Unmarshal(whole["rows"], &want) != nil || want == nil || bytes.Count(text, []byte(`"rows"`)) != 1 {
			return // the stream may have told rows before it met the error
		}
		if failed != nil || len(rows) != len(want) {
			t.Fatalf("%q: %d rows, %v; %d are there", text, len(rows), failed, len(want))
		}
		for i := range want {
			if rows[i] != string(want[i]) {
				t.Fatalf("%q is read as %q", want[i], rows[i])
			}
		}
	})
}

// TestElementsCutShort: every prefix of a list is an error.
func TestElementsCutShort(t *testing.T) {
	text := `{"a":{"rows":[7]},"rows":[{"x":"]}"},{"y":[1,2]}],"z":1}`
	for i := range text {
		var failed error
		for _, err := range elements(strings.NewReader(text[:i]), "rows") {
			failed = err
		}
		if failed == nil || errors.Is(failed, io.EOF) {
			t.Errorf("%q: %v", text[:i], failed)
		}
	}
}

// TestMerge compares with what two loops over both lists find.
func TestMerge(t *testing.T) {
	seq := func(list ...string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for _, s := range list {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
	var got []string
	err := merge(seq("a", "b", "d"), seq("b", "c", "d", "e"), strings.Compare, func(x, y *string) error {
		s := "-"
		if x != nil {
			s = *x
		}
		if y != nil {
			s += *y
		} else {
			s += "-"
		}
		got = append(got, s)
		return nil
	})
	if want := []string{"a-", "bb", "-c", "dd", "-e"}; err != nil || !slices.Equal(got, want) {
		t.Fatal(got, err)
	}
}

// TestNearly: numbers of reduced values that were added up in another order are the same, and
// nothing else is.
func TestNearly(t *testing.T) {
	for _, x := range []struct {
		a, b string
		same bool
	}{
		{`0.30000000000000004`, `0.3`, true}, {`[1,{"a":1e10}]`, `[1,{"a":10000000000.00001}]`, true},
		{`1`, `1.0`, true}, {`1`, `2`, false}, {`[1]`, `[1,2]`, false}, {`"1"`, `1`, false}, {`null`, `false`, false},
		{`{"a":1}`, `{"b":1}`, false}, {`"a"`, `"b"`, false}, {`0`, `1e-300`, false}, {`true`, `true`, true},
	} {
		a, errA := ejson.Parse([]byte(x.a))
		b, errB := ejson.Parse([]byte(x.b))
		if errA != nil || errB != nil || nearly(a, b) != x.same {
			t.Errorf("%s and %s: %v", x.a, x.b, !x.same)
		}
	}
}
