package pebblekv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
	"github.com/settee-db/settee/storage/kv/pebblekv/files"
)

// Open opens the store in directory dir, which is created if it is missing. It fails with
// kv.ErrLocked when the directory is in use, kv.ErrFormat when a newer version wrote it,
// kv.ErrCorrupt, and kv.ErrFull when there is no space for a new store; one that exists is opened
// for reading then (readonly.go).
func Open(dir string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	if err := makeDir(opts.fs, dir); err != nil {
		return nil, translate(err)
	}
	usage, _ := opts.fs.GetDiskUsage(dir) // zero where it is not known
	opts = opts.fit(usage.TotalBytes)
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

// openLocked opens the store whose lock is held. A disk without space opens it read-only, and a
// task waits until there is space and opens it for writing; everything else about the store is the
// same in both cases.
func openLocked(dir string, opts Options, lock *pebble.Lock) (*Store, error) {
	if err := checkFormat(opts.fs, dir); err != nil {
		return nil, err
	}
	place, err := newPlace(opts.fs, dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		opts:      opts,
		lock:      lock,
		place:     place,
		gate:      newGate(),
		space:     newSpaceGuard(opts.fs, dir, opts.MinFreeSpace, opts.patience),
		subspaces: newSubspaces(opts.MemTableSize),
		failure:   newFailure(),
		damaged:   &damagedFiles{log: opts.Log},
		watches:   txn.NewWatches(),
		seed:      maphash.MakeSeed(),
		cache:     &valueCache{},
		closing:   make(chan struct{}),
		writing:   make(chan struct{}),
	}
	s.snapshots.readTime = opts.ReadTime
	readOnly := s.lacksSpace()
	db, version, err := s.openDB(readOnly)
	if err != nil {
		return nil, err
	}
	s.space.arm()
	if err := s.begin(db, version, readOnly); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if readOnly {
		go s.awaitSpace()
	} else {
		close(s.writing)
	}
	go s.watchAges()
	s.tasks.Go(s.watchSpace)
	return s, nil
}

// inspect refuses a directory with files that are missing or broken: Pebble would go on without
// some of them, and then remove others.
func inspect(opts Options, dir string) (files.Inspection, error) {
	in, err := files.Inspect(opts.fs, dir)
	if err != nil || len(in.Broken) == 0 {
		return in, err
	}
	broken := make([]error, 0, len(in.Broken))
	for i, d := range in.Broken {
		if i == maxNamed {
			broken = append(broken, fmt.Errorf("and %d files more", len(in.Broken)-i))
			break
		}
		broken = append(broken, fmt.Errorf("%s: %s", opts.fs.PathJoin(dir, d.File), d.What))
	}
	return in, fmt.Errorf("%w: %w", kv.ErrCorrupt, errors.Join(broken...))
}

// maxNamed is how many broken files an error names.
const maxNamed = 20

// missing logs which commits are missing after a start, and returns the version to continue from.
// If some are missing, that is above every version that can have been given out, so that no
// sequence is used twice. A store that is open for reading only notes nothing.
func (s *Store) missing(db *pebble.DB, in files.Inspection, version uint64, readOnly bool) (uint64, error) {
	var losses []string
	var err error
	copied := isCopy(s.opts.fs, s.space.dir)
	if copied { // its last log may break off within a commit that came after the copy
		in.Dropped = nil
	}
	for _, d := range in.Dropped {
		s.opts.Log.Warn("the end of a log is not readable", "file", d.File, "what", d.What)
	}
	if why := unproved(s.opts.fs, s.space.dir, version); why != "" {
		for _, d := range in.Dropped {
			losses = append(losses, d.File+": "+d.What)
		}
		losses = append(losses, why)
		s.opts.Log.Error("commits are missing", "last", version, "what", why)
		marked, _ := readMark(s.opts.fs, s.space.dir)
		if version = max(version, marked) + versionsSkipped; !readOnly { // for the next start
			err = db.Set(versionKey, binary.BigEndian.AppendUint64(nil, version), pebble.Sync)
		}
	}
	if copied {
		version = copyVersion(version, time.Now())
		s.copied = true
	}
	if len(losses) > 0 && !readOnly {
		if err := noteLosses(s.space.fs, s.space.dir, losses); err != nil {
			s.opts.Log.Error("what is missing could not be noted", "error", err)
		}
	}
	return version, err
}

// openPebble opens the database. Pebble may not come back from it: its goroutine stops where an
// error is declared fatal, and waits while tables cannot be written. Then f has failed, and so does
// the open.
func openPebble(dir string, p *pebble.Options, f *failure) (*pebble.DB, error) {
	type opened struct {
		db  *pebble.DB
		err error
	}
	result := make(chan opened)
	go func() {
		db, err := openRecovered(dir, p)
		select {
		case result <- opened{db, err}:
		case <-f.failed:
			if err == nil {
				_ = db.Close() // which releases the directory, too
			}
		}
	}()
	select {
	case o := <-result:
		if o.err != nil && isBroken(o.err) {
			return nil, fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, dir, o.err)
		}
		return o.db, o.err
	case <-f.failed:
		return nil, f.err
	}
}

