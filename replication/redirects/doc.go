// Package redirects says what of a request follows a redirection; redirects.go has all of it. Whoever sends credentials
// with an http.Client has KeepCredentials as its CheckRedirect.
package redirects
