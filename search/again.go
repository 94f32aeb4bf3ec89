package search

import (
	"context"
	"errors"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/again"
	"github.com/settee-db/settee/storage/docread"
)

// Documents that were left out because there was too little memory for them are tried again where
// there is more (package again). One that is too large for the index itself is not.

// memory is how much of a kind of memory there is in this process.
func (x *Indexes) memory(of byte) int64 {
	switch of {
	case again.Terms:
		return int64(x.opts.documentMemory())
	case again.Worker:
		return x.opts.WorkerMemory
	}
	return 0
}

// ended are the fields of a document with which a function ended its worker.
func (x *Indexes) ended(reason string) *fields {
	f := &fields{failure: reason, thrown: true}
	if strings.Contains(reason, js.OutOfMemory) {
		f.lack = again.Lack{Of: again.Worker, Bytes: x.memory(again.Worker)}
	}
	return f
}

// keptTried is how many indexes are remembered whose documents were tried again.
const keptTried = 10_000

// tryAgain tries documents again that lacked memory where this process has more: when it needs the
// index first, which is built otherwise.
func (b *build) tryAgain(ctx context.Context) error {
	key := flightKey{b.uuid, b.def.signature}
	if _, tried := b.x.tried.Get(key); tried {
		return nil
	}
	lacking := again.Documents{
		DB: b.db, Notes: b.keys.key(keyLack), Memory: b.x.memory, Index: b.again, Moved: errMoved,
		Log: b.x.opts.Log.With("database", b.db.Name(), "design", b.def.DesignDoc, "index", b.def.Name),
	}
	err := lacking.Try(ctx)
	if err == nil {
		b.x.tried.Add(key, struct{}{})
	}
	return err
}

// again indexes a document anew. One that has changed since the index was built is left to the
// build that comes.
func (b *build) again(ctx context.Context, id string) error {
	if err := b.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(js.Background(ctx))
	defer cancel()
	share, err := b.claim(ctx)
	if err != nil {
		return err
	}
	defer share.giveBack()
	batch := &batch{made: make(chan *batch), share: share, end: b.rec.seq}
	if err := b.db.ViewAgain(ctx, func(s *storage.Snapshot) error { return b.readAgain(s, batch, id) }); err != nil {
		return err
	}
	if !share.fits(batch.bytes, batch.bytes) {
		if err := share.enlarge(ctx, batch.bytes, batch.bytes); err != nil {
			return err
		}
	}
	made := make(chan struct{})
	defer func() { cancel(); <-made }()
	go func() {
		defer close(made)
		defer close(batch.made)
		batch.err = b.make(ctx, batch)
	}()
	for piece := range batch.made {
		if err := b.commit(ctx, piece); err != nil {
			return err
		}
	}
	return batch.err
}

// readAgain reads the document into a batch, unless it has changed.
func (b *build) readAgain(s *storage.Snapshot, batch *batch, id string) (err error) {
	batch.docs, batch.bytes = nil, 0
	if batch.purge, err = s.LastPurge(); err != nil {
		return err
	}
	doc, err := s.Open(id, docread.OpenOptions{LocalSeq: true})
	if errors.Is(err, compat.KindNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if built, err := s.Number(b.rec.seq); err != nil || !b.rec.ready && doc.LocalSeq > built {
		return err
	}
	src := source{id: id, rev: doc.Rev, mapped: b.def.wants(id, b.partitioned), text: appendSource(nil, doc)}
	batch.docs, batch.bytes = []source{src}, len(src.text)
	return nil
}
