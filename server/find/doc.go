// Package find serves Mango: _find, _explain, _index.
//
//	find.go        _find, _explain, _distinct
//	index.go       _index
//	indexlist.go   the indexes of a database, remembered
//	allfields.go   indexes over all fields: their settings, and what is told of them
//	search.go      full-text search, which there is not
//	routes.go      the rows of the route table
package find
