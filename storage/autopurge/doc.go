// Package autopurge has deleted documents purged when they are older than their database, or the
// server, keeps them.
//
//	period.go  how long that is, as people write it
package autopurge
