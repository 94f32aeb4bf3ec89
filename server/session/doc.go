// Package session finds out who makes a request, and serves _session.
//
//	identify.go   names and passwords, cookies, proxies, tokens
//	session.go    _session: logins and their end
//	routes.go     the rows of the route table
package session
