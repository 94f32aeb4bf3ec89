// Package viewquery has the query of a view. It is below views, so that the package that reads
// options of requests (server/params) can make one without importing the indexes.
//
//	query.go   Query, and when an index is brought up to date for it
package viewquery
