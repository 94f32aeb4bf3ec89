// Package timeseq tells where in the feed of a database the changes begin that were made at a time
// or later.
//
// Commits say in the log of counts, which they write anyway, at which second their clock was. Who
// folds the log takes from it the marks: a second, and the place in the feed just before the first
// commit of it. Only a second after all before makes a mark, so that both seconds and places
// ascend. Clocks may differ and jump: a commit whose second is not after that of the newest mark
// comes after the place of the mark that answers for its second, whichever that is.
//
//	prefix, second (int)   13 bytes of seq, varint: updates of the database before it
//
// Marks become fewer with age. Those of the newest Exact seconds are kept as they are; of those
// older than Exact times a power of two, one in each stretch of twice that power in seconds. Of
// several in a stretch the second is the last one's and the place that of the first, so that an
// answer may only begin earlier. So a database has at most Exact marks, and half as many for each
// time that its age doubles beyond: 40,000 after fifteen years of commits in every second.
//
// Map: marks.go the index · histogram.go what GET /db/_time_seq shows of it
//
// Invariants:
//
//  1. Seconds, places and numbers of updates ascend together, seconds strictly.
//  2. What was committed at a second or later, by the clock of whoever did, comes after the place of the first mark of
//     that second or a later one; where there is none, after all places that are not in the log any more.
package timeseq
