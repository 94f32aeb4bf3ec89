package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/coalesce"
	"github.com/settee-db/settee/storage/kv"
)

// Update stores documents and returns one result for each, in order. Documents are stored one by
// one, each whole or not at all; as many as fit share a transaction, and one that does not fit any
// is refused alone. Of several edits of one document in a request the first that fits wins, and a
// later one may build on it. Sequences are given out in byte order of the ids, within a
// transaction.
//
// Interactive edits need Body.Term. Attachments are SourceStored, as Uploads returns them, or
// SourceStub; a stub without its counterpart (compat.MissingStub) and an unknown upload fail the
// request as a whole. Ids are taken as they are. After an error some of the documents may be
// stored.
func (db *DB) Update(ctx context.Context, docs []*compat.Document, o UpdateOptions) ([]EditResult, error) {
	if db.store.edits != nil && o.shares(ctx, docs) {
		return db.updateShared(ctx, docs, &o)
	}
	return db.updateAlone(ctx, docs, &o)
}

// updateAlone is Update in transactions of its own.
func (db *DB) updateAlone(ctx context.Context, docs []*compat.Document, o *UpdateOptions) ([]EditResult, error) {
	results := make([]EditResult, len(docs))
	groups, locals := groupEdits(docs)
	large := &largeBodies{db: db}
	defer large.end(ctx)
	w := bulk{
		db: db, docs: docs, results: results, stored: o.Stored,
		mode: editMode{
			ctx: ctx, who: db.who, replicated: o.Replicated, trusted: o.Trusted, readers: o.Readers,
			checked: needsCheck(docs), large: large,
		},
	}
	w.deferred.room.Share = db.store.room(ctx)
	defer w.deferred.room.End()
	if err := w.run(groups); err != nil {
		return nil, err
	}
	if err := db.Locals().update(ctx, locals, docs, results); err != nil {
		return nil, err
	}
	return results, nil
}

// editGroup are the edits of one document in a request, as indexes.
type editGroup struct {
	id    string
	edits []int
	lacks int // how often a result for it was out of date when it was to be written
}

// groupEdits collects the edits of each document, in byte order of the ids, and those of local
// documents.
func groupEdits(docs []*compat.Document) (groups []editGroup, locals []int) {
	order := make([]int, 0, len(docs))
	for i, doc := range docs {
		if compat.IsLocalID(doc.ID) {
			locals = append(locals, i)
		} else {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(docs[a].ID, docs[b].ID) })
	groups = make([]editGroup, 0, len(order))
	for begin := 0; begin < len(order); {
		end := begin + 1
		for end < len(order) && docs[order[end]].ID == docs[order[begin]].ID {
			end++
		}
		groups = append(groups, editGroup{id: docs[order[begin]].ID, edits: order[begin:end]})
		begin = end
	}
	return groups, locals
}

// needsCheck reports whether a document of the request makes CouchDB look at the stored ones first
// (see editMode.checked).
func needsCheck(docs []*compat.Document) bool {
	return slices.ContainsFunc(docs, func(doc *compat.Document) bool {
		return !compat.IsLocalID(doc.ID) && (len(doc.Attachments) > 0 || compat.IsDesignID(doc.ID))
	})
}

const (
	// maxBatchBytes bounds one transaction where the store has no limit of its own: its memory, and
	// how long it takes. One of 64 MB took seconds beside others of its kind, conflicted with what
	// was forgotten by then, and got a turn in which nobody else could write.
	maxBatchBytes = 8 << 20
	// editOverhead is about what a document's keys, conflict ranges and list entries take in a
	// transaction.
	editOverhead = 1500
)

// batchSize is how many of the groups probably fit one transaction; at least 1.
func (s *Store) batchSize(groups []editGroup, docs []*compat.Document) int {
	budget, uploads := maxBatchBytes, maxBatchBytes
	if limit := s.limits.TransactionSize; limit > 0 {
		budget = limit / 2
	}
	for n, g := range groups {
		for _, i := range g.edits {
			doc := docs[i]
			budget -= editOverhead + 8*len(doc.ID) + 20*len(doc.Revs.IDs)
			if s.uploadedBefore(doc) {
				uploads -= len(doc.Body.JSON)
			} else {
				budget -= len(doc.Body.JSON)
			}
			for a := range doc.Attachments {
				budget -= 200 + len(doc.Attachments[a].Name) + int(doc.Attachments[a].InMemory())
			}
		}
		if n > 0 && min(budget, uploads) < 0 || n == maxOrders {
			return n
		}
	}
	return len(groups)
}

