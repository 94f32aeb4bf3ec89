package ejson

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Fatalf(format string, args ...any)
}

// checkText compares the tape with the model for one text.
func checkText(t failer, text []byte) {
	v, err := Parse(text)
	ref, ok := refParse(text)
	if (err == nil) != ok {
		t.Fatalf("Parse(%q) = %v, the model says %v", text, err, ok)
	}
	if !ok {
		return
	}
	printed := v.AppendJSON([]byte("x"))[1:]
	if want := ref.print(); string(printed) != want {
		t.Fatalf("AppendJSON(%q) = %q, want %q", text, printed, want)
	}
	if v.Canonical() != bytes.Equal(v.Raw(), printed) {
		t.Fatalf("%q: canonical is %v, printed %q", text, v.Canonical(), printed)
	}
	if got, want := v.AppendTerm(nil), ref.term(); !bytes.Equal(got, want) {
		t.Fatalf("AppendTerm(%q) = %x, want %x", text, got, want)
	}
	if want, ok := ref.size(); ok {
		if got, err := v.EncodedSize(); err != nil || got != want {
			t.Fatalf("EncodedSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	again, err := Parse(printed)
	if err != nil {
		t.Fatalf("%q printed as %q: %v", text, printed, err)
	}
	if !again.Canonical() || !bytes.Equal(again.AppendJSON(nil), printed) {
		t.Fatalf("%q printed as %q, which is printed as %q", text, printed, again.AppendJSON(nil))
	}
	// Of all that is printed only -0.0 does not read as what it was.
	if got := again.AppendTerm(nil); !bytes.Equal(got, positiveZeros(ref.term())) {
		t.Fatalf("%q printed as %q has the term %x, not %x", text, printed, got, ref.term())
	}
	checkAccess(t, v, ref)
}

func positiveZeros(term []byte) []byte {
	return bytes.ReplaceAll(term, []byte("F\x80\x00\x00\x00\x00\x00\x00\x00"), append([]byte("F"), make([]byte, 8)...))
}

// checkAccess walks value and model together.
func checkAccess(t failer, v Value, ref refValue) {
	if v.Kind() != ref.kind || v.Len() != len(ref.children) {
		t.Fatalf("%q: kind %d, length %d; want %d, %d", v.Raw(), v.Kind(), v.Len(), ref.kind, len(ref.children))
	}
	i := 0
	for key, member := range v.Members() {
		if key.Text() != ref.names[i] || !key.TextIs(ref.names[i]) {
			t.Fatalf("%q: member %d is %q, want %q", v.Raw(), i, key.Text(), ref.names[i])
		}
		if got, ok := v.Get(ref.names[i]); !ok || got != member {
			t.Fatalf("%q: Get(%q)", v.Raw(), ref.names[i])
		}
		checkAccess(t, member, ref.children[i])
		i++
	}
	for element := range v.Elements() {
		checkAccess(t, element, ref.children[i])
		i++
	}
	if i != len(ref.children) {
		t.Fatalf("%q: %d children, want %d", v.Raw(), i, len(ref.children))
	}
	if v.Kind() == String && v.Text() != ref.text {
		t.Fatalf("%q: text %q, want %q", v.Raw(), v.Text(), ref.text)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range forms(f) {
		f.Add([]byte(text))
	}
	for _, doc := range benchDocs {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		checkText(t, text)
	})
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a\"b\\c\n\x01\x7f", "é€😀\u2028", "\xff\xed\xa0\x80a", "\xe2\x82"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := AppendString(nil, s)
		if !bytes.Equal(text, AppendString(nil, []byte(s))) {
			t.Fatalf("%q: string and bytes differ", s)
		}
		v, err := Parse(text)
		if err != nil || !v.Canonical() {
			t.Fatalf("AppendString(%q) = %q: %v", s, text, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); utf8.ValidString(s) && v.Text() != want {
			t.Fatalf("AppendString(%q) reads as %q", s, v.Text())
		}
	})
}

// texts generates JSON texts with blanks, doubles, escapes and every form of number.
func texts() *rapid.Generator[string] {
	blank := rapid.SampledFrom([]string{"", "", "", "", " ", "\n\t", "\r"})
	number := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?`),
		rapid.Map(rapid.IntRange(-2, 257), strconv.Itoa),
		rapid.Just("-0"),
		rapid.Map(rapid.Float64Range(-1e22, 1e22), refFloat),
	)
	char := rapid.SampledFrom(
		[]string{
			"a",
			"b",
			"lorem ip",
			`\n`,
			`\"`,
			`\\`,
			`\/`,
			`\u0061`,
			`\u001f`,
			`\u001F`,
			`\u0008`,
			`\ud83d\ude00`,
			"é",
			"文",
			"😀",
			"\x7f",
			`\uFFFD`,
			"\ufffd",
		},
	)
	str := rapid.Map(
		rapid.SliceOfN(char, 0, 6),
		func(parts []string) string { return `"` + strings.Join(parts, "") + `"` },
	)
	literal := rapid.SampledFrom([]string{"null", "true", "false"})
	value := rapid.OneOf(number, str, literal)
	for range 4 {
		inner := value
		array := rapid.Map(
			rapid.SliceOfN(inner, 0, 6),
			func(elements []string) string { return "[" + strings.Join(elements, ",") + "]" },
		)
		object := rapid.Custom(func(t *rapid.T) string {
			var b strings.Builder
			n := rapid.IntRange(0, 5).Draw(t, "members")
			if rapid.IntRange(0, 9).Draw(t, "large") == 0 {
				n += 20
			}
			for i := range n {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString(
					blank.Draw(
						t,
						"blank",
					) + str.Draw(
						t,
						"name",
					) + blank.Draw(
						t,
						"blank",
					) + ":" + inner.Draw(
						t,
						"value",
					) + blank.Draw(
						t,
						"blank",
					),
				)
			}
			return "{" + b.String() + "}"
		})
		value = rapid.OneOf(inner, array, object)
	}
	return value
}

func TestModel(t *testing.T) {
	text := texts()
	rapid.Check(t, func(t *rapid.T) { checkText(t, []byte(text.Draw(t, "text"))) })
}

// TestPooledParser uses one parser for many texts: nothing of one may show in the next.
func TestPooledParser(t *testing.T) {
	p := AcquireParser()
	defer p.Release()
	text := texts()
	rapid.Check(t, func(t *rapid.T) {
		src := text.Draw(t, "text")
		fresh, want := Parse([]byte(src))
		v, err := p.Parse([]byte(src))
		if err != want || !bytes.Equal(v.AppendJSON(nil), fresh.AppendJSON(nil)) ||
			!bytes.Equal(v.AppendTerm(nil), fresh.AppendTerm(nil)) {
			t.Fatalf("%q: %q, %v", src, v.AppendJSON(nil), err)
		}
	})
}
