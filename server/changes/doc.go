// Package changes serves feeds.
//
//	changes.go     _changes
//	dbupdates.go   _db_updates
//	semaphore.go   how many feeds work at a time
//	deep.go        where feeds do what takes a deep stack
//	routes.go      the rows of the route table
package changes
