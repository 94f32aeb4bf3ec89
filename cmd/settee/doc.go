// Command settee is a CouchDB-compatible document database in one binary.
//
// Map: main.go the command line · version.go what was built · serve.go (listen.go its ports),
// check.go, salvage.go, backup.go, migrate.go (migratefiles.go from files, migrateto.go from those
// into a server), compare.go, functions*.go, nodes.go, top.go, otel.go, doctor*.go, upgrade.go, downgrade.go,
// moved.go its commands · physical.go backups of the embedded engine's files · copies.go copies of
// its store for other processes · wire.go composes store, storage and server · engines.go, engine_*.go the storage
// engines of this build · memory*.go how much memory and how many processors it takes, collector.go
// how much the collector lets it grow · admin.go the first administrator · configfiles.go which ini
// files are read · logs.go the log, slow.go what it has of slow transactions · cluster.go
// FoundationDB's status for Prometheus.
package main
