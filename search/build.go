package search

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// build brings an index to a sequence: it reads changes, has them mapped and analysed, several
// batches at a time, and commits them in order, fenced by the record of the index.
//
// One goroutine reads changes (readAhead), one for each batch makes documents (make), and the
// caller of pass commits the batches in their order; only the last of them changes rec, stored,
// types, entries and logBytes after prepare.
type build struct {
	x      *Indexes
	db     *storage.DB
	def    *Definition
	flight *flight
	job    bool // it runs as a job
	target storage.Seq

	// What prepare reads.
	last        storage.Seq
	uuid        [16]byte
	partitioned bool
	recordKey   []byte
	// The record as it is in the store: what a commit has to find unchanged (unmoved).
	stored    []byte
	rec       *record     // as it is in the store now; commits replace it
	began     storage.Seq // its own, which no commit changes
	keys      *keys
	types     map[string]fieldType
	entries   int64 // of the log
	logBytes  int64
	logMemory int // what the entries that this build has written take in memory, see index.Document.Memory

	program *js.MapProgram
	makers  sync.Pool // of *maker, which remember stems
	// Documents of the next batch. It is halved when a snapshot became too old before they were
	// read.
	size int
	// Batches that have a share of the room; a build with none may go on without one.
	underWay atomic.Int32
	left     chan struct{} // has one when a share was given back
	indirect atomic.Bool   // segments are made of the log only: one that was made directly could not be published
}

// Bounds of a batch.
const (
	batchDocs  = 500
	batchBytes = 2 << 20
	// smallUpdate is the number of changes up to which a build does without a job.
	smallUpdate = batchDocs
	// maxRecord is the largest record of a document that an index takes: it has to fit a
	// transaction.
	maxRecord = 7 << 20
	// maxFields is how many fields a document may have in an index: each has keys of its own in
	// every segment.
	maxFields = 1000
)

// readRecord reads the record of an index, nil if there is none, and its bytes.
func readRecord(r kv.ReadTx, sp space, of signature) (*record, []byte, error) {
	stored, err := r.Get(sp.record(of))
	if err != nil || stored == nil {
		return nil, nil, err
	}
	rec, err := parseRecord(stored)
	return &rec, bytes.Clone(stored), err
}

// readTypes reads the types of the fields of an index.
func (k *keys) readTypes(r kv.ReadTx) (map[string]fieldType, error) {
	prefix := k.key(keyField)
	begin, end := children(prefix)
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	types := map[string]fieldType{}
	for it.Next() {
		name, _, err := tuple.ReadString(it.Key()[len(prefix):])
		if err != nil || len(it.Value()) != 1 {
			return nil, corrupt("type of a field")
		}
		types[name] = fieldType(it.Value()[0])
	}
	return types, it.Err()
}

// interactive is record.interactive, for those that read ahead of commits as well.
func (b *build) interactive() bool { return b.began != storage.Seq{} }

// prepare reads the record and the state of the index, and makes the record if there is none.
func (b *build) prepare(ctx context.Context) error {
	read := func(s *storage.Snapshot) (err error) {
		b.uuid, b.partitioned = s.UUID(), s.Partitioned()
		if b.last, err = s.LastSeq(); err != nil {
			return err
		}
		sp := spaceOf(s)
		b.recordKey = sp.record(b.def.signature)
		if b.rec, b.stored, err = readRecord(s.KV(), sp, b.def.signature); err != nil ||
			b.rec == nil {
			return err
		}
		b.began, b.keys = b.rec.began, sp.keysOf(b.rec.number)
		counts, err := s.KV().GetMany([][]byte{b.keys.count(countLogEntries),
			b.keys.count(countLogBytes)})
		if err != nil {
			return err
		}
		b.entries, b.logBytes = keyspace.Counter(counts[0]), keyspace.Counter(counts[1])
		b.types, err = b.keys.readTypes(s.KV())
		return err
	}
	if err := b.db.ViewAgain(ctx, read); err != nil || b.rec != nil {
		return err
	}
	// A text that is no function fails the queries, and leaves no index behind.
	if b.def.native == nil {
		if b.x.opts.JS == nil {
			return errNoJavaScript
		}
		if err := b.x.opts.JS.CheckMap(ctx, b.db.Name(), b.def.source); err != nil {
			return err
		}
	}
	err := b.db.Transact(ctx, func(tx *storage.Tx) error {
		sp := spaceOf(tx.Snapshot())
		if rec, _, err := readRecord(tx.KV(), sp, b.def.signature); err != nil || rec != nil {
			return err
		}
		// Numbers are given in the transaction that makes the record: of two processes one finds
		// the record of the other.
		value, err := tx.KV().Get(sp.key(keyNextNumber))
		if err != nil {
			return err
		}
		number := max(keyspace.Counter(value), 1)
		keyspace.PutCounter(tx.KV(), sp.key(keyNextNumber), number+1)
		if known, err := b.def.register(tx, sp, number); known || err != nil {
			return err
		}
		tx.KV().Set(sp.record(b.def.signature), (&record{number: number}).encode())
		return nil
	})
	if err != nil {
		return err
	}
	return b.db.ViewAgain(ctx, read)
}

