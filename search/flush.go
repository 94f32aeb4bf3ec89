package search

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// A flush makes a segment of the log: what is in memory of it is written as blocks, and published
// with the manifest. Documents of older segments that the log kills are taken out of the sets of
// those that are alive.

// When the log is flushed: it is read anew by every process that starts, and in the memory of each.
const (
	defaultFlushEntries = 2000
	// logCopies is about how many times as much as a log has bytes it takes in memory: 18 times for
	// plain text, 24 for words that are all different, up to 90 for fields with one word each. What
	// a build writes it counts (logMemory).
	logCopies = 24
)

// logMemory is about how many bytes of memory the log of one index takes before it is flushed.
func (x *Indexes) logMemory() int { return x.directBytes() }

// isLarge reports whether a log with this number of entries and bytes is to be flushed: from 2 MB
// on where there is plenty of memory, else earlier.
func (x *Indexes) isLarge(entries, bytes int64) bool {
	return entries >= x.opts.flushEntries || bytes >= int64(x.logMemory()/logCopies)
}

// flushIfLarge flushes the log of the index if it has grown much. While another process does, the
// build goes on, but not for long: what is in the log is in the memory of whoever queries.
func (b *build) flushIfLarge(ctx context.Context) error {
	// An empty log is not large, however little memory there is.
	for tries := 0; b.entries > 0 &&
		(b.x.isLarge(b.entries, b.logBytes) || b.logMemory >= b.x.logMemory()); tries++ {
		err := b.x.flush(ctx, b.db, b.def, b.recordKey, b.keys)
		switch {
		case err == nil:
			b.entries, b.logBytes, b.logMemory = 0, 0, 0
			b.x.mergeSoon(b.db, b.uuid, b.def, b.recordKey, b.rec.number, b.keys)
		case errors.Is(err, errMoved) && tries < flushTries:
		case !errors.Is(err, errClaimed):
			return err
		case !b.x.isLarge(b.entries/4, b.logBytes/4) && b.logMemory < 4*b.x.logMemory():
			return nil
		default:
			select {
			case <-time.After(flushPause):
			case <-ctx.Done():
				return ctx.Err()
			}
			// Who was faster may have flushed it.
			return errMoved
		}
	}
	return nil
}

const (
	flushTries = 10
	flushPause = 500 * time.Millisecond
)

// flush flushes the log up to where it is now. Each has its log in memory, so that few run at a
// time.
func (x *Indexes) flush(
	ctx context.Context, db *storage.DB, def *Definition, recordKey []byte, k *keys,
) error {
	select {
	case x.flushing <- struct{}{}:
		defer func() { <-x.flushing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// The place comes before the claim: a claim that waits for memory would keep other processes
	// from flushing.
	c, err := x.take(ctx, db, recordKey, k, claimFlush)
	if err != nil {
		return err
	}
	if err := x.flushInto(ctx, c, def); err != nil {
		c.drop()
		return err
	}
	return nil
}

// flushInto writes the log of an index as one segment. It reads the log in one snapshot, writes the
// blocks under the claim, in as many transactions as that takes, and publishes the segment in one
// more, which removes the entries of the log.
func (x *Indexes) flushInto(ctx context.Context, c *claim, def *Definition) error {
	var o *opened
	var killed map[int][]int32 // by place of the segment
	var entries, bytes int64
	err := c.db.ViewAgain(ctx, func(s *storage.Snapshot) (err error) {
		if o, err = x.open(ctx, s, def); err != nil || o == nil {
			return err
		}
		killed = o.killed()
		entries, bytes = 0, 0
		return o.keys.readLog(s.KV(), o.manifest.flushed, o.at, func(e *logEntry) error {
			entries++
			bytes += e.size()
			return nil
		})
	})
	if err != nil {
		return err
	}
	if o == nil {
		return errMoved
	}
	if o.at == o.manifest.flushed {
		c.drop()
		return nil
	}
	var fresh []segment.Segment
	// Behind the segments of the manifest there is at most one more: what of the log is in memory.
	for _, s := range o.segments[len(o.manifest.segments):] {
		fresh = append(fresh, s)
		if live := s.Live(); live != nil {
			c.docs += int64(live.Count())
		} else {
			c.docs += int64(s.Docs())
		}
	}
	if err := segment.Encode(ctx, fresh, c.put(ctx)); err != nil {
		return err
	}
	if err := c.write(ctx); err != nil {
		return err
	}
	return c.publishFlush(ctx, o, killed, entries, bytes)
}

// killed are the documents of segments that the log kills.
func (o *opened) killed() map[int][]int32 {
	o.state.mu.Lock()
	defer o.state.mu.Unlock()
	killed := map[int][]int32{}
	for _, k := range o.state.kills {
		if k.at <= o.at {
			killed[k.segment] = append(killed[k.segment], k.doc)
		}
	}
	return killed
}

// publishFlush makes the segment part of the index and clears the log up to where the segment ends,
// in one transaction. killed are the documents of older segments that entries of the log replace,
// by the place of their segment. Entries that have been added since the flush began stay in the
// log. A segment without documents is removed again.
func (c *claim) publishFlush(
	ctx context.Context, o *opened, killed map[int][]int32, entries, bytes int64,
) error {
	return c.db.Transact(ctx, func(tx *storage.Tx) error {
		if err := c.check(tx); err != nil {
			return err
		}
		// Any other manifest than the one that was read is errMoved: places of segments would not
		// be the same.
		m, err := c.manifest(tx, o.manifest.version)
		if err != nil {
			return err
		}
		for place, docs := range killed {
			info := &m.segments[place]
			live, err := c.keys.readLive(tx.KV(), info)
			if err != nil {
				return err
			}
			if live == nil {
				live = segment.All(int32(info.docs))
			}
			for _, doc := range docs {
				live.Clear(doc)
			}
			c.keys.writeLive(tx.KV(), info, live)
		}
		_, end := children(c.keys.log(o.at))
		tx.KV().ClearRange(c.keys.key(keyLog), end)
		keyspace.AddCounter(tx.KV(), c.keys.count(countLogEntries), -entries)
		keyspace.AddCounter(tx.KV(), c.keys.count(countLogBytes), -bytes)
		m.flushed = o.at
		if c.docs > 0 {
			m.segments = append(m.segments,
				segmentInfo{id: c.segment, docs: c.docs, bytes: c.bytes})
		} else {
			tx.KV().ClearRange(children(c.keys.segment(c.segment)))
		}
		c.publish(tx.KV(), m)
		return nil
	})
}

// manifest reads the manifest in the transaction that is to change it; errMoved if it is not of a
// version.
func (c *claim) manifest(tx *storage.Tx, version int64) (*manifest, error) {
	value, err := tx.KV().Get(c.keys.key(keyManifest))
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(value)
	if err == nil && version >= 0 && m.version != version {
		err = errMoved
	}
	return m, err
}

// publish writes a changed manifest, and ends the claim.
func (c *claim) publish(tx kv.Tx, m *manifest) {
	m.version++
	tx.Set(c.keys.key(keyManifest), m.encode())
	tx.Clear(c.keys.claim(c.of))
}
