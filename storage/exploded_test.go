package storage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
)

// canonical is the text a body has when storage gets it.
func canonical(t interface{ Fatalf(string, ...any) }, src string) []byte {
	v, err := ejson.Parse([]byte(src))
	if err != nil {
		t.Fatalf("%.200s: %v", src, err)
	}
	return v.AppendJSON(nil)
}

type pair struct{ key, value []byte }

func explodePairs(t interface{ Fatalf(string, ...any) }, entryKey, body []byte) (pairs []pair, ok bool) {
	ok, err := explodeBody(entryKey, body, func(key, value []byte) {
		pairs = append(pairs, pair{bytes.Clone(key), bytes.Clone(value)})
	})
	if err != nil {
		t.Fatalf("explode: %v", err)
	}
	return pairs, ok
}

var explodedBodies = []string{
	`{}`,
	`{"a":1}`,
	`{"z":1,"a":{"y":[],"b":{}},"m":[1,[2,[3,[]]],{"k":null}]}`,
	`{"a":1,"b":1.0,"c":-0.0,"d":1e300,"e":1.0e-7,"f":0,"g":-1}`,
	`{"big":123456789012345678901234567890123456,"neg":-123456789012345678901234567890123456,"u":18446744073709551615,"m":-9223372036854775808}`,
	`{"huge":` + strings.Repeat("7", 700) + `}`,
	`{"nul":"a\u0000b","a\u0000b":{"":1,"\u0000":2},"a":3}`,
	`{"":{"":{"":""}}}`,
	`{"0":[0],"1":{"0":0}}`,
	`{"t":true,"f":false,"n":null,"s":"\"\\\n\t\u0001é\ud83d\ude00"}`,
	`{"a":[[[[]]]],"b":[{},{},[]]}`,
	`{"_attachments_like":{"x":{"data":""}}}`,
}

func TestExplodeRestoresBytes(t *testing.T) {
	for _, src := range explodedBodies {
		checkExploded(t, canonical(t, src))
	}
}

func TestExplodeRestoresAnyBody(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		checkExploded(rt, canonical(rt, genObject(rt, 4)))
	})
}

// failure is what tests, fuzz tests and property tests have in common.
type failure interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

func checkExploded(t failure, body []byte) {
	pairs, ok := explodePairs(t, []byte("entry"), body)
	if !ok {
		t.Fatalf("does not fit: %.100s", body)
	}
	rand.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	var b explodedBody
	for _, p := range pairs {
		if err := b.add(p.key[len("entry"):], p.value); err != nil {
			t.Fatalf("%v", err)
		}
	}
	got, err := b.appendJSON(nil)
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("got %s\nwant %s\n%v", got, body, err)
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	for i := 1; i < len(pairs); i++ {
		if bytes.Equal(pairs[i-1].key, pairs[i].key) {
			t.Errorf("two values at %q", pairs[i].key)
		}
	}
}

// genObject draws the text of an object.
func genObject(t *rapid.T, depth int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(ejson.AppendString(nil, rapid.SampledFrom([]string{"a", "b", "", "a\x00", "a\x00b", "é", "0", "1"}).Draw(t, "name")))
		b.WriteByte(':')
		b.WriteString(genValue(t, depth-1))
	}
	return b.String() + "}"
}

func genValue(t *rapid.T, depth int) string {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false", "{}", "[]"}).Draw(t, "word")
	case 1:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})`).Draw(t, "int")
	case 2:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})\.[0-9]{1,20}(e[+-]?[0-9]{1,2})?`).Draw(t, "double")
	case 3, 4:
		return string(ejson.AppendString(nil, rapid.String().Draw(t, "string")))
	case 5:
		return genObject(t, depth)
	}
	elements := make([]string, rapid.IntRange(0, 4).Draw(t, "elements"))
	for i := range elements {
		elements[i] = genValue(t, depth-1)
	}
	return "[" + strings.Join(elements, ",") + "]"
}

