package search

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage/again"
)

// Documents of a batch are made as their rows come, and handed over in pieces: what functions give
// back has a bound for a crossing (js.MapEach), and what was made of it one for a piece.

// making is a batch whose documents are made.
type making struct {
	b     *build
	batch *batch
	m     *maker
	part  *segment.Batch // nil: the documents' records are made
	// The document of the batch that comes next: those before it are made, or were not mapped.
	next int
	from int // the first one of the piece
	// Bytes of memory that the piece takes so far.
	held int
}

// make has the documents of a batch mapped, analyses what comes out, and hands it over.
func (b *build) make(ctx context.Context, batch *batch) error {
	var mapped []*source
	for i := range batch.docs {
		if batch.docs[i].mapped {
			mapped = append(mapped, &batch.docs[i])
		}
	}
	m, _ := b.makers.Get().(*maker)
	if m == nil {
		m = b.x.newMaker(b.def)
	}
	defer b.makers.Put(m)
	k := &making{b: b, batch: batch, m: m}
	var err error
	if b.def.native != nil {
		err = k.native(ctx, mapped)
	} else {
		err = k.runKnown(ctx, mapped)
	}
	if err != nil {
		return err
	}
	return k.hand(ctx, len(batch.docs))
}

// take takes a document whose fields are there.
func (k *making) take(ctx context.Context, src *source) error {
	src.text = nil
	if src.fields.failure == "" && len(src.fields.values) > 0 {
		if !k.batch.direct {
			k.m.record(src)
			k.held += src.memory
		} else {
			if k.part == nil {
				k.part = segment.NewBatch(k.b.def.Kind, k.m.of.Analyze)
			}
			before := k.part.Bytes()
			k.m.invert(k.part, src)
			k.held += k.part.Bytes() - before
		}
		src.fields.values = nil
	}
	// Documents that are deleted, or not wanted, are passed over: they belong to the piece all the
	// same.
	for &k.batch.docs[k.next] != src {
		k.next++
	}
	if k.next++; k.held < k.b.x.logMemory() || k.next == len(k.batch.docs) {
		return nil
	}
	return k.hand(ctx, k.next)
}

