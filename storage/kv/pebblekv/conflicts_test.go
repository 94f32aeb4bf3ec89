package pebblekv

import (
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// TestForgottenWritesAreFree: of a time in which much was written nothing is left when the window
// has passed, though little is written then. Scratch room and the map of counters kept 90 MB after
// an hour of attacks.
func TestForgottenWritesAreFree(t *testing.T) {
	set := newConflictSet(maphash.MakeSeed(), 1)
	now := time.Unix(0, 0)
	set.clock, set.startedAt = func() time.Time { return now }, now
	freed := make(chan struct{})
	for version := uint64(2); version < 100; version++ {
		keys := make([]string, 100)
		for i := range keys {
			keys[i] = fmt.Sprintf("%03d/%03d/%01000d", version, i, 0)
		}
		if version == 50 {
			runtime.AddCleanup(unsafe.StringData(keys[0]), func(int) { close(freed) }, 0)
		}
		var r writeSet
		for _, key := range keys {
			r.keys = append(r.keys, writtenKey{key: key})
		}
		r.setVersion(version)
		set.add(r, nil)
		set.youngSets(1)
	}
	for version := uint64(100); version < 104; version++ {
		now = now.Add(2 * generationMaxAge)
		set.rotate(version)
		r := writeSet{keys: []writtenKey{{key: "little"}}}
		r.setVersion(version)
		set.add(r, nil)
		set.youngSets(version - 1)
	}
	for range 100 {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("keys that no transaction is checked against are still in memory")
	runtime.KeepAlive(set)
}

// TestConflictSet compares the conflict set with a list of all writes.
func TestConflictSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := maphash.MakeSeed()
		key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(100, 160).Draw(t, "key")) })
		span := rapid.Custom(func(t *rapid.T) readRange {
			r := readRange{key.Draw(t, "begin"), key.Draw(t, "end")}
			return readRange{min(r.begin, r.end), max(r.begin, r.end) + "\x00"}
		})
		set := newConflictSet(seed, 10)
		set.maxKeys = rapid.IntRange(5, 500).Draw(t, "window")
		set.most = rapid.IntRange(minGenerations, 5).Draw(t, "generations")
		now := time.Unix(0, 0)
		set.clock = func() time.Time { return now }
		var model []writeSet
		version, oldest := uint64(10), uint64(10)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Second)
			if rapid.Bool().Draw(t, "new group") {
				version++
				oldest = max(oldest, rapid.Uint64Range(10, version).Draw(t, "oldest"))
				set.rotate(oldest)
				if n := len(set.all); n > set.most || set.floor > oldest && n < set.most {
					t.Fatalf(
						"%d generations; what was written since %d is asked for, %d is forgotten",
						n,
						oldest,
						set.floor,
					)
				}
			}
			if rapid.IntRange(0, 2).Draw(t, "write") > 0 && version > 10 {
				r := drawWriteSet(t, key, span)
				r.setVersion(version)
				var hashes []uint64
				for _, k := range r.keys {
					hashes = append(hashes, maphash.String(seed, k.key))
				}
				model = append(model, r)
				set.add(r, hashes)
				continue
			}
			reads := &readSet{
				keys:   rapid.SliceOfN(key, 0, 3).Draw(t, "keys"),
				ranges: rapid.SliceOfN(span, 0, 2).Draw(t, "ranges"),
			}
			for _, k := range reads.keys {
				reads.hashes = append(reads.hashes, maphash.String(seed, k))
			}
			since := rapid.Uint64Range(10, version).Draw(t, "since")
			want := since < set.floor || modelConflicts(model, reads, since)
			if got := set.conflicts(reads, since); got != want {
				t.Fatalf("reads %+v since %d: conflict %t, want %t; written %+v", reads, since, got, want, model)
			}
		}
	})
}

func drawWriteSet(t *rapid.T, key *rapid.Generator[string], span *rapid.Generator[readRange]) writeSet {
	var r writeSet
	keys := rapid.SliceOfN(key, 0, 8).Draw(t, "written keys")
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		r.keys = append(r.keys, writtenKey{key: k})
	}
	for _, s := range rapid.SliceOfN(span, 0, 2).Draw(t, "written ranges") {
		r.ranges = append(r.ranges, writtenRange{begin: s.begin, end: s.end})
	}
	r.ranges = uniteRanges(r.ranges)
	return r
}

func modelConflicts(model []writeSet, reads *readSet, since uint64) bool {
	for _, r := range model {
		if r.newest <= since {
			continue
		}
		for _, w := range r.keys {
			if slices.Contains(reads.keys, w.key) {
				return true
			}
			for _, s := range reads.ranges {
				if s.begin <= w.key && w.key < s.end {
					return true
				}
			}
		}
		for _, w := range r.ranges {
			for _, k := range reads.keys {
				if w.begin <= k && k < w.end {
					return true
				}
			}
			for _, s := range reads.ranges {
				if s.begin < w.end && w.begin < s.end {
					return true
				}
			}
		}
	}
	return false
}

// BenchmarkConflictSet checks and adds transactions of 20 keys and a range, as the committer does.
func BenchmarkConflictSet(b *testing.B) {
	seed := maphash.MakeSeed()
	set := newConflictSet(seed, 0)
	n := 0
	for b.Loop() {
		n++
		version := uint64(n/64 + 1)
		reads := &readSet{}
		w := writeSet{}
		var hashes []uint64
		for k := range 20 {
			key := fmt.Sprintf("%02d/doc-%08d", k, n*7919%10_000_000)
			w.keys = append(w.keys, writtenKey{key: key})
			h := maphash.String(seed, key)
			hashes = append(hashes, h)
			reads.keys, reads.hashes = append(reads.keys, key), append(reads.hashes, h)
		}
		reads.ranges = append(reads.ranges, readRange{w.keys[3].key, w.keys[3].key + "\xff"})
		set.conflicts(reads, max(version, 3)-3)
		w.setVersion(version)
		set.add(w, hashes)
		set.rotate(version)
	}
}

// The keys of a busy time go within two minutes of few writes, unless a transaction that began
// before them still runs.
func TestConflictsOfABusyTimeGo(t *testing.T) {
	for _, runs := range []bool{false, true} {
		set := newConflictSet(maphash.MakeSeed(), 0)
		now := set.startedAt
		set.clock = func() time.Time { return now }
		write := func(version uint64, n int) {
			r := writeSet{}
			for i := range n {
				r.keys = append(r.keys, writtenKey{key: fmt.Sprintf("%08d", i)})
			}
			r.setVersion(version)
			set.add(r, make([]uint64, n))
		}
		write(1, generationKeys-1)
		for version := uint64(2); version < 400; version++ {
			now = now.Add(time.Second)
			write(version, 1)
			if runs {
				set.rotate(0)
			} else {
				set.rotate(version - 1)
			}
		}
		held := 0
		for _, g := range set.all {
			held += g.size
		}
		if runs != (held > generationKeys) || runs != (set.floor == 0) {
			t.Errorf(
				"an old transaction runs: %t; %d keys are held, what was written up to %d is forgotten",
				runs,
				held,
				set.floor,
			)
		}
	}
}
