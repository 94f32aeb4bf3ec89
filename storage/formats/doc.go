// Package formats says what the values of documents look like in a store: leaves with their lines,
// entries with attachments and bodies, rows of lists and of the changes feed, local documents,
// purge requests, security objects. It only writes and parses bytes. Parsers return kv.ErrCorrupt,
// with a description, for bytes that this program never writes; they never panic.
//
// # File tour
//
//	entry.go       entries: attachments and bodies, or where those are
//	members.go     the table of the members of a long body
//	leafrecord.go  leaves with their lines, winners in lists, changes
//	localvalue.go  local documents
//	purge.go       purge requests
//	security.go    the security object
package formats
