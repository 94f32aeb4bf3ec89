// Package storagetest is what tests of the store and of everything above it have in common. Only
// tests import it; it does not import storage, so that storage's own tests can.
//
// Map: check.go Must and Want · documents.go documents and lines of revisions from short texts ·
// engines.go the kinds of store that a test runs on · engine_fdb.go FoundationDB among them (build
// tag fdb) · recordings.go the recorded answers of a CouchDB.
package storagetest
