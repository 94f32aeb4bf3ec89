// Package changes serves feeds.
//
//	changes.go     _changes
//	dbupdates.go   _db_updates
//	routes.go      the rows of the route table
package changes
