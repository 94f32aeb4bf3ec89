// Package pebblekv is the embedded, default engine of the store contract kv.Store: one directory,
// one process, on Pebble.
//
// Map: store.go, open.go, gate.go open, close, View, Update, Watch · options.go what can be chosen,
// and Pebble's settings · format.go the format of the directory · snapshot.go shared snapshots ·
// running.go what slow readers may hold · reader.go reads of one transaction · valuecache.go the
// cache of values that are read again and again · iter.go ranges · request.go, queue.go a
// transaction on its way to the committer · committer.go gathering, syncing, answering · group.go
// the check of a group and its batch · turn.go, beginnings.go against starvation · fold.go atomic
// operations · conflicts.go, writeset.go what was written lately · keys.go stored keys, whose order
// and prefixes are in files/ · space.go the full disk, reserve.go who may use what is left of it,
// reclaim.go what was freed, and ranges that are compacted when asked · readonly.go opening without
// any space · compactions.go when Pebble compacts · subspaces.go what has tables of its own ·
// failure.go errors · metrics.go, prometheus.go numbers · logger.go Pebble's log lines · mark.go
// what a start has lost · place.go two processes on one directory · checkpoint.go copies of the
// store as it is now · heap_*.go where the cache is · damaged.go files in which something cannot be
// read · recover.go, files/ what can be read of such files.
//
// Invariants:
//
//	P1 The committer is the only writer. It commits whole groups: one Pebble batch, one sync, one commit version.
//	P2 A snapshot is published only after its group is synced, and waiters are answered only after the publication:
//	   what a reader sees is durable, and a transaction that follows an answered one sees it.
//	P3 At most two groups are under way: one that syncs and one that is applied after it; a third gathers meanwhile.
//	   Pebble's log keeps their order, so a group is never durable without the groups before it.
//	P4 A transaction with reads commits only if nothing that it read was written by a version above its snapshot's, by
//	   an earlier group or earlier in its own. Checks may err on the side of conflict, never on the other.
//	P5 Values are plain: atomic operations are evaluated by the committer, readers fold nothing.
//	P6 The commit version is stored in each group's batch; versions grow, by one from group to group, by more across a
//	   restart that has lost commits (mark.go) and at the first start of a copy (checkpoint.go): none is used twice.
//	P7 Stored keys begin with a byte that parts the callers' keys from the engine's own: every key is the callers' to
//	   use.
//	P8 What was written is remembered for the oldest running transaction, up to a bound. A transaction that is older,
//	   or that keeps meeting conflicts, gets a turn as long as it needs, in which nothing else is committed: it ends.
//	P9 A transaction is refused with kv.ErrFull before it is written when space is short, one that frees space
//	   (kv.UseReserve) later than others; what Pebble must not fail on (log, manifest, directory) waits for space
//	   instead of failing. Compactions leave the floor to flushes.
//	P10 A reader holds no memtables and files that Pebble has replaced: its iterators are closed between its calls and
//	   opened again where they were. A View whose snapshot was replaced long ago and much has been written since gets
//	   kv.ErrTooOld.
//	P11 A store that exists opens without any space, for reading, and is opened for writing by itself later. Only then
//	   do readers of Updates lose their snapshot; those run again.
//	P12 A directory with files that are missing or broken is refused before Pebble changes anything in it
//	   (files.Inspect).
//	P13 A value of the cache (valuecache.go) is given only in snapshots in which the key has it.
//	P14 Nothing is answered, and no file made or removed, once LOCK is not the file that this process has locked.
package pebblekv
