package session

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for who the client is, logins. A login stores nothing: as in CouchDB, the form
// of it may be a page of another site's, which needs to know the password.
func (h *Handlers) Routes() []call.Route {
	return []call.Route{
		{Methods: "GET,HEAD", Pattern: "/_session", Access: call.Anyone, Handle: getSession, Doc: "Who the client is."},
		{Methods: "POST", Pattern: "/_session", Access: call.Anyone, Handle: h.postSession,
			Reads: true, Doc: "Log in."},
		{
			Methods: "DELETE",
			Pattern: "/_session",
			Access:  call.Anyone,
			Handle:  deleteSession,
			Doc:     "Log out: clear the cookie.",
		},
		{Methods: "GET,HEAD", Pattern: "/_session/{rest...}", Access: call.ServerAdmin, Handle: getSession,
			Doc: "The same; the rest of the path is ignored."},
		{Methods: "POST", Pattern: "/_session/{rest...}", Access: call.ServerAdmin, Handle: h.postSession,
			Reads: true, Doc: "The same; the rest of the path is ignored."},
		{Methods: "DELETE", Pattern: "/_session/{rest...}", Access: call.ServerAdmin, Handle: deleteSession,
			Doc: "The same; the rest of the path is ignored."},
	}
}
