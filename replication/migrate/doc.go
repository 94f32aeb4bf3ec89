// Package migrate moves the databases of a running CouchDB to a settee: documents with all their
// revisions, users, permissions, limits and design documents, with their indexes built. It
// replicates, so it can be stopped and goes on from its checkpoints, and it can follow the source
// until the applications are switched over.
//
//   - migrate.go: [Migration]: what is done, in which order
//   - database.go: one database: settings, documents, indexes
//   - groups.go: groups of users in databases with access for each document
//   - follow.go: the copy kept current until the switch
//   - verify.go: both sides compared by package compare
//
// Invariants:
//  1. The source is only read, but for the checkpoints in its _local documents.
//  2. Documents arrive as they are: validation functions of the target are not asked ([compat.TrustedHeader]), and user
//     documents keep their password hashes.
//  3. Replications that the source runs are not started on the target before the last step, and only if they are asked
//     for.
//     One that runs at the source is never started on the target.
//  4. A database is deleted at the target only if it is marked as a copy of one that the source, asked for it, does not
//     have, or has made anew; and only where Deletions is set. The mark is a local document, so that
//     a run goes on where another one was killed.
//  5. Verify compares every leaf revision, permissions and limits; what it could not compare is an
//     error.
package migrate
