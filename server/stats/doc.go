// Package stats counts what CouchDB counts, under CouchDB's names (names.tsv).
//
//	stats.go         the counters, gauges and histograms; their moments
//	tree.go          as _stats shows them
//	prometheus.go    as _prometheus shows them
package stats
