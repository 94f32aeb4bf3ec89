// Package rank counts the rows of a subspace before any key in a number of reads that grows with the logarithm of the
// rows, although independent writers never conflict on the counts. It may add up a number of each row in the same way.
//
// A rank index is a skip list over the rows' keys. A key's height is given by its hash: one in fan reaches level 1, one
// of those in fan level 2, and so on. On each level the boundaries (keys that reach it, and the empty key before all)
// hold the weight of the rows from there up to the next boundary. A boundary goes with its row.
//
// A writer finds the boundary before its row with a snapshot read, declares a conflict with boundaries that are made
// between it and the row, and adds to its weight atomically: two writers conflict only if one of them makes a boundary
// between. A writer that is alone (Options.Alone) writes the weight, which it has read, with a conflict: the store of
// this machine need not read it to add to it.
//
// To make a boundary would take the weight of the rows that it takes over, which conflicts with all their writers. So
// it begins open: it weighs only changes made after it, and the rows it found stay in the weight of the boundary
// before. Sums over whole stretches from one boundary that is not open to the next are right at any time, and nothing
// else is read. Later a writer that comes upon an open boundary settles it: the rows between it and the next boundary,
// less its own weight, both in one snapshot, are what it found when it was made, a number that does not change any
// more; it is moved over atomically. Only other settlers of the same stretch conflict with that. Of many in a row the
// last ones are settled first, and the stretch ends before them.
//
// A boundary has a second key, a mark that is never rewritten: a backward read that looks for the boundary before a row
// must not land on weights, since a store that keeps versions walks over all those of a weight that every writer adds
// to.
//
// To take a boundary away would take its exact weight, which conflicts with all writers after it. So who removes its
// row only retires it: its mark goes, by which writers find boundaries, and it counts as open. Its weight stays where
// it is, so that sums over stretches stay right, and from then on new writers add to the boundary before. Later
// somebody who removes another row of the stretch, or settles it, moves the weight to the boundary before, in a
// transaction that reads it with conflicts: nobody adds to it any more, but for writers who read before it was retired.
// These conflict by a guard: a key, never written, that writers declare to read for the boundary they add to, and who
// takes a boundary away declares to write. So each stretch has few retired boundaries, and all boundaries are bounded
// by the rows that are there and those that the last transactions removed. A row that comes back opens its retired
// boundary, with the weight that it has.
//
// An index that is folded has one writer, the folder, which takes changes that others have noted elsewhere into the
// weights (Fold). It has neither open nor retired boundaries, and no marks. Who reads it has the changes that are not
// folded with it (BeforeWith, SelectWith).
//
// Map: index.go the index and its keys · weight.go weights, states and their stored form · read.go sums, counts and
// selection · askback.go reads of all levels together · prefixsums.go what is before the boundaries of a level ·
// batch.go, find.go changes of rows · settle.go open and retired boundaries · fold.go indexes that are folded ·
// build.go all boundaries anew · check.go the invariants checked.
//
// Invariants:
//
//	R1 On each level the weights from one settled boundary up to the next settled one add up to that of the rows
//	   between.
//	R2 What is settled on a level is settled on all below.
//	R3 Heights depend on nothing but the key, the number of levels and the fan, which must not change for a stored
//	   index.
//	R4 The boundaries of a level that have a mark are the rows that reach it. Others are retired, on all their levels
//	   at once.
//	R5 Who changes the state or, but for rows of its own, the weight of boundaries conflicts with others who do, or
//	   base something on them (locks in settle.go).
package rank
