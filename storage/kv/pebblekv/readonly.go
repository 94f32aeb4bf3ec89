package pebblekv

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
)

// A store on a device without any space is opened for reading: Pebble replays its logs in memory
// and writes nothing. Once there is space it is opened anew, for writing, by itself: its readers
// lose their snapshot (kv.ErrTooOld, as slow readers do) and continue with the next one.

// errReadOnly is of commits to a store that is open for reading only.
var errReadOnly = fmt.Errorf("%w: the store is open for reading only until there is", kv.ErrFull)

// openDB opens Pebble.
func (s *Store) openDB(readOnly bool) (*pebble.DB, uint64, error) {
	inspection, err := inspect(s.opts, s.space.dir)
	if err != nil {
		return nil, 0, err
	}
	p := s.opts.pebbleOptions()
	p.ReadOnly = readOnly
	p.Experimental.ValueSeparationPolicy = s.space.valueSeparation
	p.Experimental.SpanPolicyFunc = s.subspaces.end
	if s.opts.patientSublevels() > 0 {
		s.compactions = newCompactions()
		p.Experimental.CompactionScheduler = s.compactions
	}
	p.Lock = s.lock
	fatal := func(err error) { s.failure.fail(err, true) }
	p.FS = &guardedFS{FS: s.opts.fs, guard: s.space, place: s.place, damaged: s.damaged, fatal: fatal}
	p.Logger = &logger{log: s.opts.Log, fatal: fatal}
	p.EventListener = s.listener(s.opts.Log)
	p.Cache = pebble.NewCache(s.opts.CacheSize)
	db, err := openPebble(s.space.dir, p, s.failure)
	if db != nil { // it has a reference of its own; one that does not come back from its opening may still use ours
		s.blocks.Store(p.Cache)
		p.Cache.Unref()
	}
	if errors.Is(err, kv.ErrCorrupt) {
		for _, d := range inspection.Dropped {
			err = fmt.Errorf("%w: %s: %s", err, s.opts.fs.PathJoin(s.space.dir, d.File), d.What)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	version, err := readVersion(db)
	if err == nil {
		version, err = s.missing(db, inspection, version, readOnly)
	}
	if err != nil {
		return nil, 0, errors.Join(err, db.Close())
	}
	return db, version, nil
}

// lacksSpace reports whether a store that exists cannot be opened for writing.
func (s *Store) lacksSpace() bool {
	if s.space.room().freeing >= 0 {
		return false
	}
	desc, err := pebble.Peek(s.space.dir, s.opts.fs)
	return err == nil && desc.Exists
}

// begin makes db the store's.
func (s *Store) begin(db *pebble.DB, version uint64, readOnly bool) (err error) {
	if !readOnly {
		if s.mark, err = openMark(s.opts.fs, s.space.dir, version); err != nil {
			return err
		}
	}
	s.db = db
	s.cache.forget()
	if !readOnly {
		s.committer = s.newCommitter(version, s.opts)
		s.committer.start()
	}
	s.readOnly.Store(readOnly)
	if before := s.snapshots.current.Swap(newSnapshot(db, version)); before != nil {
		close(before.next)
	}
	return nil
}

// awaitSpace opens the store for writing once there is space.
func (s *Store) awaitSpace() {
	defer close(s.writing)
	s.opts.Log.Error("no space is left: the store is open for reading only until there is", "dir", s.space.dir)
	for s.space.pause(s.opts.spaceEvery) {
		if s.space.room().freeing < int64(s.space.floor/2) {
			continue
		}
		s.quiesce()
		for s.reopen() != nil {
			if !s.space.pause(s.opts.spaceEvery) {
				return
			}
		}
		if !s.readOnly.Load() {
			s.opts.Log.Info("there is space again: the store is open for writing")
			return
		}
	}
}

// quiesce takes the snapshot from all readers and closes Pebble. Those that come wait for the next
// snapshot.
func (s *Store) quiesce() {
	last := s.snapshots.current.Load()
	last.retain()
	s.snapshots.current.Store(&snapshot{next: make(chan struct{})})
	last.replace(time.Now(), 0)
	for last.refs.Load() > 1 {
		s.snapshots.readers.each((*reader).leave)
		time.Sleep(time.Millisecond)
	}
	last.release()
	if err := s.db.Close(); err != nil {
		s.opts.Log.Error("the store that was open for reading only is not closed well", "err", err)
	}
	s.db = nil
}

// reopen opens the store for writing, or for reading again if that fails.
func (s *Store) reopen() error {
	for _, readOnly := range []bool{false, true} {
		db, version, err := s.openDB(readOnly)
		if err == nil {
			if err = s.begin(db, version, readOnly); err == nil {
				return nil
			}
			err = errors.Join(err, db.Close())
		}
		s.opts.Log.Error("the store cannot be opened", "read_only", readOnly, "err", translate(err))
	}
	return errReadOnly
}
