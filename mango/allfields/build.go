package allfields

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// jobType is the type of jobs that build the indexes of one database, which is the job's id. It is
// on disk.
const jobType = "fieldindex"

// DefaultBatch is the greatest number of documents that one transaction of a build takes.
const DefaultBatch = 200

// Bounds of one transaction of a build besides the documents: what is written, what is read, and
// how long that takes.
const (
	batchBytes = 1 << 20
	batchRead  = 4 << 20
	batchTime  = time.Second
)

// The build goes through the documents by id and notes how far it is. A document up to there is the
// writers' business, one after it the build's. A writer reads the note without a conflict, so that
// the build does not disturb the writers of other documents; instead the build declares that it has
// written keyBuilt of all ids it passes, and a writer that it reads that of its document. So if the
// build passes a document while a writer that has seen the old note is changing it, one of both
// runs again.
//
// If a transaction fails, because of other writers, its size or its age, the next one takes half as
// many documents. A single document that cannot be indexed becomes one of "the others" (invariant 6
// of the package).

func (x *Indexes) handleBuilds() error {
	return x.jobs.Handle(jobs.Type{Name: jobType, Workers: 1, Run: x.build, Pauses: true})
}

func (x *Indexes) queueBuild(tx *storage.Tx) error {
	err := x.jobs.ResumeTx(tx.KV(), jobType, tx.Name())
	if err == nil {
		_, err = x.jobs.AddTx(tx.KV(), jobs.Spec{Type: jobType, ID: tx.Name(), Again: true})
	}
	return err
}

// passed gives those of some documents that the build is past, of which the writer keeps the index.
func passed(tx *storage.Tx, number uint64, docs []changed) ([]changed, error) {
	sp := spaceOf(tx)
	for i := range docs {
		key := builtKey(sp, number, docs[i].id)
		// This is what meets the build: it writes a conflict range over all ids that it passes.
		tx.KV().AddReadConflictRange(key, kv.AppendKeyAfter(nil, key))
	}
	// No note: the build has not begun, and comes to all of the documents.
	stored, err := tx.KV().Snapshot().Get(sp.sub(number, keyReached))
	if stored == nil || err != nil {
		return nil, err
	}
	at, err := parseReached(stored)
	var behindBuild []changed
	for i := range docs {
		if docs[i].id <= at.id {
			behindBuild = append(behindBuild, docs[i])
		}
	}
	return behindBuild, err
}

func builtKey(sp space, number uint64, id string) []byte {
	return tuple.AppendString(sp.sub(number, keyBuilt), id)
}

// reached is how far a build is: the last id, and the number of documents up to it.
type reached struct {
	id   string
	docs int64
}

func (r reached) append(dst []byte) []byte {
	return tuple.AppendInt(tuple.AppendString(dst, r.id), r.docs)
}

// parseReached reads it; of nil it is the beginning.
func parseReached(stored []byte) (r reached, err error) {
	if stored == nil {
		return r, nil
	}
	var rest []byte
	if r.id, rest, err = tuple.ReadString(stored); err == nil {
		r.docs, _, err = tuple.ReadInt(rest)
	}
	if err != nil {
		return r, corrupt("progress of a build")
	}
	return r, nil
}

// build is a job's run: it completes all indexes of a database.
func (x *Indexes) build(ctx context.Context, run *jobs.Run) ([]byte, error) {
	if run.ID == sweepID {
		return x.sweep(ctx)
	}
	b := builder{x: x, db: x.store.DB(run.ID), run: run, size: x.batchSize()}
	err := b.all(kv.InBackground(ctx))
	if e, ok := compat.AsError(err); ok && e.Kind == compat.KindNoDatabase {
		return nil, jobs.ErrForget
	}
	if err != nil && ctx.Err() == nil {
		x.log.Error("index over all fields is not built", "database", run.ID, "failures", run.Failures+1, "error", err)
	}
	return nil, err
}

func (x *Indexes) batchSize() int {
	if x.batch != nil {
		if n := x.batch(); n > 0 {
			return n
		}
	}
	return DefaultBatch
}

// builder is a run of the job.
type builder struct {
	x    *Indexes
	db   *storage.DB
	run  *jobs.Run
	size int // documents that the next transaction takes at most
}

// batch is the result of one transaction of a build.
type batch struct {
	ready bool // there is nothing to build, any more
	at    reached
	index Definition
	size  int  // documents that it took at most
	runs  int  // of the transaction
	docs  int  // documents indexed
	ended bool // the index is complete
}

// all builds the indexes of a database, one transaction after the other. The number of documents
// of a transaction is found by trying: it doubles while a transaction needs a single run, and
// halves where one is too large or takes too long. A document that fails alone is set aside, which
// costs its entries and not the index. Other errors end the build, which the job can go on with
// from the last commit.
func (b *builder) all(ctx context.Context) error {
	info, err := b.db.Info(ctx)
	if err != nil {
		return err
	}
	for {
		did, err := b.step(ctx)
		switch {
		case err == nil && did.ready:
			return nil
		case err == nil:
			b.run.Progress(progress(b.run.ID, did.index.DesignDoc, did.at.docs, info.DocCount))
			if b.size = did.size; did.runs == 1 {
				b.size = min(2*did.size, b.x.batchSize())
			}
		// A single document that fails for a reason of its size goes on below; everything else ends
		// the run.
		case !spoiled(err), did.size == 0 && b.size == 1:
			return err
		case did.size != 1:
			b.size = max(1, max(did.size, b.size)/2)
		default:
			if err := b.setAside(ctx, err); err != nil {
				return err
			}
		}
	}
}

