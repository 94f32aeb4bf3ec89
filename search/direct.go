package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// A build that has many documents to index makes segments of them without a detour by the log:
// batches are inverted as they are analysed, collected until they are a segment, and published in
// one transaction with the entries of their documents, while the next ones are collected.
// Identities come from a commit before the segment is written. The fence is the same: who builds in
// between makes the publication fail.

// direct makes segments. Its methods are for the goroutine that takes batches in order.
type direct struct {
	b       *build
	types   map[string]fieldType // of the fields, with those that are not stored yet
	next    *collected
	writing chan error // nil: no segment is being written
}

// collected are the documents that are on their way into one segment.
type collected struct {
	parts []*segment.Batch
	docs  []source       // each once, as it was last
	at    map[string]int // where they are in docs
	types map[string]fieldType
	fresh []typedField
	purge storage.Seq // the last purge when the first was read
	// Of the index once they are committed: that of the last batch.
	end   storage.Seq
	bytes int // of memory
	// Bytes of the transaction that publishes them, which must hold an entry for each document.
	keys int
}

// mostDirect is how many documents go into a segment that is made directly: identities number them
// with 16 bits.
const mostDirect = 60_000

// goDirect begins to make segments. What the log has comes before them.
func (b *build) goDirect(ctx context.Context) (*direct, error) {
	if b.entries > 0 {
		if err := b.x.flush(ctx, b.db, b.def, b.recordKey, b.keys); err != nil {
			return nil, b.lostClaim(ctx, err)
		}
		b.entries, b.logBytes, b.logMemory = 0, 0, 0
	}
	return &direct{b: b, types: maps.Clone(b.types)}, nil
}

