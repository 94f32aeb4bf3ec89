// Package locale has the functions of JavaScript for languages and dates that goja lacks, with the
// results of CouchDB's engine (SpiderMonkey 78). It knows no values of JavaScript: texts and
// numbers come and go as Go's.
//
// # Files
//
//   - date.go reads dates
//   - text.go orders texts, writes numbers and changes the case
//
// # Invariants
//
//  1. Any text is a date, or none: nothing panics, and all takes time by the length of the text.
//  2. A language is named by its tag; an unknown one has the root's rules, "" is CouchDB's default
//     locale, en_US_POSIX.
package locale
