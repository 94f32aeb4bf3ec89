package chunks

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestBuffer: whatever the steps in which bytes come, they are there, in chunks of the right size,
// and little memory is held for those that have not come.
func TestBuffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes")
		size := rapid.SampledFrom([]int{1, 7, 100}).Draw(t, "size")
		if rapid.Bool().Draw(t, "large") {
			want, size = bytes.Repeat(want, 1000), 3*firstRoom
		}
		b := New(size, rapid.SampledFrom([]int64{-1, 0, int64(len(want)), 1 << 40}).Draw(t, "expected"))
		for rest := want; ; {
			room := b.Room()
			if len(room) == 0 {
				t.Fatal("no room")
			}
			if most := max(b.Len(), firstRoom); len(room) > most {
				t.Fatalf("room for %d bytes after %d", len(room), b.Len())
			}
			n := min(len(rest), rapid.IntRange(0, len(room)).Draw(t, "step"))
			copy(room, rest[:n])
			if got := b.Take(n); !bytes.Equal(got, rest[:n]) {
				t.Fatalf("took %x of %x", got, rest[:n])
			}
			if rest = rest[n:]; len(rest) == 0 {
				break
			}
		}
		if b.Len() != len(want) {
			t.Fatalf("%d bytes of %d", b.Len(), len(want))
		}
		checkChunks(t, b.Chunks(), want, size)
		if b.Len() != 0 || len(b.Chunks()) != 0 {
			t.Fatal("it is not empty")
		}
		checkChunks(t, Of(size, want).Chunks(), want, size)
	})
}

// TestAddAndFill: both give all bytes to the buffer, tell of them in order, and end with the first
// error.
func TestAddAndFill(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 100)
	for name, fill := range map[string]func(*Buffer, func([]byte) error) error{
		"add": func(b *Buffer, took func([]byte) error) error {
			_, err := b.Add(want, took)
			return err
		},
		"fill": func(b *Buffer, took func([]byte) error) error {
			_, err := b.Fill(iotest.DataErrReader(bytes.NewReader(want)), took)
			return err
		},
	} {
		b, told := New(64, -1), []byte(nil)
		var chunks [][]byte
		if err := fill(b, func(p []byte) error {
			told = append(told, p...)
			if b.Len() == 128 {
				chunks = append(chunks, b.Chunks()...)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		chunks = append(chunks, b.Chunks()...)
		if !bytes.Equal(told, want) || !bytes.Equal(bytes.Join(chunks, nil), want) {
			t.Errorf("%s: told of %d bytes, kept %d of %d", name, len(told), len(bytes.Join(chunks, nil)), len(want))
		}
		if err := fill(New(64, -1), func([]byte) error { return io.ErrShortWrite }); err != io.ErrShortWrite {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func checkChunks(t *rapid.T, all [][]byte, want []byte, size int) {
	for i, c := range all {
		if len(c) == 0 || len(c) > size || len(c) < size && i < len(all)-1 {
			t.Fatalf("chunk %d of %d has %d bytes of %d", i, len(all), len(c), size)
		}
	}
	if got := bytes.Join(all, nil); !bytes.Equal(got, want) {
		t.Fatalf("%d bytes of %d", len(got), len(want))
	}
}
