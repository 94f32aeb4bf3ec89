// Package fulltext has the handlers of full-text search: _search as CouchDB's dreyfus and Clouseau
// answer, _nouveau as Nouveau does. What is asked for is found by package search.
//
//   - routes.go: the endpoints
//   - searchoptions.go, nouveauoptions.go, suggestoptions.go: what is asked for; server/params reads
//     the values
//   - search.go: _search and its answers; facets.go: counts and ranges of it; groups.go: groups
//   - nouveau.go: _nouveau and its answers; nouveauparts.go: long ones, part by part
//   - bookmark.go: where pages end
//   - hits.go: documents and stored fields of hits
//   - info.go: what is told of indexes, clean-up, documents that could not be indexed
//   - suggest.go: terms of an index for what somebody types
//   - analyze.go: trying out an analyzer
package fulltext
