package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/dbevents"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/kv"
)

// A transaction over several databases: what a batch of events does to documents, to whichever
// databases they belong, is stored together with what the caller keeps of the batch, or not at all.

// Commit describes one transaction: the reads that it checks again, and its writes.
type Commit struct {
	// With is called first in each run of the transaction, with the store's transaction: it checks
	// and writes what the caller keeps beside documents. Its error ends the transaction.
	With func(tx kv.Tx) error
	// Databases have each a part; none is there twice.
	Databases []DatabaseCommit
}

// DatabaseCommit is the part of a Commit in one database.
type DatabaseCommit struct {
	DB *DB
	// Context is that of the checks of this database's documents: it tells who writes. nil: the
	// server itself.
	Context context.Context
	// Reads are documents that must still have the current revision that the caller has seen.
	Reads []ReadRev
	// Unchanged are documents that must not have changed after a sequence.
	Unchanged []ReadSeq
	// Edits are interactive edits, at most one of a document. Ids of local documents are not
	// allowed.
	Edits []Edit
	// Sent are interactive edits as clients send them, in the place of Edits: with attachments of
	// their own, several of one document, local ones too (see DB.Update).
	Sent []*compat.Document
	// Stored is called in the transaction when all edits are made, with their results in order; the
	// zero Rev stands for an edit that had nothing to do. It is called only where nothing in this
	// part is refused or stale. It may be nil.
	Stored func(x *Tx, results []EditResult) error
}

// ReadRev is what was read: the current revision of a document, the zero Rev if there was none that
// is not deleted.
type ReadRev struct {
	ID  string
	Rev compat.Rev
}

// ReadSeq is a document, there or not, of which the caller knows the state at a sequence.
type ReadSeq struct {
	ID  string
	Seq Seq
}

// Edit is a new revision of a document. It has the attachments of the one that it replaces:
// Doc.Attachments is the transaction's.
type Edit struct {
	Doc *compat.Document
	// Over says that the edit replaces the current revision whichever that is, or makes the
	// document; a deletion of a document that is not there does nothing. Doc.Revs is the
	// transaction's then.
	Over bool
}

// Edited are the documents of edits.
func Edited(edits []Edit) []*compat.Document {
	docs := make([]*compat.Document, len(edits))
	for i := range edits {
		docs[i] = edits[i].Doc
	}
	return docs
}

// CommitError lists the documents because of which a Commit wrote nothing.
type CommitError struct {
	// Read are documents that have changed since the caller has read them, Stale those that were
	// edited over another than the current revision.
	Read, Stale []DocOf
	// Refused are edits that a check of their database refused, and databases that are gone, whose
	// ID is empty.
	Refused []DocOf
	// Results are those of the edits, by database and in their order.
	Results [][]EditResult
}

// DocOf names a document of a Commit: the database by its place in Commit.Databases.
type DocOf struct {
	Database int
	ID       string
	Err      *compat.Error
}

// Error implements error.
func (e *CommitError) Error() string {
	return fmt.Sprintf("storage: nothing was written: %d documents have changed, %d edits are refused",
		len(e.Read)+len(e.Stale), len(e.Refused))
}

// Commit makes all edits in one transaction, or none. The error is a *CommitError if documents
// stand against it, kv.ErrTooLarge or kv.ErrTooOld if it is too much for one transaction: fewer
// edits may do then. Validation functions and interactive indexes are asked as in DB.Update.
func (s *Store) Commit(ctx context.Context, c *Commit) error {
	run := commitRun{store: s, c: c, large: make([]largeBodies, len(c.Databases))}
	for i := range c.Databases {
		run.large[i].db = c.Databases[i].DB
		defer run.large[i].end(ctx)
	}
	run.deferred.room.Share = s.room(ctx)
	defer run.deferred.room.End()
	if err := run.upload(ctx); err != nil {
		return err
	}
	for range maxLacks {
		err := run.transact(ctx)
		if !errors.Is(err, errPending) {
			return err
		}
		if _, err := run.deferred.run(ctx, s.now, 0); err != nil {
			return err
		}
	}
	return compat.ErrTimeout
}

