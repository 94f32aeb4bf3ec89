package docread

import (
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
)

// tombstonesOf are those of a document; in other databases than those with access for each document it
// has none.
func tombstonesOf(d *Reader, id string) (*audience.Tombstones, error) {
	leaves, err := allLeaves(d, id)
	if err != nil {
		return nil, err
	}
	return audience.NewTombstones(&d.Rec.Access.Secret, id, leaves), nil
}

// AppendTombstones appends the tombstones of revisions of a document.
func AppendTombstones(d *Reader, dst []compat.Rev, id string, revs []compat.Rev) []compat.Rev {
	for _, rev := range revs {
		dst = append(dst, audience.Tombstone(&d.Rec.Access.Secret, id, rev))
	}
	return dst
}

// allLeaves are the leaves of a document, whoever sees them; none in other databases.
func allLeaves(d *Reader, id string) ([]formats.Leaf, error) {
	if !d.Rec.Access.On || compat.IsLocalID(id) {
		return nil, nil
	}
	begin, end := keyspace.Children(d.Keys.Doc(nil, keyspace.TagRevs, id))
	scan := LeafScan{prefix: len(begin), it: d.R.Range(begin, end, allOfRange)}
	return scan.Read()
}

// Lacks tells which of some revisions of a document, whose leaves are given, are not there, and which
// leaves could be their ancestors. Tombstones are in no tree, and are not missing.
func (d *Reader) Lacks(id string, revs []compat.Rev, leaves []formats.Leaf) (missing, above []compat.Rev, err error) {
	tree := formats.TreeOf(leaves)
	if missing = revs; len(leaves) > 0 {
		missing = tree.Missing(revs)
	}
	if len(missing) > 0 && d.Rec.Access.On {
		t, err := tombstonesOf(d, id)
		if err != nil {
			return nil, nil, err
		}
		missing = slices.DeleteFunc(slices.Clone(missing), func(rev compat.Rev) bool {
			_, found := t.Of(rev)
			return found
		})
	}
	if len(leaves) > 0 {
		slices.SortFunc(missing, compat.Rev.Compare)
		above = tree.PossibleAncestors(missing)
	}
	return missing, above, nil
}

// Left is a document that has left a slice: where the feed of a principal says so, and the leaves
// that this one saw.
type Left struct {
	Seq  compat.Seq
	Revs []compat.Rev // the winner first
}

// LeftBy tells when a document has left the slices of the principals that it is read as, with own
// only of the user's own, and what they saw; none if it never did, or is back.
func LeftBy(d *Reader, id string, own bool) (left []Left, err error) {
	leaves, err := allLeaves(d, id)
	if err != nil || len(leaves) == 0 || d.Who == nil {
		return nil, err
	}
	for _, s := range leaves[len(leaves)-1].Sights {
		if !s.Gone || !d.Who.Has(s.Principal) || own && !strings.HasPrefix(s.Principal, access.UserPrefix) {
			continue
		}
		revs, err := audience.Index{Keys: d.Keys}.Gone(d.R, s)
		if err != nil {
			return nil, err
		}
		left = append(left, Left{s.Seq, revs})
	}
	return left, nil
}

// findRemoved makes the tombstones that are asked for of the revisions that the slice has not: by
// themselves, or with latest by a revision that the slice had.
func findRemoved(d *Reader, req *OpenRevsRequest, wanted []wantedRev) ([]wantedRev, error) {
	lacks := func(w wantedRev) bool { return w.line == nil }
	if !d.Rec.Access.On || !slices.ContainsFunc(wanted, lacks) {
		return wanted, nil
	}
	t, err := tombstonesOf(d, req.ID)
	if err != nil {
		return nil, err
	}
	left, err := LeftBy(d, req.ID, false)
	if err != nil {
		return nil, err
	}
	var gone []wantedRev
	for i := range left {
		for _, rev := range left[i].Revs {
			tombstone := audience.Tombstone(&d.Rec.Access.Secret, req.ID, rev)
			gone = append(gone, wantedRev{tombstone, t.Leaf(rev).Line, rev})
		}
	}
	all := make([]wantedRev, 0, len(wanted))
	for _, w := range wanted {
		n := len(all)
		if r, ok := t.Of(w.rev); ok && lacks(w) {
			all = append(all, wantedRev{w.rev, r.Line, r.Rev})
			continue
		}
		for _, g := range gone {
			above := req.Latest && w.rev.Pos <= g.gone.Pos && g.line.Has(w.rev)
			if lacks(w) && (above || w.rev == g.rev) {
				all = append(all, g)
			}
		}
		if n == len(all) {
			all = append(all, w)
		}
	}
	return all, nil
}

// tombstone is the document of a revision that has left the slice.
func (w *wantedRev) tombstone(d *Reader, id string, o OpenOptions) *Document {
	doc := NewDocument(id, w.rev, true, formats.Entry{})
	if o.Revs {
		r := audience.Removed{Rev: w.gone, Line: w.line}
		doc.Revs = r.Path(w.rev)
		doc.Revs.IDs = doc.Revs.IDs[:min(int64(len(doc.Revs.IDs)), max(d.Rec.RevsLimit, 2))] // with what is deleted
	}
	return doc
}
