// Package warm builds and removes indexes without a query: warmer.go, CouchDB's ken and the part of
// smoosh that cleans up.
package warm
