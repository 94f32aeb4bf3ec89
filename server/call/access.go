package call

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
)

var (
	errNotMetrics = compat.NewError(compat.KindUnauthorized, "You are not a server admin or read-only metrics user")
	// ErrNotSignedIn refuses a request without a user, where any user would be let in.
	ErrNotSignedIn = compat.NewError(compat.KindUnauthorized, "You are not an authenticated user")
)

// authorize applies the access rule of the route. For routes of a database it makes sure, for
// everyone but server admins, that the database exists; for those the database's own operations say
// so (see databaseFirst).
func (c *Call) authorize(access Access) error {
	if c.DB != nil {
		access = systemAccess(c.Segment(0), c.Segment(1), access)
	}
	if c.User.IsAdmin() {
		return nil
	}
	switch access {
	case Anyone:
		return nil
	case SignedIn:
		if c.User.Name == "" {
			return ErrNotSignedIn
		}
	case Metrics:
		if !c.User.HasRole("_metrics") {
			return errNotMetrics
		}
	case Lister:
		if c.Settings.adminOnlyAllDBs {
			return documents.ErrNotServerAdmin
		}
	case ServerAdmin:
		if c.inOpenSystemDB() {
			if err := c.Docs.Access().CheckMember(c.Context()); err != nil {
				return err
			}
		}
		return documents.ErrNotServerAdmin
	case Member:
		return c.Docs.Access().CheckMember(c.Context())
	case DatabaseAdmin:
		return c.Docs.Access().CheckAdmin(c.Context())
	}
	return nil
}

// systemAccess tightens the rule for the server's own databases (see documents.AdminsOnly).
func systemAccess(db, second string, access Access) Access {
	// an endpoint of old versions, which now is missing for everybody
	if db == "_stats" && second == "" {
		return access
	}
	if documents.AdminsOnly(db, second == "_all_docs" || second == "_changes") {
		return ServerAdmin
	}
	return access
}

// inOpenSystemDB recognises requests to _users and _replicator for which CouchDB requires a member
// before it looks at the document.
func (h *Head) inOpenSystemDB() bool {
	first, second := h.Segment(0), h.Segment(1)
	return (first == "_users" || first == "_replicator") && second != "" && second != "_all_docs" &&
		second != "_changes"
}

// databaseFirst lets "Database does not exist." win over the error of a request to a database
// nobody has looked at yet.
func (c *Call) databaseFirst(err error) error {
	if c.DB == nil || c.DBKnown || !c.authorized || errors.Is(err, compat.KindNoDatabase) {
		return err
	}
	if missing := c.RequireDB(); missing != nil {
		return missing
	}
	return err
}

// unauthorized answers a 401 (chttpd:error_headers): the client's own WWW-Authenticate text is
// echoed, else the configured one is sent, else a browser goes to the login page.
func (a *Answer) unauthorized(e *compat.Error) error {
	h := a.head
	value := h.Header("X-CouchDB-WWW-Authenticate")
	if value == "" {
		value = h.Settings.wwwAuthenticate
	}
	if value == "" && h.Settings.requireUser {
		value = `Basic realm="server"`
	}
	status := http.StatusUnauthorized
	switch accept := h.Accept(); {
	case value != "":
		a.SetHeader(HeaderWWWAuth, value)
	case h.Settings.loginPage != "" && accept.WantsLoginPage():
		path, _, _ := strings.Cut(h.Request.RequestURI, "?")
		if h.HasHeader(vhostPath) {
			path = h.Header(vhostPath)
		} else if decoded, err := url.PathUnescape(path); err == nil {
			path = decoded
		}
		a.SetHeader("Location",
			h.BaseURL()+h.Settings.loginPage+"?return="+compat.EncodeURL(path)+"&reason="+compat.EncodeURL(e.Reason))
		status = http.StatusFound
	}
	return a.ErrorBody(status, e)
}

var errAuthRequired = compat.NewError(compat.KindUnauthorized, "Authentication required.")

// authenticate finds out who makes the request; wrong credentials end it.
func (c *Call) authenticate() error {
	for _, name := range c.Settings.Auth.Handlers {
		found, err := c.Env.Identify[name](c)
		if err != nil {
			return err
		}
		if found {
			c.IdentifiedBy = name
			return nil
		}
	}
	return c.requireUser()
}

// requireUser refuses anonymous requests if chttpd/require_valid_user is set. Only POST /_session
// and /_up are exempt: without the first nobody could log in.
func (h *Head) requireUser() error {
	if !h.Settings.requireUser && !h.Settings.requireUserButUp {
		return nil
	}
	first := h.Segment(0)
	if len(h.Segments) == 1 &&
		(first == "_session" && h.Method == "POST" || first == "_up" && h.Settings.requireUserButUp) {
		return nil
	}
	return errAuthRequired
}
