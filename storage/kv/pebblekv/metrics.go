package pebblekv

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Histogram counts values by powers of two: Buckets[i] holds those below 2^i and not below 2^(i-1).
type Histogram struct {
	// How many values, their sum, and the greatest.
	Count uint64
	Sum   uint64
	Max   uint64
	// By the number of bits of the value: bucket n has those from 2^(n-1) up to, and without, 2^n.
	Buckets [32]uint64
}

func (h *Histogram) add(value uint64) {
	h.Count++
	h.Sum += value
	h.Max = max(h.Max, value)
	h.Buckets[min(bits.Len64(value), len(h.Buckets)-1)]++
}

// Metrics are the numbers of a store since it was opened, and its size now.
type Metrics struct {
	GroupSize   Histogram // transactions per group; Count is the number of groups, Sum that of committed transactions
	SyncLatency Histogram // microseconds from building a group until it was durable

	Conflicts     uint64 // commits refused because a read did not hold; each was run again
	Postponed     uint64 // transactions moved to the next group for the sake of order
	Ended         uint64 // snapshots that became too old for a View
	CounterHits   uint64 // atomic operations whose current value was remembered
	CounterMisses uint64 // those that read it from the store

	BlockCacheHits   int64
	BlockCacheMisses int64
	BlockCacheBytes  int64  // in use, of Options.CacheSize; memtables are in it, too
	MemTableBytes    uint64 // in memory, not yet in tables
	HeldBytes        uint64 // memtables that are in tables already and that reads still hold
	DiskBytes        uint64 // all files: tables, logs, what waits to be deleted
	TableBytes       int64
	LogBytes         uint64
	Tables           int64
	ReadAmp          int // tables and memtables that a read may have to look at
	Compactions      int64
	Flushes          int64
	WriteAmp         float64 // bytes written to tables per byte flushed or logged, by Pebble's own count
	CompactedBytes   uint64  // written to tables by compactions
	FlushedBytes     uint64  // written to tables by flushes
	CompactionDebt   uint64  // what Pebble expects to compact until its levels have their shape

	VolumeBytes uint64 // of the file system, without what root alone may write; 0: unknown
	VolumeFree  uint64
}

// stats are the counters behind Metrics.
type stats struct {
	conflicts atomic.Uint64
	postponed atomic.Uint64
	ended     atomic.Uint64

	// Guards the histograms; the counters are atomic.
	mu        sync.Mutex
	groupSize Histogram
	latency   Histogram
}

// synced counts a group that is durable.
func (s *stats) synced(transactions int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groupSize.add(uint64(transactions))
	s.latency.add(uint64(took.Microseconds()))
}

// Metrics returns the numbers of the store; the zero value once it is closed.
func (s *Store) Metrics() Metrics {
	if !s.gate.enter() {
		return Metrics{}
	}
	defer s.gate.leave()
	var m Metrics
	if usage, err := s.space.fs.GetDiskUsage(s.space.dir); err == nil {
		m.VolumeBytes, m.VolumeFree = usage.UsedBytes+usage.AvailBytes, usage.AvailBytes
	}
	if s.readOnly.Load() {
		return m // Pebble may be closed at any moment
	}
	m.Conflicts, m.Postponed, m.Ended = s.stats.conflicts.Load(), s.stats.postponed.Load(), s.stats.ended.Load()
	m.CounterHits, m.CounterMisses = s.committer.builder.fold.hits.Load(), s.committer.builder.fold.misses.Load()
	s.stats.mu.Lock()
	m.GroupSize, m.SyncLatency = s.stats.groupSize, s.stats.latency
	s.stats.mu.Unlock()
	if s.failure.get() != nil {
		return m // Pebble may hold its lock for good
	}
	p := s.db.Metrics()
	m.BlockCacheHits, m.BlockCacheMisses, m.BlockCacheBytes = p.BlockCache.Hits, p.BlockCache.Misses, p.BlockCache.Size
	m.MemTableBytes, m.DiskBytes, m.LogBytes = p.MemTable.Size, p.DiskSpaceUsage(), p.WAL.PhysicalSize
	// Pebble subtracts what it has read one after the other: below zero while a memtable is being
	// made or given back.
	m.HeldBytes = uint64(max(0, int64(p.MemTable.ZombieSize)))
	total := p.Total()
	m.TableBytes, m.Tables, m.ReadAmp, m.WriteAmp = total.TablesSize, total.TablesCount, p.ReadAmp(), total.WriteAmp()
	m.Compactions, m.Flushes, m.CompactionDebt = p.Compact.Count, p.Flush.Count, p.Compact.EstimatedDebt
	for i := range p.Levels { // of Total flushes count what is logged, too
		m.CompactedBytes += p.Levels[i].TableBytesCompacted + p.Levels[i].BlobBytesCompacted
		m.FlushedBytes += p.Levels[i].TableBytesFlushed + p.Levels[i].BlobBytesFlushed
	}
	return m
}

// HeapBlocks is how many bytes the cache of blocks has in Go's heap: none in builds with cgo.
func (s *Store) HeapBlocks() int64 {
	c := s.blocks.Load()
	if c == nil || !blocksInHeap || !s.gate.enter() {
		return 0
	}
	defer s.gate.leave()
	return c.Size()
}

// ForgetBlocks empties the cache of blocks, whose memory goes back to the process. What is read
// then comes from files.
func (s *Store) ForgetBlocks() {
	if !s.gate.enter() {
		return
	}
	defer s.gate.leave()
	if c := s.blocks.Load(); c != nil {
		c.Reserve(int(c.MaxSize()))()
	}
}

// Volume is the size of the file system that a directory is on, as far as others than root may use
// it, and what they may still take, both in bytes: df counts so, and the metrics do. No store need be
// there. It is an error where the system cannot tell.
func Volume(dir string) (size, free uint64, err error) {
	usage, err := vfs.Default.GetDiskUsage(dir)
	return usage.UsedBytes + usage.AvailBytes, usage.AvailBytes, err
}
