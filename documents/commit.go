package documents

import (
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// CommitPart is what a commit reads again and writes in one database, as its principal may. See
// storage.DatabaseCommit.
type CommitPart struct {
	Database *Database
	Reads    []storage.ReadRev
	Edits    []storage.Edit
	Stored   func(x *storage.Tx, results []storage.EditResult) error
}

// Commit makes the edits of several databases in one transaction, or none; with is called in it
// first. See storage.Store.Commit.
func (s *Store) Commit(ctx context.Context, with func(tx kv.Tx) error, parts []CommitPart) error {
	c := storage.Commit{With: with, Databases: make([]storage.DatabaseCommit, len(parts))}
	made := make([][]storage.EditResult, len(parts))
	for i := range parts {
		p := &parts[i]
		c.Databases[i] = storage.DatabaseCommit{
			DB: p.Database.db, Reads: p.Reads, Edits: p.Edits, Stored: p.Stored, Context: ctx,
		}
		if len(p.Edits) == 0 {
			continue
		}
		inner, users, err := p.Database.prepare(ctx, storage.Edited(p.Edits), WriteOptions{})
		if err != nil {
			return err
		}
		c.Databases[i].Context = inner
		c.Databases[i].Stored = func(x *storage.Tx, results []storage.EditResult) error {
			made[i] = results
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
		return err
	}
	for _, results := range made {
		if results != nil { // of a part without edits there are none
			s.written(results)
		}
	}
	return nil
}
