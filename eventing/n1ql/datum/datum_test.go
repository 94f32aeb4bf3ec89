package datum

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/ejson"
)

// The model are the values of encoding/json, with numbers as they are written. It knows N1QL's order from
// its reference alone.

// rank is the place of a type in the order.
func rank(v any) int {
	switch v := v.(type) {
	case nil:
		return 1
	case bool:
		if v {
			return 3
		}
		return 2
	case json.Number:
		return 4
	case string:
		return 5
	case []any:
		return 6
	}
	return 7
}

// exact is the number that a text is.
func exact(n json.Number) *big.Rat {
	if !strings.ContainsAny(n.String(), ".eE") {
		r, _ := new(big.Rat).SetString(n.String())
		return r
	}
	f, _ := n.Float64() // what has a fraction or an exponent is a double
	return new(big.Rat).SetFloat64(f)
}

// order compares two values of the model: arrays by their elements, objects by the number of their members,
// then by names and values in the order of the names.
func order(a, b any) int {
	if n := cmp.Compare(rank(a), rank(b)); n != 0 {
		return n
	}
	switch a := a.(type) {
	case json.Number:
		return exact(a).Cmp(exact(b.(json.Number)))
	case string:
		return strings.Compare(a, b.(string))
	case []any:
		return slices.CompareFunc(a, b.([]any), order)
	case map[string]any:
		b := b.(map[string]any)
		names, others := slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))
		n := cmp.Compare(len(names), len(others))
		for i := 0; n == 0 && i < len(names); i++ {
			n = cmp.Or(strings.Compare(names[i], others[i]), order(a[names[i]], b[others[i]]))
		}
		return n
	}
	return 0
}

// scalars meet each other, and the ends of integers and doubles.
var scalars = []string{
	"null", "false", "true", "0", "-0", "0.0", "1", "1.0", "1.5", "-1", "1e3", "1000", "9007199254740992",
	"9007199254740992.0", "9007199254740993", "9223372036854775807", "9223372036854775808", "9223372036854775808.0",
	"-9223372036854775808", "-9223372036854775809", "123456789012345678901234567890", "1.2345678901234568e29",
	"1.7976931348623157e308", "5e-324", `""`, `"a"`, `"ab"`, `"é"`, `"\u0000"`, `"\uffff"`, `"😀"`, "[]", "{}",
}

// drawJSON draws the text of a value.
func drawJSON(rt *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(rt, "kind")
	if depth == 0 || kind < 3 {
		return rapid.SampledFrom(scalars).Draw(rt, "scalar")
	}
	var parts []string
	names := rapid.Permutation([]string{"a", "ab", "é", "A"}).Draw(rt, "names")
	for _, name := range names[:rapid.IntRange(0, 3).Draw(rt, "length")] {
		part := drawJSON(rt, depth-1)
		if kind == 5 {
			part = fmt.Sprintf("%q:%s", name, part)
		}
		parts = append(parts, part)
	}
	if kind == 5 {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// drawn is a value twice: as a part of a document, or built of others; and in the model.
type drawn struct {
	text  string
	value Value
	model any
}

func read(t require.TestingT, text string) (Value, any) {
	parsed, err := ejson.Parse([]byte(text))
	require.NoError(t, err, text)
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var model any
	require.NoError(t, d.Decode(&model), text)
	return FromJSON(parsed), model
}

// unpack makes a value that is no part of a document.
func unpack(v Value) Value {
	switch v.Kind {
	case KindArray:
		list := v.Elements()
		for i := range list {
			list[i] = unpack(list[i])
		}
		return Array(list)
	case KindObject:
		members := v.Fields()
		for i := range members {
			members[i].Value = unpack(members[i].Value)
		}
		slices.Reverse(members) // their order means nothing
		return Object(members...)
	}
	return v
}

func draw(rt *rapid.T) drawn {
	d := drawn{text: drawJSON(rt, 3)}
	d.value, d.model = read(rt, d.text)
	if rapid.Bool().Draw(rt, "unpacked") {
		d.value = unpack(d.value)
	}
	return d
}

// TestCollation: values have the order of the model, however they came about; equal ones, and no others, have
// equal keys. Copies are equal, and print as what they are copies of.
func TestCollation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := draw(rt), draw(rt)
		if rapid.IntRange(0, 3).Draw(rt, "same") == 0 { // with names in another order
			text, err := json.Marshal(a.model)
			require.NoError(rt, err)
			b.text = string(text)
			b.value, b.model = read(rt, b.text)
		}
		want := order(a.model, b.model)
		if have := Compare(&a.value, &b.value); have != want {
			rt.Fatalf("%s, %s: %d, wanted %d", a.text, b.text, have, want)
		}
		if have := Compare(&b.value, &a.value); have != -want {
			rt.Fatalf("%s, %s: %d, wanted %d", b.text, a.text, have, -want)
		}
		if same := a.value.Key() == b.value.Key(); same != (want == 0) {
			rt.Fatalf("%s, %s: keys %s, %s", a.text, b.text, a.value.Key(), b.value.Key())
		}
		copied, _, err := a.value.Detach()
		require.NoError(rt, err)
		printed, err := copied.AppendJSON(nil, MaxValueSize)
		require.NoError(rt, err)
		_, again := read(rt, string(printed))
		if Compare(&copied, &a.value) != 0 || order(again, a.model) != 0 {
			rt.Fatalf("%s became %s", a.text, printed)
		}
	})
}

