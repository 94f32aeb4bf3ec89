// Package levels keeps, above the rows of a view index, what makes its queries cheap: how many rows
// come before a key, and what the reduce functions make of stretches of rows.
//
// # Boundaries
//
// Rows are in order of their keys. A skip list over them (storage/rank) has, on each level,
// boundaries at the keys whose hash reaches the level (they go with their rows), with the number of
// rows up to the next boundary, and, if a reduce function is _sum, with the sum of those values
// that are 64-bit integers and the number of those that are not. Whoever builds the index, or
// purges documents of it, writes them after the rows, one at a time.
//
// What other functions make of the rows from a boundary to the next is an aggregate, stored for
// each function (slot) at each boundary of each level. It is either right or marked stale: whoever
// changes rows marks those that depend on them; queries make up for stale ones from the level
// below, in the end from the rows; Refresh and RefreshAll compute them anew. With sums, the
// aggregates of _sum are over those rows only that have no 64-bit integer.
//
// An index that many write at once is logged: writers append their changes to a log, and a folder
// takes them into all this later. Until then queries add what the log has to counts and sums, and
// take aggregates above its changes for stale (log.go).
//
// # Queries
//
// The reduction of a range is made of the rows up to the first boundary, of aggregates on higher
// and higher levels, and down again to the rows up to the end. A group is such a range, since the
// rows of a group have a common prefix that no others have: after a few rows of a group its rest is
// taken from the levels, and the next group begins after that. Ranges of few rows are reduced row
// by row, in exactly the order in which CouchDB does it; that shows in the last digits of sums of
// fractions.
//
// Map: levels.go the index, its configuration and keys · apply.go changes · log.go those of indexes
// that many write · refresh.go stale aggregates · build.go all anew · query.go queries · groups.go
// those with groups, jump.go what these leave out · cache.go what is cached of a state · cover.go a
// range taken apart · gather.go groups reduced together · check.go the invariants checked.
//
// Invariants:
//
//	L1 An aggregate that is not stale, and in a logged index not above a change of the log, is what its function makes
//	   of the rows from its boundary to the next one on its level.
//	L2 Each boundary but the empty one has an entry in each slot that has aggregates, once the slot is built.
//	L3 A query gives the same with levels and without, but for the grouping of a fold over many rows.
//	L4 Writers of different rows of a logged index conflict on nothing. Of two
//	   transactions that change another index at the same time one runs again.
package levels
