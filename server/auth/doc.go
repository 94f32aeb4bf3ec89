// Package auth reads how a request says who asks, and what the configuration says of logins;
// package principal checks it.
//
// Map: basic.go the Authorization header · cookie.go the session cookie · secrets.go what it may be
// signed with · settings.go what the configuration says of all this.
//
// Invariants: nothing here panics on input.
package auth