func TestExplodeTooLargeForTheLayout(t *testing.T) {
	many := func(n int) string { return "[" + strings.Repeat("1,", n) + "1]" }
	for name, src := range map[string]string{
		"depth 100000":     `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}",
		"long string":      `{"a":"` + strings.Repeat("x", 100_000) + `"}`,
		"long name":        `{"` + strings.Repeat("x", 10_000) + `":1}`,
		"long path":        strings.Repeat(`{"`+strings.Repeat("y", 100)+`":`, 120) + "1" + strings.Repeat("}", 120),
		"many values":      `{"a":` + many(200_000) + `}`,
		"integer too long": `{"a":` + strings.Repeat("9", 91_000) + `}`,
	} {
		pairs, ok := explodePairs(t, []byte("entry"), canonical(t, src))
		if ok || len(pairs) > 0 {
			t.Errorf("%s: %d entries, ok %v", name, len(pairs), ok)
		}
	}
}

func TestExplodedPart(t *testing.T) {
	body := canonical(t, `{"x":1,"o":{"b":[1,{"c":"d"}],"a":2},"o\u0000":3,"y":4}`)
	pairs, _ := explodePairs(t, nil, body)
	for _, c := range []struct {
		path kv.Tuple
		want string
	}{
		{kv.Tuple{"o"}, `{"b":[1,{"c":"d"}],"a":2}`},
		{kv.Tuple{"o", "b"}, `[1,{"c":"d"}]`},
		{kv.Tuple{"o", "b", 1, "c"}, `"d"`},
		{kv.Tuple{"y"}, `4`},
		{nil, string(body)},
	} {
		prefix, err := c.path.Pack(nil)
		if err != nil {
			t.Fatal(err)
		}
		var b explodedBody
		begin, end := children(prefix)
		for _, p := range pairs {
			if bytes.Compare(begin, p.key) <= 0 && bytes.Compare(p.key, end) < 0 {
				if err := b.add(p.key[len(prefix):], p.value); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, err := b.appendJSON(nil); string(got) != c.want || err != nil {
			t.Errorf("%v: got %s, want %s, %v", c.path, got, c.want, err)
		}
	}
}

// FuzzExplodedBody: entries that no explodeBody wrote are errors or make some text, never a panic.
func FuzzExplodedBody(f *testing.F) {
	for _, src := range explodedBodies {
		var seed []byte
		pairs, _ := explodePairs(f, nil, canonical(f, src))
		for _, p := range pairs {
			seed = fmt.Appendf(seed, "%c%s%c%s", len(p.key)%256, p.key, len(p.value)%256, p.value)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() []byte {
			if len(data) == 0 {
				return nil
			}
			n := min(int(data[0]), len(data)-1)
			part := data[1 : 1+n]
			data = data[1+n:]
			return part
		}
		var b explodedBody
		for len(data) > 0 {
			if b.add(next(), next()) != nil {
				return
			}
		}
		_, _ = b.appendJSON(nil)
	})
}

// FuzzExplodeBody: what is exploded comes back as it was.
func FuzzExplodeBody(f *testing.F) {
	for _, src := range explodedBodies {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ejson.Parse(data)
		if err != nil || v.Kind() != ejson.Object {
			return
		}
		body := v.AppendJSON(nil)
		if _, ok := explodePairs(t, []byte("entry"), body); ok {
			checkExploded(t, body)
		}
	})
}

func BenchmarkExplodedBody(b *testing.B) {
	body := canonical(b, `{"name":"Some Body","age":42,"tags":["a","b","c"],"address":{"street":"Long Road 17","city":"Springfield","geo":[1.5,2.25]},"active":true}`)
	pairs, _ := explodePairs(b, []byte("entry"), body)
	b.Run("explode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = explodeBody([]byte("entry"), body, func(_, _ []byte) {})
		}
	})
	b.Run("implode", func(b *testing.B) {
		b.ReportAllocs()
		var e explodedBody
		var dst []byte
		for b.Loop() {
			e.reset()
			for _, p := range pairs {
				_ = e.add(p.key[5:], p.value)
			}
			dst, _ = e.appendJSON(dst[:0])
		}
	})
}
