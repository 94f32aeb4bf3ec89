package docread

import (
	"slices"

	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
)

// Slice is what of a database with access for each document is read; the zero value is all of it.
type Slice struct {
	// Who sees only the leaves that name one of these principals, and of replaced revisions those
	// whose body does: the database is read as one that has nothing else. nil: all is seen.
	Who *access.Principals
	// User is the one whose local documents are read; nil: the database's are.
	User *string
}

// LocalKey is the key of a local document, of an empty id the prefix of all of them.
func (s *Slice) LocalKey(keys keyspace.Space, id string) []byte {
	switch {
	case s.User != nil:
		return audience.Index{Keys: keys}.Local(*s.User, id)
	case id == "":
		return keys.Sub(nil, keyspace.TagLocal)
	}
	return keys.Local(nil, id)
}

// accessMember is the member of a body that says who may read it, as Members name it.
var accessMember = []byte(`"_access"`)

// wanted are members of a body that was replaced, with the one that says who may read it.
func (s *Slice) wanted(m Members) Members {
	if s.Who == nil {
		return m
	}
	return m.With(Members{accessMember})
}

// sees reports whether a replaced revision is shown: its own body has to name who asks, whatever
// its successors do.
func (s *Slice) sees(body []byte) bool {
	if s.Who == nil {
		return true
	}
	list, _, err := access.Parse(body)
	return err == nil && s.Who.Sees(list)
}

// seen are the leaves that are shown, the winner of which gets the document's sequence.
func seen(who *access.Principals, leaves []formats.Leaf) []formats.Leaf {
	if who == nil || len(leaves) == 0 {
		return leaves
	}
	seq := leaves[len(leaves)-1].Seq
	leaves = slices.DeleteFunc(leaves, func(l formats.Leaf) bool { return !who.Sees(l.Access) })
	for i := range leaves {
		leaves[i].Tag = i
	}
	if n := len(leaves); n > 0 {
		leaves[n-1].Winner, leaves[n-1].Seq = true, seq
	}
	return leaves
}
