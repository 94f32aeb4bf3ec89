package search

import (
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// A merge makes one segment of several that follow each other, without the documents that are not
// alive. It runs beside queries, flushes and builds: documents that are killed meanwhile are killed
// in the merged segment when it is published.

const (
	// fanOut is how many segments of about one size become one.
	fanOut = 8
	// mostMerged is how many documents a merged segment has at most, mostSources how many segments
	// it is made of: those of four sizes, with less than fanOut of the smaller ones.
	mostMerged, mostSources = 1 << 20, 4 * fanOut
	// mostMergedBytes is how many bytes of blocks are merged: places in a stream have 32 bits.
	mostMergedBytes = 2 << 30
)

// mergeSoon has segments merged in the background, if there is anything to merge. One merge of an
// index runs at a time.
func (x *Indexes) mergeSoon(
	db *storage.DB, uuid [16]byte, def *Definition, recordKey []byte, number int64, k *keys,
) {
	key := stateKey{database: uuid, number: number}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.merging[key] || x.closed {
		return
	}
	x.merging[key] = true
	x.running.Go(func() {
		err := x.merge(kv.InBackground(x.ctx), db, uuid, def, recordKey, number, k)
		x.mu.Lock()
		delete(x.merging, key)
		x.mu.Unlock()
		if err != nil && !errors.Is(err, errClaimed) && !errors.Is(err, errMoved) && !errors.Is(err, jobs.ErrPaused) &&
			!errors.Is(err, jobs.ErrClosed) && x.ctx.Err() == nil {
			x.opts.Log.Warn("segments of a search index were not merged",
				"database", db.Name(), "design", def.DesignDoc, "index", def.Name, "error", err)
		}
	})
}

// merge merges until there is nothing left to merge. Each merge is a job, so that one that was
// running when the server ended again and again is not begun any more.
func (x *Indexes) merge(
	ctx context.Context, db *storage.DB, uuid [16]byte, def *Definition, recordKey []byte, number int64, k *keys,
) error {
	for {
		infos, err := x.toMerge(ctx, db, recordKey, k)
		if err != nil || len(infos) == 0 {
			return err
		}
		if x.opts.Jobs == nil {
			err = x.mergeOnce(ctx, db, uuid, recordKey, number, k)
		} else {
			spec := jobs.Spec{Type: mergeJob, ID: mergeID(db.Name(), number), Data: taskOf(mergeJob, db.Name(), def)}
			err = x.opts.Jobs.Do(ctx, spec, func(ctx context.Context) error {
				return x.mergeOnce(ctx, db, uuid, recordKey, number, k)
			})
		}
		if err != nil {
			return err
		}
	}
}

// The types of the jobs that build indexes, and that merge segments.
const (
	buildJob = "search_build"
	mergeJob = "search_merge"
)

func buildID(database string, def *Definition) string {
	return database + "\x00" + hex.EncodeToString(def.signature[:])
}

func mergeID(database string, number int64) string {
	return database + "\x00" + strconv.FormatInt(number, 10)
}

// taskOf is what _active_tasks shows of a build or a merge that is paused.
func taskOf(job, database string, def *Definition) []byte {
	b := ejson.AppendString([]byte(`{"type":"search_indexer","job":"`+job+`","database":`), database)
	b = ejson.AppendString(append(b, `,"design_document":`...), shown(def.DesignDoc))
	return append(ejson.AppendString(append(b, `,"index":`...), shown(def.Name)), '}')
}

// shown is what _active_tasks shows of a name.
func shown(name string) string { return strings.ToValidUTF8(name[:min(len(name), 1000)], "") }

// toMerge returns the segments that are to become one, none if there is nothing to merge.
func (x *Indexes) toMerge(ctx context.Context, db *storage.DB, recordKey []byte, k *keys) ([]segmentInfo, error) {
	var m *manifest
	err := db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		values, err := s.KV().GetMany([][]byte{k.key(keyManifest), recordKey})
		if err != nil {
			return err
		}
		if m, err = parseManifest(values[0]); err != nil || values[1] == nil {
			return err
		}
		// Segments of a first build come before those of what was written meanwhile.
		if rec, err := parseRecord(values[1]); err != nil || rec.interactive() && !rec.ready {
			m = &manifest{}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	from, to := m.choose(x.room.mostMerged())
	return m.segments[from:to], nil
}

// mergeOnce merges what is to become one segment now.
func (x *Indexes) mergeOnce(
	ctx context.Context, db *storage.DB, uuid [16]byte, recordKey []byte, number int64, k *keys,
) error {
	infos, err := x.toMerge(ctx, db, recordKey, k)
	if err != nil || len(infos) == 0 {
		return err
	}
	c, err := x.take(ctx, db, recordKey, k, claimMerge)
	if err != nil {
		return err
	}
	if err := x.mergeInto(ctx, c, uuid, number, infos); err != nil {
		c.drop()
		return err
	}
	return nil
}

// choose says which segments to merge: the last ones of about one size, if there are enough of
// them, or one of which many documents are not alive. They have at most so many documents.
//
// Sizes are tiers: tier 0 up to fanOut times a flushed log, tier 1 fanOut times as much, and so on.
// fanOut segments of one tier at the end of the list, with smaller ones between and behind them,
// become one of the next; so a document is written again about once for each tier.
func (m *manifest) choose(most int64) (from, to int) {
	tier := func(s *segmentInfo) (n int) {
		for size := (s.docs - s.killed) / defaultFlushEntries; size >= fanOut; size /= fanOut {
			n++
		}
		return n
	}
	for highest := 0; highest < 8; highest++ {
		to = len(m.segments)
		docs, bytes, alike := int64(0), int64(0), 0
		for from = to; from > 0; from-- {
			s := &m.segments[from-1]
			of := tier(s)
			docs, bytes = docs+s.docs-s.killed, bytes+s.bytes
			if of > highest || docs > most || bytes > mostMergedBytes {
				break
			}
			if of == highest {
				alike++
			}
		}
		if alike >= fanOut {
			return from, min(to, from+mostSources)
		}
	}
	for i := range m.segments {
		if s := &m.segments[i]; s.killed*10 > s.docs*3 && s.docs <= most {
			return i, i + 1
		}
	}
	return 0, 0
}

// merging is a segment that is merged: which of its documents were alive when the merge began.
type merging struct {
	info segmentInfo
	live *segment.Bitmap
}

// mergeInto makes one segment of several that follow each other. Which documents are alive is read
// in one snapshot at the beginning, and the dead ones are left out; those that die while the
// segment is written are found by publishMerge. The blocks are read in snapshots of their own, as
// long as that takes. The error is errMoved if somebody else has replaced one of the segments.
func (x *Indexes) mergeInto(
	ctx context.Context, c *claim, uuid [16]byte, number int64, infos []segmentInfo,
) error {
	sources := make([]merging, len(infos))
	opened, segments := make([]*segment.BlockSegment, len(infos)), make([]segment.Segment, len(infos))
	err := c.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		value, err := s.KV().Get(c.keys.key(keyManifest))
		if err != nil {
			return err
		}
		m, err := parseManifest(value)
		if err != nil {
			return err
		}
		for i := range infos {
			place := m.find(infos[i].id)
			if place < 0 {
				return errMoved
			}
			sources[i].info = m.segments[place]
			if sources[i].live, err = c.keys.readLive(s.KV(), &m.segments[place]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range sources {
		blocks := x.blocksOver(ctx, c.db, uuid, c.keys, number, sources[i].info.id)
		s, err := segment.OpenBlocks(ctx, blocks, sources[i].live)
		if err != nil {
			return err
		}
		opened[i], segments[i] = s, s
		c.docs += sources[i].info.docs - sources[i].info.killed
	}
	release, err := x.room.merge(ctx, segment.EncodeBytes(opened))
	if err != nil {
		return err
	}
	defer release()
	if err := segment.Encode(ctx, segments, c.put(ctx)); err != nil {
		return err
	}
	if err := c.write(ctx); err != nil {
		return err
	}
	return c.publishMerge(ctx, sources)
}

// publishMerge puts the merged segment in the place of those that it was made of.
func (c *claim) publishMerge(ctx context.Context, sources []merging) error {
	return c.db.Transact(ctx, func(tx *storage.Tx) error {
		if err := c.check(tx); err != nil {
			return err
		}
		// The version may be another one: flushes go on meanwhile, which only add segments and kill
		// documents.
		m, err := c.manifest(tx, -1)
		if err != nil {
			return err
		}
		from := m.find(sources[0].info.id)
		if from < 0 || from+len(sources) > len(m.segments) {
			return errMoved
		}
		merged := segmentInfo{id: c.segment, docs: c.docs, bytes: c.bytes}
		var live *segment.Bitmap
		at := int32(0) // number of the next document in the merged segment
		for i := range sources {
			now := &m.segments[from+i]
			if now.id != sources[i].info.id {
				return errMoved
			}
			alive, err := c.keys.readLive(tx.KV(), now)
			if err != nil {
				return err
			}
			// Numbers in the merged segment count the documents that were alive when the merge
			// began.
			for doc := range int32(now.docs) {
				if sources[i].live != nil && !sources[i].live.Has(doc) {
					continue
				}
				if alive != nil && !alive.Has(doc) {
					if live == nil {
						live = segment.All(int32(c.docs))
					}
					live.Clear(at)
				}
				at++
			}
			tx.KV().ClearRange(children(c.keys.segment(now.id)))
			if now.live > 0 {
				tx.KV().ClearRange(children(c.keys.live(now.id, now.live)))
			}
		}
		rest := append([]segmentInfo(nil), m.segments[from+len(sources):]...)
		m.segments = m.segments[:from]
		if c.docs > 0 {
			if live != nil {
				c.keys.writeLive(tx.KV(), &merged, live)
			}
			m.segments = append(m.segments, merged)
		} else {
			tx.KV().ClearRange(children(c.keys.segment(c.segment)))
		}
		m.segments = append(m.segments, rest...)
		c.publish(tx.KV(), m)
		return nil
	})
}
