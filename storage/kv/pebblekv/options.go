package pebblekv

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv/pebblekv/files"
)

// Options are what can be chosen when a store is opened; zero fields get the defaults.
type Options struct {
	// CacheSize bounds the memory for blocks of tables and for memtables, in bytes; default 40 MiB,
	// less where Memory is less than 640 MiB, more where it is more than 2.5 GiB.
	CacheSize int64
	// MemTableSize is how much is gathered in memory before a table is written, in bytes; default 8
	// MiB, less on a device of less than a gigabyte and where Memory is less than that. Up to three
	// such pieces exist while tables are written, two when nothing happens.
	MemTableSize int
	// Memory is what the process may take, in bytes; 0 if there is no bound.
	Memory int64
	// MaxOpenFiles bounds the open tables; default 500.
	MaxOpenFiles int
	// MaxGroup bounds the transactions that share a sync; default 4096, at most 65,535.
	MaxGroup int
	// MinFreeSpace is how much must be free on the device for commits to be taken, in bytes;
	// default 128 MiB, but at most an eighth of the device. Tables are rewritten in this room, and
	// transactions that free space (kv.UseReserve) may use most of it.
	MinFreeSpace uint64
	// ReadTime is how long a snapshot can be read after it was replaced, where the store goes on to
	// be written to; default a minute. See kv.Limits.
	ReadTime time.Duration
	// Log is told of what goes wrong, and at its level debug of what Pebble does; nil for nobody.
	Log *slog.Logger

	device       uint64        // its size in bytes
	fs           vfs.FS        // tests use other file systems
	conflictKeys int           // tests use short windows
	spaceEvery   time.Duration // how often it looks for space, tests more often
	patience     time.Duration // see defaultPatience
}

// blockSize is a compromise: larger blocks compress better, smaller ones make single reads cheaper.
const blockSize = 8 << 10

// flushDelay is how long a range clear may stay in memory before a flush lets the space be
// reclaimed.
const flushDelay = 10 * time.Second

// separation keeps large values, such as chunks of attachments, in files of their own, so that
// compactions do not rewrite them. Each table of L0 has such a file: those of patientSublevels must
// not count as too scattered.
var separation = pebble.ValueSeparationPolicy{
	Enabled: true, MinimumSize: 8 << 10, MaxBlobReferenceDepth: 3 * patientSublevels,
	RewriteMinimumAge: 30 * time.Second, TargetGarbageRatio: 0.2,
}

// leavesTogether keeps the values of all keys of a prefix with the keys: those after the first are
// no older versions, which is what Pebble takes them for.
var leavesTogether = pebble.SpanPolicy{DisableValueSeparationBySuffix: true}

// compression is cheap in the upper levels, whose tables are rewritten soon, and thorough in the
// last one, where nearly all data comes to rest. What is moved there as it is, is compressed when
// it is next rewritten.
var compression = pebble.DBCompressionSettings{Name: "settee", Levels: [...]*block.CompressionProfile{
	block.FastestCompression, block.FastestCompression, block.FastestCompression, block.FastestCompression,
	block.FastestCompression, block.FastestCompression, block.BalancedCompression,
}}

// withDefaults fills in what the caller left open.
func (o Options) withDefaults() Options {
	if o.MaxOpenFiles <= 0 {
		o.MaxOpenFiles = 500
	}
	if o.MaxGroup <= 0 {
		o.MaxGroup = 4096
	}
	o.MaxGroup = min(o.MaxGroup, 1<<16-1) // the order in a group has two bytes
	if o.ReadTime <= 0 {
		o.ReadTime = defaultReadTime
	}
	if o.spaceEvery <= 0 {
		o.spaceEvery = defaultSpaceEvery
	}
	if o.patience <= 0 {
		o.patience = defaultPatience
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	return o
}

// l0Threshold is the number of tables from which on L0 is compacted. Small devices have little room
// for that.
func (o Options) l0Threshold() int {
	if o.device < 8<<30 {
		return 4
	}
	return 8
}

// patientSublevels is up to how many sublevels of L0 compactions wait for busy writers; 0: not at
// all.
func (o Options) patientSublevels() int {
	if o.device < 8<<30 {
		return 0
	}
	return patientSublevels
}

// pebbleOptions are Pebble's settings, for documents of about a kilobyte among many small keys.
func (o Options) pebbleOptions() *pebble.Options {
	p := &pebble.Options{
		Comparer:                    files.Comparer,
		FormatMajorVersion:          pebbleFormat,
		CacheSize:                   o.CacheSize,
		MaxOpenFiles:                o.MaxOpenFiles,
		MemTableSize:                uint64(o.MemTableSize),
		MemTableStopWritesThreshold: 4,
		// Few sublevels in L0 keep reads cheap, more of them save compactions: each counts twice
		// here, so they are four, two on small devices (ADR 0006). Writers that are faster than
		// compactions wait from 24 on, which costs nothing measurable; from 12 on it costs a
		// quarter of the throughput (ADR 0018).
		L0CompactionThreshold: o.l0Threshold(),
		L0StopWritesThreshold: 24,
		// A compaction of L0 is merged with all that the base level has of the subspaces without
		// tables of their own. A small base level leaves less to merge, and tables behind all
		// others are moved to the next level unread (ADR 0056).
		LBaseMaxBytes:         int64(max(4<<20, min(o.device/16, 16<<20))),
		FlushDelayDeleteRange: flushDelay,
		FlushDelayRangeKey:    flushDelay,
		MaxManifestFileSize:   16 << 20,
		BytesPerSync:          512 << 10,
	}
	p.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy { return separation }
	p.Experimental.SpanPolicyFunc = func([]byte) (pebble.SpanPolicy, []byte, error) { return leavesTogether, nil, nil }
	p.CompactionConcurrencyRange = func() (int, int) { return 1, 2 }
	// Reads do not trigger compactions: winners are looked up all over the key space, and each of
	// those looks like a reason to compact.
	p.Experimental.ReadSamplingMultiplier = -1
	// A table of edits has some blocks of deletions, of the sequences that they replace. Pebble
	// would merge it by itself from a tenth on, with up to forty times its size, right after it was
	// written (ADR 0006).
	p.Experimental.TombstoneDenseCompactionThreshold = 0.5
	p.Experimental.L0CompactionConcurrency = 4
	if n := o.patientSublevels(); n > 0 {
		p.Experimental.L0CompactionConcurrency = n
	}
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return compression })
	// Tables of a small device are small, so that a compaction finds room for its output.
	p.TargetFileSizes[0] = int64(max(256<<10, min(o.device/128, 2<<20)))
	for i := range p.Levels {
		l := &p.Levels[i]
		l.BlockSize = blockSize
		l.IndexBlockSize = 64 << 10
		// The last level holds nine tenths of the keys; a filter there costs memory for reads that
		// mostly hit (ADR 0058).
		if i < len(p.Levels)-1 {
			l.FilterPolicy = bloom.FilterPolicy(10)
			l.FilterType = pebble.TableFilter
		}
	}
	return p
}
