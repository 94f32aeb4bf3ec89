// Package fields checks which types the members of design documents have, as CouchDB does when one is
// saved.
//
// It lists their map functions, too, for whoever compiles them.
//
// Map: fields.go types; maps.go map functions
package fields
