package files

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// stored is a key as the engine stores it.
func stored(key []byte) []byte { return append([]byte{1}, key...) }

func tagged(prefix, tag int64) []byte { return tuple.AppendInt(tuple.AppendInt(nil, prefix), tag) }

func TestSplit(t *testing.T) {
	doc := tuple.AppendString(tagged(40, 5), "a\x00b")
	for name, c := range map[string]struct {
		key   []byte
		after int // bytes after the prefix
		text  bool
	}{
		"a leaf":             {tuple.AppendInt(tuple.AppendBool(doc, true), 7), 3, true},
		"a document":         {doc, 0, true},
		"a text that ends":   {append(slices.Clip(doc), 0), 1, true},
		"a text without end": {append(slices.Clip(doc), 0xff), 0, false},
		"a root key":         {tuple.AppendInt(tuple.AppendString(tuple.AppendInt(nil, 1), "db"), 7), 0, false},
		"a row of an index":  {tuple.AppendString(tuple.AppendInt(tagged(40, 32), 7), "key"), 0, false},
		"a blob":             {tuple.AppendInt(tuple.AppendBytes(tagged(40, 9), "id"), 7), 0, false},
		"no tuple":           {[]byte("anything"), 0, false},
		"an integer cut":     {tagged(40, 1000)[:3], 0, false},
		"nothing":            {nil, 0, false},
	} {
		key := stored(c.key)
		if n, text := split(key); n != len(key)-c.after || text != c.text {
			t.Errorf("%s: %d of %d, %v", name, n, len(key), text)
		}
	}
	if n, _ := split(nil); n != 0 {
		t.Error("the empty key")
	}
}

func TestIsPrefix(t *testing.T) {
	doc := stored(tuple.AppendString(tagged(40, 5), "a"))
	end := append(slices.Clip(doc), 0xff)
	for name, c := range map[string]struct {
		lower, upper []byte
		want         bool
	}{
		"a document":           {doc, end, true},
		"a part of one":        {append(slices.Clip(doc), 0), end, false},
		"up to another byte":   {doc, append(slices.Clip(doc), 0xfe), false},
		"up to another key":    {doc, append(stored(tuple.AppendString(tagged(40, 5), "b")), 0xff), false},
		"a subspace":           {stored(tagged(40, 5)), append(stored(tagged(40, 5)), 0xff), false},
		"an end that is short": {doc, doc, false},
		"a text without end":   {end, append(slices.Clip(end), 0xff), false},
	} {
		if IsPrefix(c.lower, c.upper) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}

// FuzzComparer holds the comparer to what Pebble asks of one, for keys of any bytes.
func FuzzComparer(f *testing.F) {
	rnd := rand.New(rand.NewPCG(1, 2))
	bytesOf := [...]byte{0, 1, 2, 0x14, 0x15, 40, 'a', 'b', 0xfe, 0xff}
	random := func() []byte {
		key := append([]byte{1}, tagged(40, 5)[:rnd.IntN(5)]...)
		for range rnd.IntN(12) {
			key = append(key, bytesOf[rnd.IntN(len(bytesOf))])
		}
		return key
	}
	for range 300 {
		f.Add(random(), random())
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c := Comparer
		pa, pb := a[:c.Split(a)], b[:c.Split(b)]
		if c.Split(pa) != len(pa) {
			t.Errorf("the prefix %x of %x is none", pa, a)
		}
		order := bytes.Compare(a, b)
		want := bytes.Compare(pa, pb)
		if want == 0 {
			want = c.ComparePointSuffixes(a[len(pa):], b[len(pb):])
		}
		if order != want || c.Compare(a, b) != order {
			t.Errorf("%x and %x: %d, by their prefixes %d", a, b, order, want)
		}
		next := c.ImmediateSuccessor(nil, pa)
		if c.Split(next) != len(next) || bytes.Compare(next, pa) <= 0 {
			t.Errorf("after the prefix %x: %x", pa, next)
		}
		if bytes.Compare(pa, b) < 0 && bytes.Compare(b, next) < 0 && !bytes.Equal(pa, pb) {
			t.Errorf("%x is between the prefix %x and the next one, %x", b, pa, next)
		}
		if IsPrefix(pa, next) && (bytes.Compare(pa, b) <= 0 && bytes.Compare(b, next) < 0) != bytes.Equal(pa, pb) {
			t.Errorf("the range of the prefix %x and %x", pa, b)
		}
	})
}
