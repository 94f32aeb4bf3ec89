// Package jobstest lets jobs run at ends of processes that are no shutdowns, for tests of what
// becomes of them; ends.go has all of it.
package jobstest
