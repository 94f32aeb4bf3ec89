// Package compare tells in what two CouchDB-like servers, or two databases of them, differ. It
// reads both over HTTP and writes to neither.
//
//   - compare.go: [Options], [Run], [Report]: what is looked at, in which order
//   - suspects.go: what differed once, looked at again until it stands still
//   - documents.go: all leaves of documents with bodies, attachments and ancestors; local documents
//   - views.go: rows of views, and what they are reduced to
//   - settings.go: which databases there are, their permissions and limits
//   - stream.go: answers of any length, element by element; two sorted ones merged
//
// Invariants:
//  1. Something is a difference only if both sides were seen in the same state three times with
//     Options.Wait in between, and differed: what is on its way is none. What never stands still
//     is counted as unsettled.
//  2. [Report.Same] is true only if nothing was left out, nothing failed and nothing is unsettled.
//  3. Memory does not depend on how much there is: of each side a batch of documents as hashes and
//     one element of an answer, at most maxSuspects suspects, and the sample.
//  4. No credentials are in a line of the report.
package compare
