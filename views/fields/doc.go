// Package fields checks which types the members of design documents have, as CouchDB does when one is
// saved.
//
// Map: fields.go
package fields
