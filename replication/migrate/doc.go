// Package migrate moves the databases of a running CouchDB to a settee: documents with all their
// revisions, users, permissions, limits and design documents, with their indexes built. It
// replicates, so it can be stopped and goes on from its checkpoints, and it can follow the source
// until the applications are switched over.
//
//   - migrate.go: [Migration]: what is done, in which order
//   - database.go: one database: settings, documents, indexes
//   - verify.go: both sides compared, revision by revision
//
// Invariants:
//  1. The source is only read, but for the checkpoints in its _local documents.
//  2. Documents arrive as they are: validation functions of the target are not asked ([compat.TrustedHeader]), and user
//     documents keep their password hashes.
//  3. Replications that the source runs are not started on the target before the last step, and only if they are asked
//     for.
//  4. Verify compares every leaf revision in both directions: body, line of revisions, digests of
//     attachments.
package migrate
