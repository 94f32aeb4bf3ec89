package storage

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// A store that is full refuses writes with kv.ErrFull, but for those that free space: they may use
// what it keeps in reserve (kv.UseReserve). Where they have to, nothing of what they replace is
// kept for a while (dbTx.short): neither the bodies of replaced revisions, which would wait for
// compaction, nor the bytes of attachments, which would wait for downloads that go on in another
// snapshot.

// maxTombstone is how many bytes the body of a deleted revision may have to be stored where the
// store is full.
const maxTombstone = 1 << 10

// frees reports whether an edit frees space: a deletion whose tombstone is small.
func frees(doc *compat.Document) bool {
	return doc.Deleted && len(doc.Body.JSON) <= maxTombstone && len(doc.Attachments) == 0
}

// full goes on where the store is full: deletions are stored out of its reserve, other edits are
// refused each. Where there is nothing to be stored, and where the edits are replicated, which must
// not be lost to a client that does not look, the request fails.
func (w *bulk) full(groups []editGroup, cause error) error {
	var deletions, others []editGroup
	for _, g := range groups {
		all := true
		for _, i := range g.edits {
			all = all && frees(w.docs[i])
		}
		if all {
			deletions = append(deletions, g)
		} else {
			others = append(others, g)
		}
	}
	if len(deletions) == 0 {
		return cause
	}
	ctx := w.mode.ctx
	w.mode.ctx = kv.UseReserve(ctx)
	err := w.run(deletions)
	w.mode.ctx = ctx
	switch {
	case err != nil:
		return err
	case w.mode.replicated && len(others) > 0:
		return cause
	}
	for _, g := range others {
		for _, i := range g.edits {
			w.results[i] = refused(w.docs[i], compat.ErrFull)
		}
	}
	return nil
}
