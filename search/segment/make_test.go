package segment

import (
	"fmt"
	"strings"
	"testing"
)

// What has too many fields or terms for its index is not made to its end, and what fits is.
func TestMakerEndsEarly(t *testing.T) {
	words := func(_, text string, add func(term []byte, increment, start, end int)) {
		for word := range strings.FieldsSeq(text) {
			add([]byte(word), 1, 0, 0)
		}
	}
	var fields []Value
	var text strings.Builder
	for i := range 50_000 {
		fields = append(fields, Value{Name: fmt.Sprint("f", i), Text: "x"},
			Value{Name: fmt.Sprint("s", i), Store: true, NotIndexed: true})
		fmt.Fprintf(&text, "w%d ", i)
	}
	terms := []Value{{Name: "f", Text: text.String(), Analyzed: true}}
	for _, c := range []struct {
		name                 string
		values               []Value
		most, record         int
		fits, short          bool
		leastMade, mostTerms int
	}{
		{"fields that fit", fields[:200], 100, 1 << 20, true, true, 100, 100},
		{"one field more", fields[:202], 100, 1 << 20, false, true, 101, 101},
		{"many fields", fields, 100, 1 << 20, false, true, 101, 101},
		{"terms that fit", terms, 100, 1 << 20, true, true, 50_000, 50_000},
		{"many terms", terms, 100, 100_000, true, false, 10_000, 20_000},
	} {
		m := NewMaker(Clouseau, words)
		m.MostFields, m.MostRecord = c.most, c.record
		d := m.Document("id", c.values)
		made := 0
		for i := range d.Fields {
			made += len(d.Fields[i].Terms)
		}
		fits, short := m.Fits()
		if fits != c.fits || short != c.short || made < c.leastMade || made > c.mostTerms {
			t.Errorf("%s: %v %v, %d terms", c.name, fits, short, made)
		}
		if record := len(AppendRecord(nil, d)); short && c.fits && record > c.record ||
			!short && record < c.record-2*recordOfTerm {
			t.Errorf("%s: a record of %d bytes", c.name, record)
		}
	}
}
