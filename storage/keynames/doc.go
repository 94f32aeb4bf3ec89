// Package keynames tells people what a key of a store is, for logs.
//
// Map: keynames.go Of.
package keynames
