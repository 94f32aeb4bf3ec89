package config

// alsoInHTTPD are the settings of chttpd that count in httpd, their old section, where chttpd does
// not set them (chttpd_util:get_chttpd_config).
var alsoInHTTPD = map[string]bool{
	"allow_jsonp": true, "changes_timeout": true, "enable_cors": true, "enable_xframe_options": true,
	"max_http_request_size": true, "max_uri_length": true, "rewrite_limit": true, "secure_rewrites": true,
	"server_header_versions": true, "WWW-Authenticate": true, "x_forwarded_host": true, "x_forwarded_proto": true,
	"x_forwarded_ssl": true,
}

// Stock returns the values that a stock CouchDB's own ini file sets, so that they are listed and
// clients find them, and those of [log], which the recorded server set. The caller adds what it
// knows of the place it runs in.
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