// commitRun is a Commit on its way through as many transactions as its deferred callbacks need.
type commitRun struct {
	store    *Store
	c        *Commit
	large    []largeBodies // by database
	deferred deferredCalls
	found    CommitError // of the last run
	changed  []bool      // databases that got a sequence
	logged   []int       // see dbTx.logged
}

// upload stores the bodies that are too large for the transaction.
func (r *commitRun) upload(ctx context.Context) error {
	for i := range r.c.Databases {
		docs, groups, _ := r.c.Databases[i].groups()
		if err := r.large[i].upload(ctx, groups, docs); err != nil {
			return err
		}
	}
	return nil
}

// groups are the edits in byte order of the ids, and those of local documents.
func (p *DatabaseCommit) groups() (docs []*compat.Document, groups []editGroup, locals []int) {
	if docs = p.Sent; docs == nil {
		docs = Edited(p.Edits)
	}
	groups, locals = groupEdits(docs)
	return docs, groups, locals
}

// transact is one transaction.
func (r *commitRun) transact(ctx context.Context) error {
	err := r.store.write(ctx, func(tx kv.Tx) error {
		r.deferred.begin()
		r.found = CommitError{Results: make([][]EditResult, len(r.c.Databases))}
		r.changed = make([]bool, len(r.c.Databases))
		r.logged = make([]int, len(r.c.Databases))
		if r.c.With != nil {
			if err := r.c.With(tx); err != nil {
				return err
			}
		}
		pending := false
		for i := range r.c.Databases {
			lacks, err := r.database(ctx, tx, i)
			if err != nil {
				return err
			}
			pending = pending || lacks
		}
		switch {
		case pending && r.tellsAll():
			return errPending
		case r.stands():
			return &r.found
		case pending:
			return errPending
		}
		return nil
	})
	if err == nil {
		for i, changed := range r.changed {
			if changed {
				r.store.touched(r.c.Databases[i].DB.name, dbevents.Updated)
				r.store.logged(ctx, r.c.Databases[i].DB.name, r.logged[i])
			}
		}
	}
	return err
}

// database does the part of one database; pending tells that deferred callbacks have to run first.
func (r *commitRun) database(ctx context.Context, tx kv.Tx, at int) (pending bool, err error) {
	p := &r.c.Databases[at]
	if p.Context != nil {
		ctx = p.Context
	}
	t, err := r.store.openTx(ctx, tx, p.DB.name)
	if err != nil {
		if gone, ok := compat.AsError(err); ok && errors.Is(err, compat.KindNoDatabase) {
			r.found.Refused = append(r.found.Refused, DocOf{Database: at, Err: gone})
			return false, nil
		}
		return false, err
	}
	t.large, t.deferred = &r.large[at], &r.deferred
	if t.Rec.Access.On {
		t.User = p.DB.who.User()
	}
	if err := r.verify(t, at); err != nil {
		return false, err
	}
	docs, groups, locals := p.groups()
	if len(docs) == 0 {
		return false, nil
	}
	over := make(map[*compat.Document]bool)
	for i := range p.Edits {
		if p.Edits[i].Over {
			over[docs[i]] = true
		}
	}
	for _, g := range groups {
		t.designs = t.designs || compat.IsDesignID(g.id)
	}
	b := batch{
		db: p.DB, t: t, docs: docs, results: make([]EditResult, len(docs)),
		mode: editMode{
			ctx: ctx, who: p.DB.who, checked: true, keeps: p.Sent == nil, over: over, large: t.large,
		},
	}
	if err := b.store(groups); err != nil {
		return false, err
	}
	if b.done < len(groups) {
		return false, kv.ErrTooLarge
	}
	for _, i := range locals {
		b.results[i] = t.putLocal(docs[i])
	}
	for i := range b.results {
		b.results[i].ID = docs[i].ID // the outcome of an edit that lacks results is not known yet
		r.judge(at, &b.results[i])
	}
	r.changed[at], r.found.Results[at] = t.orders > 0, b.results
	if len(b.lacking) > 0 || r.stands() {
		return len(b.lacking) > 0, nil // nothing is written in this run
	}
	if p.Stored != nil {
		if err := p.Stored(&Tx{t}, b.results); err != nil {
			return false, err
		}
	}
	err = t.finish()
	r.logged[at] = t.logged
	return false, err
}

