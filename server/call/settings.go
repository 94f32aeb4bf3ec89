package call

import (
	"math"
	"net/netip"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/auth"
)

// Settings are the values of the configuration that requests need, parsed once for each change of
// the configuration.
type Settings struct {
	// Rules are the limits of documents and the rest that package documents asks the configuration
	// for.
	Rules documents.Rules
	// MaxRequestSize is in bytes, as max_document_size and max_attachment_size in Rules are.
	MaxRequestSize int64
	MaxConnections int64 // 0: by memory
	// maxURILength is in bytes, of path and query together as the client has sent them, before
	// anything of it is decoded.
	maxURILength int64
	// MaxDBsInfo is how many databases one POST /_dbs_info may name.
	MaxDBsInfo int64
	// MaxUUIDs is how many ids one GET /_uuids may ask for.
	MaxUUIDs         int64
	ChangesTimeout   int64         // milliseconds
	sendTimeout      time.Duration // 0: none
	receiveTimeout   time.Duration // 0: none
	MangoLimit       int64         // of _find where the request has none
	MangoScanWarning int64         // documents read for one result from which on _find warns, 0 for never
	// Shards is what a new database is created with where the request has no q. It is only shown:
	// the storage keeps a database in one piece.
	Shards int64
	// where CouchDB 3.5 and 3.6 both succeed, but differ, the answer is 3.6's (config.Follows36)
	Follows36 bool
	// allowJSONP lets a request have its answer wrapped in a call of the function that it names as
	// callback.
	allowJSONP bool
	// adminOnlyAllDBs keeps the names of the databases from those who are no server admins.
	adminOnlyAllDBs bool
	// requireUser refuses anonymous requests, except POST /_session. requireUserButUp does the same
	// and lets /_up through as well; either one is enough.
	requireUser      bool
	requireUserButUp bool
	// UsersSecurity allows a change of the security object of the users database. Without it even
	// an admin cannot open that database to others by mistake.
	UsersSecurity bool
	// wwwAuthenticate is the value of that header in a 401. With a value, the browser asks for a
	// password; without one, it may be sent to loginPage instead (see unauthorized).
	wwwAuthenticate string
	// loginPage is a path on this server, "" for none.
	loginPage string
	Server    []string // the header
	// minimalHeaders are the headers that are left of an answer to a request with Prefer:
	// return=minimal: the configured ones, and five that readMinimalHeaders always adds.
	minimalHeaders map[string]bool
	// The next three are names of headers by which a proxy tells with which host and scheme the
	// client has asked. URLs in answers are built from them.
	forwardedHost  string
	forwardedProto string
	forwardedSSL   string
	// trustedProxies are the networks whose X-Forwarded-For and peerHeader are believed. Where
	// there are none, peerHeader is believed of everybody, and X-Forwarded-For of nobody (see
	// Peer).
	trustedProxies []netip.Prefix
	peerHeader     string
	// Maintenance is "true", "nolb", or anything else for a server in service (see
	// maintenancemode.go).
	Maintenance string
	uuidKind    uuidKind
	// DefaultSecurity tells who may use a new database: "everyone" and "admin_local" open it, any
	// other value leaves it to admins.
	DefaultSecurity string
	AttachmentCSP   string // "" when switched off
	ShowPolicy      string // Content-Security-Policy of what functions answer, "" when switched off
	scrubRequests   bool   // functions do not see credentials
	// SecureRewrites confines rewrites to their own database, except for harmless paths, and
	// forbids a rewrite function to set headers that carry credentials.
	SecureRewrites bool
	// RewriteLimit is how often one request may be rewritten, so that rules that lead to each other
	// come to an end.
	RewriteLimit int64
	// couchLog writes the access log in the form of CouchDB's, for programs that read it.
	couchLog     bool
	tagUsers     bool // transactions of requests are marked with the user
	Auth         *auth.Settings
	cors         *corsSettings // nil when off
	frames       *frameOptions // nil when off
	virtualHosts []virtualHost
}

