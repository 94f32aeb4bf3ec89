package compat

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// counting is a source of "random" bytes that counts upwards.
func counting() func([]byte) {
	n := byte(0)
	return func(b []byte) {
		for i := range b {
			b[i] = n
			n++
		}
	}
}

func newUUIDs(t *testing.T, o UUIDOptions) *UUIDs {
	t.Helper()
	u, err := NewUUIDs(o)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func nextUUID(t *testing.T, u *UUIDs) string {
	id, err := u.Next()
	if err != nil {
		t.Error(err)
	}
	return id
}

func TestSequentialUUIDs(t *testing.T) {
	u := newUUIDs(t, UUIDOptions{Random: counting()})
	last, prefixes := int64(0), map[string]bool{}
	for range 50000 {
		id := nextUUID(t, u)
		if len(id) != 32 || strings.ToLower(id) != id {
			t.Fatal(id)
		}
		n, err := strconv.ParseInt(id[26:], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		if prefixes[id[:26]] {
			if n <= last || n-last > uuidMaxStep || last >= uuidNewPrefix {
				t.Fatalf("%x after %x", n, last)
			}
		} else if n < 1 || n > uuidMaxStep || (len(prefixes) > 0 && last < uuidNewPrefix) {
			t.Fatalf("new prefix: %x after %x", n, last)
		}
		prefixes[id[:26]] = true
		last = n
	}
	if len(prefixes) < 3 {
		t.Errorf("%d prefixes", len(prefixes))
	}
}

func TestUTCUUIDs(t *testing.T) {
	now := time.UnixMicro(0x5f1c2b3a4d5e6)
	o := UUIDOptions{Algorithm: UUIDUTCID, Suffix: "-node1", Now: func() time.Time { return now }}
	u := newUUIDs(t, o)
	for _, step := range []struct {
		now  time.Time
		want string
	}{
		{now, "05f1c2b3a4d5e7-node1"}, // not the time of the start again
		{now, "05f1c2b3a4d5e8-node1"},
		{now.Add(time.Second), "05f1c2b3b41826-node1"},
		{now, "05f1c2b3b41827-node1"}, // the clock went back
	} {
		now = step.now
		if got := nextUUID(t, u); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	o.Algorithm, o.Random = UUIDUTCRandom, counting()
	if got := nextUUID(t, newUUIDs(t, o)); got != "05f1c2b3a4d5e7000102030405060708" {
		t.Error(got)
	}
}

func TestRandomUUIDs(t *testing.T) {
	u := newUUIDs(t, UUIDOptions{Algorithm: UUIDRandom, Random: counting()})
	if got := nextUUID(t, u); got != "000102030405060708090a0b0c0d0e0f" {
		t.Error(got)
	}
	if _, err := NewUUIDs(UUIDOptions{Algorithm: "v7"}); err == nil {
		t.Error("an unknown algorithm is accepted")
	}
}

// TestUUIDBits: ids of versions 4 and 7 have RFC 9562's version and variant, every other bit is
// random or the time's, and each format is another writing of the same number, by math/big.
func TestUUIDBits(t *testing.T) {
	for _, version := range []UUIDAlgorithm{UUIDv4, UUIDv7} {
		var zeros, ones [16]byte // bits that were 0 and 1
		for i := range int64(1000) {
			now := time.UnixMilli(i * 0x5851f42d4c95 & (1<<48 - 1))
			random := make([]byte, 16)
			cryptoRandom(random)
			written := map[UUIDFormat]string{}
			for _, format := range []UUIDFormat{UUIDBase16, UUIDBase36, UUIDRFC9562} {
				written[format] = nextUUID(t, newUUIDs(t, UUIDOptions{
					Algorithm: version, Format: format, Now: func() time.Time { return now },
					Random: func(b []byte) { copy(b, random) },
				}))
			}
			id, err := hex.DecodeString(written[UUIDBase16])
			if err != nil || len(id) != 16 {
				t.Fatal(written)
			}
			for j, b := range id {
				zeros[j] |= ^b
				ones[j] |= b
			}
			n := new(big.Int).SetBytes(id)
			if want := fmt.Sprintf("%025s", n.Text(36)); written[UUIDBase36] != want {
				t.Fatalf("%x: got %s, want %s", id, written[UUIDBase36], want)
			}
			want := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
			if written[UUIDRFC9562] != want {
				t.Fatalf("got %s, want %s", written[UUIDRFC9562], want)
			}
			if ms := new(big.Int).Rsh(n, 80); version == UUIDv7 && ms.Int64() != now.UnixMilli() {
				t.Fatalf("%x has the time %x, not %x", id, ms, now.UnixMilli())
			}
		}
		fixed := map[int]byte{6: 0xf0, 8: 0xc0}
		set := map[int]byte{6: map[UUIDAlgorithm]byte{UUIDv4: 0x40, UUIDv7: 0x70}[version], 8: 0x80}
		for j := range zeros {
			if always := ^(zeros[j] & ones[j]); always != fixed[j] || ones[j]&always != set[j] {
				t.Errorf("%s: of byte %d the bits %x are always %x", version, j, always, ones[j]&always)
			}
		}
	}
}

// TestUUIDOrder: in each format ids of version 7 sort as the milliseconds in which they were made.
func TestUUIDOrder(t *testing.T) {
	for _, format := range []UUIDFormat{UUIDBase16, UUIDBase36, UUIDRFC9562} {
		now := time.UnixMilli(0)
		o := UUIDOptions{Algorithm: UUIDv7, Format: format, Now: func() time.Time { return now }}
		u, last := newUUIDs(t, o), ""
		for i := range 5000 {
			now = now.Add(max(time.Millisecond, time.Duration(i%13)*time.Duration(i)*time.Second))
			id := nextUUID(t, u)
			if id <= last {
				t.Fatalf("%s: %s after %s", format, id, last)
			}
			last = id
		}
	}
}

// TestUnknownUUIDFormat: only versions 4 and 7 have a format, and a wrong one is CouchDB's error.
func TestUnknownUUIDFormat(t *testing.T) {
	for _, format := range []UUIDFormat{"", "BASE_16", "hex"} {
		for _, algorithm := range []UUIDAlgorithm{UUIDv4, UUIDv7} {
			_, err := newUUIDs(t, UUIDOptions{Algorithm: algorithm, Format: format}).Next()
			var e *Error
			if !errors.As(err, &e) || e.Kind.Status() != 500 || e.Name != "unsupported_uuid_format" ||
				e.Reason != string(format) || !e.Ref {
				t.Errorf("%s, %q: %v", algorithm, format, err)
			}
		}
		for _, algorithm := range []UUIDAlgorithm{UUIDSequential, UUIDRandom, UUIDUTCRandom, UUIDUTCID} {
			nextUUID(t, newUUIDs(t, UUIDOptions{Algorithm: algorithm, Format: format}))
		}
	}
}

func TestUUIDsAreUniqueAcrossGoroutines(t *testing.T) {
	for _, algorithm := range []UUIDAlgorithm{UUIDSequential, UUIDRandom, UUIDUTCRandom, UUIDUTCID, UUIDv4, UUIDv7} {
		u := newUUIDs(t, UUIDOptions{Algorithm: algorithm, Format: UUIDBase36})
		var seen sync.Map
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 2000 {
					if _, loaded := seen.LoadOrStore(nextUUID(t, u), true); loaded {
						t.Errorf("%s: an id came twice", algorithm)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func BenchmarkUUIDs(b *testing.B) {
	for _, algorithm := range []UUIDAlgorithm{UUIDSequential, UUIDRandom, UUIDUTCRandom, UUIDv7} {
		u, err := NewUUIDs(UUIDOptions{Algorithm: algorithm, Format: UUIDBase16})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(algorithm), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = u.Next()
			}
		})
	}
}
