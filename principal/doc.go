// Package principal has the identity of a user, a name with roles, and CouchDB's ways to prove it:
// stored passwords, signed sessions, tokens. It does no I/O and knows no request; what comes in
// headers is read in server/auth.
//
// Map: principal.go who asks · user.go what a login is checked against, from a user document or an
// [admins] entry · password.go hashes · verifier.go checks passwords within bounds, gate.go the
// bounds, lockout.go counts failures · session.go signed sessions · proxy.go what proxies sign ·
// jwt.go, jwtkeys.go tokens · totp.go second factors · userdoc.go, userrules.go what a user
// document may be, policy.go, term.go the setting password_regexp.
//
// Invariants:
//  1. Secrets are compared in constant time, and never part of an error.
//  2. A wrong password costs a whole hash, an unknown name too; a right one only the first time. What is remembered is
//     keyed with a key of the process and bounded.
//  3. No more hashes run at the same time than the gate has slots, and a peer has one of them at most. Nobody waits for
//     a slot for longer than ten seconds, and a hash that a user brings along costs no more than those the server
//     makes.
//  4. Nothing here panics on input.
package principal
