// Package indexers makes one indexer of several: what a store calls is one (storage.Hooks).
//
// Map: indexers.go
package indexers
