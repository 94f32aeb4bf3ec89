package config

import (
	"slices"
	"strings"
)

// IgnoredSetting is a setting that a stock CouchDB's ini file has and that has no effect here. Key
// "" is all keys of a section, a section that ends in * all that begin so.
type IgnoredSetting struct {
	Section, Key string
	Means        string // what is here instead, as a sentence
}

const (
	noFiles  = "Databases and indexes are not in files of their own: the store writes, caches and syncs them together."
	noShards = "There are no shards that nodes would have to ask each other for."
	noErlang = "There is no Erlang below this server."
	oneStore = "Nodes of a cluster share one FoundationDB: its own settings say what is copied where (docs/cluster.md)."
	byItself = "The store compacts itself; docs/operations.md says what _compact adds."
	searches = "Full-text search is part of this server, in the same store (docs/search.md)."
	noScan   = "There are no scanners of databases, but what purges deleted documents (couch_auto_purge_plugin)."
	oldPort  = "There is no back-end port: what it had is below /_node/_local."
	resplit  = "There are no jobs of _reshard, since there are no shards to split."
	memories = "What a JavaScript worker may take is [query_server_config] os_process_memory."
	mochiweb = "There is no MochiWeb: [chttpd] max_connections bounds connections, others of its options do not apply."
	offHeap  = "Messages between Erlang's processes do not exist here."
)

