package docread

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
)

// Document is one revision of a document as it is stored.
type Document struct {
	ID      string
	Rev     compat.Rev
	Deleted bool
	// Body is the canonical JSON object without special members, at least `{}`.
	Body []byte
	// Partial says that the body is not whole: members that were not wanted are left out.
	Partial bool
	// Attachments are in document order; their Source is SourceStored and their Ref leads to the
	// bytes.
	Attachments []compat.Attachment
	// Access are the principals that may read a leaf which was asked for by its revision, or with
	// all others; nil in databases without access for each document.
	Access []string

	// The rest is filled as OpenOptions ask.

	Revs             compat.RevPath // cut to the database's revs_limit
	RevsInfo         []RevInfo      // the winner's line, newest first
	Conflicts        []compat.Rev   // other leaves that are not deleted, in the order of winners
	DeletedConflicts []compat.Rev
	Unshared         []compat.Rev // those of both that not all who may read the winner may read
	LocalSeq         uint64       // the number of the document's sequence
	Seq              compat.Seq   // with LocalSeq: where the feed has the document
}

// AddConflicts fills in what the options ask for of the leaves beside the winner, which is the last
// one.
func (doc *Document) AddConflicts(leaves []formats.Leaf, live, deleted bool) {
	for i := len(leaves) - 2; i >= 0; i-- { // descending, live ones first
		l := &leaves[i]
		lacks := func(principal string) bool { return !slices.Contains(l.Access, principal) }
		if slices.ContainsFunc(leaves[len(leaves)-1].Access, lacks) {
			doc.Unshared = append(doc.Unshared, l.Rev)
		}
		switch {
		case l.Deleted && deleted:
			doc.DeletedConflicts = append(doc.DeletedConflicts, l.Rev)
		case !l.Deleted && live:
			doc.Conflicts = append(doc.Conflicts, l.Rev)
		}
	}
}

// RevStatus says what is left of a revision.
type RevStatus uint8

const (
	RevMissing   RevStatus = iota // known as an ancestor, its body is not stored
	RevAvailable                  // can be read
	RevDeleted                    // can be read and is a tombstone
)

// String is CouchDB's word in _revs_info.
func (s RevStatus) String() string {
	switch s {
	case RevAvailable:
		return "available"
	case RevDeleted:
		return "deleted"
	}
	return "missing"
}

// RevInfo is one entry of _revs_info.
type RevInfo struct {
	Rev    compat.Rev
	Status RevStatus
}

// OpenOptions choose the revision and what is read besides the body. The zero value reads the
// winner with its body.
type OpenOptions struct {
	// Rev asks for this revision instead of the winner: a leaf, or an ancestor whose body is still
	// stored.
	Rev compat.Rev
	// Latest, with Rev, reads the leaf that descends from it instead, of several the one that wins
	// among them.
	Latest bool
	// Deleted accepts a deleted winner, which is otherwise the error compat.ErrDeleted.
	Deleted bool

	// What of Document is filled besides.
	Revs             bool // Document.Revs
	RevsInfo         bool
	Conflicts        bool
	DeletedConflicts bool
	LocalSeq         bool
	// Members are what is wanted of the body.
	Members Members
}

// Members are the members of bodies that are wanted, by their names as they stand in the text, with
// quotes: others may be left out of a body, and are where that saves much. nil is all of them.
type Members [][]byte

// NoMembers leaves out bodies that would have to be read by themselves: they are `{}` then.
// Attachments are still read.
var NoMembers = Members{}

// None reports whether none is wanted.
func (m Members) None() bool { return m != nil && len(m) == 0 }

// With is what either list wants.
func (m Members) With(others Members) Members {
	if m == nil || others == nil {
		return nil
	}
	return append(m[:len(m):len(m)], others...)
}

// OnlyWinner reports whether the winner is wanted as it is stored, or members of it.
func (o *OpenOptions) OnlyWinner() bool {
	return o.Rev.IsZero() && !o.Latest && !o.Deleted && !o.Members.None() && !o.needsTree()
}

// OpenRevsOptions ask for several revisions of one document.
type OpenRevsOptions struct {
	Revs   []compat.Rev
	All    bool // all leaves instead of Revs
	Latest bool // for a revision that has descendants, their leaves instead of it
	Open   OpenOptions
}

// RevResult is one revision asked for: the document, or nil where it is missing.
type RevResult struct {
	// The revision that was asked for; Doc may be a later one (Latest), or nil for one that is
	// missing.
	Rev compat.Rev
	Doc *Document
}