// spoiled reports whether an error may not occur in a smaller transaction.
func spoiled(err error) bool {
	for _, e := range []error{kv.ErrTooLarge, kv.ErrTooOld, kv.ErrKeyTooLarge, kv.ErrValueTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// progress is the task as _active_tasks shows it.
func progress(db, design string, done, total int64) []byte {
	total = max(total, done, 1)
	b := append([]byte(`{"type":"indexer","database":`), ejson.AppendString(nil, db)...)
	b = append(append(b, `,"design_document":`...), ejson.AppendString(nil, design)...)
	return fmt.Appendf(b, `,"changes_done":%d,"total_changes":%d,"progress":%d}`, done, total, 100*done/total)
}

// step indexes some documents for the first index that is not ready.
func (b *builder) step(ctx context.Context) (did batch, err error) {
	runs := 0
	err = b.transact(ctx, &did, func(tx *storage.Tx, ix *registered, at reached) error {
		// Each run after a conflict takes half as many.
		did.size = max(1, b.size>>runs)
		runs++
		did.runs = runs
		return b.indexSome(tx, ix, at, &did)
	})
	return did, err
}

// transact calls fn with the first index that is not ready, if there is one, and writes how far fn
// got as did has it.
func (b *builder) transact(
	ctx context.Context,
	did *batch,
	fn func(tx *storage.Tx, ix *registered, at reached) error,
) error {
	return b.db.Transact(ctx, func(tx *storage.Tx) error {
		*did = batch{ready: true}
		// The lease of the job is a part of the transaction: a run that was taken over writes
		// nothing more.
		if err := b.run.Check(tx.KV()); err != nil {
			return err
		}
		sp := spaceOf(tx)
		reg, err := b.x.registryIn(tx.Snapshot())
		if err != nil {
			return err
		}
		n := slices.IndexFunc(reg.indexes, func(r registered) bool { return !r.ready && r.current() })
		if n < 0 {
			return nil
		}
		ix := &reg.indexes[n]
		stored, err := tx.KV().Get(sp.sub(ix.number, keyReached))
		if err != nil {
			return err
		}
		before, err := parseReached(stored)
		if err != nil {
			return err
		}
		*did = batch{at: before, index: ix.Definition}
		if err := fn(tx, ix, before); err != nil {
			return err
		}
		if did.docs > 0 {
			// From the last id before to the last one now: a writer in between has read one of
			// these keys, and one of both runs again.
			begin, end := builtKey(sp, ix.number, before.id), builtKey(sp, ix.number, did.at.id)
			tx.KV().AddWriteConflictRange(begin, kv.AppendKeyAfter(nil, end))
		}
		if !did.ended {
			tx.KV().Set(sp.sub(ix.number, keyReached), did.at.append(nil))
			return nil
		}
		// The registry that was read is shared by all transactions of the process; a changed copy
		// is written.
		ready := &registry{next: reg.next, indexes: slices.Clone(reg.indexes)}
		ready.indexes[n].ready = true
		tx.KV().Set(sp.registry(), ready.append(nil))
		tx.KV().Clear(sp.sub(ix.number, keyReached))
		return nil
	})
}

// after is the range of the documents that the build has not reached.
func (r reached) after(limit int) storage.RangeOptions {
	o := storage.RangeOptions{Limit: int64(limit)}
	if r.id != "" {
		o.Start = storage.Bound{ID: r.id, Set: true, Exclusive: true}
	}
	return o
}

// indexSome writes the entries of the next documents, up to the bounds of a batch.
func (b *builder) indexSome(tx *storage.Tx, ix *registered, at reached, did *batch) error {
	c := b.x.work.Get().(*change)
	defer b.x.work.Put(c)
	w := writer{c: c, tx: tx, ix: ix, most: b.x.most(1), alone: did.size == 1, limit: b.x.transaction}
	o := at.after(did.size)
	o.IncludeDocs = true
	began, read := time.Now(), 0
	// The index is complete if the list ends before a bound does.
	did.ended = true
	err := tx.Snapshot().AllDocs(o, func(r *storage.ListRow) error {
		did.docs++
		did.at = reached{r.ID, at.docs + int64(did.docs)}
		if !strings.HasPrefix(r.ID, designPrefix) {
			if err := w.write(&changed{id: r.ID, after: r.Doc}, false); err != nil {
				return err
			}
		}
		read += len(r.Doc.Body)
		if did.docs == did.size || tx.KV().Size() >= batchBytes || read >= batchRead || time.Since(began) >= batchTime {
			did.ended = false
			return storage.ErrStop
		}
		return nil
	})
	if errors.Is(err, storage.ErrStop) {
		return nil
	}
	return err
}

// setAside makes the next document one of the others, without reading it.
func (b *builder) setAside(ctx context.Context, cause error) error {
	var did batch
	err := b.transact(ctx, &did, func(tx *storage.Tx, ix *registered, at reached) error {
		c := b.x.work.Get().(*change)
		defer b.x.work.Put(c)
		w := writer{c: c, tx: tx, ix: ix}
		did.ended = true
		return tx.Snapshot().AllDocs(at.after(1), func(r *storage.ListRow) error {
			did.docs, did.at, did.ended = 1, reached{r.ID, at.docs + 1}, false
			if !strings.HasPrefix(r.ID, designPrefix) {
				w.diff(r.ID, nil, c.after.other())
			}
			return nil
		})
	})
	if err == nil && did.docs > 0 {
		b.x.log.Warn("document is not in an index over all fields; every query looks at it", "database", b.run.ID,
			"design", did.index.DesignDoc, "index", did.index.Name, "id", did.at.id, "error", cause)
	}
	return err
}
