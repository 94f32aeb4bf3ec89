// Package find serves Mango: _find, _explain, _index.
//
//	find.go        _find, _explain, _distinct
//	aggregate.go   _aggregate
//	index.go       _index
//	indexlist.go   the indexes of a database, remembered
//	use.go         _index_use
//	scans.go       what queries had no index
//	allfields.go   indexes over all fields: their settings, and what is reported of them
//	text.go        indexes of full-text search: settings, and their first build
//	routes.go      the rows of the route table
package find
