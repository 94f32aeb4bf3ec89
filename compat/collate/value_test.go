package collate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
	"pgregory.net/rapid"
)

func parsed(t testing.TB, text string) ejson.Value {
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// ascending has values in order; those in one string, separated by blanks, are equal.
var ascending = []string{
	`null`, `false`, `true`,
	`-1e300`, `-123456789012345678901234567890`, `-9223372036854775809`, `-9223372036854775808 -9223372036854775808.0`, `-9007199254740993`,
	`-9007199254740992 -9007199254740992.0`, `-2 -2.0`, `-1.5`, `-1`, `-1e-300`, `-4.9e-324`, `0 0.0 -0.0 -0 0e5`, `4.9e-324`, `1e-300`, `0.1`, `0.5`, `1 1.0 10e-1`, `1.0000000000000002`, `1.5`, `2`,
	`127`, `128`, `129`, `9007199254740992 9007199254740992.0`, `9007199254740993`, `9007199254740994 9007199254740994.0`,
	`9223372036854775807`, `9223372036854775808 9223372036854775808.0`, `9223372036854775809`, `18446744073709551615`, `18446744073709551616 18446744073709551616.0`, `1e300`,
	`1` + strings.Repeat("0", 310), `1` + strings.Repeat("0", 309) + `1`,
	`"" "\u0001"`, `"a" "a\u0000"`, `"A"`, `"\u00e1" "a\u0301"`, `"aa"`, `"b"`, `"\uffff"`,
	`[]`, `[null]`, `[1]`, `[1,[]]`, `[1,[1]]`, `[1,[1],2]`, `[2]`, `["a"]`, `["a",1]`, `["ab"]`, `[[]]`, `[{}]`,
	`{}`, `{"":1} {"\u0001":1.0}`, `{"a":1}`, `{"a":1,"b":1}`, `{"a":2}`, `{"b":1}`, `{"b":1,"a":1}`,
}

func TestAscending(t *testing.T) {
	type ranked struct {
		text string
		rank int
	}
	var values []ranked
	for i, line := range ascending {
		for text := range strings.FieldsSeq(line) {
			values = append(values, ranked{text, i})
		}
	}
	for _, a := range values {
		for _, b := range values {
			want := min(1, max(-1, a.rank-b.rank))
			va, vb := parsed(t, a.text), parsed(t, b.text)
			if got := Compare(va, vb); got != want {
				t.Errorf("%s and %s compare %d, want %d", a.text, b.text, got, want)
			}
			if ka, kb := AppendKey(nil, va), AppendKey(nil, vb); bytes.Compare(ka, kb) != want {
				t.Errorf("%s and %s: keys %x, %x, want %d", a.text, b.text, ka, kb, want)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	deep := strings.Repeat(`[`, 200000) + strings.Repeat(`]`, 200000)
	a, b := parsed(t, deep), parsed(t, deep)
	if Compare(a, b) != 0 || CompareRaw(a, b) != 0 || !bytes.Equal(AppendKey(nil, a), AppendKey(nil, b)) {
		t.Error("a deep array is not equal to itself")
	}
}

func TestRaw(t *testing.T) {
	order := []string{
		`-1`,
		`1`,
		`1.5`,
		`false`,
		`null`,
		`true`,
		`{}`,
		`{"A":1}`,
		`{"a":1}`,
		`{"a":1,"b":1}`,
		`[]`,
		`[1]`,
		`[1,1]`,
		`""`,
		`"A"`,
		`"a"`,
		`"á"`,
	}
	for i, a := range order {
		for j, b := range order {
			if got := CompareRaw(parsed(t, a), parsed(t, b)); got != min(1, max(-1, i-j)) {
				t.Errorf("%s and %s compare %d", a, b, got)
			}
		}
	}
	for text, want := range map[string]bool{`1 1`: true, `1 1.0`: false, `0.0 -0.0`: true, `"\u00e9" "e\u0301"`: false, `{"a":1,"b":2} {"b":2,"a":1}`: false, `[1,{"a":"\u0062"}] [1,{"a":"b"}]`: true} {
		a, b, _ := strings.Cut(text, " ")
		if got := Identical(parsed(t, a), parsed(t, b)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

var scalars = []string{
	`null`,
	`true`,
	`false`,
	`0`,
	`-1`,
	`1.0`,
	`1`,
	`9007199254740993`,
	`9007199254740992.0`,
	`-1e200`,
	`123456789012345678901234567890`,
	`"a"`,
	`"A"`,
	`"b"`,
	`""`,
	`"é"`,
	`"日本"`,
	`"ぁあ"`,
	`"\u0001"`,
}

func anyJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth == 0 || kind < 3 {
			switch kind {
			case 0:
				return string(ejson.AppendFloat(nil, rapid.Float64Range(-1e30, 1e30).Draw(t, "double")))
			case 1:
				return string(ejson.AppendString(nil, rapid.String().Draw(t, "string")))
			}
			return rapid.SampledFrom(scalars).Draw(t, "scalar")
		}
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			item := anyJSON(depth-1).Draw(t, "item")
			if kind == 5 {
				item = rapid.SampledFrom(
					[]string{`"a"`, `"A"`, `""`, `"\u00e9"`, `"e\u0301"`},
				).Draw(
					t,
					"name",
				) + ":" + item
			}
			items = append(items, item)
		}
		if kind == 5 {
			return "{" + strings.Join(items, ",") + "}"
		}
		return "[" + strings.Join(items, ",") + "]"
	})
}

// TestKeysCompareAsValues is the package's first invariant.
func TestKeysCompareAsValues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := parsed(t, anyJSON(3).Draw(rt, "a")), parsed(t, anyJSON(3).Draw(rt, "b"))
		checkPair(rt, a, b)
	})
}

func checkPair(t rapid.TB, a, b ejson.Value) {
	want := Compare(a, b)
	ka, kb := AppendKey(nil, a), AppendKey(nil, b)
	if got := bytes.Compare(ka, kb); got != want || Compare(b, a) != -want {
		t.Fatalf("%s and %s compare %d, keys %x and %x %d", a.Raw(), b.Raw(), want, ka, kb, got)
	}
	if want != 0 && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
		t.Fatalf("one key of %s and %s is a prefix of the other", a.Raw(), b.Raw())
	}
}

func FuzzCompare(f *testing.F) {
	for i := range ascending[1:] {
		f.Add([]byte(strings.Fields(ascending[i])[0]), []byte(strings.Fields(ascending[i+1])[0]))
	}
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, err := ejson.Parse(x)
		if err != nil {
			return
		}
		b, err := ejson.Parse(y)
		if err != nil {
			return
		}
		checkPair(t, a, b)
	})
}
