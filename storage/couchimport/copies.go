package couchimport

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/couchfile"
)

// findPurged compares several nodes' copies of one shard. For each copy it notes the revisions that
// another copy has purged, and has not received again since: this copy had not yet caught up with
// the purge. Purges are few, a file remembers 1,000.
func (w *work) findPurged(files []*shardFile) error {
	for _, f := range files {
		var others []*shardFile
		for _, other := range files {
			if other != f && other.shard == f.shard {
				others = append(others, other)
			}
		}
		if len(others) == 0 {
			continue
		}
		purged := map[string][]compat.Rev{}
		err := f.Purges(func(p couchfile.Purge) error {
			purged[p.ID] = append(purged[p.ID], p.Revs...)
			return nil
		}, w.damaged)
		if err != nil {
			return err
		}
		if len(purged) == 0 {
			continue
		}
		// What it has now was written after the purge.
		err = f.Leaves(func(id string, revs []compat.Rev) {
			if gone, ok := purged[id]; ok {
				purged[id] = slices.DeleteFunc(gone, func(r compat.Rev) bool { return slices.Contains(revs, r) })
			}
		})
		if err != nil {
			return err
		}
		for _, other := range others {
			if other.purged == nil {
				other.purged = map[string][]compat.Rev{}
			}
			for id, revs := range purged {
				other.purged[id] = append(other.purged[id], revs...)
			}
		}
	}
	return nil
}

// isPurged reports whether another copy has purged a leaf.
func (f *shardFile) isPurged(r *couchfile.Revision) bool {
	return len(f.purged) > 0 && slices.Contains(f.purged[r.ID], r.Revs.Rev())
}
