package config

// Setting is one known setting: where it lives, what it is when nothing sets it, and what it does.
type Setting struct {
	Section, Key, Default, Doc string
}

// Settings is the table of the settings this server reads. Unknown settings may be set and read back; they have no effect.
var Settings = []Setting{
	{"admins", "", "", "Server admins: name = password. A clear password is replaced by its salted hash."},
	{"attachments", "compressible_types", "text/*, application/javascript, application/json, application/xml", "Content types of attachments that are stored compressed."},
	{"attachments", "compression_level", "8", "zlib level for compressible attachments, 1 to 9; 0 stores them as they are."},
	{"chttpd", "admin_only_all_dbs", "true", "Whether _all_dbs and _dbs_info are for server admins only."},
	{"chttpd", "allow_jsonp", "false", "Whether the query parameter callback wraps answers as JavaScript."},
	{"chttpd", "authentication_handlers", "{chttpd_auth, cookie_authentication_handler}, {chttpd_auth, default_authentication_handler}", "How users are identified, in order: cookie, default (Basic), proxy, jwt."},
	{"chttpd", "bind_address", "127.0.0.1", "Address the server listens on."},
	{"chttpd", "changes_timeout", "60000", "Longest wait of a _changes feed without heartbeat, in milliseconds."},
	{"chttpd", "enable_cors", "false", "Whether the section cors is in force."},
	{"chttpd", "enable_xframe_options", "false", "Whether answers carry X-Frame-Options, by the section x_frame_options."},
	{"chttpd", "decode_plus_to_space", "true", "Whether + in a path means a space."},
	{"chttpd", "max_db_number_for_dbs_info_req", "100", "Most names in one POST _dbs_info."},
	{"chttpd", "max_http_request_size", "4294967296", "Largest request body in bytes; standalone attachments are not limited by it."},
	{"chttpd", "max_uri_length", "infinity", "Longest request URI in bytes, query included."},
	{"chttpd", "port", "5984", "TCP port the server listens on."},
	{"chttpd", "require_valid_user", "false", "Whether every request needs a user."},
	{"chttpd", "require_valid_user_except_for_up", "false", "The same, but /_up stays open."},
	{"chttpd", "WWW-Authenticate", "", "Value of the WWW-Authenticate header of 401 answers; empty sends none."},
	{"chttpd", "x_forwarded_host", "X-Forwarded-Host", "Request header that overrides Host in absolute URLs."},
	{"chttpd", "x_forwarded_proto", "X-Forwarded-Proto", "Request header that names the scheme of absolute URLs."},
	{"chttpd", "x_forwarded_ssl", "X-Forwarded-Ssl", "Request header that says on when the scheme is https."},
	{"chttpd_auth", "allow_conflicted_user_docs", "false", "Whether users whose documents have conflicts may log in."},
	{"chttpd_auth", "allow_persistent_cookies", "true", "Whether session cookies outlive the browser."},
	{"chttpd_auth", "authentication_db", "_users", "Database of the users."},
	{"chttpd_auth", "authentication_redirect", "/_utils/session.html", "Where a browser without credentials is sent."},
	{"chttpd_auth", "cookie_domain", "", "Domain of session cookies; empty is the host alone."},
	{"chttpd_auth", "hash_algorithms", "sha256, sha", "Hash functions of cookies and proxy tokens; the first signs, all verify."},
	{"chttpd_auth", "iterations", "600000", "PBKDF2 iterations for new passwords."},
	{"chttpd_auth", "max_iterations", "10000000", "Most PBKDF2 iterations of a stored password that are computed (CouchDB: 1000000000, minutes for a login)."},
	{"chttpd_auth", "min_iterations", "1", "Fewest PBKDF2 iterations of a stored password that count."},
	{"chttpd_auth", "password_regexp", "", "What new passwords must match: an Erlang list of regular expressions or {expression, reason}."},
	{"chttpd_auth", "password_scheme", "pbkdf2", "How new passwords are stored: pbkdf2 or simple."},
	{"chttpd_auth", "pbkdf2_prf", "sha256", "Hash function of PBKDF2: sha, sha224, sha256, sha384 or sha512."},
	{"chttpd_auth", "proxy_use_secret", "false", "Whether proxy authentication needs a token signed with the secret."},
	{"chttpd_auth", "public_fields", "", "Fields of user documents that everyone may see, with commas."},
	{"chttpd_auth", "same_site", "", "SameSite of session cookies: none, lax or strict."},
	{"chttpd_auth", "secret", "", "Key of session cookies and proxy tokens; made at the first login."},
	{"chttpd_auth", "timeout", "600", "Seconds a session lives without being used."},
	{"chttpd_auth", "upgrade_hash_on_auth", "true", "Whether a login rewrites a hash that is not as new ones are."},
	{"chttpd_auth", "x_auth_roles", "X-Auth-CouchDB-Roles", "Header with the roles of a user a proxy has identified."},
	{"chttpd_auth", "x_auth_token", "X-Auth-CouchDB-Token", "Header with the proof of it."},
	{"chttpd_auth", "x_auth_username", "X-Auth-CouchDB-UserName", "Header with the user's name."},
	{"chttpd_auth_lockout", "max_lifetime", "300000", "Milliseconds that failed logins are counted, from the first."},
	{"chttpd_auth_lockout", "max_objects", "10000", "Most counters of failed logins."},
	{"chttpd_auth_lockout", "mode", "enforce", "What too many failed logins do: off, warn or enforce."},
	{"chttpd_auth_lockout", "threshold", "5", "Failed logins from which an account is locked for the address."},
	{"cluster", "n", "3", "Copies of each shard that a new database asks for (shown only)."},
	{"cluster", "q", "2", "Shards that a new database says it has."},
	{"cors", "credentials", "false", "Whether browsers may send cookies and credentials from other origins."},
	{"cors", "exposed_headers", "accept-ranges, etag, server, x-couch-request-id, x-couch-update-newrev, x-couchdb-body-time", "Headers of answers that pages may read. All keys of this section may stand in a section cors:HOST as well, which goes first for requests to that host."},
	{"cors", "headers", "accept, accept-language, authorization, content-length, content-range, content-type, destination, expires, if-match, last-modified, origin, pragma, x-couch-full-commit, x-couch-id, x-couch-persist, x-couchdb-www-authenticate, x-http-method-override, x-requested-with, x-couchdb-vhost-path", "Request headers that pages may send."},
	{"cors", "max_age", "600", "How long browsers may remember a preflight, in seconds."},
	{"cors", "methods", "CONNECT, COPY, DELETE, GET, HEAD, OPTIONS, POST, PUT, TRACE", "Methods that pages may use."},
	{"cors", "origins", "", "Origins whose pages may use the server, separated by commas; * is all."},
	{"couch_peruser", "database_prefix", "userdb-", "Begins the names of the users' databases."},
	{"couch_peruser", "delete_dbs", "false", "Whether a user's database is deleted with the user."},
	{"couch_peruser", "enable", "false", "Whether every user gets a database of its own."},
	{"couch_peruser", "q", "1", "Shards that a user's database says it has."},
	{"couchdb", "changes_doc_ids_optimization_threshold", "1000", "Up to this many ids of filter=_doc_ids are looked up instead of scanning the feed."},
	{"couchdb", "default_security", "admin_only", "Who may use a new database: admin_only, admin_local or everyone."},
	{"couchdb", "maintenance_mode", "false", "What /_up says: true and nolb answer 404."},
	{"couchdb", "max_attachment_size", "1073741824", "Largest attachment in bytes, or infinity."},
	{"couchdb", "max_document_id_length", "infinity", "Longest document id in bytes that is accepted on writes."},
	{"couchdb", "max_document_size", "8000000", "Largest document body in bytes."},
	{"couchdb", "max_partition_size", "10737418240", "Largest partition in bytes of document bodies; 0 is no limit."},
	{"couchdb", "os_process_timeout", "5000", "Milliseconds that one call of a JavaScript function may take."},
	{"couchdb", "single_node", "false", "Accepted for CouchDB's ini files; this server always starts complete."},
	{"couchdb", "users_db_security_editable", "false", "Whether the _security of _users may be changed."},
	{"couchdb", "uuid", "", "Identity of the server in GET / and in replication ids."},
	{"csp", "attachments_enable", "true", "Whether attachments carry a Content-Security-Policy header."},
	{"csp", "attachments_header_value", "sandbox", "Content-Security-Policy of attachments."},
	{"csp", "utils_enable", "true", "Whether files below _utils carry a Content-Security-Policy header."},
	{"jwt_auth", "required_claims", "exp", "Claims a JSON web token must have: names, and {name, \"value\"}."},
	{"jwt_auth", "roles_claim_name", "_couchdb.roles", "Claim with the roles."},
	{"jwt_auth", "roles_claim_path", "", "Path of the claim with the roles, names with dots between; wins over roles_claim_name."},
	{"jwt_keys", "", "", "Keys of JSON web tokens: hmac:KID = base64, rsa:KID and ec:KID = PEM with \\n for line ends; KID _default without kid."},
	{"csp", "utils_header_value", "", "Content-Security-Policy of files below _utils; empty is CouchDB's own."},
	{"ken", "batch_channels", "4", "Most databases whose indexes are brought up to date in the background at a time; 0 leaves it to queries."},
	{"ken.ignore", "", "", "Databases whose indexes are left to queries: name = true."},
	{"log", "file", "./couch.log", "File of the writer file. It is opened anew at SIGHUP, and within 30 seconds after it was moved."},
	{"log", "format", "slog", "Lines of the log: slog (key=value) or couchdb. The writers syslog and journald have forms of their own."},
	{"log", "level", "info", "Least important level that is logged: debug, info, notice, warning, error, none."},
	{"log", "max_message_size", "16000", "Most bytes of a message in CouchDB's form; the rest is cut off."},
	{"log", "syslog_appid", "couchdb", "Name of the application in lines of the writer syslog."},
	{"log", "syslog_facility", "local2", "Facility of the writer syslog: a name of syslog or a number from 0 to 23."},
	{"log", "syslog_host", "", "Server of the writer syslog, reached over UDP; without one the lines go to standard error."},
	{"log", "syslog_port", "514", "Port of that server."},
	{"log", "writer", "stderr", "Where the log goes: stderr, file, syslog or journald."},
	{"mango", "default_limit", "25", "Most documents of a Mango query that names no limit."},
	{"mango", "index_scan_warning_threshold", "10", "Documents read for each result from which on a Mango query warns; 0 for never."},
	{"prometheus", "additional_port", "false", "Whether /_node/_local/_prometheus is also served on a port of its own, without a login; needs a restart, as all of this section."},
	{"prometheus", "bind_address", "127.0.0.1", "Address of that port; any is all."},
	{"prometheus", "port", "17986", "That port."},
	{"purge", "max_document_id_number", "100", "Most documents in one _purge."},
	{"purge", "max_revisions_number", "1000", "Most revisions in one _purge."},
	{"query_server_config", "os_process_limit", "0", "Most JavaScript worker processes; 0 is one more than there are processors."},
	{"query_server_config", "os_process_memory", "536870912", "Bytes that a JavaScript worker process may fill; not in CouchDB."},
	{"query_server_config", "partition_query_limit", "infinity", "Most rows of a partitioned query."},
	{"query_server_config", "query_limit", "infinity", "Most rows of a query."},
	{"query_server_config", "reduce_limit", "true", "Whether JavaScript reduce functions have to shrink what they are given: true, false or log."},
	{"ssl", "cacert_file", "", "PEM file of the authorities whose client certificates are accepted; needs a restart, as all of this section but the files."},
	{"ssl", "cert_file", "", "PEM file of the certificate and its chain; read again when it changes."},
	{"ssl", "enable", "false", "Whether the server also listens for HTTPS."},
	{"ssl", "fail_if_no_peer_cert", "false", "Whether clients must have a certificate; needs verify_ssl_certificates."},
	{"ssl", "key_file", "", "PEM file of the certificate's key; read again when it changes."},
	{"ssl", "port", "6984", "TCP port of HTTPS, on the address chttpd/bind_address."},
	{"ssl", "tls_versions", "['tlsv1.2', 'tlsv1.3']", "TLS versions; older ones than 1.2 are never used."},
	{"ssl", "verify_ssl_certificates", "false", "Whether certificates that clients show are verified by cacert_file."},
	{"uuids", "algorithm", "sequential", "How ids are made: sequential, random, utc_random or utc_id."},
	{"uuids", "max_count", "1000", "Most ids in one _uuids request."},
	{"uuids", "utc_id_suffix", "", "Text after the time in ids of the algorithm utc_id."},
	{"x_frame_options", "hosts", "", "Addresses of this server (http://host:port) at which answers may be framed; * is all."},
	{"x_frame_options", "same_origin", "false", "Whether pages of this server may frame answers."},
}

