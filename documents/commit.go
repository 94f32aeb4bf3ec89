package documents

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// CommitPart is the part of a commit in one database: the reads that it checks again and its
// writes, with the rights of the Database's principal. See storage.DatabaseCommit.
type CommitPart struct {
	Database *Database
	// What the client has read and the commit checks again: the documents' revisions, and the
	// sequences of their last changes.
	Reads     []storage.ReadRev
	Unchanged []storage.ReadSeq
	// Documents to be written, all or none.
	Edits   []storage.Edit
	Sent    []*compat.Document // instead of Edits; inline attachments are stored first
	Options WriteOptions       // of Sent; of those only Expires is looked at
	// Called in the transaction with the results, before it commits; it may run several times.
	Stored func(x *storage.Tx, results []storage.EditResult) error
}

// Commit makes the edits of several databases in one transaction, or none; with is called in it
// first. See storage.Store.Commit.
func (s *Store) Commit(ctx context.Context, with func(tx kv.Tx) error, parts []CommitPart) error {
	c := storage.Commit{With: with, Databases: make([]storage.DatabaseCommit, len(parts))}
	made := make([][]storage.EditResult, len(parts))
	for i := range parts {
		p := &parts[i]
		c.Databases[i] = storage.DatabaseCommit{
			DB: p.Database.db, Reads: p.Reads, Unchanged: p.Unchanged, Edits: p.Edits, Sent: p.Sent, Stored: p.Stored,
			Context: ctx,
		}
		docs := p.Sent
		if docs == nil {
			docs = storage.Edited(p.Edits)
		}
		if len(docs) == 0 {
			continue
		}
		inner, users, err := p.Database.prepare(ctx, docs, WriteOptions{})
		if err != nil {
			return err
		}
		drafts, err := inline(ctx, p.Database, docs, p.Options)
		if err != nil {
			return err
		}
		defer func() { drafts.discard(ctx, made[i]) }()
		c.Databases[i].Context = inner
		c.Databases[i].Stored = func(x *storage.Tx, results []storage.EditResult) error {
			made[i] = results
			p.Options.setExpiry(x, results)
			if p.Stored == nil {
				return nil
			}
			return p.Stored(x, results)
		}
		if users {
			defer s.o.UsersChanged()
		}
	}
	if err := s.o.Store.Commit(ctx, &c); err != nil {
		clear(made) // with succeeded, and the transaction failed after it
		return err
	}
	for _, results := range made {
		if results != nil { // of a part without edits there are none
			s.written(results)
		}
	}
	return nil
}
