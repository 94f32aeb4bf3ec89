package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/call"

	"github.com/settee-db/settee/server/users"
)

// Handlers authenticate requests, and serve /_session.
type Handlers struct {
	verifier *principal.Verifier
	users    *users.Directory
	secretMu sync.Mutex // while the cookie secret is made
}

// New makes them; passwords are checked by the verifier, users found by the directory.
func New(verifier *principal.Verifier, directory *users.Directory) *Handlers {
	return &Handlers{verifier: verifier, users: directory}
}

// Identify are the ways to identify a user (Env.Identify).
func (h *Handlers) Identify() map[string]func(*call.Call) (bool, error) {
	return map[string]func(*call.Call) (bool, error){
		"cookie": h.cookieHandler, "default": h.basicHandler, "proxy": proxyHandler, "jwt": tokenHandler,
	}
}

var (
	errConflicted = compat.NewError(compat.KindUnauthorized,
		"User document conflicts must be resolved before the document is used for authentication purposes.")
)

// basicHandler reads Authorization: Basic. Unknown names are refused without counting them
// (couch_httpd_auth:default_authentication_handler), but, unlike in CouchDB, not at once: the time
// does not tell who exists.
func (h *Handlers) basicHandler(c *call.Call) (bool, error) {
	header := c.Header("Authorization")
	if header == "" {
		return false, nil
	}
	name, password, ok, err := auth.Basic(header)
	if err != nil || !ok {
		return false, err
	}
	u, err := h.findUser(c, name)
	if err != nil {
		return false, err
	}
	if u == nil || u.TOTP != nil {
		if err := h.verifier.Pretend(c.Context(), c.PeerNetwork, password, &c.Settings.Auth.Rules); err != nil {
			return false, err
		}
		return false, auth.ErrBadLogin
	}
	if ok, err = h.checkPassword(c, name, password, u); err != nil {
		return false, err
	}
	if !ok {
		return false, auth.ErrBadLogin
	}
	c.User = principal.Principal{Name: name, Roles: u.Roles}
	return true, nil
}

// findUser finds a server admin, a user of the users database, or one who is both: then the
// document adds roles and its password does not count (chttpd_auth_cache:get_user_creds). It is nil
// for unknown names, among them those longer than any account's. Nothing in the users database,
// which may be open for sign-up, keeps a server admin out.
func (h *Handlers) findUser(c *call.Call, name string) (*principal.User, error) {
	return h.lookUp(c.Context(), c.Settings.Auth, name)
}

