package server

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/auth"
)

// Principal is who makes a request. The zero value is nobody.
type Principal struct {
	Name    string
	Roles   []string
	Handler string // the authentication handler that found the user
}

// IsAdmin tells whether the principal is a server admin.
func (p Principal) IsAdmin() bool { return p.HasRole("_admin") }

// HasRole tells whether the principal has a role.
func (p Principal) HasRole(role string) bool { return slices.Contains(p.Roles, role) }

// authHandler is one way to identify a user. try sets c.user and returns true, leaves the request to the next handler (false), or
// ends it.
type authHandler struct {
	name string
	try  func(c *Call) (bool, error)
}

// authHandlers are the handlers by the first word of CouchDB's names.
var authHandlers = map[string]func(c *Call) (bool, error){
	"cookie": cookieHandler, "default": basicHandler, "proxy": proxyHandler, "jwt": tokenHandler,
}

var (
	errAuthRequired = compat.NewError(compat.KindUnauthorized, "Authentication required.")
	errConflicted   = compat.NewError(compat.KindUnauthorized, "User document conflicts must be resolved before the document is used for authentication purposes.")
)

// authenticate finds out who makes the request; wrong credentials end it.
func (c *Call) authenticate() error {
	for i := range c.set.auth.handlers {
		h := &c.set.auth.handlers[i]
		found, err := h.try(c)
		if err != nil {
			return err
		}
		if found {
			c.user.Handler = h.name
			return nil
		}
	}
	return c.requireUser()
}

// requireUser refuses nobody when chttpd/require_valid_user says so; only POST /_session (and /_up) are let through.
func (c *Call) requireUser() error {
	if !c.set.requireUser && !c.set.requireUserButUp {
		return nil
	}
	first := c.Segment(0)
	if len(c.segments) == 1 && (first == "_session" && c.method == "POST" || first == "_up" && c.set.requireUserButUp) {
		return nil
	}
	return errAuthRequired
}

// basicHandler reads Authorization: Basic. Unknown names are refused without counting them (couch_httpd_auth:default_authentication_handler),
// but, unlike in CouchDB, not at once: the time does not tell who exists.
func basicHandler(c *Call) (bool, error) {
	header := c.Header("Authorization")
	if header == "" {
		return false, nil
	}
	name, password, ok, err := auth.Basic(header)
	if err != nil || !ok {
		return false, err
	}
	u, err := c.findUser(name)
	if err != nil {
		return false, err
	}
	if u == nil || u.TOTP != nil {
		if err := c.srv.verifier.Pretend(c.Context(), c.peer, password, &c.set.auth.rules); err != nil {
			return false, err
		}
		return false, auth.ErrBadLogin
	}
	if ok, err = c.checkPassword(name, password, u); err != nil {
		return false, err
	}
	if !ok {
		return false, auth.ErrBadLogin
	}
	c.user = Principal{Name: name, Roles: u.Roles}
	return true, nil
}

// findUser finds a server admin, a user of the users database, or one who is both: then the document adds roles and its password does
// not count (chttpd_auth_cache:get_user_creds). It is nil for unknown names, among them those longer than any account's. Nothing in the
// users database, which may be open for sign-up, keeps a server admin out.
func (c *Call) findUser(name string) (*auth.User, error) {
	if len(name) > maxUserName {
		return nil, nil
	}
	u, err := c.srv.users.find(c.Context(), c.set.auth.usersDB, name)
	conflicted := u != nil && u.Conflicted && !c.set.auth.conflictedDocs
	if admin := c.set.auth.admins[name]; admin != nil {
		if err != nil || u == nil || conflicted {
			return admin, nil
		}
		return admin.WithRoles(u.Roles), nil
	}
	if err != nil {
		return nil, err
	}
	if conflicted {
		return nil, errConflicted
	}
	return u, nil
}

// maxUserName bounds the names that are looked up, hashed and counted, in bytes. CouchDB has no bound; a name is kept with each counter of
// failed logins.
const maxUserName = 1024

