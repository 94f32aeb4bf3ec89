//go:build unix

// Command movefiles proves "settee migrate --from-data" at a size that no test of the tree has: it
// fills a database of a real CouchDB, has its files migrated, and compares every leaf revision with
// what the CouchDB answers, and what each checkpoint leads to. It prints time and peak memory.
//
// File tour: main.go the order of it · fill.go the documents · compare.go both servers' answers
//
//  1. Documents depend only on their number: conflicts, deletions, edits and attachments are the same
//     each time.
//  2. What is compared is asked over HTTP of both servers; nothing of the reader of files is used.
package main
