// Package jobstest simulates crashes of processes that run jobs, for tests of what becomes of the
// jobs; ends.go has all of it.
package jobstest