// Stock returns the values that a stock CouchDB's own ini file sets, so that they are listed and clients find them. The caller adds
// what it knows of the place it runs in.
func Stock() map[string]map[string]string {
	return map[string]map[string]string{
		"chttpd":           {"bind_address": "127.0.0.1", "port": "5984"},
		"chttpd_auth":      {"hash_algorithms": "sha256, sha"},
		"couch_httpd_auth": {"authentication_db": "_users"},
		"couchdb":          {"single_node": "true"},
		"couchdb_engines":  {"couch": "couch_bt_engine"},
		"feature_flags":    {"partitioned||*": "true"},
		"httpd":            {"bind_address": "127.0.0.1", "port": "5986"},
		"indexers":         {"couch_mrview": "true"},
		"log":              {"level": "info", "writer": "stderr"},
		"nouveau":          {"url": "http://127.0.0.1:5987"},
		"prometheus":       {"additional_port": "false", "bind_address": "127.0.0.1", "port": "17986"},
		"smoosh":           {"state_dir": "./data"},
		"vendor":           {"name": "The Apache Software Foundation"},
	}
}

// Default returns the table's value of a setting, "" for unknown ones.
func Default(section, key string) string { return defaults[section][key] }

// defaults is Settings by section and key.
var defaults = func() map[string]map[string]string {
	m := make(map[string]map[string]string)
	for _, s := range Settings {
		if m[s.Section] == nil {
			m[s.Section] = make(map[string]string)
		}
		m[s.Section][s.Key] = s.Default
	}
	return m
}()
