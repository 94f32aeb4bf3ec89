package views

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Info reads what _info shows.
func (v *Views) Info(ctx context.Context, db *storage.DB, ddocID string) (*Info, error) {
	var info *Info
	var key flightKey
	var indexes []*index
	var build jobs.Spec
	err := db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		d, err := v.designIn(s, ddocID)
		if err != nil {
			return err
		}
		info = &Info{
			Name:      strings.TrimPrefix(ddocID, compat.DesignPrefix),
			Signature: d.signature,
			Language:  d.language,
		}
		purges, err := s.Stat(keyspace.Purges)
		if err != nil {
			return err
		}
		info.PurgeSeq = uint64(purges)
		build = jobSpec(db.Name(), d)
		key = flightKey{s.UUID(), d.signature}
		v.flights.addTo(info, key)
		indexes, err = v.addIndexes(info, s, d)
		return err
	})
	for _, ix := range indexes {
		if err == nil && ix != nil { // each in a snapshot of its own, since there may be many
			err = db.ViewAgain(ctx, func(s *storage.Snapshot) error { return ix.addSize(info, s.KV()) })
		}
	}
	if err != nil {
		return nil, err
	}
	if v.opts.Jobs != nil {
		paused, err := v.opts.Jobs.PausedOf(ctx, db.Name())
		if err != nil {
			return nil, err
		}
		for i := range paused {
			if bytes.HasPrefix(paused[i].Data, build.Data) { // of the build, or of a piece of it
				info.Paused = paused[i].Error
			}
		}
	}
	// engines do not count what they hold in memory yet, and compress the rest
	replaced, _ := v.flights.replaced.Get(key)
	info.SizeFile = max(info.SizeFile, info.SizeActive+replaced)
	return info, nil
}

// addReplaced counts what an update of indexes has replaced.
func (fs *flights) addReplaced(key flightKey, bytes int64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	before, _ := fs.replaced.Get(key)
	fs.replaced.Add(key, before+bytes)
}

// addTo tells of a running build.
func (fs *flights) addTo(info *Info, key flightKey) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.byKey[key]; f != nil {
		info.UpdaterRunning = true
		info.WaitingClients = int(f.waiting.Load())
	}
}

// addIndexes adds up what there is of the indexes of a design document, which it returns, but for
// their size on disk.
func (v *Views) addIndexes(info *Info, s *storage.Snapshot, d *design) ([]*index, error) {
	last, err := s.LastSeq()
	if err != nil {
		return nil, err
	}
	indexes, err := readIndexes(s, spaceOf(s), d.definitions)
	if err != nil {
		return nil, err
	}
	lowest := last
	if len(indexes) == 0 {
		// A design document without views has indexed nothing.
		lowest = storage.Seq{}
	}
	var counts [][]byte
	for _, ix := range indexes {
		switch {
		case ix == nil:
			lowest = storage.Seq{}
			continue
		// Those that writers keep up to date are at the end whatever their record says.
		case ix.needsCatchUp(last) && ix.rec.seq.Before(lowest):
			lowest = ix.rec.seq
		}
		counts = append(counts, ix.keys.count(countExternal), ix.keys.count(countActive))
	}
	if counts, err = s.KV().GetMany(counts); err != nil {
		return nil, err
	}
	for i := 0; i < len(counts); i += 2 {
		info.SizeExternal += keyspace.Counter(counts[i])
		info.SizeActive += keyspace.Counter(counts[i+1])
	}
	info.UpdateSeq.Seq = lowest
	if info.UpdateSeq.N, err = s.Number(lowest); err != nil {
		return nil, err
	}
	info.UpdatesPending, err = s.Pending(lowest)
	return indexes, err
}

// addSize adds the size of an index on disk.
func (ix *index) addSize(info *Info, r kv.ReadTx) error {
	var total int64
	for _, prefix := range [...][]byte{ix.keys.rows, ix.keys.ids, ix.keys.levels} {
		begin, end := children(prefix)
		size, err := r.SizeEstimate(begin, end)
		if err != nil {
			return err
		}
		total += size
	}
	info.SizeFile += total
	return nil
}

// Update brings all indexes of a design document up to date.
func (v *Views) Update(ctx context.Context, db *storage.DB, ddocID string) error {
	d, uuid, err := v.openDesign(ctx, db, ddocID)
	if err != nil || len(d.definitions) == 0 {
		return err
	}
	last, err := db.Feed().Last(ctx)
	if err != nil {
		return err
	}
	for _, d := range d.each() {
		err = errors.Join(err, v.flights.ensure(ctx, db, d, uuid, last.Seq))
	}
	return err
}

// Compact forgets how much the indexes of a design document have replaced, which Info shows as the
// size before compaction. It moves nothing: rows are stored so that they need no compaction, and
// engines drop replaced bytes by themselves. Jobs of the database that were paused are tried
// again. The error is that of a design document that does not exist.
func (v *Views) Compact(ctx context.Context, db *storage.DB, ddocID string) error {
	d, uuid, err := v.openDesign(ctx, db, ddocID)
	if err == nil {
		v.flights.replaced.Remove(flightKey{uuid, d.signature})
	}
	if err == nil && v.opts.Jobs != nil {
		err = v.opts.Jobs.Resume(ctx, db.Name())
	}
	return err
}

// Errors lists the documents whose map function failed in a view, in order of their ids. The index
// is taken as it is.
func (v *Views) Errors(ctx context.Context, db *storage.DB, ddocID, view string, fn func(MapError) error) error {
	w, err := v.View(ctx, db, ddocID, view)
	if err != nil {
		return err
	}
	after := ""
	return db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		ix, err := readIndex(s, spaceOf(s), w.definition())
		if err != nil || ix == nil {
			return err
		}
		begin, end := children(ix.keys.errors)
		if after != "" {
			begin = kv.AppendKeyAfter(nil, ix.keys.error(nil, after))
		}
		it := s.KV().Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			id, _, err := tuple.ReadString(it.Key()[len(ix.keys.errors):])
			if err != nil {
				return err
			}
			if err := fn(MapError{ID: id, Message: string(it.Value())}); err != nil {
				return err
			}
			after = id
		}
		return it.Err()
	})
}
