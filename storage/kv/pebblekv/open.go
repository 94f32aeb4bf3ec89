package pebblekv

import (
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// Open opens the store in directory dir, which is created if it is missing. It fails with kv.ErrLocked when the
// directory is in use, kv.ErrFormat when a newer version wrote it, kv.ErrCorrupt, and kv.ErrFull when there is not even
// space for the log.
func Open(dir string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	if err := makeDir(opts.fs, dir); err != nil {
		return nil, translate(err)
	}
	lock, err := pebble.LockDirectory(dir, opts.fs)
	if isLockHeld(err) {
		return nil, fmt.Errorf("%w: %s", kv.ErrLocked, dir)
	}
	if err != nil {
		return nil, translate(err)
	}
	s, err := openLocked(dir, opts, lock)
	if err != nil {
		return nil, errors.Join(translate(err), lock.Close())
	}
	return s, nil
}

func openLocked(dir string, opts Options, lock *pebble.Lock) (*Store, error) {
	if err := checkFormat(opts.fs, dir); err != nil {
		return nil, err
	}
	s := &Store{
		lock:     lock,
		gate:     newGate(),
		space:    newSpaceGuard(opts.fs, dir, opts.MinFreeSpace),
		failure:  newFailure(),
		watches:  txn.NewWatches(),
		seed:     maphash.MakeSeed(),
		readTime: opts.ReadTime,
		closing:  make(chan struct{}),
	}
	p := opts.pebbleOptions()
	p.Lock = lock
	p.FS = &guardedFS{FS: opts.fs, guard: s.space}
	p.Logger = &logger{log: opts.Log, fatal: func(err error) { s.failure.fail(err, true) }}
	p.EventListener = s.listener(opts.Log)
	db, err := openPebble(dir, p, s.failure)
	if err != nil {
		return nil, err
	}
	version, err := readVersion(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.db = db
	s.space.arm()
	s.current.Store(newSnapshot(db, version))
	s.committer = s.newCommitter(version, opts)
	s.committer.start()
	go s.watchAges()
	return s, nil
}

// openPebble opens the database. Pebble may not come back from it: its goroutine stops where an error is declared fatal,
// and waits while tables cannot be written. Then f has failed, and so does the open.
func openPebble(dir string, p *pebble.Options, f *failure) (*pebble.DB, error) {
	type opened struct {
		db  *pebble.DB
		err error
	}
	result := make(chan opened)
	go func() {
		db, err := pebble.Open(dir, p)
		select {
		case result <- opened{db, err}:
		case <-f.failed:
			if err == nil {
				db.Close() // which releases the directory, too
			}
		}
	}()
	select {
	case o := <-result:
		if o.err != nil && pebble.IsCorruptionError(o.err) {
			return nil, fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, dir, o.err)
		}
		return o.db, o.err
	case <-f.failed:
		return nil, f.err
	}
}

func (s *Store) newCommitter(version uint64, opts Options) *committer {
	conflicts := newConflictSet(s.seed, version)
	if opts.conflictKeys > 0 {
		conflicts.maxKeys = opts.conflictKeys
	}
	return &committer{
		db:       s.db,
		queue:    newQueue(),
		builder:  builder{conflicts: conflicts, fold: newFolder(s.db, conflicts)},
		maxGroup: opts.MaxGroup,
		version:  version,
		space:    s.space,
		failure:  s.failure,
		watches:  s.watches,
		publish:  s.publish,
		oldest:   func() uint64 { return s.updates.oldest(s.current.Load().version) },
		stats:    &s.stats,
	}
}

// listener reports what Pebble does in the background. Pebble may hold its lock during the calls.
func (s *Store) listener(log *slog.Logger) *pebble.EventListener {
	l := &pebble.EventListener{
		BackgroundError: func(err error) {
			if errno := syscall.Errno(0); errors.As(err, &errno) && !s.space.armed.Load() {
				s.failure.fail(err, true) // an open that waited for space could wait for ever
			}
			s.space.noticed(err)
			log.Error("pebble: background error", "err", translate(err))
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			log.Error("pebble: corrupt file", "path", info.Path, "err", info.Details)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			log.Warn("pebble: writes wait for flushes or compactions", "reason", info.Reason)
		},
		// In goroutines of their own, because closing an iterator may need Pebble's lock.
		FlushEnd: func(pebble.FlushInfo) {
			s.flushes.Add(1)
			go s.letGo()
		},
		CompactionEnd: func(pebble.CompactionInfo) { go s.letGo() },
	}
	l.EnsureDefaults(nil)
	return l
}
