// Package find serves Mango: _find, _explain, _index.
//
//	find.go        _find, _explain, _distinct
//	index.go       _index
//	indexlist.go   the indexes of a database, remembered
//	allfields.go   indexes over all fields: their settings, and what is reported of them
//	analyze.go     _search_analyze, _nouveau_analyze
//	search.go      the answers to full-text search, which settee does not have
//	routes.go      the rows of the route table
package find
