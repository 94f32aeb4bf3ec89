// Package documents serves documents and attachments, one or many. The package of the same name
// below the server decides what a user may do with them; this one has the options, statuses and
// forms of requests.
//
//	read.go          GET of a document, open_revs
//	write.go         PUT, POST, DELETE and COPY of a document
//	atomic.go        _bulk_docs with `atomic`: all documents or none
//	atomicdbs.go     _atomic: documents of several databases
//	atomicrun.go     how they are stored
//	once.go          requests with an Idempotency-Key
//	part.go          GET of one value in a document
//	patch.go         PATCH of a document
//	restore.go       _restore of a document: an older revision comes back
//	related.go       documents with their attachments in multipart bodies
//	form.go, docform.go  documents from HTML forms; what is in such a form
//	attachments.go   attachments
//	bulkdocs.go      _bulk_docs
//	bulkpatch.go     patches in _bulk_docs
//	bulkget.go       _bulk_get
//	revsdiff.go      _revs_diff, _missing_revs
//	purge.go         _purge
//	routes.go        the rows of the route table
package documents
