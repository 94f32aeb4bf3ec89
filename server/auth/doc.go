// Package auth reads credentials from the headers of a request, and the settings of logins from the
// configuration; package principal checks them.
//
// Map: basic.go the Authorization header · cookie.go the session cookie · secrets.go what it may be
// signed with · settings.go what the configuration says of all this.
//
// Invariants: nothing here panics on input.
package auth