// openRecovered opens the database; Pebble panics at some of what it does not expect in logs.
func openRecovered(dir string, p *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%w: opening panicked: %v", pebble.ErrCorruption, r)
		}
	}()
	return pebble.Open(dir, p)
}

// isBroken reports whether an open failed because of what files have, or because they are not
// there, rather than because they could not be read.
func isBroken(err error) bool {
	return pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, pebble.ErrDBNotPristine)
}

// newCommitter wires up the goroutine that all commits go through. Where it needs the Store's own
// state it gets functions instead of the Store.
func (s *Store) newCommitter(version uint64, opts Options) *committer {
	conflicts := newConflictSet(s.seed, version)
	if opts.conflictKeys > 0 {
		conflicts.maxKeys = opts.conflictKeys
	}
	return &committer{
		db:          s.db,
		queue:       newQueue(),
		builder:     builder{conflicts: conflicts, fold: newFolder(s.db, conflicts), cache: s.cache},
		maxGroup:    opts.MaxGroup,
		version:     version,
		space:       s.space,
		freed:       &s.freed,
		failure:     s.failure,
		watches:     s.watches,
		compactions: s.compactions,
		subspaces:   s.subspaces,
		hold:        s.holdPlace,
		raiseMark:   s.raiseMark,
		publish:     s.snapshots.publish,
		oldest:      func() uint64 { return s.updates.oldest(s.snapshots.current.Load().version) },
		stats:       &s.stats,
	}
}

// listener reports what Pebble does in the background. Pebble may hold its lock during the calls.
func (s *Store) listener(log *slog.Logger) *pebble.EventListener {
	l := &pebble.EventListener{
		BackgroundError: func(err error) {
			if errno := syscall.Errno(0); errors.As(err, &errno) &&
				(!s.space.armed.Load() || s.readOnly.Load() && s.space.released()) {
				s.failure.fail(err, true) // an open that waited for space could wait for ever
			}
			s.space.noticed(err)
			if errors.Is(err, errCompactionPaused) {
				log.Warn("pebble: compactions wait for space")
				return
			}
			log.Error("pebble: background error", "err", translate(err))
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			s.damaged.note(info.Path, info.Details)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			log.Warn("pebble: writes wait for flushes or compactions", "reason", info.Reason)
		},
		// In goroutines of their own, because closing an iterator may need Pebble's lock.
		FlushEnd: func(pebble.FlushInfo) {
			s.snapshots.flushes.Add(1)
			s.subspaces.flushed()
			go s.letGo()
		},
		CompactionEnd: func(info pebble.CompactionInfo) {
			if info.Err == nil {
				s.space.compacted()
			}
			go s.letGo()
		},
	}
	l.EnsureDefaults(nil)
	return l
}