// stands reports whether some document prevents the commit.
func (r *commitRun) stands() bool {
	return len(r.found.Read)+len(r.found.Stale)+len(r.found.Refused) > 0
}

// tellsAll reports whether the client gets a result for each document. Then the remaining edits are
// judged even after one of them has already prevented the commit.
func (r *commitRun) tellsAll() bool {
	return len(r.found.Read) == 0 &&
		slices.ContainsFunc(r.c.Databases, func(p DatabaseCommit) bool { return p.Sent != nil })
}

// judge sorts a result that prevents the commit into CommitError's lists. A conflict counts as
// stale, not as refused: of two clients that edit a document at the same time the later one has
// read an old revision.
func (r *commitRun) judge(at int, result *EditResult) {
	switch {
	case result.Err == nil:
	case errors.Is(result.Err, compat.KindConflict):
		r.found.Stale = append(r.found.Stale, DocOf{at, result.ID, result.Err})
	default:
		r.found.Refused = append(r.found.Refused, DocOf{at, result.ID, result.Err})
	}
}

// verify compares the current revisions with those that were read. One key for each document is
// read, with a conflict; of those that must not have changed, the leaves.
func (r *commitRun) verify(t *dbTx, at int) error {
	reads := r.c.Databases[at].Reads
	if who := r.c.Databases[at].DB.who; who != nil && t.Rec.Access.On {
		seen := *t
		seen.slice(who)
		return r.verifySlice(&seen, at)
	}
	keys := make([][]byte, len(reads))
	for i := range reads {
		keys[i] = t.Keys.AllDocs(nil, reads[i].ID)
	}
	values, err := t.R.GetMany(keys)
	if err != nil {
		return err
	}
	for i, value := range values {
		var rev compat.Rev
		if value != nil {
			if rev, err = formats.ParseWinner(value); err != nil {
				return err
			}
		}
		if rev != reads[i].Rev {
			r.found.Read = append(r.found.Read, DocOf{at, reads[i].ID, compat.ErrConflict})
		}
	}
	for _, read := range r.c.Databases[at].Unchanged {
		leaves, err := t.Heads(read.ID)
		if err != nil {
			return err
		}
		if n := len(leaves); n > 0 && read.Seq.Before(leaves[n-1].Seq) {
			r.found.Read = append(r.found.Read, DocOf{at, read.ID, compat.ErrConflict})
		}
	}
	return nil
}

// verifySlice is verify for who sees a slice of the database: by the leaves of each document that
// are seen.
func (r *commitRun) verifySlice(t *dbTx, at int) error {
	refuse := func(id string) {
		r.found.Read = append(r.found.Read, DocOf{at, id, compat.ErrConflict})
	}
	for _, read := range r.c.Databases[at].Reads {
		leaves, err := t.Heads(read.ID)
		if err != nil {
			return err
		}
		var rev compat.Rev
		if n := len(leaves); n > 0 && !leaves[n-1].Deleted {
			rev = leaves[n-1].Rev
		}
		if rev != read.Rev {
			refuse(read.ID)
		}
	}
	for _, read := range r.c.Databases[at].Unchanged {
		leaves, err := t.Heads(read.ID)
		if err != nil {
			return err
		}
		if n := len(leaves); n > 0 && read.Seq.Before(leaves[n-1].Seq) {
			refuse(read.ID)
		}
	}
	return nil
}
