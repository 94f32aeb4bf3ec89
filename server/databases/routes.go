package databases

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for databases as a whole.
func Routes() []call.Route {
	return []call.Route{
		call.Row("GET,HEAD", "/_all_dbs", call.Lister, getAllDBs, "Names of the databases."),
		call.Row("GET,HEAD", "/_all_dbs/{rest...}", call.Lister, call.NotFound, "Refused."),
		call.Row("GET,HEAD", "/_dbs_info", call.Lister, getDBsInfo, "Information on several databases."),
		call.Row("POST", "/_dbs_info", call.Lister, postDBsInfo,
			"Information on the databases of a list of keys.", call.Reads),
		call.Row("GET,HEAD,POST", "/_dbs_info/{rest...}", call.Lister, call.NotFound, "Refused.", call.Reads),
		call.Row("DELETE", "/{db}", call.ServerAdmin, deleteDB, "Delete a database."),
		call.Row("GET,HEAD", "/{db}", call.Member, getDB, "Information on a database."),
		call.Row("PUT", "/{db}", call.ServerAdmin, putDB, "Create a database.", call.Unlisted),
		call.Row("GET", "/{db}/_backup", call.ServerAdmin, getBackup,
			"The database as an archive (extension).", call.Heavy),
		call.Row("POST", "/{db}/_restore", call.ServerAdmin, postRestore,
			"Bring an archive back, or compare with it (extension)."),
		call.Row("POST", "/{db}/_compact", call.DatabaseAdmin, postCompact, "Drop replaced revisions."),
		call.Row("POST", "/{db}/_ensure_full_commit", call.Member, postEnsureFullCommit,
			"Answered at once: acknowledged writes are on disk."),
		call.Row("POST", "/{db}/_sync_shards", call.ServerAdmin, postSyncShards,
			"Answered at once: there is one copy."),
		call.Row("*", "/{db}/_sync_shards/{rest...}", call.Member, syncShardsPath, "Refused for every method."),
		call.Row("GET", "/{db}/_shards", call.Member, getShards, "Shard map."),
		call.Row("GET", "/{db}/_shards/{id}", call.Member, getShard, "Shard of a document."),
		call.Row("PUT", "/{db}/_security", call.Member, putSecurity, "Set who may use the database."),
		call.Row("GET", "/{db}/_security", call.Member, getSecurity, "Who may use the database."),
		call.Row("PUT", "/{db}/_revs_limit", call.Member, putRevsLimit, "Set how many ancestors are kept."),
		call.Row("GET", "/{db}/_revs_limit", call.Member, getRevsLimit, "How many ancestors are kept."),
		call.Row("GET", "/{db}/_purged_infos", call.Member, getPurgedInfos, "What was purged."),
		call.Row("GET", "/{db}/_purged_infos_limit", call.ServerAdmin, getPurgedInfosLimit,
			"How many purges are remembered."),
		call.Row("PUT", "/{db}/_purged_infos_limit", call.ServerAdmin, putPurgedInfosLimit,
			"Set how many purges are remembered."),
		call.Row("GET", "/{db}/_time_seq", call.Member, getTimeSeq, "When how many updates were made."),
		call.Row("DELETE", "/{db}/_time_seq", call.Member, deleteTimeSeq, "Forget when updates were made."),
		call.Row("*", "/{db}/_time_seq/{rest...}", call.Member, call.NotFound, "Missing."),
		call.Row("*", "/{db}/_temp_view", call.Member, tempView, "Gone, as in CouchDB."),
		call.Row("*", "/{db}/_local", call.Member, localIncomplete, "Needs the name of a local document."),
		call.Row("*", "/{db}/_local%2F", call.Member, localIncomplete, "Needs the name of a local document."),
		call.Row("*", "/{db}/_local/{name}/{rest...}", call.Member, localAttachment,
			"Local documents have no attachments."),
	}
}