// TestMissingComesFirst: MISSING is before all values, and its key is that of no other.
func TestMissingComesFirst(t *testing.T) {
	missing := Value{}
	for _, text := range scalars {
		v, _ := read(t, text)
		require.Equal(t, -1, Compare(&missing, &v), text)
		require.NotEqual(t, missing.Key(), v.Key(), text)
	}
}

// TestCalculate: integers are exact as long as the result fits into 64 bits, and otherwise all is what doubles
// make of it.
func TestCalculate(t *testing.T) {
	operations := map[string]func(x, y *big.Int) *big.Int{
		"+": func(x, y *big.Int) *big.Int { return new(big.Int).Add(x, y) },
		"-": func(x, y *big.Int) *big.Int { return new(big.Int).Sub(x, y) },
		"*": func(x, y *big.Int) *big.Int { return new(big.Int).Mul(x, y) },
	}
	interesting := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3),
		rapid.SampledFrom([]int64{1<<63 - 1, -1 << 63, 1 << 62, 1 << 53, 1<<53 + 1, 1 << 32, -1 << 32}))
	rapid.Check(t, func(rt *rapid.T) {
		x, y := interesting.Draw(rt, "x"), interesting.Draw(rt, "y")
		a, b := Number{Integer: x}, Number{Integer: y}
		for op, of := range operations {
			want := of(big.NewInt(x), big.NewInt(y))
			have := Calculate(op, &a, &b)
			n, ok := have.Int()
			switch {
			case want.IsInt64() && (!ok || n != want.Int64()):
				rt.Fatalf("%d %s %d = %v, wanted %v", x, op, y, have.Num, want)
			case !want.IsInt64():
				f, _ := new(big.Float).SetInt(want).Float64()
				if difference := have.Num.Float()/f - 1; difference > 1e-15 || difference < -1e-15 {
					rt.Fatalf("%d %s %d = %v, wanted %v", x, op, y, have.Num, want)
				}
			}
		}
		quotient, rest := Calculate("/", &a, &b), Calculate("%", &a, &b)
		if y == 0 {
			require.Equal(rt, [2]Kind{KindNull, KindNull}, [2]Kind{quotient.Kind, rest.Kind})
			return
		}
		if n, ok := rest.Int(); y != -1 && (!ok || n != x%y) {
			rt.Fatalf("%d %% %d = %v", x, y, rest.Num)
		}
		if n, ok := quotient.Int(); y != -1 && x%y == 0 && (!ok || n != x/y) {
			rt.Fatalf("%d / %d = %v", x, y, quotient.Num)
		}
	})
}

// TestMembers: SetMember and Members do what a map does, and keep the order in which names came.
func TestMembers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want, names := map[string]int64{}, []string{}
		var list []Member
		all := NewMembers(nil)
		for range rapid.IntRange(0, 20).Draw(rt, "steps") {
			name, n := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "name"), rapid.Int64().Draw(rt, "value")
			if rapid.IntRange(0, 3).Draw(rt, "remove") == 0 { // Members has no removal
				list = SetMember(list, name, Value{})
				delete(want, name)
				names = slices.DeleteFunc(names, func(s string) bool { return s == name })
				all = NewMembers(list)
				continue
			}
			list = SetMember(list, name, Integer(n))
			all.Set(name, Integer(n))
			if _, known := want[name]; !known {
				names = append(names, name)
			}
			want[name] = n
		}
		for _, have := range [][]Member{list, all.List} {
			require.Len(rt, have, len(names))
			for i, m := range have {
				require.Equal(rt, names[i], m.Name)
				require.Equal(rt, want[m.Name], m.Value.Num.Integer)
			}
		}
	})
}

