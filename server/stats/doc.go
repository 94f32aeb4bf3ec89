// Package stats counts what CouchDB counts, under CouchDB's names (names.tsv).
//
//	stats.go         the counters and gauges
//	histogram.go     the histograms; their moments
//	interval.go      times between one look and the next
//	recorded.go      the statistics that the server records, by CouchDB's names
//	javascript.go    those that are taken from the pool of JavaScript workers
//	tree.go          as _stats shows them
//	prometheus.go    as _prometheus shows them
package stats
