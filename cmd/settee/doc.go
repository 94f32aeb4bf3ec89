// Command settee is a CouchDB-compatible document database in one binary.
//
// Map: main.go the command line · serve.go, check.go, bench.go its commands · wire.go composes store, storage and server ·
// engine_*.go the storage engines of this build · memory*.go how much memory it takes · admin.go the first administrator · configfiles.go which ini files are read.
package main
