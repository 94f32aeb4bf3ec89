// Package answers remembers what was answered to requests with a key of their own (Idempotency-Key),
// in the transaction that did what they asked for: a client that does not know whether a request was
// done sends it again, and it is done once.
//
//	(keyspace.AnswersPrefix, 0, ms, user, key)    when it was kept; the bytes that it is charged with
//	(keyspace.AnswersPrefix, 1, user, key)        hash of the request, ms, status, ETag, body of the answer
//	(keyspace.AnswersPrefix, 1, user, key, n)     further bytes, where it is longer than keyspace.MaxValue
//	(keyspace.AnswersPrefix, 2, user)             bytes charged to a user, 8 bytes little-endian
//
//	answers.go   requests and their answers: found, kept, removed when they are old
//	copy.go      Copy: what is kept in a store, which may be damaged, into another one
//	check.go     Check: what is stored can be read, and agrees
//
// # Invariants
//
//  1. An answer is there if and only if what it answers was done, until it is older than Life.
//  2. Each answer has its entry in the order of time, and each entry its answer.
//  3. What a user has is at most MaxBytes, and what requests that come at the same time add to it.
//  4. The bytes charged to a user are those of the user's entries.
package answers
