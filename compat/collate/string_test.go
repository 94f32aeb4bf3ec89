package collate

import (
	"bufio"
	"bytes"
	"os"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

// icuOrder is strings in the order of ICU 72 as CouchDB 3.5.0 gave it: one JSON string a line, or
// an array of equal ones.
const icuOrder = "../../conformance/testdata/collation-icu72.txt"

func TestICUOrder(t *testing.T) {
	f, err := os.Open(icuOrder)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var p ejson.Parser
	var last []byte
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		v, err := p.Parse(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		equal := []ejson.Value{v}
		if v.Kind() == ejson.Array {
			equal = equal[:0]
			for e := range v.Elements() {
				equal = append(equal, e)
			}
		}
		for i, e := range equal {
			want := 0
			if i == 0 {
				want = -1
			}
			text := []byte(e.Text())
			if n > 0 || i > 0 {
				checkOrder(t, last, text, want)
			}
			last = text
		}
		n++
	}
	if n < 2000 {
		t.Errorf("%d lines", n)
	}
}

func checkOrder(t *testing.T, a, b []byte, want int) {
	t.Helper()
	ka, kb := AppendStringKey(nil, a), AppendStringKey(nil, b)
	if got := bytes.Compare(ka, kb); got != want {
		t.Errorf("%+q and %+q: keys %x and %x compare %d, want %d", a, b, ka, kb, got, want)
	}
	if got := CompareStrings(a, b); got != want {
		t.Errorf("%+q and %+q compare %d, want %d", a, b, got, want)
	}
	if got := CompareStrings(b, a); got != -want {
		t.Errorf("%+q and %+q compare %d, want %d", b, a, got, -want)
	}
}
