// Package docstest is documents as principals see them, for tests of what works on them without a server; docstest.go
// has all of it.
package docstest