const (
	// sharedBytes bounds the body of an edit that shares a transaction: what is larger costs more
	// than the transaction around it.
	sharedBytes = 16 << 10
	// sharedPause is how long the edits of a database do not share, after some could not.
	sharedPause = time.Second
	// sharedBatchers is of how many databases batchers are remembered.
	sharedBatchers = 1024
)

// errApart ends a shared transaction whose edits cannot share one: each is stored in one of its
// own.
var errApart = errors.New("storage: edits cannot share a transaction")

// editBatchers let the edits of single documents share transactions (ADR 0055): while a database
// has some under way, those that come wait until there are less, and then go on together. Each is
// stored or refused as if it were alone: only edits of different documents share, and only where no
// check asks who writes; those that need an answer from elsewhere (deferred.go) leave the others.
// The key is the name of the database with the tag of the transaction.
type editBatchers = coalesce.Batchers[*compat.Document, EditResult]

// newEditBatchers returns batchers in which few edits are as fast as alone: across a network
// several commits overlap, on a local disk one follows the other.
func newEditBatchers(together int) *editBatchers {
	l := coalesce.Limits{Running: min(max(2, together), 4), Batch: 64, Wait: 50 * time.Millisecond}
	return coalesce.NewBatchers[*compat.Document, EditResult](sharedBatchers, l)
}

// shares reports whether the edits of a request may share a transaction with others.
func (o *UpdateOptions) shares(ctx context.Context, docs []*compat.Document) bool {
	return len(docs) == 1 && !o.Replicated && !o.Trusted && !o.Apart && o.Stored == nil &&
		len(docs[0].Body.JSON) <= sharedBytes && !compat.IsLocalID(docs[0].ID) && !needsCheck(docs) &&
		!kv.UsesReserve(ctx) && !kv.IsInBackground(ctx)
}

// updateShared is Update for an edit that shares: alone while few are under way, with others
// otherwise.
func (db *DB) updateShared(ctx context.Context, docs []*compat.Document, o *UpdateOptions) ([]EditResult, error) {
	batcher := db.store.edits.Batcher(db.name + "\x00" + kv.Tag(ctx))
	result, err := batcher.Do(ctx, docs[0].ID, docs[0], db.store.now(), coalesce.Work[*compat.Document, EditResult]{
		Alone: func() (EditResult, error) {
			results, err := db.updateAlone(ctx, docs, o)
			if err != nil {
				return EditResult{}, err
			}
			return results[0], nil
		},
		Together: func(ctx context.Context, docs []*compat.Document) []coalesce.Result[EditResult] {
			results, apart := db.updateTogether(ctx, docs)
			if apart {
				batcher.Disperse(db.store.now().Add(sharedPause))
			}
			return results
		},
	})
	if err != nil {
		return nil, err
	}
	return []EditResult{result}, nil
}

// updateTogether stores edits of different documents in one transaction, but for those that have to
// be stored alone. apart tells that some of them have to because of what is asked about them.
func (db *DB) updateTogether(
	ctx context.Context,
	docs []*compat.Document,
) (results []coalesce.Result[EditResult], apart bool) {
	results = make([]coalesce.Result[EditResult], len(docs))
	w := bulk{
		db: db, docs: docs, results: make([]EditResult, len(docs)),
		mode: editMode{ctx: ctx, shared: true, large: &largeBodies{db: db}}, // there are none
	}
	groups, _ := groupEdits(docs)
	for len(groups) > 0 {
		left, lacking, err := w.transact(groups, true)
		apart = apart || lacking > 0 || errors.Is(err, errApart)
		if errors.Is(err, kv.ErrUnavailable) { // no better alone, and may have happened
			for _, g := range groups {
				results[g.edits[0]] = coalesce.Result[EditResult]{Done: true, Err: err}
			}
		}
		if err != nil {
			return results, apart
		}
		waits := make(map[int]bool, len(left))
		for _, g := range left {
			waits[g.edits[0]] = true
		}
		for _, g := range groups {
			if i := g.edits[0]; !waits[i] {
				results[i] = coalesce.Result[EditResult]{Done: true, Value: w.results[i]}
			}
		}
		groups = left[lacking:] // those that lack results are the first
	}
	return results, apart
}
