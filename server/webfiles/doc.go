// Package webfiles serves the files of an application that runs in the browser, out of the binary.
//
//	webfiles.go  the files, their headers and how browsers keep them
//
// # Invariants
//
//  1. The files hold nothing that is secret: everybody may have them.
//  2. Every answer carries the policy on content that its application was given.
//  3. Text is compressed in the binary and sent as it is there. It is read at the first request, because every process
//     of the binary has the files, and few serve them.
package webfiles
