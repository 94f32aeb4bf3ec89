package server

import (
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/config"
)

// authSettings are the settings of logins, parsed once for each change of the configuration.
type authSettings struct {
	handlers       []authHandler
	usersDB        string
	showUsersDB    bool // the database's name is set, so GET /_session shows it
	admins         map[string]*auth.User
	secret         string
	algorithms     []string // of cookies and proxy tokens; the first signs
	cookie         auth.CookieOptions
	rules          auth.Rules
	hashing        auth.Hashing
	policy         auth.Policy
	upgrade        bool // rewrite outdated hashes at a login
	conflictedDocs bool // users with conflicted documents may log in
	publicFields   []string
	proxyUser      string // header names
	proxyRoles     string
	proxyToken     string
	proxySecret    bool
	tokens         auth.TokenRules
	peruser        peruserSettings
}

// peruserSettings are those of section couch_peruser.
type peruserSettings struct {
	enabled, deleteDBs bool
	prefix             string
	q                  int
}

// authValue reads a setting of chttpd_auth, which CouchDB also accepts in its old section (chttpd_util:get_chttpd_auth_config).
func authValue(c *config.Config, key string) string {
	if _, ok := c.Get("chttpd_auth", key); !ok {
		if v, ok := c.Get("couch_httpd_auth", key); ok {
			return v
		}
	}
	return c.String("chttpd_auth", key)
}

// chttpdValue reads a setting of chttpd, which CouchDB also accepts in section httpd (chttpd_util:get_chttpd_config).
func chttpdValue(c *config.Config, key string) string {
	if _, ok := c.Get("chttpd", key); !ok {
		if v, ok := c.Get("httpd", key); ok {
			return v
		}
	}
	return c.String("chttpd", key)
}

func readAuthSettings(c *config.Config) *authSettings {
	_, showUsersDB := c.Get("chttpd_auth", "authentication_db")
	s := &authSettings{
		handlers:       parseHandlers(c.String("chttpd", "authentication_handlers")),
		usersDB:        c.String("chttpd_auth", "authentication_db"),
		showUsersDB:    showUsersDB,
		admins:         make(map[string]*auth.User),
		secret:         authValue(c, "secret"),
		algorithms:     auth.Algorithms(authValue(c, "hash_algorithms")),
		hashing:        ReadHashing(c),
		policy:         auth.ParsePolicy(authValue(c, "password_regexp")),
		upgrade:        authValue(c, "upgrade_hash_on_auth") != "false",
		conflictedDocs: c.Bool("chttpd_auth", "allow_conflicted_user_docs"),
		publicFields:   splitList(authValue(c, "public_fields")),
		proxyUser:      authValue(c, "x_auth_username"),
		proxyRoles:     authValue(c, "x_auth_roles"),
		proxyToken:     authValue(c, "x_auth_token"),
		proxySecret:    authValue(c, "proxy_use_secret") == "true",
		tokens: auth.TokenRules{
			Keys:      auth.ParseKeys(c.Section("jwt_keys")),
			Claims:    auth.ParseClaims(c.String("jwt_auth", "required_claims")),
			RolesName: c.String("jwt_auth", "roles_claim_name"),
			RolesPath: auth.ParsePath(c.String("jwt_auth", "roles_claim_path")),
		},
		peruser: peruserSettings{
			enabled: c.Bool("couch_peruser", "enable"), deleteDBs: c.Bool("couch_peruser", "delete_dbs"),
			prefix: c.String("couch_peruser", "database_prefix"), q: int(c.Int("couch_peruser", "q", 1)),
		},
	}
	for name, stored := range c.Section("admins") {
		if u := auth.ParseAdmin(name, stored); u != nil {
			s.admins[name] = u
		}
	}
	s.readCookie(c)
	s.readRules(c)
	return s
}

// authInt reads a number of chttpd_auth; the table's default when it is none.
func authInt(c *config.Config, key string) int64 {
	if _, ok := c.Get("chttpd_auth", key); !ok {
		if _, ok := c.Get("couch_httpd_auth", key); ok {
			return c.Int("couch_httpd_auth", key, math.MaxInt64)
		}
	}
	return c.Int("chttpd_auth", key, math.MaxInt64)
}

func (s *authSettings) readCookie(c *config.Config) {
	const longest = 100 * 365 * 24 * 3600 // seconds
	s.cookie = auth.CookieOptions{
		Timeout:    time.Duration(min(max(authInt(c, "timeout"), 0), longest)) * time.Second,
		Persistent: authValue(c, "allow_persistent_cookies") != "false",
		Domain:     authValue(c, "cookie_domain"),
		SameSite:   authValue(c, "same_site"),
	}
}

func (s *authSettings) readRules(c *config.Config) {
	s.rules.Usual = s.hashing
	s.rules.Limits = auth.Limits{MinIterations: authInt(c, "min_iterations"), MaxIterations: authInt(c, "max_iterations")}
	s.rules.Lockout = auth.LockoutRules{
		Threshold: c.Int("chttpd_auth_lockout", "threshold", math.MaxInt64),
		Objects:   int(min(max(c.Int("chttpd_auth_lockout", "max_objects", 1<<20), 1), 1<<20)),
		Lifetime:  time.Duration(min(max(c.Int("chttpd_auth_lockout", "max_lifetime", 0), 0), 1<<40)) * time.Millisecond,
	}
	switch c.String("chttpd_auth_lockout", "mode") {
	case "warn":
		s.rules.Lockout.Mode = auth.LockoutWarn
	case "enforce":
		s.rules.Lockout.Mode = auth.LockoutEnforce
	}
}

// ReadHashing reads how new passwords are hashed.
func ReadHashing(c *config.Config) auth.Hashing {
	return auth.Hashing{Scheme: authValue(c, "password_scheme"), PRF: authValue(c, "pbkdf2_prf"), Iterations: authInt(c, "iterations")}
}

var handlerPattern = regexp.MustCompile(`\{\s*\w+\s*,\s*(\w+)\s*\}`)

// parseHandlers reads the setting authentication_handlers, `{chttpd_auth, cookie_authentication_handler}, …`. Unknown ones are left
// out, among them CouchDB's null and party handlers, which let everyone in as an admin; without any it is the stock list, so that the
// mistake can be corrected over HTTP.
func parseHandlers(setting string) []authHandler {
	var list []authHandler
	for _, m := range handlerPattern.FindAllStringSubmatch(setting, -1) {
		name, _, _ := strings.Cut(m[1], "_")
		if try := authHandlers[name]; try != nil {
			list = append(list, authHandler{name, try})
		}
	}
	if list == nil {
		return parseHandlers(config.Default("chttpd", "authentication_handlers"))
	}
	return list
}