// batch is some changes that are mapped and committed together.
type batch struct {
	docs    []source
	bytes   int         // of the texts of documents
	largest int         // of them
	end     storage.Seq // of the index once it is committed
	purge   storage.Seq // the last purge when it was read
	last    bool        // it is the last batch: it ends where the build or the feed ends
	made    chan *batch // its documents, in pieces as they are made; closed after them
	err     error       // why they could not be made, once made is closed

	share   *share
	pending int64 // changes that follow it
	later   bool  // of an interactive index: changes since writers know of it
	direct  bool  // it goes into a segment without a detour by the log
	part    *segment.Batch
}

// source is one document on its way into the index.
type source struct {
	id     string
	seq    storage.Seq
	rev    compat.Rev
	mapped bool   // it goes through the function
	text   []byte // for the function
	fields *fields
	record []byte // nil: it is not indexed, or goes into a segment directly
	memory int    // of the record once it is read from the log

	// In a segment that is made directly: where it is, nil if it is not, and its identity.
	part     *segment.Batch
	number   int32
	identity segment.Identity
}

var errNoJavaScript = compat.NewError(compat.KindNotImplemented, "This server runs no JavaScript.")

// start prepares what documents are made with.
func (b *build) start() error {
	if b.def.native == nil {
		kind := js.ClouseauIndex
		if b.def.Kind == segment.Nouveau {
			kind = js.NouveauIndex
		}
		if b.x.opts.JS == nil {
			return errNoJavaScript
		}
		b.program = js.NewIndexProgram(b.db.Name(), kind, b.def.source)
	}
	b.size, b.left = min(batchDocs, b.x.opts.directDocs), make(chan struct{}, 1)
	return nil
}

// pass brings the index to its target.
func (b *build) pass(ctx context.Context) error {
	if err := b.start(); err != nil {
		return err
	}
	if err := b.flushIfLarge(ctx); err != nil {
		return err
	}
	b.flight.task.done.Store(0)
	ctx, cancel := context.WithCancel(js.Background(ctx))
	var running sync.WaitGroup
	// As many batches wait as there are processors to make them; the share of each bounds their
	// memory.
	queue := make(chan *batch, workers())
	// Whatever ends the pass, every share that was taken is given back: first those of batches that
	// nobody takes any more, then, when all goroutines are done, nothing is left.
	defer func() {
		for cancel(); ; { // of the batches that are left after an error
			batch, more := <-queue
			if !more {
				break
			}
			batch.share.giveBack()
		}
		running.Wait()
	}()
	var readError error
	reading := ctx
	running.Go(func() {
		defer close(queue)
		readError = b.readAhead(reading, queue, &running)
	})
	var segments *direct
	defer func() {
		if cancel(); segments != nil {
			segments.abandon()
		}
	}()
	// Segments and the log are not mixed: the place of a document in the index is given by the
	// order in which it is committed.
	take := func(piece *batch) (err error) {
		switch {
		case piece.direct && segments == nil:
			ctx = kv.InBackground(ctx)
			segments, err = b.goDirect(ctx)
		case !piece.direct && segments != nil: // its entries of the log come after those segments
			err = segments.end(ctx)
			segments = nil
		}
		switch {
		case err != nil:
			return err
		case piece.direct:
			err = segments.add(ctx, piece)
		default:
			err = b.commit(ctx, piece)
		}
		b.flight.task.done.Add(int64(len(piece.docs)))
		b.flight.task.updated.Store(time.Now().Unix())
		return err
	}
	all := func(batch *batch) error {
		defer batch.share.giveBack()
		for piece := range batch.made { // make closes it when the context ends, too
			if err := take(piece); err != nil {
				return err
			}
		}
		return batch.err
	}
	for batch := range queue {
		if err := all(batch); err != nil {
			return err
		}
	}
	if segments != nil && readError == nil {
		return segments.end(ctx)
	}
	return readError
}

// readAhead reads batches and has them mapped.
func (b *build) readAhead(ctx context.Context, queue chan<- *batch, running *sync.WaitGroup) error {
	direct := false
	for since := b.rec.seq; ; {
		batch, err := b.read(ctx, since)
		if err != nil {
			return err
		}
		since = batch.end
		if !b.job && b.x.opts.Jobs != nil && batch.pending+int64(len(batch.docs)) > smallUpdate {
			batch.share.giveBack()
			return errLarge
		}
		// What an interactive index begins with comes before what writers have put into its log
		// meanwhile.
		direct = direct || !b.indirect.Load() && (b.interactive() && len(batch.docs) > 0 ||
			batch.pending+int64(len(batch.docs)) >= 2*b.x.opts.flushEntries)
		if batch.direct = direct && !batch.later; batch.direct {
			ctx = kv.InBackground(ctx)
		}
		select {
		case queue <- batch:
		case <-ctx.Done():
			batch.share.giveBack()
			return ctx.Err()
		}
		making := ctx // this batch's: the next ones may be in the background
		running.Go(func() {
			batch.err = b.make(making, batch)
			close(batch.made)
		})
		if batch.last {
			return nil
		}
		// After each batch: a definition may be changed while its build takes hours.
		if err := b.stillWanted(ctx); err != nil {
			return err
		}
	}
}

