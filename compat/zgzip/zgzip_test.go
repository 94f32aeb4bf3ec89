package zgzip

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"io"
	"sync"
	"testing"
)

func decompress(t testing.TB, in []byte) []byte {
	t.Helper()
	r, err := NewReader(bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCouchDBDigests compares with digests a CouchDB 3.5.0 gave for text/plain attachments.
func TestCouchDBDigests(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "cCkGbCesb17xjWYNV0GXmg==",
		"abc":               "MyWy3nseSuM/cBHOQ46DVQ==",
		"hello":             "iMaiC8wqiFlD2NjLTemvCQ==",
		"hello hello hello": "EGZM0DR7tfylLvvZCXP1ug==",
	} {
		sum := md5.Sum(compress(t, []byte(text), DefaultLevel, 0))
		if got := base64.StdEncoding.EncodeToString(sum[:]); got != want {
			t.Errorf("%q: digest %s, want %s", text, got, want)
		}
	}
}

func TestLevels(t *testing.T) {
	for _, level := range []int{-1, 0, 10} {
		if _, err := NewWriterLevel(io.Discard, level); err == nil {
			t.Errorf("level %d is accepted", level)
		}
	}
}

func TestWriterErrors(t *testing.T) {
	w := newWriter(failing{}, DefaultLevel)
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Close gave %v", err)
	}
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("second Close gave %v", err)
	}
	w = newWriter(failing{}, DefaultLevel)
	if _, err := w.Write(input("random", 1, 200000)); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Write gave %v", err)
	}
	w = newWriter(io.Discard, DefaultLevel)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("Write after Close succeeded")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestConcurrentWriters(t *testing.T) {
	in := input("mixed", 5, 300000)
	want := compress(t, in, DefaultLevel, 0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if got := compress(t, in, DefaultLevel, 1000*(i+1)); !bytes.Equal(got, want) {
				t.Error("a concurrent Writer gave other bytes")
			}
		})
	}
	wg.Wait()
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte(""), 8, 0, 1)
	f.Add([]byte("hello hello hello"), 8, 1, 100)
	f.Add(input("mixed", 3, 5000), 1, 100, 30)
	f.Add(input("far", 3, 40000), 9, 1000, 2)
	f.Fuzz(func(t *testing.T, in []byte, level, chunk, repeat int) {
		if level < 1 || level > 9 || chunk < 0 || repeat < 1 || repeat > 200 || len(in)*repeat > 1<<17 {
			return
		}
		in = bytes.Repeat(in, repeat)
		out := compress(t, in, level, chunk)
		if !bytes.Equal(decompress(t, out), in) {
			t.Fatal("does not decompress to its input")
		}
		if !bytes.Equal(compress(t, in, level, 0), out) {
			t.Fatal("the bytes depend on how the input is cut")
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add(compress(f, []byte("hello"), DefaultLevel, 0))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := NewReader(bytes.NewReader(in))
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(r, 1<<20))
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	for _, kind := range []string{"text", "random", "letters"} {
		in := input(kind, 1, 1<<20)
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				w := newWriter(io.Discard, DefaultLevel)
				_, _ = w.Write(in)
				_ = w.Close()
			}
		})
	}
	small := input("text", 1, 500)
	b.Run("small", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w := newWriter(io.Discard, DefaultLevel)
			_, _ = w.Write(small)
			_ = w.Close()
		}
	})
}
