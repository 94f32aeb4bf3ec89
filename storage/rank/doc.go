// Package rank counts the rows of a subspace before any key in a number of reads that grows with the logarithm of the rows,
// although independent writers never conflict on the counts. It may add up a number of each row in the same way.
//
// A rank index is a skip list over the rows' keys. A key's height is given by its hash: one in fan reaches level 1, one of
// those in fan level 2, and so on. On each level the boundaries (keys that reach it, and the empty key before all) hold the
// weight of the rows from there up to the next boundary. A boundary stays when its row is deleted; its weight falls.
//
// A writer finds the boundary before its row with a snapshot read, declares a conflict with boundaries that are made between it
// and the row, and adds to its weight atomically: two writers conflict only if one of them makes a boundary between.
//
// To make a boundary would take the weight of the rows that it takes over, which conflicts with all their writers. So it begins
// open: it weighs only changes made after it, and the rows it found stay in the weight of the boundary before. Sums over whole
// stretches from one boundary that is not open to the next are right at any time, and nothing else is read. Later a writer
// that comes upon an open boundary settles it: the rows between it and the next boundary, less its own weight, both in one
// snapshot, are what it found when it was made, a number that does not change any more; it is moved over atomically. Only
// other settlers of the same stretch conflict with that.
//
// A boundary has a second key, a mark that is never rewritten: a backward read that looks for the boundary before a row must
// not land on weights, since a store that keeps versions walks over all those of a weight that every writer adds to.
//
// Map: index.go the index and its keys · weight.go weights and their stored form · read.go sums, counts and selection ·
// batch.go, find.go changes of rows · settle.go open boundaries · build.go all boundaries anew · check.go
// the invariants checked.
//
// Invariants:
//
//	R1 On each level the weights from one settled boundary up to the next settled one add up to that of the rows between.
//	R2 A row's key that reaches a level is a boundary of it; what is settled on a level is settled on all below.
//	R3 Heights depend on nothing but the key, the number of levels and the fan, which must not change for a stored index.
package rank