// checkPassword checks a password, and has an outdated hash rewritten in the background. u is nil for an unknown name.
func (c *Call) checkPassword(name, password string, u *auth.User) (bool, error) {
	var ok, warn bool
	var err error
	if len(name) <= maxUserName {
		ok, warn, err = c.srv.verifier.Verify(c.Context(), c.peer, name, password, u, &c.set.auth.rules)
	}
	switch {
	case err != nil:
		if err == error(auth.ErrLocked) {
			c.srv.log.Warn("login refused: locked after too many failures", "request", c.id, "user", name, "peer", c.peer())
		}
		return false, err
	case warn:
		c.srv.log.Warn("too many failed logins", "request", c.id, "user", name, "peer", c.peer())
	}
	if !ok {
		c.srv.log.Warn("login failed", "request", c.id, "user", name, "peer", c.peer())
		return false, nil
	}
	if c.set.auth.upgrade && u.Outdated(c.set.auth.hashing) {
		c.srv.users.upgrade(c.set.auth, name, password)
	}
	return true, nil
}

// peer is the address of the client without its port. Behind a proxy of chttpd/trusted_proxies it is the one that the proxy names, so
// that one client cannot lock an account for all. CouchDB believes whoever connects from a private network (mochiweb_request:get(peer)),
// who then evades the lockout or aims it at others.
func (c *Call) peer() string {
	addr, err := netip.ParseAddrPort(c.r.RemoteAddr)
	if err != nil {
		return c.r.RemoteAddr
	}
	ip := addr.Addr().Unmap()
	if slices.ContainsFunc(c.set.trustedProxies, func(network netip.Prefix) bool { return network.Contains(ip) }) {
		hops := c.Header("X-Forwarded-For")
		if last := strings.TrimSpace(hops[strings.LastIndexByte(hops, ',')+1:]); last != "" && len(last) <= maxPeer {
			return last
		}
	}
	return ip.String()
}

// maxPeer bounds what a proxy may name: an IPv6 address with its zone.
const maxPeer = 64

// cookieHandler reads the session cookie. One that cannot be read ends the request; one that is not valid is as none.
func cookieHandler(c *Call) (bool, error) {
	header := c.Header("Cookie")
	if header == "" {
		return false, nil
	}
	value := auth.CookieValue(header)
	if value == "" {
		return false, nil
	}
	s, err := auth.ParseSession(value)
	if err != nil {
		return false, err
	}
	set := c.set.auth
	if set.secret == "" {
		return false, nil
	}
	u, err := c.findUser(s.Name)
	if err != nil || u == nil {
		return false, err
	}
	key := set.secret + u.Salt
	left, ok := s.Left(key, set.algorithms, set.cookie.Timeout, time.Now())
	if !ok {
		return false, nil
	}
	c.user = Principal{Name: s.Name, Roles: u.Roles}
	if left < set.cookie.Timeout/10*9 {
		c.renewKey = key
	}
	return true, nil
}

// proxyHandler believes the headers of a proxy that has identified the user, with a token if proxy_use_secret asks for one
// (couch_httpd_auth:proxy_auth_user). An empty name, which CouchDB takes for a user, is nobody; and where a token is asked for but no
// secret is set, nobody is believed, whereas CouchDB believes everybody.
func proxyHandler(c *Call) (bool, error) {
	set := c.set.auth
	name := c.Header(set.proxyUser)
	if name == "" {
		return false, nil
	}
	if set.proxySecret && (set.secret == "" || !auth.ProxyToken(c.Header(set.proxyToken), name, set.secret, set.algorithms)) {
		return false, nil
	}
	c.user = Principal{Name: name, Roles: []string{}}
	if c.hasHeader(set.proxyRoles) {
		c.user.Roles = auth.SplitRoles(c.Header(set.proxyRoles))
	}
	return true, nil
}

// tokenHandler reads Authorization: Bearer, a JSON web token.
func tokenHandler(c *Call) (bool, error) {
	header := c.Header("Authorization")
	if header == "" {
		return false, nil
	}
	name, roles, ok, err := auth.Token(header, &c.set.auth.tokens, time.Now())
	if ok {
		c.user = Principal{Name: name, Roles: roles}
	}
	return ok, err
}
