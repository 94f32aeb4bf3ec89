package changes

import "github.com/settee-db/settee/server/call"

// handlers serve feeds, of which only so many work at a time.
type handlers struct{ working semaphore }

// Routes are the rows of the route table for feeds.
func Routes() []call.Route {
	h := &handlers{working: newSemaphore()}
	return []call.Route{
		{Methods: "GET", Pattern: "/_db_updates", Access: call.ServerAdmin, Handle: h.dbUpdates,
			Doc: "Feed of created, updated and deleted databases."},
		{Methods: "GET,POST,HEAD", Pattern: "/{db}/_changes", Access: call.Member, Handle: h.changes, Heavy: true,
			Reads: true, Doc: "Feed of changed documents."},
		{
			Methods: "GET,POST,HEAD",
			Pattern: "/{db}/_changes/{rest...}",
			Access:  call.Member,
			Reads:   true,
			Handle:  h.changes,
			Heavy:   true,
			Doc:     "The same; the rest of the path is ignored.",
		},
	}
}
