// Package viewquery is the question that a view is asked. It is below views, so that who reads the
// options of requests (server/params) can make one without the indexes that answer it.
//
//	query.go   Query, and when an index is brought up to date for it
package viewquery
