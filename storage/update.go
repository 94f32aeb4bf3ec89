package storage

import (
	"cmp"
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
)

// Update stores documents and returns one result for each, in order. Documents are stored one by one, each whole or not
// at all; as many as fit share a transaction, and one that does not fit any is refused alone. Of several edits of one
// document in a request the first that fits wins, and a later one may build on it. Sequences are given out in byte
// order of the ids, within a transaction.
//
// Interactive edits need Body.Term. Attachments are SourceStored, as Uploads returns them, or SourceStub; a stub
// without its counterpart (compat.MissingStub) and an unknown upload fail the request as a whole. Ids are taken as they
// are. After an error some of the documents may be stored.
func (db *DB) Update(ctx context.Context, docs []*compat.Document, o UpdateOptions) ([]EditResult, error) {
	results := make([]EditResult, len(docs))
	groups, locals := groupEdits(docs)
	large := &largeBodies{db: db}
	defer large.end(ctx)
	w := bulk{
		db: db, docs: docs, results: results, stored: o.Stored,
		mode: editMode{ctx: ctx, replicated: o.Replicated, trusted: o.Trusted, checked: needsCheck(docs), large: large},
	}
	if err := w.run(groups); err != nil {
		return nil, err
	}
	if err := db.updateLocals(ctx, locals, docs, results); err != nil {
		return nil, err
	}
	return results, nil
}

// editGroup are the edits of one document in a request, as indexes.
type editGroup struct {
	id    string
	edits []int
	lacks int // how often what was asked about it had changed when it was to be written
}

// groupEdits collects the edits of each document, in byte order of the ids, and those of local documents.
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

// needsCheck reports whether a document of the request makes CouchDB look at the stored ones first (see
// editMode.checked).
func needsCheck(docs []*compat.Document) bool {
	return slices.ContainsFunc(docs, func(doc *compat.Document) bool {
		return !compat.IsLocalID(doc.ID) && (len(doc.Attachments) > 0 || compat.IsDesignID(doc.ID))
	})
}

const (
	// maxBatchBytes bounds one transaction where the store has no limit of its own: its memory, and how long it takes.
	// One of 64 MB took seconds beside others of its kind, conflicted with what was forgotten by then, and got a turn
	// in which nobody else could write.
	maxBatchBytes = 8 << 20
	// editOverhead is about what a document's keys, conflict ranges and list entries take in a transaction.
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