// lookUp finds the user of a name, nil if there is none. A name may be an administrator in the
// settings and have a document in the users database as well: then the settings hold the password
// and the document only adds roles, and whatever is wrong with the document does not lock the
// administrator out. For everybody else a document with conflicts is refused, because which
// password counts would depend on a replication.
func (h *Handlers) lookUp(ctx context.Context, set *auth.Settings, name string) (*principal.User, error) {
	if len(name) > maxUserName {
		return nil, nil
	}
	admin := set.Admins[name]
	u, err := h.users.Find(ctx, set.UsersDB, name, admin != nil)
	conflicted := u != nil && u.Conflicted && !set.ConflictedDocs
	if admin != nil {
		if err != nil || u == nil || conflicted {
			return admin, nil //nolint:nilerr // administrators come in without users
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

// Roles are those that a user has by the settings and the users database, as after a login; known
// is false for one who could not log in by name.
func (h *Handlers) Roles(ctx context.Context, set *auth.Settings, name string) (roles []string, known bool, err error) {
	u, err := h.lookUp(ctx, set, name)
	if errors.Is(err, compat.KindUnauthorized) {
		return nil, false, nil
	}
	if err != nil || u == nil {
		return nil, false, err
	}
	return u.Roles, true, nil
}

// maxUserName bounds the names that are looked up, hashed and counted, in bytes. CouchDB has no
// bound; a name is kept with each counter of failed logins.
const maxUserName = 1024

// checkPassword checks a password, and has an outdated hash rewritten in the background. u is nil
// for an unknown name.
func (h *Handlers) checkPassword(c *call.Call, name, password string, u *principal.User) (bool, error) {
	var ok, warn bool
	var err error
	if len(name) <= maxUserName {
		ok, warn, err = h.verifier.Verify(c.Context(), c.PeerNetwork, name, password, u, &c.Settings.Auth.Rules)
	}
	switch {
	case err != nil:
		if err == error(principal.ErrLocked) {
			c.Env.Log.Warn("login refused: locked after too many failures", "request", c.ID, "user", name,
				"peer", c.Peer())
		}
		return false, err
	case warn:
		c.Env.Log.Warn("too many failed logins", "request", c.ID, "user", name, "peer", c.Peer())
	}
	if !ok {
		c.Env.Log.Warn("login failed", "request", c.ID, "user", name, "peer", c.Peer())
		return false, nil
	}
	if c.Settings.Auth.Upgrade && u.Outdated(c.Settings.Auth.Hashing) {
		h.users.Upgrade(c.Settings.Auth, name, password)
	}
	return true, nil
}

// cookieHandler reads the session cookie. A cookie that cannot be parsed ends the request with an
// error; an expired or forged one is ignored.
func (h *Handlers) cookieHandler(c *call.Call) (bool, error) {
	value := auth.CookieValue(c.Request.Header.Values("Cookie"))
	if value == "" {
		return false, nil
	}
	s, err := principal.ParseSession(value)
	if err != nil {
		return false, err
	}
	set := c.Settings.Auth
	if set.Secret == "" {
		return false, nil
	}
	u, err := h.findUser(c, s.Name)
	if err != nil || u == nil {
		return false, err
	}
	now := time.Now()
	for secret := range set.Secrets(now) {
		left, ok := s.Left(secret+u.Salt, set.Algorithms, set.Cookie.Timeout, now)
		if !ok {
			continue
		}
		c.User = principal.Principal{Name: s.Name, Roles: u.Roles}
		if left < set.Cookie.Timeout/10*9 {
			c.Renew = func() { renewSession(c, set.Secret+u.Salt) }
		}
		return true, nil
	}
	return false, nil
}

// proxyHandler believes the headers of a proxy that has identified the user, with a token if
// proxy_use_secret asks for one (couch_httpd_auth:proxy_auth_user). An empty name, which CouchDB
// takes for a user, is nobody; and where a token is asked for but no secret is set, nobody is
// believed, whereas CouchDB believes everybody. Of two headers of a kind one may have come through
// the proxy: both are refused, whereas CouchDB takes one.
func proxyHandler(c *call.Call) (bool, error) {
	set := c.Settings.Auth
	for _, header := range []string{set.ProxyUser, set.ProxyRoles, set.ProxyToken} {
		if len(c.Request.Header.Values(header)) > 1 {
			return false, compat.NewError(compat.KindBadRequest, "several headers "+header)
		}
	}
	name := c.Header(set.ProxyUser)
	if name == "" {
		return false, nil
	}
	if set.ProxySecret && !proved(set, c.Header(set.ProxyToken), name) {
		return false, nil
	}
	c.User = principal.Principal{Name: name, Roles: []string{}}
	if c.HasHeader(set.ProxyRoles) {
		c.User.Roles = principal.SplitRoles(c.Header(set.ProxyRoles))
	}
	return true, nil
}

// proved reports whether a proxy that knows a secret has named the user.
func proved(set *auth.Settings, token, name string) bool {
	if set.Secret == "" {
		return false
	}
	for secret := range set.Secrets(time.Now()) {
		if principal.ProxyToken(token, name, secret, set.Algorithms) {
			return true
		}
	}
	return false
}

// tokenHandler reads Authorization: Bearer, a JSON web token.
func tokenHandler(c *call.Call) (bool, error) {
	header := c.Header("Authorization")
	if header == "" {
		return false, nil
	}
	name, roles, ok, err := auth.Token(header, &c.Settings.Auth.Tokens, time.Now())
	if ok {
		c.User = principal.Principal{Name: name, Roles: roles}
	}
	return ok, err
}