// lostClaim waits a little if another process is writing a segment, which is probably the one that
// this build wants to write, and makes the build begin anew from what is there (errMoved).
func (b *build) lostClaim(ctx context.Context, err error) error {
	if !errors.Is(err, errClaimed) {
		return err
	}
	select {
	case <-time.After(flushPause):
		return errMoved
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add takes the next batch. A document may come twice, since it may have changed while the build
// goes on: the later one takes its place, and the earlier one is removed from its part. A segment
// is written once the documents take directBytes of memory, or their entries as much of a
// transaction as it may have.
func (d *direct) add(ctx context.Context, batch *batch) error {
	if d.next == nil {
		d.next = &collected{at: map[string]int{}, purge: batch.purge}
	}
	c := d.next
	for i := range batch.docs {
		src := &batch.docs[i]
		d.settle(src)
		place, again := c.at[src.id]
		if !again {
			place = len(c.docs)
			c.at[src.id] = place
			c.docs = append(c.docs, source{})
			c.keys += 2*len(src.id) + keysOfDocument
		} else if old := &c.docs[place]; old.part != nil {
			old.part.Remove(old.number)
		}
		c.docs[place] = *src
		if src.fields != nil {
			c.keys += min(len(src.fields.failure), maxMessage)
		}
	}
	c.end = batch.end
	if batch.part != nil {
		c.parts = append(c.parts, batch.part)
		c.bytes += batch.part.Bytes()
	}
	if c.bytes < d.b.x.directBytes() && c.keys < d.b.x.opts.transactionBudget() &&
		len(c.docs) < d.b.x.opts.directDocs {
		return nil
	}
	return d.write(ctx)
}

// keysOfDocument is about how many bytes a document takes in the transaction that publishes it,
// besides its id.
const keysOfDocument = 200

// settle says whether a document fits the index.
func (d *direct) settle(src *source) {
	if src.fields == nil || src.fields.failure != "" {
		return
	}
	fresh := src.fields.checkTypes(d.types)
	if src.fields.failure == "" && len(d.types)+len(fresh) > maxTypes {
		src.fields.failure = tooManyTypes(len(d.types))
	}
	if src.fields.failure != "" {
		if src.part != nil {
			src.part.Remove(src.number)
			src.part = nil
		}
		return
	}
	for _, t := range fresh {
		d.types[t.name] = t.of
	}
	d.next.fresh = append(d.next.fresh, fresh...)
}

// write has what was collected written, once the segment before is.
func (d *direct) write(ctx context.Context) error {
	if err := d.wait(ctx); err != nil || d.next == nil {
		return err
	}
	c := d.next
	d.next = nil
	// The next segment goes on adding types while this one is being written.
	c.types = maps.Clone(d.types)
	d.writing = make(chan error, 1)
	go func(done chan<- error) { done <- d.b.writeDirect(ctx, c) }(d.writing)
	return nil
}

// wait waits for the segment that is being written.
func (d *direct) wait(ctx context.Context) error {
	if d.writing == nil {
		return nil
	}
	err := <-d.writing
	d.writing = nil
	if err != nil {
		return err
	}
	d.b.x.mergeSoon(d.b.db, d.b.uuid, d.b.def, d.b.recordKey, d.b.rec.number, d.b.keys)
	return d.b.flushIfLarge(ctx)
}

// abandon waits for the segment that is being written, whose context has ended.
func (d *direct) abandon() {
	if d.writing != nil {
		<-d.writing //nolint:errcheck // the build has failed already, or knows
	}
}

// end writes what is left.
func (d *direct) end(ctx context.Context) error {
	if err := d.write(ctx); err != nil {
		return err
	}
	return d.wait(ctx)
}

// writeDirect writes a segment and publishes it.
func (b *build) writeDirect(ctx context.Context, s *collected) error {
	c, err := b.x.take(ctx, b.db, b.recordKey, b.keys, claimFlush)
	if err != nil {
		return b.lostClaim(ctx, err)
	}
	if err = b.writeSegment(ctx, c, s); err == nil {
		err = b.publishDirect(ctx, c, s)
	}
	if err == nil {
		return nil
	}
	c.drop()
	// The entries do not fit one transaction, or too many writers are at work: the build goes on by
	// the log, in transactions that can be cut.
	if errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrTooOld) ||
		errors.Is(err, errCrowded) {
		b.indirect.Store(true)
		err = errMoved
	}
	return b.lostClaim(ctx, err)
}

// writeSegment gives the documents their identities and writes the blocks of the segment, which
// nobody sees before publishDirect. In an interactive index the identity is the sequence of the
// document, because writers put entries into the log meanwhile, and those have to come later.
func (b *build) writeSegment(ctx context.Context, c *claim, s *collected) error {
	var place []byte
	if !b.interactive() {
		var err error
		if place, err = c.place(ctx); err != nil {
			return err
		}
	}
	var segments []segment.Segment
	order := uint16(0)
	for _, part := range s.parts {
		if part.Len() == 0 {
			continue
		}
		segments = append(segments, part)
		for doc := range part.Docs() {
			if !part.Has(doc) {
				continue
			}
			src := &s.docs[s.at[part.ID(nil, doc)]]
			if b.interactive() {
				src.identity = segment.Identity(keyspace.AppendSeq(nil, src.seq))
			} else {
				src.identity = segment.Identity(binary.BigEndian.AppendUint16(place[:len(place):len(place)], order))
			}
			part.SetIdentity(doc, src.identity)
			c.docs++
			order++
		}
	}
	if len(segments) == 0 {
		return nil
	}
	if err := segment.Encode(ctx, segments, c.put(ctx)); err != nil {
		return err
	}
	return c.write(ctx)
}

// place is the identity of the first document of a segment without its last two bytes, which number
// the documents: the commit that this makes. Everything in the index was committed before.
func (c *claim) place(ctx context.Context) ([]byte, error) {
	key := c.keys.claim(claimPlace)
	err := c.db.Transact(ctx, func(tx *storage.Tx) error {
		if err := c.check(tx); err != nil {
			return err
		}
		tx.KV().SetVersionstampedValue(key, identityOf(tx.Snapshot(), 0), 1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var place []byte
	err = c.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		value, err := s.KV().Get(key)
		if err == nil && len(value) != keyspace.SeqSize {
			err = errClaimed // the index was removed meanwhile
		}
		if err == nil {
			place = bytes.Clone(value[:keyspace.SeqSize-2])
		}
		return err
	})
	return place, err
}

// publishDirect makes the segment part of the index and writes the entries of its documents, in one
// transaction, which also moves the sequence of the index. Documents that writers or purges have
// changed since they were read are left out of the segment (live). The transaction runs again after
// conflicts, but not for ever: errCrowded makes the build go on by the log.
func (b *build) publishDirect(ctx context.Context, c *claim, s *collected) error {
	var w *writer
	var rec *record
	var stored []byte
	runs := 0
	before, err := b.segmentsBefore(ctx)
	if err != nil {
		return err
	}
	err = b.db.Transact(ctx, func(tx *storage.Tx) error {
		if runs++; runs > 4*commitRuns {
			return errCrowded
		}
		if err := c.check(tx); err != nil {
			return err
		}
		if err := b.unmoved(tx); err != nil {
			return err
		}
		m, err := c.manifest(tx, -1)
		if err != nil {
			return err
		}
		docs, err := b.current(tx, s.docs, s.purge)
		if err != nil {
			return err
		}
		w = &writer{tx: tx, keys: b.keys, types: maps.Clone(s.types)}
		if err := w.write(docs); err != nil {
			return err
		}
		for _, t := range s.fresh {
			tx.KV().Set(b.keys.field(t.name), []byte{byte(t.of)})
		}
		if c.docs > 0 {
			info := segmentInfo{id: c.segment, docs: c.docs, bytes: c.bytes}
			if live := s.live(docs, int32(c.docs)); live != nil {
				b.keys.writeLive(tx.KV(), &info, live)
			}
			// Segments are in the order of their documents: the new one comes last, or, in an
			// interactive index, before all that writers have made.
			if !b.interactive() {
				before = len(m.segments)
			} else if before > len(m.segments) {
				return errMoved
			}
			m.segments = slices.Insert(m.segments, before, info)
		}
		c.publish(tx.KV(), m)
		rec, stored = b.move(tx, int64(len(s.fresh)), s.end, b.rec.ready)
		return nil
	})
	if err == nil {
		b.moved(rec, stored, w, s.types)
	}
	return err
}

// live gives the documents of the segment that are among docs; nil: all of them.
func (s *collected) live(docs []source, n int32) *segment.Bitmap {
	if len(docs) == len(s.docs) {
		return nil
	}
	there := make(map[string]bool, len(docs))
	for i := range docs {
		there[docs[i].id] = true
	}
	live, at := segment.All(n), int32(0)
	for _, part := range s.parts {
		for doc := range part.Docs() {
			if !part.Has(doc) {
				continue
			}
			if !there[part.ID(nil, doc)] {
				live.Clear(at)
			}
			at++
		}
	}
	return live
}

// tooManyTypes is why a document with a new field does not fit.
func tooManyTypes(n int) string {
	return fmt.Sprintf("the index has %d fields, and can have no more than %d", n, maxTypes)
}
