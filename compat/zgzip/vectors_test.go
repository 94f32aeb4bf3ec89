package zgzip

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The generator of testdata/vectors.py.
type lcg uint32

func (r *lcg) next() int {
	*r = lcg((uint64(*r)*1103515245 + 12345) & 0x7fffffff)
	return int(*r >> 12)
}

var words = []string{
	"the ",
	"revision ",
	"leaf ",
	"of ",
	`{"_id":"`,
	`","value":`,
	"winner ",
	"\n",
	"stub ",
	"0123456789 ",
}

func randomBytes(r *lcg, out []byte, n int) []byte {
	for range n {
		out = append(out, byte(r.next()))
	}
	return out
}

func far(r *lcg, out []byte, size int) []byte {
	for len(out) < size {
		n := 3 + r.next()%5
		if len(out) > 32768 && r.next()%4 != 0 {
			at := len(out) - 32768 + r.next()%600
			out = append(out, out[at:at+n]...)
		} else {
			out = randomBytes(r, out, n)
		}
	}
	return out
}

func piece(kind string, r *lcg, size int) []byte {
	var out []byte
	switch kind {
	case "zeros":
		out = make([]byte, size)
	case "random":
		out = randomBytes(r, out, size)
	case "text":
		for len(out) < size {
			out = append(out, words[r.next()%len(words)]...)
		}
	case "letters":
		n := 2 + r.next()%10
		for range size {
			out = append(out, byte(97+r.next()%n))
		}
	case "skewed":
		for range size {
			v, c := r.next()|1<<17, byte(0)
			for ; v&1 == 0; v >>= 1 {
				c++
			}
			out = append(out, c)
		}
	case "far":
		out = far(r, out, size)
	case "mixed":
		kinds := []string{"zeros", "random", "text", "letters", "skewed"}
		for len(out) < size {
			k := kinds[r.next()%len(kinds)]
			out = append(out, piece(k, r, r.next()%20000)...)
		}
	}
	return out
}

func input(kind string, seed, size int) []byte {
	r := lcg(seed)
	return piece(kind, &r, size)[:size]
}

// compress writes in in pieces of the given size; 0 is all at once.
func compress(t testing.TB, in []byte, level, chunk int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriterLevel(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	for len(in) > 0 {
		n := len(in)
		if chunk > 0 {
			n = min(n, chunk)
		}
		if _, err := w.Write(in[:n]); err != nil {
			t.Fatal(err)
		}
		in = in[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestZlibVectors compares with the bytes of zlib 1.2.13.
func TestZlibVectors(t *testing.T) {
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	count := 0
	for ; lines.Scan(); count++ {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "raw "); ok {
			rawVector(t, rest)
			continue
		}
		var kind, sum string
		var seed, size, level, length int
		if _, err := fmt.Sscan(line, &kind, &seed, &size, &level, &length, &sum); err != nil {
			t.Fatal(line, err)
		}
		got := compress(t, input(kind, seed, size), level, []int{0, 1000, 4096, 8192, 70000}[count%5])
		if hash := sha256.Sum256(got); len(got) != length || hex.EncodeToString(hash[:]) != sum {
			t.Errorf("%s: got %d bytes, sha256 %x", line, len(got), hash)
		}
	}
	if count < 300 || lines.Err() != nil {
		t.Fatalf("read %d vectors: %v", count, lines.Err())
	}
}

func rawVector(t *testing.T, line string) {
	t.Helper()
	var in, out string
	var level int
	if _, err := fmt.Sscan(line, &in, &level, &out); err != nil {
		t.Fatal(line, err)
	}
	data, err := hex.DecodeString(strings.TrimPrefix(in, "-"))
	if err != nil {
		t.Fatal(line, err)
	}
	if got := hex.EncodeToString(compress(t, data, level, 0)); got != out {
		t.Errorf("%s: got %s", line, got)
	}
}
