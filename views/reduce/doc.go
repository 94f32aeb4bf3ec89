// Package reduce has the reduce functions of views: those that CouchDB 3.5 has built in, and
// JavaScript ones through an interface. All are pure: rows come in, aggregates that can be stored
// and merged go out, and in the end the value as JSON.
//
// A value takes the way it takes in CouchDB: rows are reduced, aggregates are rereduced, and before
// a row of the answer is shown its aggregate is rereduced alone once more, as the coordinator of a
// cluster does with what the shards give it. That last step is visible: [] becomes [0] with _sum,
// and a JavaScript function is called with rereduce.
//
// Map: reduce.go functions and names · number.go Erlang's numbers · sum.go, sumterm.go _sum ·
// count.go _count · tally.go integers that are only added up · stats.go, statserror.go _stats ·
// distinct.go, estimate.go, estimatedata.go _approx_count_distinct · ranked.go _top_N and _bottom_N
// · ends.go _first and _last · fields.go statistics of the fields of JSON indexes · javascript.go
// functions in JavaScript.
//
// Invariants:
//
//	A1 No aggregate is empty, and none begins with a byte 0: users of this package use such values for marks.
//	A2 Nothing that is stored makes a function panic: an aggregate that no code of ours writes is an error.
//	A3 The order of rows and aggregates counts: they come in the order in which CouchDB folds them (see Func).
package reduce
