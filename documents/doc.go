// Package documents gives access to documents as one principal sees them: a Database combines a
// database, the principal who asks, and the rules in force. HTTP handlers, event functions and the
// local ends of replications work on a Database of this package; it knows nothing of requests:
// plain options in, values or compat.Error out.
//
// # Map
//
//	store.go                           Store, Rules, Origin, Database: where all begins
//	access.go                          _security: members, admins, the server's own databases
//	slice.go                           the documents of one principal, where access is for each
//	read.go, show.go                   reading; what is shown of what was read, in CouchDB's form
//	data.go                            attachments in JSON
//	parse.go, write.go, draft.go       documents on their way in: read, stored, their attachments before them
//	patch.go, patchround.go            parts of documents, changed where they are stored
//	restore.go                         the body of an older revision, made the current one again
//	luceneversion.go                   what new design documents get besides
//	commit.go                          edits of several databases in one transaction
//	groups.go                          feeds that keep the rows of a commit together
//	feed.go, filterselector.go, filterfunction.go  changes, with the filters of _changes
//	list.go                            lists of documents by id
//	info.go                            numbers of the database as a whole
//	attachments.go                     bytes of attachments
//	revsdiff.go, purge.go              _revs_diff and _missing_revs, _purge
//	partition.go                       ids that name no partition are refused
//	users.go, replications.go          the users and replicator databases: documents on their way in and out
//	validate.go, checkdesign.go        the checks inside a document's transaction
//	validatefunctions.go, verdicts.go  those of validate_doc_update, functions and selectors
//	authdesign.go                      the design document of the users database
//	functions.go, request.go           functions of design documents, and what they get to see
//	trial.go                           functions of a design document that is not stored
//
// # Invariants
//
//  1. Documents are written through Database.Update and Store.Commit alone, which name the principal to
//     the validator.
//  2. Documents are shown only after Database.Show: Open, Get, OpenRevs and BulkGet ask it themselves, and so do
//     AppendDoc of a Feed and of a List; readers of snapshots have to.
//  3. A Database sees one state of the rules, that of its Origin.
//  4. Where access is for each document, the storage.DB of a Database shows and takes no other than the
//     principal's; until the principal's rights were read, none.
//  5. What a principal may do with a database as a whole is asked once, with Access.Authorize; the methods that read
//     and write do not ask again.
package documents
