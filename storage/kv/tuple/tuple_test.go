package tuple_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

func bigOf(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 0)
	return n
}

// vectors are what FoundationDB documents (design/tuple.md) and its Python binding prints for these tuples.
var vectors = []struct {
	tuple  tuple.Tuple
	packed string // hex
}{
	{tuple.Tuple{}, ""},
	{tuple.Tuple{nil}, "00"},
	{tuple.Tuple{[]byte("foo\x00bar")}, "01 666f6f 00ff 626172 00"},
	{tuple.Tuple{"F\u00d4O\x00bar"}, "02 46c3944f 00ff 626172 00"},
	{tuple.Tuple{tuple.Tuple{[]byte("foo\x00bar"), nil, tuple.Tuple{}}}, "05 01 666f6f 00ff 626172 00 00ff 0500 00"},
	{tuple.Tuple{int64(-5551212)}, "11 ab4b93"},
	{tuple.Tuple{-42.0}, "21 3fbaffffffffffff"},
	{tuple.Tuple{int64(0)}, "14"},
	{tuple.Tuple{int64(1)}, "15 01"},
	{tuple.Tuple{int64(-1)}, "13 fe"},
	{tuple.Tuple{int64(255)}, "15 ff"},
	{tuple.Tuple{int64(256)}, "16 0100"},
	{tuple.Tuple{int64(-255)}, "13 00"},
	{tuple.Tuple{int64(-256)}, "12 feff"},
	{tuple.Tuple{int64(math.MaxInt64)}, "1c 7fffffffffffffff"},
	{tuple.Tuple{int64(math.MinInt64)}, "0c 7fffffffffffffff"},
	{tuple.Tuple{uint64(math.MaxUint64)}, "1c ffffffffffffffff"},
	{tuple.Tuple{bigOf("-0xffffffffffffffff")}, "0c 0000000000000000"},
	{tuple.Tuple{bigOf("0x10000000000000000")}, "1d 09 010000000000000000"},
	{tuple.Tuple{bigOf("-0x10000000000000000")}, "0b f6 feffffffffffffffff"},
	{tuple.Tuple{0.0, math.Copysign(0, -1)}, "21 8000000000000000 21 7fffffffffffffff"},
	{tuple.Tuple{math.Inf(1), math.Inf(-1)}, "21 fff0000000000000 21 000fffffffffffff"},
	{tuple.Tuple{false, true}, "26 27"},
	{tuple.Tuple{kv.Versionstamp{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0, 1, 2, 3, 0, 0}}, "33 aabbccddeeff000102030000"},
	{tuple.Tuple{"", []byte{}, tuple.Tuple{nil, nil}}, "0200 0100 0500ff00ff00"},
	{tuple.Tuple{"\x00", "\x00\xff", "\x00\x00\x00", "\xff\x00"}, "0200ff00 0200ffff00 0200ff00ff00ff00 02ff00ff00"},
}

func TestTupleVectors(t *testing.T) {
	for _, v := range vectors {
		want, err := hex.DecodeString(strings.ReplaceAll(v.packed, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.tuple.Pack(nil)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: packed %x, %v, want %x", v.tuple, got, err, want)
		}
		back, err := tuple.Unpack(want)
		if err != nil || !reflect.DeepEqual(back, v.tuple) {
			t.Errorf("%x: unpacked %v, %v, want %v", want, back, err, v.tuple)
		}
	}
}

func TestTupleErrors(t *testing.T) {
	for _, packed := range []string{
		"01", "0161", "0200ff", "05", "0500ff", "0501", "15", "16ff", "1500", "160001", "13ff", "1d", "1d08ffffffffffffffff",
		"1d09", "1d09000000000000000000", "0b", "0bf7", "21", "2100", "33", "3300", "03", "20", "30", "ff", "0a", "1e",
		strings.Repeat("05", 100_000),
	} {
		src, _ := hex.DecodeString(packed)
		if tuple, err := tuple.Unpack(src); err == nil {
			t.Errorf("%.20s unpacked as %v", packed, tuple)
		}
	}
	deep := tuple.Tuple{}
	for range 1000 {
		deep = tuple.Tuple{deep}
	}
	large := new(big.Int).Lsh(big.NewInt(1), 255*8)
	for _, tuple := range []tuple.Tuple{{int32(1)}, {tuple.Tuple{struct{}{}}}, {large}, deep} {
		if packed, err := tuple.Pack(nil); err == nil {
			t.Errorf("%v packed as %x", tuple, packed)
		}
	}
}

// The readers of single elements agree with Unpack, and refuse other kinds.
func TestTupleReaders(t *testing.T) {
	b, err := tuple.Tuple{
		[]byte("b\x00"),
		"s",
		int64(-7),
		bigOf("-0x123456789abcdef0123"),
		1.5,
		true,
		kv.Versionstamp{1},
	}.Pack(
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	bs, b, err := tuple.ReadBytes(b)
	if err != nil || string(bs) != "b\x00" {
		t.Fatal(bs, err)
	}
	s, b, err := tuple.ReadString(b)
	if err != nil || s != "s" {
		t.Fatal(s, err)
	}
	if _, _, err := tuple.ReadString(b); err == nil {
		t.Fatal("an integer read as a string")
	}
	n, b, err := tuple.ReadInt(b)
	if err != nil || n != -7 {
		t.Fatal(n, err)
	}
	if _, _, err := tuple.ReadInt(b); err == nil {
		t.Fatal("a large integer read as an int64")
	}
	large, b, err := tuple.ReadBigInt(b)
	if err != nil || large.Cmp(bigOf("-0x123456789abcdef0123")) != 0 {
		t.Fatal(large, err)
	}
	f, b, err := tuple.ReadDouble(b)
	if err != nil || f != 1.5 {
		t.Fatal(f, err)
	}
	yes, b, err := tuple.ReadBool(b)
	if err != nil || !yes {
		t.Fatal(yes, err)
	}
	v, b, err := tuple.ReadVersionstamp(b)
	if err != nil || v != (kv.Versionstamp{1}) || len(b) != 0 || tuple.PeekKind(b) != tuple.KindNone {
		t.Fatal(v, b, err)
	}
}

func TestVersionstampHole(t *testing.T) {
	key, offset := tuple.AppendVersionstampHole([]byte("prefix"), 0x0102)
	for i := range kv.VersionstampSize {
		key[offset+i] = byte(i)
	}
	v, rest, err := tuple.ReadVersionstamp(key[len("prefix"):])
	want := kv.Versionstamp{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2}
	if err != nil || len(rest) != 0 || v != want {
		t.Fatalf("%x, %x, %v", v, rest, err)
	}
}

// A big.Int beyond 255 bytes sorts with the largest.
func TestAppendBigIntSaturates(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 5000)
	top := tuple.AppendBigInt(nil, huge)
	bottom := tuple.AppendBigInt(nil, new(big.Int).Neg(huge))
	for _, n := range []*big.Int{
		new(big.Int).Lsh(big.NewInt(1), 2000), big.NewInt(0), new(big.Int).Lsh(big.NewInt(-1), 2000),
	} {
		packed := tuple.AppendBigInt(nil, n)
		if bytes.Compare(bottom, packed) >= 0 || bytes.Compare(packed, top) >= 0 {
			t.Fatalf("%v is not between", n)
		}
	}
}

func genElement(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just(any(nil)),
		rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 4).AsAny(),
		rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 'é', '\uffff', '😀'}), 0, 4, -1).AsAny(),
		rapid.Int64().AsAny(),
		rapid.Int64Range(-300, 300).AsAny(),
		rapid.Custom(func(t *rapid.T) any {
			n := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 9, 20).Draw(t, "magnitude"))
			n.SetBit(n, 64, 1) // at least nine bytes
			if rapid.Bool().Draw(t, "negative") {
				n.Neg(n)
			}
			return n
		}),
		rapid.Float64().AsAny(),
		rapid.Bool().AsAny(),
		rapid.Custom(func(t *rapid.T) any {
			return kv.Versionstamp(rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "versionstamp"))
		}),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.Map(genTuple(depth-1), func(t tuple.Tuple) any { return t }))
	}
	return rapid.OneOf(kinds...)
}

