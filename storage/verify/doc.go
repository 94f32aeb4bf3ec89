// Package verify checks what is stored against the invariants of package storage, which are numbered
// there. It reads keys and values only, so that it needs no open store, and its tests are those of
// storage: they check each store that they leave behind.
//
// # File tour
//
//	check.go      the whole store: records, prefixes; the phases of one database
//	documents.go  documents in the order of their ids: leaves, entries, lists
//	feed.go       the changes feed and the counts of its blocks
//	ranks.go      the counts of the list of ids
//	rest.go       counters, attachments, local documents, purge requests, the security object
package verify
