package search

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// A document that was left out because there was too little memory for it is tried again by a
// process that has more, once for each size: how much there was is noted before the work begins, so
// that a process that does not survive it does not begin it again. A document that is too large for
// the index itself is not tried again.

// lack is how many bytes of which memory were too few for a document; the zero lack says that it
// was not memory.
//
// It is stored at keyLack: one byte for which memory, then the number of bytes as a varint.
type lack struct {
	of    byte
	bytes int64
}

// Which memory: what a document may take in this process, and in a worker of JavaScript.
const (
	lackTerms  byte = 1
	lackWorker byte = 2
)

// memory is how much of a kind of memory there is in this process.
func (x *Indexes) memory(of byte) int64 {
	if of == lackWorker {
		return x.opts.WorkerMemory
	}
	return int64(x.opts.documentMemory())
}

// ended are the fields of a document with which a function ended its worker.
func (x *Indexes) ended(reason string) *fields {
	f := &fields{failure: reason, thrown: true}
	if strings.Contains(reason, js.OutOfMemory) {
		f.lack = lack{lackWorker, x.memory(lackWorker)}
	}
	return f
}

func (l lack) encode() []byte { return binary.AppendUvarint([]byte{l.of}, uint64(l.bytes)) }

// parseLack reads a value of keyLack.
func parseLack(b []byte) (l lack, err error) {
	d := reader{packed.Reader{B: b}}
	l = lack{d.Byte(), d.int()}
	if !d.Done() || l.of != lackTerms && l.of != lackWorker {
		return lack{}, corrupt("memory that a document lacks")
	}
	return l, nil
}

// keptTried is how many indexes are remembered whose documents were tried again.
const keptTried = 10_000

// tryAgain tries documents again that lacked memory where this process has more: when it needs the
// index first, which is built otherwise.
func (b *build) tryAgain(ctx context.Context) error {
	// Once in the life of a process is enough, because its memory does not change.
	key := flightKey{b.uuid, b.def.signature}
	if _, tried := b.x.tried.Get(key); tried {
		return nil
	}
	b.x.tried.Add(key, struct{}{})
	for after := ""; ; {
		id, before, err := b.lacking(ctx, after)
		if err != nil || id == "" {
			return err
		}
		after = id
		noted, err := b.note(ctx, id, lack{before.of, b.x.memory(before.of)})
		if err != nil {
			return err
		}
		if !noted {
			continue // it has changed
		}
		if err = b.again(ctx, id); err == nil {
			continue
		}
		// This was not the document. The next process tries it.
		// The note is taken back even where the caller's context has ended: with it the document
		// would not be tried again by anybody.
		_, undone := b.note(context.WithoutCancel(ctx), id, before)
		b.x.opts.Log.Warn("a document was not tried again", "database", b.db.Name(), "design", b.def.DesignDoc,
			"index", b.def.Name, "document", id, "error", errors.Join(err, undone))
		if ctx.Err() != nil || errors.Is(err, errMoved) {
			return ctx.Err()
		}
	}
}

// lacking finds the next document, after an id, that had less memory than there is now; "" if there
// is none.
func (b *build) lacking(ctx context.Context, after string) (id string, l lack, err error) {
	prefix := b.keys.key(keyLack)
	err = b.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		begin, end := children(prefix)
		if after != "" {
			begin = kv.AppendKeyAfter(nil, b.keys.lack(after))
		}
		it := s.KV().Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			if l, err = parseLack(it.Value()); err != nil {
				return err
			}
			if id, _, err = tuple.ReadString(it.Key()[len(prefix):]); err != nil {
				return corrupt("key of a document that lacks memory")
			}
			if l.bytes < b.x.memory(l.of) {
				return nil
			}
		}
		id = ""
		return it.Err()
	})
	return id, l, err
}

// note notes that a document is tried with so much memory; false if it does not lack any now.
func (b *build) note(ctx context.Context, id string, l lack) (noted bool, err error) {
	err = b.db.Transact(ctx, func(tx *storage.Tx) error {
		value, err := tx.KV().Get(b.keys.lack(id))
		if noted = value != nil; noted && err == nil {
			tx.KV().Set(b.keys.lack(id), l.encode())
		}
		return err
	})
	return noted, err
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
	// The batch ends where the index is already, so that its commit does not move the sequence.
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
	// A document that has changed since the sequence of the index is not read here: what the index
	// shows would be newer than its sequence says.
	if built, err := s.Number(b.rec.seq); err != nil || !b.rec.ready && doc.LocalSeq > built {
		return err
	}
	src := source{id: id, rev: doc.Rev, mapped: b.def.wants(id, b.partitioned), text: appendSource(nil, doc)}
	batch.docs, batch.bytes = []source{src}, len(src.text)
	return nil
}
