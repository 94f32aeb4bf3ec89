package changes

import "github.com/settee-db/settee/server/call"

// handlers serve feeds, of which only so many work at a time.
type handlers struct{ working semaphore }

// Routes are the rows of the route table for feeds.
func Routes() []call.Route {
	h := &handlers{working: newSemaphore()}
	return []call.Route{
		call.Row("GET", "/_db_updates", call.ServerAdmin, h.dbUpdates,
			"Feed of created, updated and deleted databases."),
		call.Row("GET,POST,HEAD", "/{db}/_changes", call.Member, h.changes,
			"Feed of changed documents.", call.Heavy|call.Reads).Tail(call.Member),
	}
}
