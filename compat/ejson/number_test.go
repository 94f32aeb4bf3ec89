package ejson

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBigIntegers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 19, bigDigits, bigDigits + 1, 2*bigDigits - 1, 2 * bigDigits, 2*bigDigits + 1, 7777, 33_333}
	for _, size := range sizes {
		text := make([]byte, size)
		for i := range text {
			text[i] = '0' + byte(random.IntN(10))
		}
		text[0] = '9'
		for _, sign := range []string{"", "-"} {
			want, _ := new(big.Int).SetString(sign+string(text), 10)
			v, err := Parse(append([]byte(sign), text...))
			require.NoError(t, err)
			require.Zero(t, want.Cmp(v.BigInt()), "%d digits", size)
		}
	}
	require.Nil(t, Value{}.BigInt())
	// A reader in time that grows with the square needs minutes for this.
	require.Equal(t, 26_575_425, bigInteger(bytes.Repeat([]byte{'9'}, 8_000_000)).BitLen())
}

// checkFloat compares what is printed of a double with the model, and reads it back.
func checkFloat(t failer, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return
	}
	text := AppendFloat([]byte("x"), f)[1:]
	if want := refFloat(f); string(text) != want {
		t.Fatalf("%x is printed as %s, want %s", math.Float64bits(f), text, want)
	}
	v, err := Parse(text)
	if err != nil || !v.Canonical() || v.Kind() != Double {
		t.Fatalf("%s: kind %d, canonical %v, %v", text, v.Kind(), v.Canonical(), err)
	}
	if read, ok := v.Float(); !ok || read != f {
		t.Fatalf("%s is read as %x, want %x", text, math.Float64bits(read), math.Float64bits(f))
	}
	// What was printed in other ways, by older versions too, is the same number.
	for _, format := range []byte("efg") {
		other := strconv.AppendFloat(nil, f, format, -1, 64)
		if v, err = Parse(other); err != nil {
			t.Fatalf("%s: %v", other, err)
		}
		if read, ok := v.Float(); !ok || read != f {
			t.Fatalf("%s is read as %x, want %x", other, math.Float64bits(read), math.Float64bits(f))
		}
	}
}

// edges are doubles where another rule begins: powers of two and ten, bounds of the notations, and
// their neighbours.
func edges() []float64 {
	list := []float64{math.MaxFloat64, 0x1p-1022, 0x1p-1074, 1<<53 - 1, 1 << 53}
	for e := -1074; e < 1024; e += 1 + max(e, -e)/64 {
		list = append(list, math.Ldexp(1, e))
	}
	for e := -324; e <= 308; e++ {
		for i, digits := range []string{"1", "3", "9", "12", "99", "123", "12345678901", "9007199254740993"} {
			if i > 0 && max(e, -e) > 20 {
				break
			}
			if f, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(e-len(digits)+1), 64); err == nil {
				list = append(list, f)
			}
		}
	}
	return list
}

func TestDoublesReadAsPrinted(t *testing.T) {
	for _, f := range edges() {
		for _, f := range []float64{f, -f, math.Nextafter(f, 0), math.Nextafter(f, math.Inf(1))} {
			checkFloat(t, f)
		}
	}
	bits := rapid.Uint64()
	rapid.Check(t, func(t *rapid.T) { checkFloat(t, math.Float64frombits(bits.Draw(t, "bits"))) })
	// Decimals of few digits are what people write.
	short := rapid.Custom(func(t *rapid.T) float64 {
		exponent := math.Pow10(rapid.IntRange(-8, 8).Draw(t, "exponent"))
		return float64(rapid.IntRange(-99_999, 99_999).Draw(t, "n")) * exponent
	})
	rapid.Check(t, func(t *rapid.T) { checkFloat(t, short.Draw(t, "f")) })
}

func FuzzAppendFloat(f *testing.F) {
	for _, seed := range []float64{0, math.Copysign(0, -1), 1e3, 1e-4, 1e23, 5e-324, 0.1 + 0.2, 1 << 53} {
		f.Add(math.Float64bits(seed))
	}
	f.Fuzz(func(t *testing.T, bits uint64) { checkFloat(t, math.Float64frombits(bits)) })
}