// Ignored is the table of the settings of a stock CouchDB that have no effect.
var Ignored = []IgnoredSetting{
	{"$plugin*", "", noScan},
	{"bt_engine_cache", "", noFiles},
	{"chttpd", "buffer_response", "Answers begin before they are complete; errors after that break the connection off."},
	{"chttpd", "bulk_get_use_batches", "_bulk_get always reads many documents at a time."},
	{"chttpd", "config_whitelist", "Sections that must not be changed over HTTP are fixed; all others may be, by administrators."},
	{"chttpd", "disconnect_check_jitter_msec", "That a client has gone is seen at once."},
	{"chttpd", "disconnect_check_msec", "That a client has gone is seen at once."},
	{"chttpd", "server_options", mochiweb},
	{"chttpd", "socket_options", mochiweb},
	{"chttpd_auth", "auth_cache_size", "Users are cached by what they take in memory, and never stale."},
	{"chttpd_auth", "users_db_public", "What others see of user documents is public_fields alone."},
	{"chttpd_auth_cache", "", "Users are cached by what they take in memory, and never stale."},
	{"cluster", "placement", oneStore},
	{"cluster", "reconnect_interval_sec", oneStore},
	{"cluster", "seedlist", oneStore},
	{"couch_auto_purge_plugin", "log_level", "Lines of the log about purged documents are of level info."},
	{"couch_passwords_cache", "", "Checked passwords are remembered for a short while, in a cache of its own size."},
	{"couch_quickjs_scanner_plugin*", "", noScan},
	{"couch_scanner", "db_rate_limit", noScan},
	{"couch_scanner", "ddoc_batch_size", noScan},
	{"couch_scanner", "doc_rate_limit", noScan},
	{"couch_scanner", "heal_threshold_sec", noScan},
	{"couch_scanner", "max_penalty_sec", noScan},
	{"couch_scanner", "min_penalty_sec", noScan},
	{"couch_scanner", "shard_rate_limit", noScan},
	{"couch_scanner_plugin_*", "", noScan},
	{"couch_scanner_plugins", "couch_quickjs_scanner_plugin", noScan},
	{"couch_scanner_plugins", "couch_scanner_plugin_conflict_finder", noScan},
	{"couch_scanner_plugins", "couch_scanner_plugin_ddoc_features", noScan},
	{"couch_scanner_plugins", "couch_scanner_plugin_find", noScan},
	{"couch_scanner_plugins", "nouveau_index_upgrader", noScan},
	{"couchdb", "attachment_stream_buffer_size", noFiles},
	{"couchdb", "attachment_writer_timeout", "Attachments are written by the node that receives them; [chttpd] receive_timeout bounds the wait for a client."},
	{"couchdb", "btree_chunk_size", noFiles},
	{"couchdb", "cfile_skip_ioq", noFiles},
	{"couchdb", "compaction_log_level", byItself},
	{"couchdb", "default_engine", noFiles},
	{"couchdb", "delete_after_rename", noFiles},
	{"couchdb", "enable_database_recovery", "A deleted database is gone: back up before (docs/moving.md)."},
	{"couchdb", "file_compression", "The store compresses its tables by itself."},
	{"couchdb", "index_cleanup_delay_msec", "Indexes that no design document has any more go five minutes after ([smoosh] cleanup_channels)."},
	{"couchdb", "js_engine", "JavaScript runs in workers of this program's own (docs/design-functions.md)."},
	{"couchdb", "max_couch_server_shards", noErlang},
	{"couchdb", "max_dbs_open", "Databases are not opened: there may be any number of them."},
	{"couchdb", "plugin_dir", noErlang},
	{"couchdb", "prohibit_downgrade", "A program that cannot read a store refuses it (settee upgrade)."},
	{"couchdb", "stem_interactive_updates", "Revisions beyond revs_limit are always forgotten with the next update of a document."},
	{"couchdb", "update_lru_on_read", noFiles},
	{"couchdb", "uri_file", "No file with the server's address is written; the log has it."},
	{"couchdb", "use_cfile", noFiles},
	{"couchdb", "util_driver_dir", noErlang},
	{"couchdb", "view_index_dir", "Indexes are in the store, below database_dir."},
	{"couchdb", "write_xxhash_checksums", "The store has checksums of its own for all that it writes."},
	{"couchdb_engines", "", noFiles},
	{"custodian", "", oneStore},
	{"ddoc_cache", "", "Parsed design documents are kept as memory allows, and never stale."},
	{"dreyfus", "name", searches},
	{"dreyfus", "retry_limit", searches},
	{"fabric", "", noShards},
	{"global_changes", "", "_global_changes exists from the first start and is written in batches of the store's own."},
	{"hibernate_after", "", noErlang},
	{"httpd", "authentication_handlers", oldPort},
	{"httpd", "bind_address", oldPort},
	{"httpd", "server_options", oldPort},
	{"httpd", "socket_options", oldPort},
	{"httpd_design_handlers", "", "What design documents answer to is fixed."},
	{"indexers", "", "Which kinds of indexes there are is fixed."},
	{"ioq*", "", noFiles},
	{"log", "filter_fields", "Crash reports of Erlang do not exist here."},
	{"log", "strip_last_msg", "Crash reports of Erlang do not exist here."},
	{"log", "write_buffer", "Each line of the log is written at once."},
	{"log", "write_delay", "Each line of the log is written at once."},
	{"mem3", "", noShards},
	{"native_query_servers", "", "Design documents in Erlang are not run; JavaScript and Mango are."},
	{"nouveau", "enable", searches},
	{"nouveau", "ssl_cacert_file", searches},
	{"nouveau", "ssl_cert_file", searches},
	{"nouveau", "ssl_key_file", searches},
	{"nouveau", "ssl_password", searches},
	{"nouveau", "ssl_verify", searches},
	{"nouveau", "url", searches},
	{"nouveau_index_upgrader", "", searches},
	{"off_heap_mqd", "", offHeap},
	{"process_priority", "", noErlang},
	{"prometheus", "interval", "Metrics are those of the moment in which they are asked for."},
	{"purge", "max_document_id_number", "There is no such limit any more, as in CouchDB since 3.5.1."},
	{"purge", "index_lag_warn_seconds", "Purges do not wait for indexes, which forget what was purged with their next update."},
	{"query_server_config", "commit_freq", "An index commits with each of its batches."},
	{"query_server_config", "db_tag", "Workers are not kept for databases."},
	{"query_server_config", "group_info_timeout", noFiles},
	{"query_server_config", "os_process_idle_limit", "Idle workers end by themselves."},
	{"query_server_config", "os_process_soft_limit", "The number of workers is bounded by os_process_limit alone."},
	{"quickjs", "", memories},
	{"replicator", "cluster_start_period", "Replications start with the server."},
	{"replicator", "password", "The key of cert_file must have no password."},
	{"replicator", "priority_coeff", "Of replications beyond max_jobs whoever has waited longest runs next."},
	{"replicator", "socket_options", noErlang},
	{"replicator", "usage_coeff", "Of replications beyond max_jobs whoever has waited longest runs next."},
	{"replicator", "valid_endpoint_protocols_log", "Protocols are allowed or refused by valid_endpoint_protocols; the log has no line for each use."},
	{"replicator", "valid_socket_options", noErlang},
	{"replicator", "verify_ssl_certificates_log", "Certificates are verified or not by verify_ssl_certificates; the log has no line for each."},
	{"replicator.shares", "", "Of replications beyond max_jobs whoever has waited longest runs next."},
	{"reshard", "", resplit},
	{"rexi", "", noShards},
	{"smoosh", "compaction_log_level", byItself},
	{"smoosh", "db_channels", byItself},
	{"smoosh", "persist", byItself},
	{"smoosh", "state_dir", byItself},
	{"smoosh", "view_channels", byItself},
	{"smoosh.*", "", byItself},
	{"stats", "", "Histograms of _stats always look back ten seconds."},
	{"view_updater", "", "How much a transaction of an index build takes is [couch_views] batch_size."},
	{"view_upgrade", "", "Indexes of an older version of this server are read, or built anew by themselves."},
}

// WithoutEffect are the settings that files or the API set to other values than a stock CouchDB
// has, and that have no effect, by their names: "[section] key".
func (c *Config) WithoutEffect() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := make(map[string]string)
	for section, keys := range c.All() {
		for key, value := range keys {
			stock, known := c.stock[section][key]
			if i := ignored(section, key); i != nil && !(known && stock == value) {
				found["["+section+"] "+key] = i.Means
			}
		}
	}
	return found
}

// ignored is the row of a setting in Ignored, nil if it has none.
func ignored(section, key string) *IgnoredSetting {
	i := slices.IndexFunc(Ignored, func(s IgnoredSetting) bool {
		prefix, many := strings.CutSuffix(s.Section, "*")
		return (s.Section == section || many && strings.HasPrefix(section, prefix)) && (s.Key == "" || s.Key == key)
	})
	if i < 0 {
		return nil
	}
	return &Ignored[i]
}

// has reports whether a setting is one of Settings.
func has(section, key string) bool {
	section, _, _ = strings.Cut(section, ":") // cors:HOST
	keys := defaults[section]
	_, named := keys[key]
	_, all := keys[""]
	return named || all
}
