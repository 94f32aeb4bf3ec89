// Package memory bounds what requests have in memory together (ADR 0024).
//
//	budget.go   what bodies of requests, and what answers, share
//	sorting.go  what queries share that sort: nobody waits for it; what event functions, and large writes, share
//	builds.go   what builds of indexes share: those that have nothing wait in turn
//	gate.go     the last resort: large requests wait while too much of the heap is in use
package memory
