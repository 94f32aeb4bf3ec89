// Command bench measures a server that speaks CouchDB's protocol, alternately with another one:
// speed, memory, disk. docs/benchmarks.md says what it measures and how.
//
//	make bench URL_A=http://admin:password@127.0.0.1:5984 BENCH_FLAGS='--only ^view'
//
// It is a module of its own: the server's program does not carry it, and it needs nothing of the
// server but HTTP. main.go has the flags, measure/ the workloads and the report, barepebble/ the
// store alone, for --limits.
package main