// stillWanted is errUnwanted if nobody waits for the build and the design document does not define
// the index any more.
func (b *build) stillWanted(ctx context.Context) error {
	if b.flight.waiting.Load() > 0 {
		return nil
	}
	def, err := b.x.Lookup(ctx, b.db, b.def.Kind, b.def.DesignDoc, b.def.Name)
	if _, told := compat.AsError(err); told || err == nil && def.signature != b.def.signature {
		err = errUnwanted
	}
	return err
}

// read reads the next changes after since, as many as a batch takes or as can be read while a
// snapshot lives. The batch has its share of what all builds may hold.
func (b *build) read(ctx context.Context, since storage.Seq) (*batch, error) {
	share, err := b.claim(ctx)
	if err != nil {
		return nil, err
	}
	read, err := b.readInto(ctx, share, since)
	if err != nil {
		share.giveBack()
	}
	return read, err
}

// readInto reads changes until they fit a share: a document that is too large for it is read again
// once it is enlarged.
func (b *build) readInto(ctx context.Context, share *share, since storage.Seq) (*batch, error) {
	// What was read before the snapshot ended is used; nothing at all means that the batch was too
	// large, and is tried smaller.
	for failures := 0; ; {
		read := &batch{made: make(chan *batch), share: share}
		err := b.db.View(ctx, func(s *storage.Snapshot) error { return b.readFrom(s, read, since) })
		switch tooOld := errors.Is(err, kv.ErrTooOld); {
		case tooOld && len(read.docs) > 0:
			b.size = max(len(read.docs)/2, 1)
			read.end, read.last = read.docs[len(read.docs)-1].seq, false
			err = nil
			if read.later { // a later snapshot tells as well what writers have put into the index
				err = b.db.ViewAgain(ctx, func(s *storage.Snapshot) error { return b.leaveOut(s, read) })
			}
		case tooOld && failures < 10 && ctx.Err() == nil:
			b.size = max(b.size/2, 1)
			failures++
			continue
		}
		if err != nil || share.fits(read.bytes, read.largest) {
			return read, err
		}
		if err := share.enlarge(ctx, read.bytes, read.largest); err != nil {
			return nil, err
		}
	}
}

// readFrom reads the changes of a batch from one snapshot: at most as many documents and bytes as
// the batch's share of the room allows, but at least one document.
func (b *build) readFrom(s *storage.Snapshot, read *batch, since storage.Seq) (err error) {
	if read.purge, err = s.LastPurge(); err != nil {
		return err
	}
	most, mostBytes := read.share.limits()
	o := storage.ChangesOptions{Since: since, Limit: int64(most), IncludeDocs: true}
	cut := false
	end, err := s.Changes(o, func(c *storage.Change) error {
		src := source{id: c.ID, seq: c.Seq.Seq}
		later := b.interactive() && b.began.Before(src.seq)
		// A batch is either of before the index became interactive or of after it, because only the
		// first kind may go into a segment.
		if cut = later && !read.later && len(read.docs) > 0; cut {
			return storage.ErrStop
		}
		read.later = later
		if src.mapped = !c.Deleted && b.def.wants(c.ID, b.partitioned); src.mapped {
			src.rev = c.Doc.Rev
			src.text = appendSource(nil, c.Doc)
		}
		if cut = len(read.docs) > 0 && read.bytes+len(src.text) > mostBytes; cut {
			return storage.ErrStop
		}
		read.docs, read.bytes = append(read.docs, src), read.bytes+len(src.text)
		read.largest = max(read.largest, len(src.text))
		return nil
	})
	if err != nil {
		return err
	}
	// The change that did not fit any more counts as pending.
	if cut {
		end.Last.Seq = read.docs[len(read.docs)-1].seq
		end.Pending++
	}
	if read.later {
		if err := b.leaveOut(s, read); err != nil {
			return err
		}
	}
	read.pending = end.Pending
	if b.flight.task.total.Load() < end.Pending+int64(len(read.docs)) {
		b.flight.task.total.Store(end.Pending + int64(len(read.docs)))
	}
	if end.Pending > 0 { // writers may be faster than the build: it ends where the feed ended when it began
		read.end, read.last = end.Last.Seq, !end.Last.Seq.Before(b.target)
		return nil
	}
	read.end, err = s.LastSeq()
	read.last = true
	return err
}

// appendSource appends a document as index functions get it: _id, _rev, the members, then
// attachments.
func appendSource(dst []byte, doc *docread.Document) []byte {
	view := compat.DocumentView{ID: doc.ID, Rev: doc.Rev, Body: doc.Body}
	for i := range doc.Attachments {
		view.Attachments = append(view.Attachments,
			compat.AttachmentView{Attachment: &doc.Attachments[i]})
	}
	return compat.AppendDocument(dst, &view)
}
