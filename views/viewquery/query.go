package viewquery

import "github.com/settee-db/settee/compat/ejson"

// Query is a query of a view. The zero Query is over all rows, but gives none: its Limit is 0.
type Query struct {
	// Reduce asks for reduced values. A view without a reduce function, or a query without Reduce,
	// gives the rows of the map function.
	Reduce bool
	// Fields asks a view that has a reduce function for the values of reduce.Fields instead.
	Fields bool
	// GroupLevel tells which rows are reduced together: with 0 all, with GroupExact those of one
	// key, else those whose keys are arrays that have so many first elements in common.
	GroupLevel int64

	// StartKey and EndKey are the ends of the range in reading direction; of kind Invalid where it
	// is open. The ids are those of the first and the last document at these keys, nil for all.
	StartKey, EndKey     ejson.Value
	StartDocID, EndDocID *string
	ExclusiveEnd         bool // the range ends before EndKey

	// Keys, an Array, takes the place of the range: the rows of each of its elements in turn. Else
	// it is of kind Invalid.
	Keys ejson.Value
	// StoredKeys shows a group that Keys asks for with the key of its first row, as CouchDB 3.6
	// does; else with the key as it is in Keys. They are equal in the order of keys.
	StoredKeys bool

	// Principals asks for the rows that one of them has, of a view by principal, each once; nil: for
	// all rows. Reduced values, and counts, are of one. Their rows are up to date whatever Update says.
	Principals []string

	Partition  string // one of the index, if that is partitioned; else ""
	Descending bool
	// Unsorted leaves nothing out for Skip, which counts in views.Head.Offset all the same: so does
	// CouchDB.
	Unsorted    bool
	Skip, Limit int64
	UpdateSeq   bool // fill views.Head.UpdateSeq
	Update      Update
}

// GroupExact is the GroupLevel of a query that reduces the rows of each key.
const GroupExact = -1

// Update reports whether an index is brought up to date for a query.
type Update uint8

// When an index is brought up to date.
const (
	UpdateFirst Update = iota // before the query
	UpdateNever
	UpdateLazy // after the query
)
