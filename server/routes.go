package server

import (
	"slices"

	"github.com/settee-db/settee/server/admin"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/changes"
	"github.com/settee-db/settee/server/console"
	"github.com/settee-db/settee/server/databases"
	"github.com/settee-db/settee/server/designs"
	"github.com/settee-db/settee/server/documents"
	"github.com/settee-db/settee/server/find"
	"github.com/settee-db/settee/server/fulltext"
	"github.com/settee-db/settee/server/lists"
	"github.com/settee-db/settee/server/queries"
	"github.com/settee-db/settee/server/replicator"
	"github.com/settee-db/settee/server/session"
)

// routes is every endpoint: CouchDB 3.5's and settee's own. Of a pattern that two resources have
// rows for, the Allow header lists the methods in this order. docs/api-coverage.md is made from it.
func routes(
	admin *admin.Handlers,
	session *session.Handlers,
	replicator *replicator.Replications,
	queries *queries.Handlers,
	designs *designs.Handlers,
	find *find.Handlers,
	fulltext *fulltext.Handlers,
) []call.Route {
	return withUsers(call.WithTails(slices.Concat(
		admin.Routes(), session.Routes(), replicator.Routes(), databases.Routes(), documents.Routes(),
		lists.Routes(), changes.Routes(), queries.Routes(), designs.Routes(), find.Routes(),
		fulltext.Routes(), console.Routes(),
	)))
}
