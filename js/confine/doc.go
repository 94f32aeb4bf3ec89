// Package confine starts worker processes that run what is not trusted, and takes from them all of
// the system that they do not need. It knows nothing of what they run. All of it is Linux's; other
// systems start plain processes, and refuse what is required.
//
// The server's side starts a worker in one of several Ways, the most confined one first. A worker
// is the same program started again: its main asks Asked, and is a worker if so, which gets apart
// (Worker.Apart) and then gives up the rest (Worker.Confine).
//
// # Files
//
//   - confine.go has what both sides know, and the start of a process
//   - confine_linux.go has its ways on Linux, namespaces and limits; seccomp_linux.go with seccomp_linux_*.go the
//     filter of system calls; confine_other.go is for other systems
//   - race_on.go and race_off.go add the memory that the race detector needs
//
// # Invariants
//
//  1. A worker ends with the thread that started it, and so with the server; with its pipes it has nothing else of the
//     server: no files, no environment but where libraries are, no terminal, no directory.
//  2. Its heap has a bound that the kernel keeps, whatever the level.
//  3. A worker has no system calls but those of seccomp_linux.go on any thread, no privileges and no way to any; what
//     the system does not let it give up is told (Worker.Confine), or refused (Required).
package confine
