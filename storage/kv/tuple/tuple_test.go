package tuple_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// pack appends elements of the types that keys are made of.
func pack(elements ...any) (packed []byte) {
	for _, e := range elements {
		switch v := e.(type) {
		case []byte:
			packed = tuple.AppendBytes(packed, v)
		case string:
			packed = tuple.AppendString(packed, v)
		case int64:
			packed = tuple.AppendInt(packed, v)
		case uint64:
			packed = tuple.AppendUint(packed, v)
		case bool:
			packed = tuple.AppendBool(packed, v)
		default:
			panic(fmt.Sprintf("an element of type %T", v))
		}
	}
	return packed
}

// unpack reads them with the reader that takes each.
func unpack(src []byte) (elements []any, err error) {
	for len(src) > 0 {
		var e any
		var rest []byte
		if e, rest, err = unboxed(tuple.ReadBytes(src)); err != nil {
			e, rest, err = unboxed(tuple.ReadString(src))
		}
		if err != nil {
			e, rest, err = unboxed(tuple.ReadInt(src))
		}
		if err != nil {
			e, rest, err = unboxed(tuple.ReadBool(src))
		}
		if err != nil {
			return nil, err
		}
		elements, src = append(elements, e), rest
	}
	return elements, nil
}

func unboxed[T any](v T, rest []byte, err error) (any, []byte, error) { return v, rest, err }

// vectors are what FoundationDB documents (design/tuple.md) and its Python binding prints for these
// tuples.
var vectors = []struct {
	tuple  []any
	packed string // hex
}{
	{nil, ""},
	{[]any{[]byte("foo\x00bar")}, "01 666f6f 00ff 626172 00"},
	{[]any{"F\u00d4O\x00bar"}, "02 46c3944f 00ff 626172 00"},
	{[]any{int64(-5551212)}, "11 ab4b93"},
	{[]any{int64(0)}, "14"},
	{[]any{int64(1)}, "15 01"},
	{[]any{int64(-1)}, "13 fe"},
	{[]any{int64(255)}, "15 ff"},
	{[]any{int64(256)}, "16 0100"},
	{[]any{int64(-255)}, "13 00"},
	{[]any{int64(-256)}, "12 feff"},
	{[]any{int64(math.MaxInt64)}, "1c 7fffffffffffffff"},
	{[]any{int64(math.MinInt64)}, "0c 7fffffffffffffff"},
	{[]any{false, true}, "26 27"},
	{[]any{"", []byte{}}, "0200 0100"},
	{[]any{"\x00", "\x00\xff", "\x00\x00\x00", "\xff\x00"}, "0200ff00 0200ffff00 0200ff00ff00ff00 02ff00ff00"},
}

func TestTupleVectors(t *testing.T) {
	for _, v := range vectors {
		want, err := hex.DecodeString(strings.ReplaceAll(v.packed, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := pack(v.tuple...); !bytes.Equal(got, want) {
			t.Errorf("%v: packed %x, want %x", v.tuple, got, want)
		}
		back, err := unpack(want)
		if err != nil || !reflect.DeepEqual(back, v.tuple) {
			t.Errorf("%x: unpacked %v, %v, want %v", want, back, err, v.tuple)
		}
	}
	if got := fmt.Sprintf("%x", pack(uint64(math.MaxUint64))); got != "1cffffffffffffffff" {
		t.Errorf("the greatest integer: %s", got)
	}
}

// What is no element, or not in its only form, is refused by every reader.
func TestTupleErrors(t *testing.T) {
	for _, packed := range []string{
		"00", "01", "0161", "0200ff", "05", "15", "16ff", "1500", "160001", "13ff", "1cffffffffffffffff",
		"0c7ffffffffffffffe", "1d", "0b", "21", "33", "03", "20", "30", "ff", "0a", "1e",
	} {
		src, err := hex.DecodeString(packed)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := unpack(src); !errors.Is(err, tuple.Err) {
			t.Errorf("%s unpacked as %v, %v", packed, back, err)
		}
	}
	if _, _, err := tuple.ReadString(nil); !errors.Is(err, tuple.Err) {
		t.Errorf("a text was read from nothing: %v", err)
	}
}

// A versionstamp that was filled in sorts by its bytes, and its user part follows it.
func TestVersionstampHole(t *testing.T) {
	key, offset := tuple.AppendVersionstampHole([]byte("prefix"), 0x0102)
	for i := range kv.VersionstampSize {
		key[offset+i] = byte(i)
	}
	if got, want := fmt.Sprintf("%x", key[len("prefix"):]), "33000102030405060708090102"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}

func genElement() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 4).AsAny(),
		rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 'é', '\uffff', '😀'}), 0, 4, -1).AsAny(),
		rapid.Int64().AsAny(),
		rapid.Int64Range(-300, 300).AsAny(),
		rapid.Bool().AsAny(),
	)
}

// compare orders tuples element by element, which is what their packed forms must sort like.
func compare(a, b []any) int {
	for i := range min(len(a), len(b)) {
		if c := compareElements(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareElements(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch x := a.(type) {
	case []byte:
		return bytes.Compare(x, b.([]byte))
	case string:
		return strings.Compare(x, b.(string))
	case int64:
		return cmp.Compare(x, b.(int64))
	}
	if a == b {
		return 0
	}
	if a == true {
		return 1
	}
	return -1
}

func rank(v any) int {
	switch v.(type) {
	case []byte:
		return 0
	case string:
		return 1
	case int64:
		return 2
	}
	return 3
}

func TestTupleOrder(t *testing.T) {
	elements := rapid.SliceOfN(genElement(), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := elements.Draw(t, "a"), elements.Draw(t, "b")
		if rapid.Bool().Draw(t, "related") { // a common beginning, else most pairs differ in the first kind
			b = slices.Concat(a, b)
			a = slices.Concat(a, elements.Draw(t, "c"))
		}
		x, y := pack(a...), pack(b...)
		if got, want := bytes.Compare(x, y), compare(a, b); got != want {
			t.Fatalf("%v, %v: packed %x, %x: %d, want %d", a, b, x, y, got, want)
		}
		back, err := unpack(x)
		if err != nil || !reflect.DeepEqual(append([]any{}, back...), append([]any{}, a...)) {
			t.Fatalf("%v came back as %v, %v", a, back, err)
		}
	})
}

// What the readers accept is packed as the same bytes.
func FuzzUnpack(f *testing.F) {
	for _, v := range vectors {
		f.Add(pack(v.tuple...))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		elements, err := unpack(src)
		if err != nil {
			return
		}
		if back := pack(elements...); !bytes.Equal(back, src) {
			t.Fatalf("%x unpacked as %v packed as %x", src, elements, back)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		buf = tuple.AppendString(buf[:0], "a-document-id")
		buf = tuple.AppendBool(buf, true)
		buf = tuple.AppendInt(buf, 12345)
		buf = tuple.AppendBytes(buf, buf[:16])
	}
}

func BenchmarkRead(b *testing.B) {
	key := tuple.AppendBytes(
		tuple.AppendInt(tuple.AppendBool(tuple.AppendString(nil, "a-document-id"), true), 12345),
		make([]byte, 4),
	)
	b.ReportAllocs()
	for b.Loop() {
		_, rest, _ := tuple.ReadText(key)
		_, rest, _ = tuple.ReadBool(rest)
		_, rest, _ = tuple.ReadInt(rest)
		if _, _, err := tuple.ReadBytes(rest); err != nil {
			b.Fatal(err)
		}
	}
}
