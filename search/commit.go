package search

import (
	"bytes"
	"context"
	"errors"
	"maps"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// errCrowded ends a transaction that conflicts with others again and again.
var errCrowded = errors.New("search: too many conflicts")

// commitRuns is how often the transaction of several documents is run before fewer are tried.
const commitRuns = 3

// commit writes a batch in one transaction, or in several if it is too large for one or for the
// memory that the log may take, and flushes the log as soon as it is large.
func (b *build) commit(ctx context.Context, batch *batch) error {
	most := len(batch.docs)
	for from, done := 0, false; !done; {
		to := b.partOf(batch, from, most)
		seq, last := batch.end, to == len(batch.docs)
		if !last {
			seq = batch.docs[to-1].seq
		}
		err := b.tryPart(ctx, batch, from, to, seq)
		tooMuch := errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrTooOld) || errors.Is(err, errCrowded)
		switch size := to - from; {
		case err == nil:
			for i := range batch.docs[from:to] {
				b.logMemory += batch.docs[from+i].memory
			}
			if err := b.flushIfLarge(ctx); err != nil {
				return err
			}
			from, done = to, last
		case tooMuch && size > 1:
			most = size / 2
		// A single document that no transaction takes is listed as an error, and the index goes on.
		case errors.Is(err, kv.ErrTooLarge) && size == 1 && batch.docs[from].record != nil:
			batch.docs[from].record, batch.docs[from].memory = nil, 0
			batch.docs[from].fields = &fields{failure: tooMuchText}
		default:
			return err
		}
	}
	return nil
}

// partOf chooses what a transaction takes of a batch.
func (b *build) partOf(batch *batch, from, most int) (to int) {
	budget, memory := b.x.opts.transactionBudget(), b.x.logMemory()-b.logMemory
	for to = from; to < len(batch.docs); to++ {
		// About what the log, the entry by id and their keys take.
		budget -= len(batch.docs[to].record) + 2*len(batch.docs[to].id) + 500
		memory -= batch.docs[to].memory
		if to > from && (budget < 0 || memory < 0 || to-from >= most) {
			return to
		}
	}
	return to
}

// tryPart tries once to write some documents in a transaction. The error is errMoved if the index
// is not as the build knows it, because somebody else has gone on with it.
func (b *build) tryPart(ctx context.Context, batch *batch, from, to int, seq storage.Seq) error {
	var w *writer
	var rec *record
	var stored []byte
	runs := 0
	err := b.db.Transact(ctx, func(tx *storage.Tx) error {
		if runs++; runs > commitRuns && to-from > 1 {
			return errCrowded
		}
		if err := b.unmoved(tx); err != nil {
			return err
		}
		docs, err := b.current(tx, batch.docs[from:to], batch.purge)
		if err != nil {
			return err
		}
		// A copy: a run that is not committed must not leave types behind.
		w = &writer{tx: tx, keys: b.keys, types: maps.Clone(b.types)}
		if err := w.write(docs); err != nil {
			return err
		}
		ready := b.interactive() && batch.last && to == len(batch.docs)
		rec, stored = b.move(tx, w.fresh, seq, ready)
		return nil
	})
	if err == nil {
		b.moved(rec, stored, w, w.types)
	}
	return err
}

// unmoved is the fence of a build: it gives errMoved if the record of the index is not the one that
// the build has read or written last.
func (b *build) unmoved(tx *storage.Tx) error {
	current, err := tx.KV().Get(b.recordKey)
	if err == nil && !bytes.Equal(current, b.stored) {
		err = errMoved
	}
	return err
}

// move writes the record of an index that has some more fields and is built to a sequence.
func (b *build) move(tx *storage.Tx, fields int64, seq storage.Seq, ready bool) (*record, []byte) {
	rec := *b.rec
	rec.fields += fields
	if rec.seq.Before(seq) {
		rec.seq = seq
	}
	rec.ready = rec.ready || ready
	stored := rec.encode()
	tx.KV().Set(b.recordKey, stored)
	return &rec, stored
}

// moved takes over what a transaction has committed.
func (b *build) moved(rec *record, stored []byte, w *writer, types map[string]fieldType) {
	b.rec, b.stored, b.types = rec, stored, types
	b.entries, b.logBytes = b.entries+w.counts[countLogEntries], b.logBytes+w.counts[countLogBytes]
}

// current leaves out documents that were purged after they were read (before is the last purge
// then): the purge has taken them out of the index, and they must not come back. In an interactive
// index it also leaves out those that writers have changed since, which have put them into the
// index themselves.
func (b *build) current(tx *storage.Tx, docs []source, before storage.Seq) ([]source, error) {
	purge, err := tx.Snapshot().LastPurge()
	// Without a purge since the read, and without writers of their own, all documents are as they
	// were read, or a later change of theirs comes in a later batch.
	if err != nil || purge == before && !b.interactive() || len(docs) == 0 {
		return docs, err
	}
	seqs := make([]storage.Seq, len(docs))
	for i := range docs {
		seqs[i] = docs[i].seq
	}
	there, err := tx.Snapshot().InFeed(seqs)
	if err != nil {
		return nil, err
	}
	var current []source
	for i := range docs {
		same := there[i]
		if !same && b.interactive() && docs[i].mapped { // writers do not see to it if its winner is what it was
			rev, err := tx.Snapshot().WinnerRev(docs[i].id)
			if err != nil {
				return nil, err
			}
			same = rev == docs[i].rev
		}
		if same {
			current = append(current, docs[i])
		}
	}
	return current, nil
}

