// Package groups keeps the groups of a database with access for each document: names that documents
// may be for, and whose members users are, by their names, by roles, or because a group of theirs is
// a member. It stores them by group, to be shown, and by member, so that the groups of a user are
// found without a look at the other members.
//
//	TagAccess, 6                    13 bytes of seq, of the last change of any group
//	TagAccess, 6, 0, group          the group: format 1, varints: revision, number of members, bytes
//	TagAccess, 6, 1, group, piece   its members: texts with their lengths, in pieces
//	TagAccess, 7, member, group     nothing; the member is a principal
//
// # Map
//
//	groups.go   the keys; groups are read, written, listed
//	members.go  the groups of a user
//	parse.go    the JSON of a group
//	check.go    verifies what is stored, for package verify
//
// # Invariants
//
//  1. A group is stored for each of its members, and no other is.
//  2. The groups of a user cost reads of their own: one range for each principal that the user is,
//     in one round trip for each level of groups in groups; other members are not read.
//  3. Writers of different groups share no key but by blind versionstamps.
//  4. A change of a group is an update of the database to those that wait for one, and moves its
//     last sequence; no feed has a row of it.
package groups
