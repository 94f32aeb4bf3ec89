package pebblekv

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
)

// How the free space of the device is divided:
//
//	0 … floor          Pebble's own: flushes, logs, the manifest. No transaction is taken, no compaction begins.
//	floor … reserve    transactions that free space (kv.UseReserve), and compactions
//	above              all
//
// A device that other processes fill up goes below the floor without a commit of ours. For that
// case there is the ballast, a file whose only purpose is to be removed then: its blocks are enough
// to delete documents and to compact tables.

const (
	// largestReserve is the reserve of a device of a gigabyte and more.
	largestReserve = 128 << 20
	// reserveShare is which part of a smaller one it is.
	reserveShare = 8
	// floorShare is which part of the reserve the floor is: about two memtables.
	floorShare = 8
	// ballastFloors is how many floors the ballast is: one that stays, and one to work in.
	ballastFloors = 2
	// plenty, in bytes beyond the reserve, is not written full by others within plentyFor.
	plenty    = 1 << 30
	plentyFor = 20 * time.Millisecond
	// largestMemTable and memTableShare bound a memtable in the same way: the log of each takes as
	// much of the device, and there are several.
	largestMemTable  = 8 << 20
	smallestMemTable = 256 << 10
	memTableShare    = 128
	// memTableMemory is which part of the process's memory a memtable may be: two stay after busy
	// times. Smaller ones cost much more processor time (ADR 0006).
	memTableMemory = 128
	// cacheMemory is which part of it blocks of tables and memtables have, from smallestCache to
	// commonCache. What is not there comes from the system's page cache, but has to be decompressed
	// for every read: where memory is plenty there are more of them, spareMemory's part of it, up
	// to largestCache (ADR 0006).
	cacheMemory   = 16
	spareMemory   = 64
	smallestCache = 8 << 20
	commonCache   = 40 << 20
	largestCache  = 128 << 20
)

// fit chooses what was left open by the size of the device in bytes; 0 means that it is not known.
func (o Options) fit(device uint64) Options {
	if device == 0 {
		device = math.MaxInt64
	}
	o.device = device
	if o.MemTableSize <= 0 {
		most := uint64(largestMemTable)
		if o.Memory > 0 {
			most = min(most, uint64(o.Memory/memTableMemory))
		}
		o.MemTableSize = int(max(smallestMemTable, min(device/memTableShare, most)))
	}
	if o.CacheSize <= 0 {
		o.CacheSize = commonCache
		if m := o.Memory; m > 0 {
			o.CacheSize = max(smallestCache, min(m/cacheMemory, commonCache), min(m/spareMemory, largestCache))
		}
	}
	if o.MinFreeSpace == 0 {
		o.MinFreeSpace = min(device/reserveShare, largestReserve)
	}
	return o
}

// room is what groups may take of the device, in bytes; negative where it is less than nothing.
type room struct {
	// Bytes that are free on the device, and those that ordinary transactions and those that free
	// space may still write before it is asked again.
	free     uint64
	ordinary int64
	freeing  int64
}

// room tells what is left. A file system that cannot tell its free space counts as having enough.
func (g *spaceGuard) room() room {
	usage, err := g.fs.GetDiskUsage(g.dir)
	if err != nil {
		return room{math.MaxInt64, math.MaxInt64, math.MaxInt64}
	}
	if usage.AvailBytes < g.floor && g.ballast.drop() {
		return g.room()
	}
	free := min(usage.AvailBytes, math.MaxInt64)
	return room{free, int64(free) - int64(g.reserve), int64(free) - int64(g.floor)}
}

// DiskUsed is how much of the file system that the store is on is in use, in percent as df shows it:
// of what is used or free for others than root, rounded up. known is false where it cannot tell.
func (s *Store) DiskUsed() (percent int64, known bool) {
	usage, err := s.space.fs.GetDiskUsage(s.space.dir)
	all := usage.UsedBytes + usage.AvailBytes
	if err != nil || all == 0 {
		return 0, false
	}
	return int64(math.Ceil(100 * float64(usage.UsedBytes) / float64(all))), true
}

// take takes the room of a request, or returns kv.ErrFull. The room left may be less than the
// request takes, since the request may free as much.
func (r *room) take(q *request) error {
	left := r.ordinary
	if q.frees {
		left = r.freeing
	}
	if left < 0 {
		return r.full()
	}
	r.ordinary -= int64(q.size)
	r.freeing -= int64(q.size)
	return nil
}

func (r *room) full() error {
	return fmt.Errorf("%w: %d bytes are free, %d more are kept in reserve", kv.ErrFull, r.free, -r.ordinary)
}

// check returns kv.ErrFull when ordinary transactions are refused.
func (g *spaceGuard) check() error {
	if err := g.refusal(); err != nil {
		return err
	}
	if r := g.room(); r.ordinary < 0 {
		return r.full()
	}
	return nil
}

// errCompactionPaused keeps a compaction from the floor of the reserve.
var errCompactionPaused = fmt.Errorf("pebblekv: compactions wait for space: %w", syscall.ENOSPC)

// compactionPause is how long the next compaction waits after one that found no space. It doubles
// with each, up to a minute.
const (
	compactionPause    = time.Second
	maxCompactionPause = time.Minute
)

// mayCompact holds up a compaction that would meet a full disk: Pebble tries again at once. It
// returns sooner when there is more space.
func (g *spaceGuard) mayCompact() error {
	failed := g.failed.Load()
	if failed == 0 {
		return g.spareFloor()
	}
	pause := min(compactionPause<<min(failed-1, 10), maxCompactionPause)
	for end := time.Now().Add(pause); time.Now().Before(end); {
		select {
		case <-g.closed:
			return errCompactionPaused
		case <-time.After(spaceRetry):
		}
		if r := g.room(); r.ordinary > 0 || r.free > g.foundFree.Load()+g.floor {
			break
		}
	}
	return g.spareFloor()
}

// spareFloor refuses a compaction's output while there is not more than the floor.
func (g *spaceGuard) spareFloor() error {
	r := g.room()
	if r.freeing > 0 {
		return nil
	}
	g.foundFree.Store(r.free)
	g.failed.Add(1)
	return errCompactionPaused
}

// compacted tells that a compaction came to its end.
func (g *spaceGuard) compacted() { g.failed.Store(0) }

// ballastFile is the name of the ballast.
const ballastFile = "BALLAST"

// ballast is a file whose only use is that it can be removed. It has no length, only blocks, so
// that nobody reads or copies it.
type ballast struct {
	fs   vfs.FS
	name string
	size int64

	mu   sync.Mutex
	held bool
	init bool
}

// drop lets go of the ballast; false if there is none.
func (b *ballast) drop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.init && !b.held {
		return false
	}
	b.init, b.held = true, false
	return b.fs.Remove(b.name) == nil
}

// take makes the ballast where it is missing. Where blocks cannot be had before they are written
// there is none.
func (b *ballast) take() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		return nil
	}
	file, err := b.fs.Create(b.name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = errors.Join(file.Preallocate(0, b.size), file.Close())
	if err != nil {
		_ = b.fs.Remove(b.name)
	}
	b.init, b.held = true, err == nil
	return err
}

// missing reports whether the ballast was let go, or never made.
func (b *ballast) missing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.held
}

// refill makes the ballast again once that leaves more than the reserve.
func (g *spaceGuard) refill() {
	if g.ballast.missing() && g.room().ordinary > 2*g.ballast.size {
		_ = g.ballast.take() // nothing depends on it
	}
}
