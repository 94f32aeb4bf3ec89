package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/js"
)

// build brings an index to a sequence: it reads changes, has them mapped and analysed, several batches at a time, and
// commits them in order, fenced by the record of the index.
type build struct {
	x      *Indexes
	db     *storage.DB
	def    *Definition
	flight *flight
	target storage.Seq

	// What prepare reads.
	last        storage.Seq
	uuid        [16]byte
	partitioned bool
	recordKey   []byte
	stored      []byte // the record as it is in the store: what a commit has to find unchanged
	rec         *record
	keys        *keys
	types       map[string]fieldType
	entries     int64 // of the log
	logBytes    int64

	program *js.MapProgram
	size    int // documents of the next batch
}

// Bounds of a batch.
const (
	batchDocs  = 500
	batchBytes = 2 << 20
	// maxRecord is the largest record of a document that an index takes: it has to fit a transaction.
	maxRecord = 7 << 20
	// maxFields is how many fields a document may have in an index: each has keys of its own in every segment.
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

// prepare reads what there is of the index, and makes its record if there is none.
func (b *build) prepare(ctx context.Context) error {
	read := func(s *storage.Snapshot) (err error) {
		b.uuid, b.partitioned = s.UUID(), s.Partitioned()
		if b.last, err = s.LastSeq(); err != nil {
			return err
		}
		sp := spaceOf(s)
		b.recordKey = sp.record(b.def.signature)
		if b.rec, b.stored, err = readRecord(s.KV(), sp, b.def.signature); err != nil || b.rec == nil {
			return err
		}
		b.keys = sp.keysOf(b.rec.number)
		counts, err := s.KV().GetMany([][]byte{b.keys.count(countLogEntries), b.keys.count(countLogBytes)})
		if err != nil {
			return err
		}
		b.entries, b.logBytes = counter(counts[0]), counter(counts[1])
		b.types, err = b.keys.readTypes(s.KV())
		return err
	}
	if err := b.db.ViewAgain(ctx, read); err != nil || b.rec != nil {
		return err
	}
	// A function that is none fails the queries, and leaves no index behind.
	if b.x.opts.JS == nil {
		return compat.NewError(compat.KindNotImplemented, "This server runs no JavaScript.")
	}
	if err := b.x.opts.JS.CheckMap(ctx, b.db.Name(), b.def.source); err != nil {
		return err
	}
	err := b.db.Transact(ctx, func(tx *storage.Tx) error {
		sp := spaceOf(tx.Snapshot())
		if rec, _, err := readRecord(tx.KV(), sp, b.def.signature); err != nil || rec != nil {
			return err
		}
		value, err := tx.KV().Get(sp.key(keyNextNumber))
		if err != nil {
			return err
		}
		number := max(counter(value), 1)
		tx.KV().Set(sp.key(keyNextNumber), binary.LittleEndian.AppendUint64(nil, uint64(number+1)))
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
	docs  []source
	bytes int
	end   storage.Seq // of the index once it is committed
	purge storage.Seq // the last purge when it was read
	last  bool        // it ends where the build is to end, or the feed did
	ready chan error  // the documents are made
}

// source is one document on its way into the index.
type source struct {
	id     string
	seq    storage.Seq
	mapped bool   // it goes through the function
	text   []byte // for the function
	fields *fields
	record []byte // nil: it is not in the index
}

// pass brings the index to its target.
func (b *build) pass(ctx context.Context) error {
	kind := js.ClouseauIndex
	if b.def.Kind == index.Nouveau {
		kind = js.NouveauIndex
	}
	if b.x.opts.JS == nil {
		return compat.NewError(compat.KindNotImplemented, "This server runs no JavaScript.")
	}
	b.program = js.NewIndexProgram(b.db.Name(), kind, b.def.source)
	b.size = batchDocs
	if err := b.flushIfLarge(ctx); err != nil {
		return err
	}
	b.flight.task.done.Store(0)
	ctx, cancel := context.WithCancel(js.Background(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	queue := make(chan *batch, b.x.workers())
	var readError error
	running.Go(func() {
		defer close(queue)
		readError = b.readAhead(ctx, queue, &running)
	})
	for batch := range queue {
		select {
		case err := <-batch.ready:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := b.commit(ctx, batch); err != nil {
			return err
		}
		b.flight.task.done.Add(int64(len(batch.docs)))
		b.flight.task.updated.Store(time.Now().Unix())
		if err := b.flushIfLarge(ctx); err != nil {
			return err
		}
	}
	return readError
}

// readAhead reads batches and has them mapped.
func (b *build) readAhead(ctx context.Context, queue chan<- *batch, running *sync.WaitGroup) error {
	for since := b.rec.seq; ; {
		batch, err := b.read(ctx, since)
		if err != nil {
			return err
		}
		since = batch.end
		select {
		case queue <- batch:
		case <-ctx.Done():
			return ctx.Err()
		}
		running.Go(func() { batch.ready <- b.make(ctx, batch) })
		if batch.last {
			return nil
		}
		if err := b.stillWanted(ctx); err != nil {
			return err
		}
	}
}

// stillWanted ends a build that nobody waits for if the design document does not have the index any more.
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

// read reads the next changes after since, or those that come in the life of a snapshot.
func (b *build) read(ctx context.Context, since storage.Seq) (*batch, error) {
	for failures := 0; ; {
		read := &batch{ready: make(chan error, 1)}
		err := b.db.View(ctx, func(s *storage.Snapshot) error { return b.readFrom(s, read, since) })
		switch tooOld := errors.Is(err, kv.ErrTooOld); {
		case tooOld && len(read.docs) > 0:
			b.size = max(len(read.docs)/2, 1)
			read.end, read.last = read.docs[len(read.docs)-1].seq, false
			return read, nil
		case tooOld && failures < 10 && ctx.Err() == nil:
			b.size = max(b.size/2, 1)
			failures++
		default:
			return read, err
		}
	}
}

func (b *build) readFrom(s *storage.Snapshot, read *batch, since storage.Seq) (err error) {
	if read.purge, err = s.LastPurge(); err != nil {
		return err
	}
	o := storage.ChangesOptions{Since: since, Limit: int64(b.size), IncludeDocs: true}
	end, err := s.Changes(o, func(c *storage.Change) error {
		src := source{id: c.ID, seq: c.Seq.Seq}
		if src.mapped = !c.Deleted && b.def.wants(c.ID, b.partitioned); src.mapped {
			src.text = appendSource(nil, c.Doc)
			read.bytes += len(src.text)
		}
		read.docs = append(read.docs, src)
		if read.bytes > batchBytes {
			return storage.ErrStop
		}
		return nil
	})
	if err != nil {
		return err
	}
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

// appendSource appends a document as index functions get it: _id, _rev, the members, then attachments.
func appendSource(dst []byte, doc *storage.Document) []byte {
	view := compat.DocumentView{ID: doc.ID, Rev: doc.Rev, Body: doc.Body}
	for i := range doc.Attachments {
		view.Attachments = append(view.Attachments, compat.AttachmentView{Attachment: &doc.Attachments[i]})
	}
	return compat.AppendDocument(dst, &view)
}

// make has the documents of a batch mapped, and analyses what comes out.
func (b *build) make(ctx context.Context, batch *batch) error {
	var mapped []*source
	for i := range batch.docs {
		if batch.docs[i].mapped {
			mapped = append(mapped, &batch.docs[i])
		}
	}
	fatal := 0
	if err := b.run(ctx, mapped, &fatal); err != nil {
		return err
	}
	m := b.def.newMaker()
	for _, src := range mapped {
		src.text = nil
		if src.fields.failure != "" || len(src.fields.values) == 0 {
			continue
		}
		d := m.of.Document(src.id, src.fields.values)
		if len(d.Fields) > maxFields {
			src.fields.failure = fmt.Sprintf("the document has more than %d fields", maxFields)
			continue
		}
		if src.record = index.AppendRecord(nil, d); len(src.record) > maxRecord {
			src.fields.failure = "the document has too much text for the index"
		}
		src.fields.values = nil
	}
	return nil
}

// maxFatal is how many documents of a batch may end a worker or the whole call before the build gives up.
const maxFatal = 16

// run has documents mapped. What ends the whole call is the fault of one of them, which is found by halves: it is left
// out, and the others do not suffer.
func (b *build) run(ctx context.Context, docs []*source, fatal *int) error {
	if len(docs) == 0 {
		return nil
	}
	texts := make([][]byte, len(docs))
	for i, src := range docs {
		texts[i] = src.text
	}
	results, _, err := b.x.opts.JS.Map(ctx, b.program, texts)
	if err == nil {
		for i, src := range docs {
			partition := ""
			if b.partitioned {
				partition = partitionOf(src.id)
			}
			src.fields = b.def.fieldsOf(src.id, partition, &results[i][0])
		}
		return nil
	}
	e, ok := compat.AsError(err)
	if !ok || ctx.Err() != nil || e.Kind == compat.KindCompilationError || e.Kind == compat.KindServiceUnavailable {
		return err
	}
	if len(docs) == 1 {
		if *fatal++; *fatal > maxFatal {
			return err
		}
		docs[0].fields = &fields{failure: e.Reason, thrown: true}
		return nil
	}
	if err := b.run(ctx, docs[:len(docs)/2], fatal); err != nil {
		return err
	}
	return b.run(ctx, docs[len(docs)/2:], fatal)
}

func partitionOf(id string) string {
	before, _, _ := bytes.Cut([]byte(id), []byte{':'})
	return string(before)
}
