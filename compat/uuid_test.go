package compat

import (
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

func TestSequentialUUIDs(t *testing.T) {
	u := newUUIDs(t, UUIDOptions{Random: counting()})
	last, prefixes := int64(0), map[string]bool{}
	for range 50000 {
		id := u.Next()
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
		if got := u.Next(); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	o.Algorithm, o.Random = UUIDUTCRandom, counting()
	if got := newUUIDs(t, o).Next(); got != "05f1c2b3a4d5e7000102030405060708" {
		t.Error(got)
	}
}

func TestRandomUUIDs(t *testing.T) {
	u := newUUIDs(t, UUIDOptions{Algorithm: UUIDRandom, Random: counting()})
	if got := u.Next(); got != "000102030405060708090a0b0c0d0e0f" {
		t.Error(got)
	}
	if _, err := NewUUIDs(UUIDOptions{Algorithm: "v7"}); err == nil {
		t.Error("an unknown algorithm is accepted")
	}
}

func TestUUIDsAreUniqueAcrossGoroutines(t *testing.T) {
	for _, algorithm := range []UUIDAlgorithm{UUIDSequential, UUIDRandom, UUIDUTCRandom, UUIDUTCID} {
		u := newUUIDs(t, UUIDOptions{Algorithm: algorithm})
		var seen sync.Map
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 2000 {
					if _, loaded := seen.LoadOrStore(u.Next(), true); loaded {
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
	for _, algorithm := range []UUIDAlgorithm{UUIDSequential, UUIDRandom, UUIDUTCRandom} {
		u, err := NewUUIDs(UUIDOptions{Algorithm: algorithm})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(algorithm), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				u.Next()
			}
		})
	}
}
