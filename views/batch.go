package views

import (
	"context"
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/keyrange"
)

// maxBatchBytes bounds the documents of one batch, but for a larger one, and their rows, but for
// those of the last crossing; copies is about how many times the documents are in memory.
const maxBatchBytes, copies = 2 << 20, 4

// batchMemory is about what a batch takes while functions may give back so many bytes of rows.
func batchMemory(rows int64) int64 { return (copies+2)*maxBatchBytes + 2*rows }

// errCut ends the mapping of a batch whose rows are many, or take long.
var errCut = errors.New("views: the batch is large enough")

// batch is some changes that are mapped and committed together.
type batch struct {
	docs  []source
	bytes int
	end   storage.Seq // sequence of the indexes, or of the piece, once it is committed
	purge storage.Seq // the last purge when it was read
	last  bool        // it is the last batch: it ends where the build or the feed ends
	first bool        // no document was mapped before
	cut   bool        // documents that followed were not mapped
	part  *memory.Part
	// ready: the maps have run. An error is of documents after those that are left in the batch.
	ready chan error
}

// claim reads the next batch once there is memory for it.
func (p *pass) claim(ctx context.Context, since storage.Seq) (*batch, error) {
	part, err := p.claims.Claim(ctx)
	if err != nil {
		return nil, err
	}
	b, err := p.read(ctx, since)
	if err == nil {
		b.part = part
		err = part.Enlarge(ctx, copies*int64(b.bytes))
	}
	if err != nil {
		part.GiveBack()
	}
	return b, err
}

// read reads the next changes after since: as many as p.size says, or what comes in the life of a
// snapshot. What was read before it became too old is kept, and later reads ask for less.
func (p *pass) read(ctx context.Context, since storage.Seq) (*batch, error) {
	const maxFailures = 10 // snapshots in a row that were too old for a single change
	for failures := 0; ; {
		limit := p.size.Load()
		b := &batch{ready: make(chan error, 1)}
		began := p.v.opts.now()
		err := p.db.View(kv.WithPrefetch(ctx, "build"), func(s *storage.Snapshot) error {
			return p.readFrom(s, b, since, limit)
		})
		switch tooOld := errors.Is(err, kv.ErrTooOld); {
		case tooOld && len(b.docs) > 0:
			p.limitSize(len(b.docs) / 2)
			b.end, b.last = b.docs[len(b.docs)-1].seq, false
			return b, nil
		case tooOld && limit > 1:
			p.limitSize(int(limit) / 2)
		case tooOld && failures < maxFailures && ctx.Err() == nil:
			failures++
		default:
			switch took := p.v.opts.now().Sub(began); {
			case took > readLong:
				p.limitSize(len(b.docs) / 2)
			case p.v.opts.together() > 1 && took < commitShort && int64(len(b.docs)) >= limit:
				p.size.Store(min(limit*2, p.most.Load()))
			}
			return b, err
		}
	}
}

// run has the documents of a batch mapped. Those before one that fails stay in it, so that what was
// found out about them is committed, and the next build does not meet it again: functions may have
// had to be ended for them. Where that is all of them, the function is to blame and not a document
// only if it never worked: that is an error as in CouchDB.
func (b *batch) run(ctx context.Context, program *program) error {
	done, err := program.run(ctx, b.docs, maxBatchBytes)
	switch {
	case err == nil:
	case errors.Is(err, errCut):
		b.docs, b.end, b.last, b.cut = b.docs[:done], b.docs[done-1].seq, false, true
		return nil
	case done == len(b.docs):
		if !b.first {
			return nil
		}
	case done > 0:
		b.end, b.last = b.docs[done-1].seq, false
		fallthrough
	default:
		b.docs = b.docs[:done]
	}
	return err
}

// readFrom reads changes of one snapshot.
func (p *pass) readFrom(s *storage.Snapshot, b *batch, since storage.Seq, limit int64) (err error) {
	if b.purge, err = s.LastPurge(); err != nil {
		return err
	}
	o := storage.ChangesOptions{
		Since: since, Limit: limit, IncludeDocs: true, Conflicts: true, DeletedConflicts: true,
		Unnumbered: !p.showsNumber(), Until: p.until, Members: p.program.members(),
	}
	var texts arena
	end, err := s.Changes(o, func(c *storage.Change) error {
		p.take(b, c, &texts)
		if b.bytes > maxBatchBytes {
			return storage.ErrStop
		}
		return nil
	})
	if err != nil {
		return err
	}
	piece, more := p.until != storage.Seq{}, end.More || end.Pending > 0
	if piece { // documents after it do not count
		more = b.bytes > maxBatchBytes || int64(len(b.docs)) >= limit
	}
	switch {
	case more: // writers may be faster than the build: it ends where the feed ended when it began
		b.end, b.last = end.Last.Seq, !end.Last.Seq.Before(p.target)
	case piece:
		b.end, b.last = p.until, true
	default:
		b.end, err = s.LastSeq()
		b.last = true
	}
	return err
}

// take adds a change to a batch.
func (p *pass) take(b *batch, c *storage.Change, memory *arena) {
	src := source{id: c.ID, seq: c.Seq.Seq}
	src.mapped = !c.Deleted && p.wants(c.ID)
	b.bytes += len(c.ID) + 100
	if src.mapped {
		doc := c.Doc
		if p.program.defs[0].byPrincipal { // then all are
			doc, src.readers = ownSource(doc)
		}
		if p.program.needsText() {
			p.scratch = appendSource(p.scratch[:0], doc, p.showsNumber(), c.Seq.N)
			src.text = memory.copy(p.scratch)
			b.bytes += len(src.text)
		}
		if p.program.needsDocuments() {
			src.doc = keepDocument(doc, memory)
			b.bytes += len(src.doc.Body)
		}
	}
	b.docs = append(b.docs, src)
}

// showsNumber tells that map functions see the number of each change.
func (p *pass) showsNumber() bool { return p.design.localSeq && !p.design.interactive }

// wants reports whether a document goes through the map functions at all.
func (p *pass) wants(id string) bool {
	return !compat.IsDesignID(id) || p.design.withDesign && !p.design.partitioned
}

// keepDocument copies a document out of its snapshot.
func keepDocument(doc *docread.Document, memory *arena) *docread.Document {
	kept := *doc
	kept.Body = memory.copy(doc.Body)
	kept.Attachments = slices.Clone(doc.Attachments)
	return &kept
}

// size is about what the rows of a document take in a transaction.
func (src *source) size() int {
	n := 200 + len(src.id)
	for i := range src.byIndex {
		for _, r := range src.byIndex[i].rows {
			n += 2*len(r.rowKey) + len(r.value) + 150
		}
	}
	return n
}

// fail replaces what a document emitted by a message.
func (src *source) fail(message string, defs []*definition) {
	for i := range src.byIndex {
		if len(src.byIndex[i].rows) == 0 {
			continue
		}
		src.byIndex[i] = docRows{failure: message}
		if defs[i].keepsOversized() {
			src.byIndex[i].oversized = appendOversizedAnywhere(nil, src.id)
		}
	}
}

// partitionPrefix is what the keys of a document's rows begin with.
func (ix *index) partitionPrefix(docID string) []byte {
	if !ix.def.partitioned {
		return nil
	}
	return keyrange.AppendPartition(nil, keyrange.PartitionName(docID))
}
