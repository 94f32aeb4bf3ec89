package fieldindex

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// jobType is the type of jobs that build the indexes of one database, which is the job's id.
const jobType = "fieldindex"

// Bounds of one transaction of a build.
const (
	batchDocs  = 200
	batchBytes = 1 << 20
)

// The build goes through the documents by id and keeps its place. A document up to the place is the writers' business, one behind
// it the build's. A writer reads the place without a conflict, so that the build does not disturb the writers of other
// documents; instead the build declares that it has written keyBuilt of all ids it passes, and a writer that it reads that of
// its document. So if the build passes a document while a writer that has seen the old place is changing it, one of both runs
// again.

func (x *Indexes) handleBuilds() error {
	return x.jobs.Handle(jobs.Type{Name: jobType, Workers: 1, Run: x.build})
}

func (x *Indexes) queueBuild(tx *storage.Tx) error {
	_, err := x.jobs.AddTx(tx.KV(), jobs.Spec{Type: jobType, ID: tx.Name(), Again: true})
	return err
}

// passed tells whether the build is past a document, in which case the writer keeps the index.
func passed(tx *storage.Tx, number uint64, id string) (bool, error) {
	p := placeOf(tx)
	key := builtKey(p, number, id)
	tx.KV().AddReadConflictRange(key, kv.AppendKeyAfter(nil, key))
	reached, err := tx.KV().Snapshot().Get(p.sub(number, keyPlace))
	return reached != nil && id <= string(reached), err
}

func builtKey(p place, number uint64, id string) []byte {
	return kv.AppendString(p.sub(number, keyBuilt), id)
}

// build is a job's run: it completes all indexes of a database.
func (x *Indexes) build(ctx context.Context, run *jobs.Run) ([]byte, error) {
	db := x.store.DB(run.ID)
	info, err := db.Info(ctx)
	for done := int64(0); err == nil; {
		var docs int
		if docs, err = x.buildBatch(ctx, db, run); docs < 0 {
			return nil, err
		}
		done = min(done+int64(docs), info.DocCount)
		run.Progress(progress(run.ID, done, info.DocCount))
	}
	if e, ok := compat.AsError(err); ok && e.Kind == compat.KindNoDatabase {
		return nil, jobs.ErrForget
	}
	return nil, err
}

// progress is the task as _active_tasks shows it.
func progress(db string, done, total int64) []byte {
	b := append([]byte(`{"type":"indexer","database":`), ejson.AppendString(nil, db)...)
	return fmt.Appendf(b, `,"design_document":null,"changes_done":%d,"total_changes":%d,"progress":%d}`, done, total, 100*done/max(total, 1))
}

// buildBatch indexes some documents for the first index that is not ready. It gives their number, -1 if all are ready.
func (x *Indexes) buildBatch(ctx context.Context, db *storage.DB, run *jobs.Run) (docs int, err error) {
	err = db.Transact(ctx, func(tx *storage.Tx) error {
		docs = 0
		if err := run.Check(tx.KV()); err != nil {
			return err
		}
		p := placeOf(tx)
		stored, err := tx.KV().Get(p.registry())
		if err != nil {
			return err
		}
		reg, err := x.registry(stored)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(reg.indexes, func(r registered) bool { return !r.ready && r.current() })
		if at < 0 {
			docs = -1
			return nil
		}
		var last string
		if docs, last, err = x.indexSome(tx, &reg.indexes[at]); err != nil {
			return err
		}
		if docs < batchDocs && tx.KV().Size() < batchBytes {
			ready := &registry{next: reg.next, indexes: slices.Clone(reg.indexes)}
			ready.indexes[at].ready = true
			tx.KV().Set(p.registry(), ready.append(nil))
			tx.KV().Clear(p.sub(reg.indexes[at].number, keyPlace))
			return nil
		}
		tx.KV().Set(p.sub(reg.indexes[at].number, keyPlace), []byte(last))
		return nil
	})
	return docs, err
}

// indexSome writes the entries of the documents behind the place, up to the bounds of a batch.
func (x *Indexes) indexSome(tx *storage.Tx, ix *registered) (docs int, last string, err error) {
	p := placeOf(tx)
	reached, err := tx.KV().Get(p.sub(ix.number, keyPlace))
	if err != nil {
		return 0, "", err
	}
	c := x.work.Get().(*change)
	defer x.work.Put(c)
	o := storage.RangeOptions{Limit: batchDocs, IncludeDocs: true}
	if reached != nil {
		o.Start = storage.Bound{ID: string(reached), Set: true, Exclusive: true}
	}
	err = tx.Snapshot().AllDocs(o, func(r *storage.ListRow) error {
		docs, last = docs+1, r.ID
		if !strings.HasPrefix(r.ID, designPrefix) {
			if err := c.diff(tx, ix, r.ID, nil, r.Doc); err != nil {
				return err
			}
		}
		if tx.KV().Size() >= batchBytes {
			return storage.ErrStop
		}
		return nil
	})
	if err != nil && err != storage.ErrStop {
		return docs, last, err
	}
	if docs > 0 {
		begin, end := builtKey(p, ix.number, string(reached)), builtKey(p, ix.number, last)
		tx.KV().AddWriteConflictRange(begin, kv.AppendKeyAfter(nil, end))
	}
	return docs, last, nil
}
