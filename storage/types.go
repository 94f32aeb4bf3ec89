package storage

import (
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
)

// Seq is the place of a change in a database's feed; see compat.Seq.
type Seq = compat.Seq

// UpdateSeq is a sequence with the number it has on the wire: T minus the rows of the feed after
// it, where T counts the updates ever made.
type UpdateSeq struct {
	N   uint64
	Seq Seq
}

// CreateOptions are the settings that a database keeps for life. Q and N are only shown (one settee
// has no shards).
type CreateOptions struct {
	Partitioned bool
	Access      bool // each document has readers of its own, see DB.As
	Q, N        int
	// Security is the security object it begins with, nil for none. A database is never seen
	// without it.
	Security []byte
}

// Info is what GET /db shows.
type Info struct {
	Name        string
	UUID        [16]byte
	Created     time.Time
	Partitioned bool
	Access      bool
	Q, N        int
	DocCount    int64
	DocDelCount int64
	UpdateSeq   UpdateSeq
	PurgeSeq    UpdateSeq
	// SizeActive and the replaced revisions that compaction removes, but for attachments that only
	// they name
	SizeFile int64
	// History is how long replaced revisions are kept; HistorySize and HistoryRows are the bytes of
	// those that are there, with the attachments that only they have, and how many they are; it is
	// not counted where they are kept until compaction.
	History                  History
	HistorySize, HistoryRows int64
	SizeExternal             int64 // of the leaves' bodies by couch_ejson_size, and of their attachments
	SizeActive               int64 // bytes of the leaves' records, bodies and attachments as stored
	CompactRunning           bool
}

// PartitionInfo is what GET /db/_partition/p shows.
type PartitionInfo struct {
	DocCount, DocDelCount    int64
	SizeActive, SizeExternal int64
}

// UpdateOptions say how Update treats the documents.
type UpdateOptions struct {
	// Replicated is new_edits=false: the documents come with their lines of revisions, which are
	// merged into the trees.
	Replicated bool
	// Trusted writes are not validated: they bring back what was accepted before, or are the
	// server's own.
	Trusted bool
	// Readers are those of tombstones whose bodies do not tell, of a copy of a database with access
	// for each document; nil: they are those of the leaf that each one replaces.
	Readers map[ReadRev][]string
	Apart   bool // the context tells checks more than who writes, so that no transaction is shared with other edits
	// Stored is called in each transaction with the edits that it stores, in the order of their
	// ids; nil: it is not. It is not told of local documents.
	Stored func(x *Tx, results []EditResult) error
}

// Bound is one end of a range of ids. The zero Bound is open.
type Bound struct {
	ID        string
	Set       bool
	Exclusive bool
}

// Namespace restricts a list of ids.
type Namespace uint8

// What a list of ids has: all, or those of design documents.
const (
	NamespaceAll Namespace = iota
	NamespaceDesign
)

// RangeOptions are the options of lists of ids. Start is where the listing begins: with Descending
// the upper end.
type RangeOptions struct {
	Start, End  Bound
	Descending  bool
	Skip, Limit int64 // Limit < 0: none
	Namespace   Namespace
	IncludeDocs bool
	Conflicts   bool            // with IncludeDocs
	Members     docread.Members // with IncludeDocs
	WithSeq     bool            // fill ListHeader.UpdateSeq
	Snapshots   *int64          // counts the snapshots that are read, if it is not nil
}

// ListHeader precedes the rows of a list.
type ListHeader struct {
	Total     int64 // rows of the namespace
	Offset    int64 // rows before the first one, skipped ones included
	UpdateSeq UpdateSeq
}

// ListRow is one row of a list of ids. It is valid until the callback returns.
type ListRow struct {
	ID      string
	Found   bool // false only where keys were asked for: no such document
	Rev     compat.Rev
	Deleted bool              // only where keys were asked for
	Doc     *docread.Document // with IncludeDocs, unless deleted
}

// IDRevs names revisions of one document.
type IDRevs struct {
	ID   string
	Revs []compat.Rev
}

// RevsDiff is the answer to IDRevs: the revisions that are not in the tree, and leaves that could
// be their ancestors.
type RevsDiff struct {
	ID                string
	Missing           []compat.Rev // ascending; in the order asked for if the document is unknown
	PossibleAncestors []compat.Rev // in the order of winners
}

// ChangesOptions select rows of the changes feed.
type ChangesOptions struct {
	Since       Seq // only rows after it, whatever the direction
	Until       Seq // only rows up to it, in ascending order; zero: all
	Descending  bool
	Limit       int64 // < 0: none
	AllLeaves   bool  // style=all_docs: Change.Revs has all leaves
	Revoked     bool  // also rows with Change.Revoked
	IncludeDocs bool
	Conflicts   bool            // with IncludeDocs
	Members     docread.Members // with IncludeDocs
	// DeletedConflicts fills Document.DeletedConflicts, with IncludeDocs.
	DeletedConflicts bool
	// Unnumbered is for who goes through the whole feed, in ascending order, and shows nobody where
	// it is: sequences have no numbers, and the end has More instead of Pending. To count rows
	// takes several round trips.
	Unnumbered bool
}

// Change is one row of the changes feed. It is valid until the callback returns.
type Change struct {
	Seq     UpdateSeq
	ID      string
	Deleted bool
	// Revoked tells that the document has left the slice (DB.As): Deleted is set, and Revs are
	// tombstones (audience.Tombstone) of the live leaves that were seen.
	Revoked bool
	// the winner first; with AllLeaves then the live leaves and the deleted ones, each in
	// descending order
	Revs []compat.Rev
	Doc  *docread.Document // with IncludeDocs; the winner, a tombstone too
}

// ChangesEnd tells where a scan of the changes feed ended.
type ChangesEnd struct {
	Last    UpdateSeq // of the last row seen, or of the start
	Pending int64     // rows after it
	More    bool      // with Unnumbered: the scan ended by the limit or by its reader, and there may be rows after it
}
