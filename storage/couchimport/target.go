package couchimport

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/couchfile"
	"github.com/settee-db/settee/storage/keyspace"
)

// Target is where databases go.
type Target interface {
	// Create makes a database; made is false where there is one already, whose settings stay. The
	// sink is there in both cases, and is closed by the caller.
	Create(ctx context.Context, h *Head) (to Sink, made bool, err error)
}

// Head is what a database is besides its documents.
type Head struct {
	Name                        string
	Partitioned                 bool
	Shards                      int
	RevsLimit, PurgedInfosLimit int64
	Security                    []byte // canonical; nil: none was set
}

// Sink takes the documents of one database. It is for one goroutine.
type Sink interface {
	// Add takes a leaf revision, whose attachments have the metadata of the file. read gives the
	// stored bytes of one of them, anew with each call, until Add returns. A [couchfile.Damage] of
	// these bytes is its error, and nothing of the revision stays; another error ends the import, and
	// may be one of a revision before.
	Add(ctx context.Context, doc *compat.Document, read func(attachment int) io.Reader) error
	// Wait returns when all that was added is stored, and gives the sequence of the database then.
	Wait(ctx context.Context) (seq string, err error)
	// Local stores a local document as its revision 0-rev. refused says why it was not taken.
	Local(ctx context.Context, id string, rev int64, body *compat.Body) (refused, err error)
	// Close ends the writing whatever happened, and gives what was refused.
	Close() (refused []*couchfile.Damage, err error)
}

// Store is the target that is a store, which the import has for itself.
func Store(s *storage.Store) Target { return storeTarget{s} }

type storeTarget struct{ store *storage.Store }

// Create implements Target.
func (t storeTarget) Create(ctx context.Context, h *Head) (to Sink, made bool, err error) {
	err = t.store.CreateAs(ctx, h.Name, h.Security, keyspace.Record{
		Created: time.Now(), Partitioned: h.Partitioned, Incarnation: keyspace.FirstIncarnation,
		RevsLimit: h.RevsLimit, PurgedInfosLimit: h.PurgedInfosLimit, Q: int64(h.Shards), N: 1,
	})
	if made = err == nil; err != nil && !errors.Is(err, compat.ErrFileExists) {
		return nil, false, err
	}
	db := t.store.DB(h.Name)
	return storeSink{db, newBatcher(ctx, db)}, made, nil
}

// storeSink stores several batches at once.
type storeSink struct {
	db    *storage.DB
	batch *batcher
}

// Add implements Sink. The attachments are stored before it returns, as they are, compressed ones
// too.
func (s storeSink) Add(ctx context.Context, doc *compat.Document, read func(attachment int) io.Reader) error {
	if len(doc.Attachments) == 0 {
		return s.batch.add(doc)
	}
	uploads := s.db.Attachments().Uploads()
	for i := range doc.Attachments {
		a := &doc.Attachments[i]
		u := storage.Upload{Encoding: a.Encoding, Length: a.EncodedLength}
		if a.HasDigest {
			u.Digest = &a.Digest
		}
		stored, err := uploads.Add(ctx, u, read(i))
		if err != nil {
			if _, damaged := errors.AsType[*couchfile.Damage](err); damaged {
				if failed := uploads.Discard(ctx); failed != nil {
					return failed
				}
			}
			return err
		}
		stored.Name, stored.Type, stored.RevPos, stored.HasRevPos = a.Name, a.Type, a.RevPos, true
		stored.Length = a.Length
		*a = stored
	}
	return s.batch.add(doc)
}

// Wait implements Sink.
func (s storeSink) Wait(ctx context.Context) (seq string, err error) {
	if err := s.batch.wait(); err != nil {
		return "", err
	}
	last, err := s.db.Feed().Last(ctx)
	return string(compat.AppendSeq(nil, last.N, last.Seq)), err
}

// Local implements Sink.
func (s storeSink) Local(ctx context.Context, id string, rev int64, body *compat.Body) (refused, err error) {
	doc := &compat.Document{ID: id, HasID: true, Body: *body}
	if rev > 1 {
		doc.Revs.IDs = []string{strconv.FormatInt(rev-1, 10)} // the revision that this one replaces
	}
	results, err := s.db.Update(ctx, []*compat.Document{doc}, storage.UpdateOptions{Trusted: true})
	if err != nil || results[0].Err == nil { // a nil in an interface is not nil
		return nil, err
	}
	return results[0].Err, nil
}

// Close implements Sink.
func (s storeSink) Close() (refused []*couchfile.Damage, err error) { return s.batch.close() }
