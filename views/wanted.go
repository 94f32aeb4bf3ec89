package views

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

// A build is wanted as long as its database has a design document with its views. One that is not
// wanted any more ends in the middle of what it does: a map function that takes long is broken off
// with its worker.

// lookEvery is the time after which a build finds out again whether it is wanted.
const lookEvery = 500 * time.Millisecond

// isUnwanted recognises what those get who wait for a build that nobody wants any more:
// compat.ErrDeleted, perhaps as the result of a job.
func isUnwanted(err error) bool {
	e, ok := compat.AsError(err)
	return ok && e.Kind == compat.ErrDeleted.Kind && e.Reason == compat.ErrDeleted.Reason
}

// whileWanted gives a context for a build that ends soon after the build is not wanted any more,
// with the reason as its cause. stop ends the watch, and waits for its end.
func (b *builder) whileWanted(ctx context.Context) (watched context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := b.watch(ctx); err != nil {
			cancel(err)
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// unwanted is why the context of whileWanted ended a build, or else the build's own error.
func unwanted(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(err, context.Canceled) && cause != nil {
		return cause
	}
	return err
}

// watch returns why the build is not wanted any more; nil if ctx ends before. A look reads the
// stamp of the design documents, and the documents only if it has changed.
func (b *builder) watch(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var seen []byte
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		var stamp []byte
		err := b.db.View(ctx, func(s *storage.Snapshot) (err error) {
			uuid := s.UUID()
			stamp, err = s.AppendDesignStamp(uuid[:])
			return err
		})
		if err == nil && string(stamp) != string(seen) {
			if err = b.stillWanted(ctx); err == nil {
				seen = stamp
			}
		}
		if _, told := compat.AsError(err); told && ctx.Err() == nil {
			return err
		} // any other error is of the store: the build meets it itself
	}
}

// stillWanted fails if no design document has the views of the build by now, or the database is not
// the same any more.
func (b *builder) stillWanted(ctx context.Context) error {
	_, uuid, err := b.v.designWith(ctx, b.db, b.design.id, b.design.signature)
	if err == nil && b.uuid != uuid {
		return compat.ErrNoDatabase
	}
	return err
}

// designWith finds a design document with a signature: that of an id, or another one. Its errors
// are compat.ErrDeleted, and that of a missing database.
func (v *Views) designWith(
	ctx context.Context, db *storage.DB, id string, signature Signature,
) (*design, [16]byte, error) {
	d, uuid, err := v.openDesign(ctx, db, id)
	if err == nil {
		if d = d.with(signature); d != nil {
			return d, uuid, nil
		}
	}
	if err != nil && !errors.Is(err, compat.KindNotFound) {
		return nil, uuid, err
	}
	var found *design
	o := storage.RangeOptions{Limit: -1, Namespace: storage.NamespaceDesign, IncludeDocs: true}
	rec, err := db.Settings().Record(ctx)
	if err != nil {
		return nil, uuid, err
	}
	of := databaseKind{rec.Partitioned, rec.Access.On}
	err = db.AllDocs(ctx, o, nil, func(row *storage.ListRow) error {
		d, err := parseDocument(row.Doc, of)
		if err != nil {
			return err
		}
		if found = d.with(signature); found == nil {
			return nil
		}
		return storage.ErrStop
	})
	if err == nil && found == nil {
		err = compat.ErrDeleted
	}
	return found, uuid, err
}
