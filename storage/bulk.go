package storage

import (
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// bulk is a request that writes documents, on its way through as many transactions as it takes.
//
// A transaction takes the first groups of those that are left. One that fails because of its size
// or its time is not tried again with as many; a document that fails alone gets its error, and the
// others go on. Where validation functions or map functions have to be asked first (see
// deferred.go) the transaction ends without a write, and runs again with the results. Documents
// that need other results by then, because others changed them or the functions meanwhile, wait for
// the next round; the others are written.
type bulk struct {
	db       *DB
	mode     editMode
	docs     []*compat.Document
	results  []EditResult
	stored   func(x *Tx, results []EditResult) error // UpdateOptions.Stored
	deferred deferredCalls
	// divided is set once the request's callbacks take longer than one transaction is kept waiting
	// for them.
	divided bool
}

// maxLacks is how often a document may change before its edit is given up. Each time somebody
// else's edit of it was stored.
const maxLacks = 100

// errPending ends a transaction whose hooks deferred callbacks: nothing is written, and it runs
// again with the results.
var errPending = errors.New("storage: results of callbacks are missing")

// run stores the edits of groups, which ascend by id.
func (w *bulk) run(groups []editGroup) error {
	for limit := len(groups); len(groups) > 0; {
		n := min(limit, w.db.store.batchSize(groups, w.docs))
		apart := w.divided || slices.ContainsFunc(groups[:n], func(g editGroup) bool { return g.lacks > 1 })
		if n < len(groups) || apart {
			// A design document affects later requests only, as in CouchDB.
			if designs, others := designGroups(groups); len(designs) > 0 && len(others) > 0 {
				if err := w.run(others); err != nil {
					return err
				}
				return w.run(designs)
			}
		}
		if err := w.mode.large.upload(w.mode.ctx, groups[:n], w.docs); err != nil {
			return err
		}
		left, lacking, err := w.transact(groups[:n], apart)
		switch {
		case err != nil && outgrown(err) && n > 1:
			limit = n / 2
		case err != nil && outgrown(err):
			if err := w.refuse(groups[0], err); err != nil {
				return err
			}
			groups, limit = groups[1:], len(groups)
		case errors.Is(err, kv.ErrFull) && !kv.UsesReserve(w.mode.ctx):
			return w.full(groups, err)
		case err != nil:
			return err
		case lacking > 0 || w.deferred.room.Lacks():
			if groups, err = w.giveUp(slices.Concat(left, groups[n:])); err != nil {
				return err
			}
			made, err := w.deferred.run(w.mode.ctx, w.db.store.now, deferredTime)
			if err != nil {
				return err
			}
			if made < 1 {
				w.divided, limit = true, max(1, int(made*float64(lacking)))
			}
		default:
			w.deferred.committed()
			groups, limit = slices.Concat(left, groups[n:]), max(limit, n+n/4+1)
		}
	}
	return nil
}

// transact stores the edits of groups in one transaction, and returns those that are left: those it
// did not come to, and those that lack results. Unless apart is set, nothing is stored where some
// lack results.
func (w *bulk) transact(groups []editGroup, apart bool) (left []editGroup, lacking int, err error) {
	var b batch
	runs := 0
	err = w.db.update(w.mode.ctx, func(t *dbTx) error {
		w.deferred.begin()
		t.deferred, t.large = &w.deferred, w.mode.large
		b = batch{db: w.db, t: t, mode: w.mode, docs: w.docs, results: w.results}
		// It runs again because it took too long, or because others were faster: less of it is
		// quicker.
		part := groups[:max(1, len(groups)>>runs)]
		runs++
		t.designs = slices.ContainsFunc(part, func(g editGroup) bool { return compat.IsDesignID(g.id) })
		if err := b.store(part); err != nil {
			return err
		}
		if len(b.lacking) > 0 && !apart {
			return errPending
		}
		if w.stored != nil {
			return w.stored(&Tx{t}, b.storedOf(part))
		}
		return nil
	})
	for _, i := range b.lacking {
		groups[i].lacks++
	}
	switch {
	case errors.Is(err, errPending):
		return groups, len(b.lacking), nil
	case err != nil:
		return groups, 0, err
	}
	for _, i := range b.lacking {
		left = append(left, groups[i])
	}
	return append(left, groups[b.done:]...), len(b.lacking), nil
}

// outgrown reports that a transaction failed because it was too large or took too long, so that a
// smaller one may succeed. It is false where the store's servers did not answer: a smaller one
// would fail, too.
func outgrown(err error) bool {
	if errors.Is(err, kv.ErrUnavailable) {
		return false
	}
	for _, target := range []error{kv.ErrTooLarge, kv.ErrTooOld, kv.ErrKeyTooLarge, kv.ErrValueTooLarge} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// refuse ends a document that does not fit a transaction alone; edits of it that came together are
// tried one half after the other.
func (w *bulk) refuse(g editGroup, cause error) error {
	if half := len(g.edits) / 2; half > 0 {
		if err := w.run([]editGroup{{id: g.id, edits: g.edits[:half]}}); err != nil {
			return err
		}
		return w.run([]editGroup{{id: g.id, edits: g.edits[half:]}})
	}
	doc := w.docs[g.edits[0]]
	refusal := tooLarge(doc.ID, cause)
	if refusal == nil {
		return cause
	}
	w.results[g.edits[0]] = refused(doc, refusal)
	return nil
}

// tooLarge is the error of a document that the store cannot hold, nil if cause says something else.
// Only an id makes a key too large.
func tooLarge(id string, cause error) *compat.Error {
	switch {
	case errors.Is(cause, kv.ErrTooOld):
		return nil
	case errors.Is(cause, kv.ErrKeyTooLarge):
		return compat.NewError(compat.KindIllegalDocID, "Document id is too long")
	}
	return compat.NewError(compat.KindDocumentTooLarge, id)
}

// giveUp ends edits of documents that others have changed again and again while callbacks ran: the
// result is a conflict. Replicated edits have no conflicts, and must not be lost: for them the
// request fails, and the replicator repeats it.
func (w *bulk) giveUp(groups []editGroup) ([]editGroup, error) {
	if !slices.ContainsFunc(groups, func(g editGroup) bool { return g.lacks > maxLacks }) {
		return groups, nil
	}
	var others []editGroup
	for _, g := range groups {
		switch {
		case g.lacks <= maxLacks:
			others = append(others, g)
		case w.mode.replicated:
			return nil, compat.ErrTimeout
		default:
			for _, i := range g.edits {
				w.results[i] = refused(w.docs[i], compat.ErrConflict)
			}
		}
	}
	return others, nil
}

// designGroups separates the edits of design documents from all others.
func designGroups(groups []editGroup) (designs, others []editGroup) {
	if !slices.ContainsFunc(groups, func(g editGroup) bool { return compat.IsDesignID(g.id) }) {
		return nil, groups // there may be a million
	}
	for _, g := range groups {
		if compat.IsDesignID(g.id) {
			designs = append(designs, g)
		} else {
			others = append(others, g)
		}
	}
	return designs, others
}
