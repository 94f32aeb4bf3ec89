// Package keyspace says where everything lies in a store: the keys of the root and of a database,
// the records of databases, the counters. All packages that store something of a database stand on
// it; it reads and writes nothing but counters.
//
// # File tour
//
//	keyspace.go   the keys, and what is appended to them: revisions, sequences
//	keynames.go   what a key is in words, for logs
//	record.go     the record of a database
//	counters.go   counters: their numbers, what a transaction adds to them
package keyspace
