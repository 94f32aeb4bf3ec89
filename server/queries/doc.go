// Package queries serves views: their queries, and what is reported of their indexes.
//
//	view.go     _view, its queries: options and checks
//	principals.go  users of databases with access for each document
//	answer.go   rows and their documents
//	page.go     pages with bookmarks
//	info.go     _info, _compact, _view_cleanup, _view_errors
//	routes.go   the rows of the route table
package queries
