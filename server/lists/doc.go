// Package lists serves lists of documents by id.
//
//	alldocs.go     _all_docs, _design_docs, _local_docs
//	access.go      _access/…: whom a document is for, and what a user sees
//	partition.go   _partition: the database of which only a part is asked
//	routes.go      the rows of the route table
package lists
