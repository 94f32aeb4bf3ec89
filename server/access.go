package server

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

var (
	errNotServerAdmin = compat.NewError(compat.KindUnauthorized, "You are not a server admin.")
	errNotMetrics     = compat.NewError(compat.KindUnauthorized, "You are not a server admin or read-only metrics user")
	errNotSignedIn    = compat.NewError(compat.KindUnauthorized, "You are not an authenticated user")
	errNotDBAdmin     = compat.NewError(compat.KindUnauthorized, "You are not a server or db admin.")
)

// authorize applies the access rule of the route. For routes of a database it makes sure, for everyone but server admins,
// that the database exists; for those the database's own operations say so (see databaseFirst).
func (c *Call) authorize(access Access) error {
	if c.db != nil {
		access = systemAccess(c.Segment(0), c.Segment(1), access)
	}
	if c.user.IsAdmin() {
		return nil
	}
	switch access {
	case Anyone:
		return nil
	case SignedIn:
		if c.user.Name == "" {
			return errNotSignedIn
		}
	case Metrics:
		if !c.user.HasRole("_metrics") {
			return errNotMetrics
		}
	case Lister:
		if c.set.adminOnlyAllDBs {
			return errNotServerAdmin
		}
	case ServerAdmin:
		if c.inOpenSystemDB() {
			if err := c.authorizeDB(Member); err != nil {
				return err
			}
		}
		return errNotServerAdmin
	case Member, DatabaseAdmin:
		return c.authorizeDB(access)
	}
	return nil
}

// systemAccess tightens the rule for names with a leading underscore: only _users and _replicator are open to members, and
// of those neither listing nor feed (chttpd_auth_request:authorize_request_int).
func systemAccess(db, second string, access Access) Access {
	if db == "" || db[0] != '_' || (db == "_stats" && second == "") { // _stats was an endpoint once, now it is missing for all
		return access
	}
	if (db != "_users" && db != "_replicator") || second == "_all_docs" || second == "_changes" {
		return ServerAdmin
	}
	return access
}

// inOpenSystemDB tells requests to what is in _users and _replicator, where CouchDB asks for a member first.
func (c *Call) inOpenSystemDB() bool {
	first, second := c.Segment(0), c.Segment(1)
	return (first == "_users" || first == "_replicator") && second != "" && second != "_all_docs" && second != "_changes"
}

// authorizeDB reads the database's _security.
func (c *Call) authorizeDB(access Access) error {
	rules, err := c.security()
	if err != nil {
		return err
	}
	if err := rules.CheckMember(c.user.Name, c.user.Roles); err != nil {
		return err
	}
	if access == DatabaseAdmin && !rules.IsAdmin(c.user.Name, c.user.Roles) {
		return errNotDBAdmin
	}
	return nil
}

// security reads and parses the database's _security, once for a call.
func (c *Call) security() (*compat.Security, error) {
	if c.rules != nil {
		return c.rules, nil
	}
	object, err := c.db.Security(c.Context())
	if err != nil {
		return nil, err
	}
	c.dbKnown = true
	if object == nil {
		object = []byte(compat.DefaultSecurity)
	}
	p := ejson.AcquireParser() // the call's own may hold the body
	defer p.Release()
	v, err := p.Parse(object)
	if err != nil {
		return nil, err
	}
	rules, err := compat.ParseSecurity(v)
	if err != nil {
		return nil, err
	}
	c.rules = &rules
	return c.rules, nil
}

// databaseFirst lets "Database does not exist." win over the error of a request to a database nobody has looked at yet.
func (c *Call) databaseFirst(err error) error {
	if c.db == nil || c.dbKnown || !c.authorized || errors.Is(err, compat.KindNoDatabase) {
		return err
	}
	if missing := c.RequireDB(); missing != nil {
		return missing
	}
	return err
}

// unauthorized answers a 401 (chttpd:error_headers): the client's own WWW-Authenticate text is echoed, else the configured
// one is sent, else a browser goes to the login page.
func (c *Call) unauthorized(e *compat.Error) error {
	value := c.Header("X-CouchDB-WWW-Authenticate")
	if value == "" {
		value = c.set.wwwAuthenticate
	}
	if value == "" && c.set.requireUser {
		value = `Basic realm="server"`
	}
	status := http.StatusUnauthorized
	switch accept := c.accept(); {
	case value != "":
		c.SetHeader(headerWWWAuth, value)
	case c.set.loginPage != "" && accept.WantsLoginPage():
		path, _, _ := strings.Cut(c.r.RequestURI, "?")
		if c.hasHeader(vhostPath) {
			path = c.Header(vhostPath)
		} else if decoded, err := url.PathUnescape(path); err == nil {
			path = decoded
		}
		c.SetHeader("Location", c.baseURL()+c.set.loginPage+"?return="+compat.EncodeURL(path)+"&reason="+compat.EncodeURL(e.Reason))
		status = http.StatusFound
	}
	return c.errorBody(status, e)
}