// TestDistinct leaves the first ones of equal values.
func TestDistinct(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list, want []Value
		var models []any
		for range rapid.IntRange(0, 12).Draw(rt, "values") {
			d := draw(rt)
			list = append(list, d.value)
			if !slices.ContainsFunc(models, func(m any) bool { return order(m, d.model) == 0 }) {
				want, models = append(want, d.value), append(models, d.model)
			}
		}
		have := Distinct(list)
		require.Len(rt, have, len(want))
		for i := range have {
			require.Zero(rt, Compare(&have[i], &want[i]))
		}
	})
}

// like matches a pattern by trying all that % may stand for.
func like(pattern, s []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(s) == 0
	case pattern[0] == '%':
		return like(pattern[1:], s) || len(s) > 0 && like(pattern, s[1:])
	case pattern[0] == '\\' && len(pattern) > 1:
		return len(s) > 0 && s[0] == pattern[1] && like(pattern[2:], s[1:])
	}
	return len(s) > 0 && (pattern[0] == '_' || pattern[0] == s[0]) && like(pattern[1:], s[1:])
}

// TestLike: patterns match what brute force matches, and what they match begins with their prefix.
func TestLike(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune(`ab%%__\é`)), 0, 8, -1).Draw(rt, "pattern")
		s := rapid.StringOfN(rapid.SampledFrom([]rune(`aab%_\é`)), 0, 10, -1).Draw(rt, "text")
		checkLike(rt, pattern, s)
	})
}

func checkLike(t interface{ Fatalf(string, ...any) }, pattern, s string) {
	p := ParseLike(pattern)
	have := p.Match(s)
	if want := like([]rune(pattern), []rune(s)); have != want {
		t.Fatalf("%q LIKE %q is %v", s, pattern, have)
	}
	prefix, whole := p.Prefix()
	if have && (!strings.HasPrefix(s, prefix) || whole && s != prefix) {
		t.Fatalf("%q LIKE %q, whose prefix is %q, %v", s, pattern, prefix, whole)
	}
}

func FuzzLike(f *testing.F) {
	for _, seed := range [][2]string{{"a%b", "axb"}, {`\%_`, "%é"}, {"%a%%b%", "bab"}, {`\`, `\`}, {"", ""}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 10 || len(s) > 14 { // brute force takes its time
			ParseLike(pattern).Match(s)
			return
		}
		if strings.ToValidUTF8(pattern, "") == pattern && strings.ToValidUTF8(s, "") == s {
			checkLike(t, pattern, s)
		}
	})
}

// FuzzCompare: all JSON has an order with itself and other JSON, that of its copies, and equal keys if it is
// equal.
func FuzzCompare(f *testing.F) {
	for _, text := range scalars {
		f.Add(text, `[{"a":1,"b":[2]}]`)
	}
	f.Add(strings.Repeat("[", 300)+strings.Repeat("]", 300), strings.Repeat(`{"a":`, 300)+"1"+strings.Repeat("}", 300))
	f.Fuzz(func(t *testing.T, first, second string) {
		x, err := ejson.Parse([]byte(first))
		y, other := ejson.Parse([]byte(second))
		if err != nil || other != nil {
			return
		}
		a, b := FromJSON(x), FromJSON(y)
		order := Compare(&a, &b)
		if order != -Compare(&b, &a) {
			t.Fatalf("%s and %s have no order", first, second)
		}
		if order != 0 && a.Key() == b.Key() {
			t.Fatalf("%s and %s have the key %s", first, second, a.Key())
		}
		copied, _, err := a.Detach()
		if err != nil {
			return // it is too large
		}
		if Compare(&copied, &a) != 0 || copied.Key() != a.Key() || Compare(&copied, &b) != order {
			t.Fatalf("%s is no copy", first)
		}
	})
}