// hand hands over what was made, the documents up to a place in the batch. The batch lets go of
// them: with the records of all that was handed over it would take many times as much as a piece.
func (k *making) hand(ctx context.Context, to int) error {
	piece := *k.batch
	piece.docs, piece.part = slices.Clone(k.batch.docs[k.from:to]), k.part
	if to < len(k.batch.docs) {
		piece.end, piece.last = k.batch.docs[to-1].seq, false
	}
	clear(k.batch.docs[k.from:to])
	k.from, k.part, k.held = to, nil, 0
	select {
	case k.batch.made <- &piece:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// record makes the record of a document, for the log.
func (m *maker) record(src *source) {
	d := m.of.Document(src.id, src.fields.values)
	fields, short := m.of.Fits()
	switch {
	case !fields:
		src.fields.failure = tooManyFields
	case !short:
		src.fields.failure = tooMuchText
	case !m.of.Whole():
		src.fields.failure, src.fields.lack = tooManyTerms, again.Lack{Of: again.Terms, Bytes: int64(m.of.Most)}
	}
	if src.fields.failure != "" {
		return
	}
	if src.record = segment.AppendRecord(nil, d); len(src.record) > m.most {
		src.record, src.fields.failure = nil, tooMuchText
		return
	}
	src.memory = d.Memory()
}

// invert adds a document to a batch. Whether it fits an index does not depend on how it comes
// there.
func (m *maker) invert(part *segment.Batch, src *source) {
	size := 0
	for i := range src.fields.values {
		size += len(src.fields.values[i].Text)
	}
	// A record has more bytes than texts where words are short and each counts by itself; terms
	// have more memory.
	// A text this long may not fit as a record; it is made once to see, although the segment does
	// not need it.
	if size > m.most/16 || m.of.Most > 0 && size > m.of.Most/mostOfText {
		if m.record(src); src.fields.failure != "" {
			return
		}
		src.record = nil
	}
	number, fields := part.Add(src.id, src.fields.values)
	if fields > maxFields {
		part.Remove(number)
		src.fields.failure = tooManyFields
		return
	}
	src.part, src.number = part, number
}

// Why documents do not fit.
var (
	tooManyFields = fmt.Sprintf("the document has more than %d fields", maxFields)
	tooMuchText   = "the document has too much text for the index"
	tooManyTerms  = "the document has more different terms than fit the memory of the server; it is tried again when " +
		"there is more"
)

const (
	// ownMemory is roughly the memory of a server that indexes nothing, and leastDocument is what a
	// document may take in any case. On a server of 512 MB no document that has a record
	// (maxRecord) takes as much as the rest.
	ownMemory, leastDocument = 40 << 20, 16 << 20
	// mostOfText is how many times as much as a text its terms take in memory at most: words of a
	// byte, and a space.
	mostOfText = 90
)

// newMaker makes a maker of documents that go into an index.
func (x *Indexes) newMaker(def *Definition) *maker {
	m := def.newMaker()
	m.of.Most = x.opts.documentMemory()
	return m
}

// documentMemory is about how many bytes of memory the terms and values of a document may take
// while it is indexed.
func (o *Options) documentMemory() int { return int(max(o.Memory-ownMemory, leastDocument)) }

const (
	// maxFatal is how many documents of a batch may fail the whole call before the build gives up.
	maxFatal = 16
	// keptKilled is how many documents are remembered whose function ended its worker process.
	keptKilled = 10_000
)

// killedKey is a document for which the worker of the function had to be ended.
type killedKey struct {
	signature signature
	id        string
	rev       compat.Rev
}

// runKnown is run for documents of which some may be known to end workers.
func (k *making) runKnown(ctx context.Context, docs []*source) error {
	b := k.b
	fatal := 0
	// A slice without room, so that appending does not write into docs.
	left := docs[:0:0]
	for _, src := range docs {
		if reason, killed := b.x.killed.Get(killedKey{b.def.signature, src.id, src.rev}); killed {
			src.fields = b.x.ended(reason)
		} else {
			left = append(left, src)
		}
	}
	return k.run(ctx, left, &fatal)
}

// run has documents mapped. A document that ends a worker process, or lets the whole call fail,
// must not keep others out of the index: js.MapEach finds those of the first kind, and run itself
// those of the second by halving the list. Both are left out with an error. After maxFatal of them
// the build gives up, and the next one begins with what is known of them.
func (k *making) run(ctx context.Context, docs []*source, fatal *int) error {
	if len(docs) == 0 {
		return nil
	}
	texts := make([][]byte, len(docs))
	for i, src := range docs {
		texts[i] = src.text
	}
	next := docs
	done, err := js.MapEach(ctx, k.b.x.opts.JS, k.b.program, texts, func(results []js.DocResult) error {
		for i := range results {
			if err := k.mapped(ctx, next[i], &results[i][0]); err != nil {
				return err
			}
		}
		next = next[len(results):]
		return nil
	})
	left := docs[done:]
	e, ok := compat.AsError(err)
	switch {
	case len(left) == 0:
		return ctx.Err()
	// None of these is the document's fault: the build fails and is tried later.
	case !ok || ctx.Err() != nil || js.Killed(err) || e.Kind == compat.KindCompilationError ||
		e.Kind == compat.KindServiceUnavailable:
		return err
	case len(left) > 1:
		if err := k.run(ctx, left[:len(left)/2], fatal); err != nil {
			return err
		}
		return k.run(ctx, left[len(left)/2:], fatal)
	}
	if *fatal++; *fatal > maxFatal {
		return err
	}
	left[0].fields = &fields{failure: e.Reason, thrown: true}
	return k.take(ctx, left[0])
}

// mapped takes the result of a function for a document.
func (k *making) mapped(ctx context.Context, src *source, result *js.MapResult) error {
	partition := ""
	if k.b.partitioned {
		partition = partitionOf(src.id)
	}
	src.fields = k.b.def.fieldsOf(src.id, partition, result)
	if result.Killed {
		src.fields = k.b.x.ended(result.Err)
		k.b.x.killed.Add(killedKey{k.b.def.signature, src.id, src.rev}, src.fields.failure)
	}
	return k.take(ctx, src)
}

func partitionOf(id string) string {
	before, _, _ := bytes.Cut([]byte(id), []byte{':'})
	return string(before)
}
