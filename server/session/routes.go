package session

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for who the client is, logins. A login stores nothing: as
// in CouchDB, the form of it may be a page of another site's, which needs to know the password.
func (h *Handlers) Routes() []call.Route {
	return []call.Route{
		call.Row("GET,HEAD", "/_session", call.Anyone, getSession, "Who the client is.").Tail(call.ServerAdmin),
		call.Row("POST", "/_session", call.Anyone, h.postSession, "Log in.", call.Reads).Tail(call.ServerAdmin),
		call.Row("DELETE", "/_session", call.Anyone, deleteSession,
			"Log out: clear the cookie.").Tail(call.ServerAdmin),
	}
}