// milliseconds is a duration of a setting; 0 for what is not positive.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// readSettings parses the configuration; old are the settings before, whose id generator goes on if
// it is the same kind.
func readSettings(c *config.Config, old *Settings) *Settings {
	var authentication *auth.Settings
	if old != nil {
		authentication = old.Auth
	}
	authentication = auth.ReadSettings(c, authentication)
	s := &Settings{
		Rules: documents.Rules{
			MaxDocumentSize:     c.Int("couchdb", "max_document_size", math.MaxInt64),
			MaxAttachmentSize:   c.Int("couchdb", "max_attachment_size", math.MaxInt64),
			MaxDocIDLength:      c.Int("couchdb", "max_document_id_length", math.MaxInt64),
			MaxPurgeRevs:        c.Int("purge", "max_revisions_number", math.MaxInt64),
			QueryLimit:          c.Int("query_server_config", "query_limit", 0),
			PartitionQueryLimit: c.Int("query_server_config", "partition_query_limit", 0),
			PlusIsSpace:         c.Bool("chttpd", "decode_plus_to_space"),
			MaxLookedUpIDs:      c.Int("couchdb", "changes_doc_ids_optimization_threshold", math.MaxInt64),
			CompressionLevel:    c.Int("attachments", "compression_level", 9),
			Compressible:        SplitList(c.String("attachments", "compressible_types")),
			FunctionRevs:        c.Int("query_server_config", "revs_limit", math.MaxInt64),
			UsersDB:             authentication.UsersDB,
			PublicFields:        SplitList(auth.Value(c, "public_fields")),
			Hashing:             authentication.Hashing,
			Passwords:           &authentication.Policy,
		},
		MaxConnections:   c.Int("chttpd", "max_connections", math.MaxInt64),
		MaxRequestSize:   c.Int("chttpd", "max_http_request_size", math.MaxInt64),
		maxURILength:     c.Int("chttpd", "max_uri_length", math.MaxInt64),
		MaxDBsInfo:       c.Int("chttpd", "max_db_number_for_dbs_info_req", math.MaxInt64),
		MaxUUIDs:         c.Int("uuids", "max_count", math.MaxInt64),
		ChangesTimeout:   c.Int("chttpd", "changes_timeout", math.MaxInt64),
		sendTimeout:      milliseconds(c.Int("chttpd", "send_timeout", 0)),
		receiveTimeout:   milliseconds(c.Int("chttpd", "receive_timeout", 0)),
		MangoLimit:       c.Int("mango", "default_limit", math.MaxInt64),
		MangoScanWarning: c.Int("mango", "index_scan_warning_threshold", 0),
		Shards:           c.Int("cluster", "q", 2),
		Follows36:        c.Follows36(),
		allowJSONP:       c.Bool("chttpd", "allow_jsonp"),
		adminOnlyAllDBs:  c.Bool("chttpd", "admin_only_all_dbs"),
		requireUser:      c.Bool("chttpd", "require_valid_user"),
		requireUserButUp: c.Bool("chttpd", "require_valid_user_except_for_up"),
		UsersSecurity:    c.Bool("couchdb", "users_db_security_editable"),
		wwwAuthenticate:  c.String("chttpd", "WWW-Authenticate"),
		Server:           serverValue,
		minimalHeaders:   readMinimalHeaders(SplitList(c.String("chttpd", "prefer_minimal"))),
		loginPage:        auth.Value(c, "authentication_redirect"),
		forwardedHost:    c.String("chttpd", "x_forwarded_host"),
		forwardedProto:   c.String("chttpd", "x_forwarded_proto"),
		forwardedSSL:     c.String("chttpd", "x_forwarded_ssl"),
		trustedProxies:   parseNetworks(c.String("chttpd", "trusted_proxies")),
		peerHeader:       c.String("chttpd", "peer_header"),
		Maintenance:      c.String("couchdb", "maintenance_mode"),
		DefaultSecurity:  c.String("couchdb", "default_security"),
		couchLog:         c.String("log", "format") == "couchdb",
		tagUsers:         c.String("settee", "transaction_tags") == "user",
		Auth:             authentication,
		cors:             readCORS(c),
		frames:           readFrameOptions(c),
		virtualHosts:     readVirtualHosts(c.Section("vhosts")),
		scrubRequests:    c.Bool("chttpd", "scrub_json_request"),
		SecureRewrites:   c.Bool("chttpd", "secure_rewrites"),
		RewriteLimit:     c.Int("chttpd", "rewrite_limit", math.MaxInt64),
	}
	if !c.Bool("chttpd", "server_header_versions") {
		s.Server = plainServerValue
	}
	if c.Bool("csp", "attachments_enable") {
		s.AttachmentCSP = c.String("csp", "attachments_header_value")
	}
	if c.Bool("csp", "showlist_enable") {
		s.ShowPolicy = c.String("csp", "showlist_header_value")
	}
	s.uuidKind = uuidKind{
		algorithm: c.String("uuids", "algorithm"),
		format:    c.String("uuids", "format"),
		suffix:    c.String("uuids", "utc_id_suffix"),
	}
	if _, set := c.Get("uuids", "algorithm"); !set && s.Follows36 {
		s.uuidKind.algorithm = string(compat.UUIDv7)
	}
	s.setUUIDs(old)
	return s
}

// uuidKind is what settings say of document ids.
type uuidKind struct{ algorithm, format, suffix string }

// setUUIDs makes the generator of document ids; an unknown algorithm keeps the old one.
func (s *Settings) setUUIDs(old *Settings) {
	if old != nil && old.uuidKind == s.uuidKind {
		s.Rules.UUIDs = old.Rules.UUIDs
		return
	}
	var err error
	if s.Rules.UUIDs, err = compat.NewUUIDs(compat.UUIDOptions{
		Algorithm: compat.UUIDAlgorithm(s.uuidKind.algorithm),
		Format:    compat.UUIDFormat(s.uuidKind.format),
		Suffix:    s.uuidKind.suffix,
	}); err != nil {
		if old != nil {
			s.Rules.UUIDs = old.Rules.UUIDs
			return
		}
		s.Rules.UUIDs, _ = compat.NewUUIDs(compat.UUIDOptions{})
	}
}

// parseNetworks reads networks in CIDR form and single addresses, separated by commas. What is
// neither is left out: it trusts nobody.
func parseNetworks(list string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range SplitList(list) {
		if p, err := compat.ParseNetwork(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// SplitList splits at commas and drops blanks.
func SplitList(s string) []string {
	var out []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
