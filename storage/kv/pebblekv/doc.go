// Package pebblekv is the embedded, default engine of the store contract kv.Store: one directory, one process, on Pebble.
//
// Map: store.go open, close, View, Update, Watch · options.go what can be chosen, and Pebble's settings · format.go the
// format of the directory · snapshot.go shared snapshots · running.go what slow readers may hold · reader.go reads of one transaction · iter.go ranges ·
// request.go a transaction on its way to the committer · committer.go gathering, syncing, answering ·
// group.go the check of a group and its batch · turn.go, beginnings.go against starvation · fold.go atomic operations · conflicts.go, run.go what was written lately · keys.go stored keys ·
// space.go the full disk · failure.go errors · metrics.go numbers · logger.go Pebble's log lines.
//
// Invariants:
//
//	P1 The committer is the only writer. It commits whole groups: one Pebble batch, one sync, one commit version.
//	P2 A snapshot is published only after its group is synced, and waiters are answered only after the publication: what
//	   a reader sees is durable, and a transaction that follows an answered one sees it.
//	P3 At most two groups are under way: one that syncs and one that is applied behind it; a third gathers meanwhile.
//	   Pebble's log keeps their order, so a group is never durable without the groups before it.
//	P4 A transaction with reads commits only if nothing that it read was written by a version above its snapshot's, by an
//	   earlier group or earlier in its own. Checks may err on the side of conflict, never on the other.
//	P5 Values are plain: atomic operations are evaluated by the committer, readers fold nothing.
//	P6 The commit version is stored in each group's batch; versions grow by one from group to group, across restarts.
//	P7 Stored keys begin with a byte that parts the callers' keys from the engine's own: every key is the callers' to use.
//	P8 What was written is remembered for the oldest running transaction, up to a bound. A transaction that is older, or that keeps
//	   meeting conflicts, gets a turn as long as it needs, in which nothing else is committed: it ends.
//	P9 A group is refused with kv.ErrFull before it is written when space is short; what Pebble must not fail on (log,
//	   manifest, directory) waits for space instead of failing.
//	P10 A reader holds no memtables and files that Pebble has replaced: its iterators are closed between its calls and opened
//	   again where they were. A View whose snapshot was replaced long ago and much has been written since gets kv.ErrTooOld.
package pebblekv
