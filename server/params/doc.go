// Package params is the grammar of what requests ask for: which names there are, in which order
// they are looked at, what CouchDB says of values that it does not take. What comes out are the
// plain questions of the packages below: viewquery.Query, documents.ReadOptions,
// documents.ListOptions, documents.FeedOptions. No handler knows the name of an option of these, and nothing below the
// handlers does. Options that one resource has alone, as those of _search and _find, are beside its
// routes.
//
//	view.go, viewset.go    options of views and lists: what is read from a query or a body, and name by name
//	viewcheck.go           what these options mean together
//	idrange.go             ranges of ids and names
//	fields.go              which fields of documents are shown
//	document.go            options of documents, and the revision that a query and headers name
//	changes.go, changesfilter.go, dbupdates.go  _changes, its filters, _db_updates
//	accept.go              the headers Accept and Accept-Encoding
//	value.go               the value of an option: text of a query, or JSON of a body
//	uuids.go               _uuids
package params