// writer writes documents into an index in a transaction.
type writer struct {
	tx     *storage.Tx
	keys   *keys
	types  map[string]fieldType
	fresh  int64 // fields that got a type
	counts [counters]int64
}

// write puts what is to be known of documents into the log. A document that is in the index already
// is taken out by the same entry.
func (w *writer) write(docs []source) error {
	all := make([][]byte, len(docs))
	for i := range docs {
		all[i] = w.keys.document(docs[i].id)
	}
	values, err := w.tx.KV().GetMany(all)
	if err != nil {
		return err
	}
	for i := range docs {
		if err := w.document(&docs[i], all[i], values[i]); err != nil {
			return err
		}
	}
	w.count()
	return nil
}

// count adds what was written to the counters.
func (w *writer) count() {
	for n, by := range w.counts {
		keyspace.AddCounter(w.tx.KV(), w.keys.count(int64(n)), by)
	}
}

// document writes the changes for one document, in the transaction that moves the sequence of the
// index: an entry of the log, which also kills what the document had in the index before (old); its
// entry by id; its error; and the counters. value is the entry by id so far: nil if the document is
// not in the index, without an identity if it could not be indexed. A source that has an identity
// already was written into a segment by a direct build: it has no record, so that the log gets at
// most the entry that kills its predecessor.
func (w *writer) document(src *source, key, value []byte) error {
	old, err := identityIn(value)
	if err != nil {
		return err
	}
	record, failure := src.record, ""
	if src.fields != nil {
		if failure = src.fields.failure; failure == "" {
			failure = w.addTypes(src.fields)
		}
	}
	if failure != "" {
		record = nil
	}
	tx := w.tx.KV()
	// It had an error before and has none now.
	if value != nil && old == "" && failure == "" {
		tx.Clear(w.keys.error(src.id))
		w.counts[countErrors]--
	}
	if value != nil && old == "" {
		tx.Clear(w.keys.lack(src.id))
	}
	if failure != "" {
		if value == nil || old != "" {
			w.counts[countErrors]++
		}
		tx.Set(w.keys.error(src.id), errorValue(src.fields.thrown, failure))
		if src.fields.lack.Of != 0 {
			tx.Set(w.keys.lack(src.id), src.fields.lack.Encode())
		}
	}
	var at []byte
	if old != "" || record != nil {
		at = identityOf(w.tx.Snapshot(), w.tx.NextOrder())
		w.counts[countLogEntries]++
		w.counts[countLogBytes] += int64(w.keys.writeLog(tx, at, &logEntry{kill: old, doc: record}))
	}
	if old != "" {
		w.counts[countDocs]--
	}
	// The entry by id is what the next change of the document finds: where it is in the index, or
	// that it failed.
	switch {
	case src.identity != "":
		w.counts[countDocs]++
		tx.Set(key, append([]byte{documentIndexed}, src.identity...))
	case record != nil:
		w.counts[countDocs]++
		// The identity is the place of this commit, which is known only to the engine; it fills it
		// in behind the first byte and the incarnation.
		tx.SetVersionstampedValue(key, append([]byte{documentIndexed}, at...), 2)
	case failure != "":
		tx.Set(key, []byte{documentFailed})
	case value != nil:
		tx.Clear(key)
	}
	return nil
}

// maxTypes is how many fields an index of Nouveau's kind may have.
const maxTypes = 10_000

// addTypes gives types to fields that had none, or says why the document does not fit.
func (w *writer) addTypes(f *fields) (failure string) {
	checked := *f
	fresh := checked.checkTypes(w.types)
	if len(w.types)+len(fresh) > maxTypes {
		return tooManyTypes(len(w.types))
	}
	for _, t := range fresh {
		w.types[t.name] = t.of
		w.fresh++
		w.tx.KV().Set(w.keys.field(t.name), []byte{byte(t.of)})
	}
	return checked.failure
}

// errorValue is the message of a document that could not be indexed; the first byte says that its
// function threw it.
func errorValue(thrown bool, message string) []byte {
	b := make([]byte, 1, 1+len(message))
	if thrown {
		b[0] = 1
	}
	return append(b, message[:min(len(message), maxMessage)]...)
}

// maxMessage is how many bytes of a message are kept.
const maxMessage = 4096

// Purged implements storage.PurgeIndexer: it takes documents that are gone out of all indexes.
func (x *Indexes) Purged(_ context.Context, tx *storage.Tx, ids []string) error {
	sp := spaceOf(tx.Snapshot())
	numbers, err := readNumbers(tx.KV(), sp)
	if err != nil {
		return err
	}
	for _, number := range numbers {
		docs := make([]source, len(ids))
		for i, id := range ids {
			docs[i].id = id
		}
		w := &writer{tx: tx, keys: sp.keysOf(number)}
		if err := w.write(docs); err != nil {
			return err
		}
	}
	return nil
}

// readNumbers reads the numbers of all indexes of a database.
func readNumbers(r kv.ReadTx, sp space) (map[signature]int64, error) {
	prefix := sp.key(keyRecord)
	begin, end := children(prefix)
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	numbers := map[signature]int64{}
	for it.Next() {
		of, err := readSignature(it.Key()[len(prefix):])
		if err != nil {
			return nil, err
		}
		rec, err := parseRecord(it.Value())
		if err != nil {
			return nil, err
		}
		numbers[of] = rec.number
	}
	return numbers, it.Err()
}
