// Package remote makes the requests of event functions to other servers, as a URL binding says: with its
// credentials, below its path, only to addresses that functions may reach, and with no more of an answer in
// memory than there is room for.
//
// # Map
//
//	url.go     URL: a binding that requests can be made to
//	digest.go  requests that are signed with a challenge of the server (RFC 7616)
//	send.go    Send: a message is posted, and its receipt read
//
// # Invariants
//
//  1. Credentials, cookies and headers go to the origin of the binding only.
//  2. Each address that a connection goes to was allowed, after its name was resolved.
package remote
