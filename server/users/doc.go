// Package users is the users database as the server itself uses it.
//
//	directory.go     finds users by name, remembers them, and writes new hashes of passwords
//	peruser.go       follows the database: what is remembered is forgotten, and users get databases of their own
//
// It writes and reads without a principal: these are the server's own rules, not a user's wishes.
package users