func genTuple(depth int) *rapid.Generator[tuple.Tuple] {
	return rapid.Custom(func(t *rapid.T) tuple.Tuple {
		return append(tuple.Tuple{}, rapid.SliceOfN(genElement(depth), 0, 3).Draw(t, "elements")...)
	})
}

// compare orders tuples element by element, which is what their packed forms must sort like.
func compare(a, b any) int {
	if x, y := rank(a), rank(b); x != y {
		return x - y
	}
	switch x := a.(type) {
	case []byte:
		return bytes.Compare(x, b.([]byte))
	case string:
		return strings.Compare(x, b.(string))
	case tuple.Tuple:
		y := b.(tuple.Tuple)
		for i := range min(len(x), len(y)) {
			if c := compare(x[i], y[i]); c != 0 {
				return c
			}
		}
		return len(x) - len(y)
	case int64, *big.Int:
		return bigFrom(a).Cmp(bigFrom(b))
	case float64:
		y := b.(float64)
		if x == y && x == 0 { // -0 before 0
			return compare(!math.Signbit(x), !math.Signbit(y))
		}
		return big.NewFloat(x).Cmp(big.NewFloat(y))
	case bool:
		if x == b.(bool) {
			return 0
		}
		if x {
			return 1
		}
		return -1
	case kv.Versionstamp:
		y := b.(kv.Versionstamp)
		return bytes.Compare(x[:], y[:])
	}
	return 0
}

func bigFrom(v any) *big.Int {
	if n, ok := v.(int64); ok {
		return big.NewInt(n)
	}
	return v.(*big.Int)
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case []byte:
		return 1
	case string:
		return 2
	case tuple.Tuple:
		return 3
	case int64, *big.Int:
		return 4
	case float64:
		return 5
	case bool:
		return 6
	}
	return 7
}

func sign(n int) int { return max(-1, min(1, n)) }

func TestTupleOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genTuple(2).Draw(t, "a"), genTuple(2).Draw(t, "b")
		if rapid.Bool().Draw(t, "related") { // a common beginning, else most pairs differ in the first kind
			b = append(append(tuple.Tuple{}, a...), b...)
			a = append(append(tuple.Tuple{}, a...), genTuple(1).Draw(t, "c")...)
		}
		x, err := a.Pack(nil)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Pack(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := bytes.Compare(x, y), sign(compare(a, b)); got != want {
			t.Fatalf("%v, %v: packed %x, %x: %d, want %d", a, b, x, y, got, want)
		}
		back, err := tuple.Unpack(x)
		if err != nil || !reflect.DeepEqual(back, a) {
			t.Fatalf("%v came back as %v, %v", a, back, err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	for _, v := range vectors {
		packed, _ := v.tuple.Pack(nil)
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tuple, err := tuple.Unpack(src)
		if err != nil {
			return
		}
		back, err := tuple.Pack(nil)
		if err != nil || !bytes.Equal(back, src) {
			t.Fatalf("%x unpacked as %v packed as %x, %v", src, tuple, back, err)
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
