// Package databases serves databases as a whole.
//
//	databases.go     a database, _all_dbs, _dbs_info
//	namerange.go     the options of lists of databases
//	access.go        _access
//	groups.go        _groups, _group
//	settings.go      _security, _revs_limit, _purged_infos, _purged_infos_limit
//	timeseq.go       _time_seq
//	lives.go         _auto_purge and _history: for how long deleted documents and replaced revisions are kept
//	maintenance.go   _compact, _ensure_full_commit, _shards, _sync_shards, _temp_view
//	backup.go        _backup, _restore
//	routes.go        the rows of the route table
package databases
