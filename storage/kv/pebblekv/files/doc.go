// Package files reads the files of a Pebble store one by one, as far as they can be read, without
// Pebble's own recovery. That gives up at the first file that is damaged or missing, and in some
// cases (a manifest that breaks off) continues without an error. The package only reads.
//
// Map: records.go the records of logs and manifests, beyond what is broken · manifest.go which
// tables, blob files and logs belong to the store · inspect.go what is wrong with a directory,
// before Pebble opens it · table.go, scan.go rows of a table, by its index or block by block ·
// logs.go rows of the logs · blobs.go values that Pebble stores in blob files · merge.go,
// deletions.go the newest row of each key · read.go all of it · prefix.go the order of stored keys,
// and which of them share a prefix.
//
// Invariants:
//
//	R1 Nothing of what is read makes it panic, or is trusted: each chunk and block has a checksum, and what has none
//	   (lengths, numbers) is bounded.
//	R2 A row is given only if its own block, or the chunks of its record, had the right checksum.
//	R3 What cannot be read is reported with its file and, where that is known, the range of keys it may have had.
//	R4 Keys are ordered by their bytes; those of a prefix follow each other. What the prefix of a key is never
//	   changes: tables of a store have filters that were made by it.
package files
