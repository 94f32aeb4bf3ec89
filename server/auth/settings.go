package auth

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/principal"
)

// Settings are the settings of logins, parsed once for each change of the configuration.
type Settings struct {
	Handlers    []string // ways to identify a user, in their order: the first words of CouchDB's names
	UsersDB     string
	ShowUsersDB bool // the database's name is set, so GET /_session shows it
	Admins      map[string]*principal.User
	Secret      string // signs; see Secrets for those that are believed
	replaced    []replaced
	// secrets of cookies and proxy tokens; the first one signs, all are accepted
	Algorithms     []string
	Cookie         CookieOptions
	Rules          principal.Rules
	Hashing        principal.Hashing
	Policy         principal.Policy
	Upgrade        bool   // rewrite outdated hashes at a login
	ConflictedDocs bool   // users with conflicted documents may log in
	ProxyUser      string // header names
	ProxyRoles     string
	ProxyToken     string
	ProxySecret    bool
	Tokens         principal.TokenRules
	PerUser        PerUser
}

// PerUser are the settings of section couch_peruser.
type PerUser struct {
	Enabled, DeleteDBs bool
	Prefix             string
	Q                  int
}

// Value reads a setting of chttpd_auth, which CouchDB also accepts in its old section
// (chttpd_util:get_chttpd_auth_config).
func Value(c *config.Config, key string) string {
	if _, ok := c.Get("chttpd_auth", key); !ok {
		if v, ok := c.Get("couch_httpd_auth", key); ok {
			return v
		}
	}
	return c.String("chttpd_auth", key)
}

// ReadSettings reads them from the configuration as it is now; old are those before, nil at the
// start.
func ReadSettings(c *config.Config, old *Settings) *Settings {
	_, showUsersDB := c.Get("chttpd_auth", "authentication_db")
	s := &Settings{
		Handlers:       parseHandlers(c.String("chttpd", "authentication_handlers")),
		UsersDB:        c.String("chttpd_auth", "authentication_db"),
		ShowUsersDB:    showUsersDB,
		Admins:         make(map[string]*principal.User),
		Secret:         Value(c, "secret"),
		Algorithms:     principal.Algorithms(Value(c, "hash_algorithms")),
		Hashing:        ReadHashing(c),
		Policy:         principal.ParsePolicy(Value(c, "password_regexp")),
		Upgrade:        Value(c, "upgrade_hash_on_auth") != "false",
		ConflictedDocs: c.Bool("chttpd_auth", "allow_conflicted_user_docs"),
		ProxyUser:      Value(c, "x_auth_username"),
		ProxyRoles:     Value(c, "x_auth_roles"),
		ProxyToken:     Value(c, "x_auth_token"),
		ProxySecret:    Value(c, "proxy_use_secret") == "true",
		Tokens: principal.TokenRules{
			Keys:      principal.ParseKeys(c.Section("jwt_keys")),
			Claims:    principal.ParseClaims(c.String("jwt_auth", "required_claims")),
			RolesName: c.String("jwt_auth", "roles_claim_name"),
			RolesPath: principal.ParsePath(c.String("jwt_auth", "roles_claim_path")),
		},
		PerUser: PerUser{
			Enabled: c.Bool("couch_peruser", "enable"), DeleteDBs: c.Bool("couch_peruser", "delete_dbs"),
			Prefix: c.String("couch_peruser", "database_prefix"), Q: int(c.Int("couch_peruser", "q", 1)),
		},
	}
	for name, stored := range c.Section("admins") {
		if u := principal.ParseAdmin(name, stored); u != nil {
			s.Admins[name] = u
		}
	}
	s.readCookie(c)
	if old != nil {
		s.keepReplaced(old, time.Now())
	}
	s.readRules(c)
	return s
}

// authInt reads a number of chttpd_auth or its old section; the table's default where neither has
// one (chttpd_util:get_chttpd_auth_config_integer).
func authInt(c *config.Config, key string) int64 {
	for _, section := range []string{"chttpd_auth", "couch_httpd_auth"} {
		v, _ := c.Get(section, key)
		if n, ok := config.ParseInt(v, math.MaxInt64); ok {
			return n
		}
	}
	return c.Int("chttpd_auth", key, math.MaxInt64)
}

// readCookie reads how session cookies are made; a timeout beyond a hundred years would overflow
// durations.
func (s *Settings) readCookie(c *config.Config) {
	const longest = 100 * 365 * 24 * 3600 // seconds
	s.Cookie = CookieOptions{
		Timeout:    time.Duration(min(max(authInt(c, "timeout"), 0), longest)) * time.Second,
		Persistent: Value(c, "allow_persistent_cookies") != "false",
		Domain:     Value(c, "cookie_domain"),
		SameSite:   Value(c, "same_site"),
	}
}

// readRules takes what a password is hashed and checked with. Numbers are clamped to what can be
// kept in memory and in a time.Duration: a lockout remembers at most 1<<20 pairs of name and
// address, and a lifetime is in milliseconds. An unknown mode turns the lockout off.
func (s *Settings) readRules(c *config.Config) {
	s.Rules.Usual = s.Hashing
	s.Rules.Limits = principal.Limits{
		MinIterations: authInt(c, "min_iterations"),
		MaxIterations: authInt(c, "max_iterations"),
	}
	lifetime := min(max(c.Int("chttpd_auth_lockout", "max_lifetime", 0), 0), 1<<40)
	s.Rules.Lockout = principal.LockoutRules{
		Threshold: c.Int("chttpd_auth_lockout", "threshold", math.MaxInt64),
		Objects:   int(min(max(c.Int("chttpd_auth_lockout", "max_objects", 1<<20), 1), 1<<20)),
		Lifetime:  time.Duration(lifetime) * time.Millisecond,
	}
	switch c.String("chttpd_auth_lockout", "mode") {
	case "warn":
		s.Rules.Lockout.Mode = principal.LockoutWarn
	case "enforce":
		s.Rules.Lockout.Mode = principal.LockoutEnforce
	}
}

// ReadHashing reads how new passwords are hashed.
func ReadHashing(c *config.Config) principal.Hashing {
	return principal.Hashing{
		Scheme:     Value(c, "password_scheme"),
		PRF:        Value(c, "pbkdf2_prf"),
		Iterations: authInt(c, "iterations"),
	}
}

// handlerNames are the handlers there are, by the first word of CouchDB's names.
var handlerNames = []string{"cookie", "default", "proxy", "jwt"}

var handlerPattern = regexp.MustCompile(`\{\s*\w+\s*,\s*(\w+)\s*\}`)

// parseHandlers reads the setting authentication_handlers, `{chttpd_auth,
// cookie_authentication_handler}, …`. Unknown ones are left out, among them CouchDB's null and
// party handlers, which let everyone in as an admin; without any it is the stock list, so that the
// mistake can be corrected over HTTP.
func parseHandlers(setting string) []string {
	var list []string
	for _, m := range handlerPattern.FindAllStringSubmatch(setting, -1) {
		name, _, _ := strings.Cut(m[1], "_")
		if slices.Contains(handlerNames, name) {
			list = append(list, name)
		}
	}
	if list == nil {
		return parseHandlers(config.Default("chttpd", "authentication_handlers"))
	}
	return list
}
