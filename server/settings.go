package server

import (
	"math"
	"net/netip"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/config"
)

// settings are the values of the configuration that requests need, parsed once for each change of the configuration.
type settings struct {
	maxRequestSize      int64
	maxURILength        int64
	maxDocumentSize     int64
	maxAttachmentSize   int64
	maxDocIDLength      int64
	maxPartitionSize    int64
	maxDBsInfo          int64
	maxPurgeIDs         int64
	maxPurgeRevs        int64
	maxLookedUpIDs      int64 // of filter=_doc_ids; more make the feed scan
	maxUUIDs            int64
	changesTimeout      int64         // milliseconds
	sendTimeout         time.Duration // 0: none
	queryLimit          int64
	partitionQueryLimit int64
	mangoLimit          int64 // of _find where the request has none
	mangoScanWarning    int64 // documents read for one result from which on _find warns, 0 for never
	shards              int64
	compressionLevel    int64
	compressible        []string
	allowJSONP          bool
	adminOnlyAllDBs     bool
	plusIsSpace         bool
	requireUser         bool
	requireUserButUp    bool
	usersSecurity       bool
	wwwAuthenticate     string
	loginPage           string
	forwardedHost       string
	forwardedProto      string
	forwardedSSL        string
	trustedProxies      []netip.Prefix
	maintenance         string
	uuids               *compat.UUIDs
	uuidKind            compat.UUIDOptions
	defaultSecurity     string
	attachmentCSP       string // "" when switched off
	showPolicy          string // Content-Security-Policy of what functions answer, "" when switched off
	scrubRequests       bool   // functions do not see credentials
	secureRewrites      bool
	rewriteLimit        int64
	functionRevs        int64 // most ids in _revisions of the documents that functions get
	couchLog            bool
	auth                *authSettings
	cors                *corsSettings // nil when off
	frames              *frameOptions // nil when off
	virtualHosts        []virtualHost
}

// readSettings parses the configuration; old are the settings before, whose id generator goes on if it is the same kind.
func readSettings(c *config.Config, old *settings) *settings {
	s := &settings{
		maxRequestSize:      c.Int("chttpd", "max_http_request_size", math.MaxInt64),
		maxURILength:        c.Int("chttpd", "max_uri_length", math.MaxInt64),
		maxDocumentSize:     c.Int("couchdb", "max_document_size", math.MaxInt64),
		maxAttachmentSize:   c.Int("couchdb", "max_attachment_size", math.MaxInt64),
		maxDocIDLength:      c.Int("couchdb", "max_document_id_length", math.MaxInt64),
		maxPartitionSize:    c.Int("couchdb", "max_partition_size", math.MaxInt64),
		maxDBsInfo:          c.Int("chttpd", "max_db_number_for_dbs_info_req", math.MaxInt64),
		maxPurgeIDs:         c.Int("purge", "max_document_id_number", math.MaxInt64),
		maxPurgeRevs:        c.Int("purge", "max_revisions_number", math.MaxInt64),
		maxLookedUpIDs:      c.Int("couchdb", "changes_doc_ids_optimization_threshold", math.MaxInt64),
		maxUUIDs:            c.Int("uuids", "max_count", math.MaxInt64),
		changesTimeout:      c.Int("chttpd", "changes_timeout", math.MaxInt64),
		sendTimeout:         time.Duration(min(max(c.Int("chttpd", "send_timeout", 0), 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		queryLimit:          c.Int("query_server_config", "query_limit", 0),
		partitionQueryLimit: c.Int("query_server_config", "partition_query_limit", 0),
		mangoLimit:          c.Int("mango", "default_limit", math.MaxInt64),
		mangoScanWarning:    c.Int("mango", "index_scan_warning_threshold", 0),
		shards:              c.Int("cluster", "q", 2),
		compressionLevel:    c.Int("attachments", "compression_level", 9),
		compressible:        splitList(c.String("attachments", "compressible_types")),
		allowJSONP:          c.Bool("chttpd", "allow_jsonp"),
		adminOnlyAllDBs:     c.Bool("chttpd", "admin_only_all_dbs"),
		plusIsSpace:         c.Bool("chttpd", "decode_plus_to_space"),
		requireUser:         c.Bool("chttpd", "require_valid_user"),
		requireUserButUp:    c.Bool("chttpd", "require_valid_user_except_for_up"),
		usersSecurity:       c.Bool("couchdb", "users_db_security_editable"),
		wwwAuthenticate:     chttpdValue(c, "WWW-Authenticate"),
		loginPage:           authValue(c, "authentication_redirect"),
		forwardedHost:       c.String("chttpd", "x_forwarded_host"),
		forwardedProto:      c.String("chttpd", "x_forwarded_proto"),
		forwardedSSL:        c.String("chttpd", "x_forwarded_ssl"),
		trustedProxies:      parseNetworks(c.String("chttpd", "trusted_proxies")),
		maintenance:         c.String("couchdb", "maintenance_mode"),
		defaultSecurity:     c.String("couchdb", "default_security"),
		couchLog:            c.String("log", "format") == "couchdb",
		auth:                readAuthSettings(c),
		cors:                readCORS(c),
		frames:              readFrameOptions(c),
		virtualHosts:        readVirtualHosts(c.Section("vhosts")),
		scrubRequests:       c.Bool("chttpd", "scrub_json_request"),
		secureRewrites:      c.Bool("chttpd", "secure_rewrites"),
		functionRevs:        c.Int("query_server_config", "revs_limit", math.MaxInt64),
		rewriteLimit:        c.Int("chttpd", "rewrite_limit", math.MaxInt64),
	}
	if c.Bool("csp", "attachments_enable") {
		s.attachmentCSP = c.String("csp", "attachments_header_value")
	}
	if c.Bool("csp", "showlist_enable") {
		s.showPolicy = c.String("csp", "showlist_header_value")
	}
	s.uuidKind = compat.UUIDOptions{Algorithm: compat.UUIDAlgorithm(c.String("uuids", "algorithm")), Suffix: c.String("uuids", "utc_id_suffix")}
	s.setUUIDs(old)
	return s
}

// setUUIDs makes the generator of document ids; an unknown algorithm keeps the old one.
func (s *settings) setUUIDs(old *settings) {
	if old != nil && old.uuidKind.Algorithm == s.uuidKind.Algorithm && old.uuidKind.Suffix == s.uuidKind.Suffix {
		s.uuids = old.uuids
		return
	}
	var err error
	if s.uuids, err = compat.NewUUIDs(s.uuidKind); err != nil {
		if old != nil {
			s.uuids = old.uuids
			return
		}
		s.uuids, _ = compat.NewUUIDs(compat.UUIDOptions{})
	}
}

// parseNetworks reads networks in CIDR form and single addresses, separated by commas. What is neither is left out: it trusts nobody.
func parseNetworks(list string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range splitList(list) {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p.Masked())
		} else if addr, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
		}
	}
	return out
}

// splitList splits at commas and drops blanks.
func splitList(s string) []string {
	var out []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
