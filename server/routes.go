package server

// Access says who may use a route. The rules are CouchDB's chttpd_auth_request.
type Access uint8

const (
	// Anyone may use the route.
	Anyone Access = iota
	// SignedIn asks for any authenticated user.
	SignedIn
	// ServerAdmin asks for a server admin.
	ServerAdmin
	// Metrics asks for a server admin or a holder of the role _metrics.
	Metrics
	// Lister asks for a server admin, unless chttpd/admin_only_all_dbs is false.
	Lister
	// Member asks for a member of the database (its _security decides).
	Member
	// DatabaseAdmin asks for an admin of the database.
	DatabaseAdmin
)

var accessNames = [...]string{"anyone", "signed in", "server admin", "metrics", "server admin (or chttpd/admin_only_all_dbs=false)", "database member", "database admin"}

func (a Access) String() string { return accessNames[a] }

// Route is one row of the route table.
type Route struct {
	// Methods in CouchDB's spelling and order; the Allow header of a pattern is the Methods of its rows joined in table
	// order. HEAD is served wherever GET is. "*" serves every method.
	Methods string
	// Pattern is the path: names, {parameters} of one segment, and {rest...} for whatever follows.
	Pattern string
	Access  Access
	Handle  Handler
	Mark    Mark
	Doc     string
}

// Mark says what is special about a row.
type Mark uint8

const (
	plain Mark = iota
	// unlisted keeps a row out of the Allow header, as CouchDB does for PUT of a database.
	unlisted
)

// routes is every endpoint of CouchDB 3.5. docs/api-coverage.md is made from it.
var routes = []Route{
	// The server
	{"GET,HEAD", "/", Anyone, getWelcome, plain, "Name, version, uuid and features of the server."},
	{"GET,HEAD", "/favicon.ico", Anyone, getFavicon, plain, "The icon of the web interface."},
	{"GET,HEAD", "/favicon.ico/{rest...}", Anyone, getFavicon, plain, "The icon of the web interface."},
	{"GET,HEAD", "/_utils", Anyone, getUtils, plain, "The web interface: redirect to its directory."},
	{"GET,HEAD", "/_utils/{rest...}", Anyone, getUtils, plain, "Files of the web interface."},
	{"GET,HEAD", "/_up", Anyone, getUp, plain, "Health check; follows couchdb/maintenance_mode and the store's state."},
	{"GET,HEAD", "/_up/{rest...}", ServerAdmin, getUp, plain, "The same; the rest of the path is ignored."},
	{"GET", "/_uuids", Anyone, getUUIDs, plain, "New ids."},
	{"GET", "/_uuids/{rest...}", ServerAdmin, getUUIDs, plain, "The same; the rest of the path is ignored."},
	{"GET,HEAD", "/_session", Anyone, getSession, plain, "Who the client is."},
	{"POST", "/_session", Anyone, postSession, plain, "Log in."},
	{"DELETE", "/_session", Anyone, deleteSession, plain, "Log out: clear the cookie."},
	{"GET,HEAD", "/_session/{rest...}", ServerAdmin, getSession, plain, "The same; the rest of the path is ignored."},
	{"POST", "/_session/{rest...}", ServerAdmin, postSession, plain, "The same; the rest of the path is ignored."},
	{"DELETE", "/_session/{rest...}", ServerAdmin, deleteSession, plain, "The same; the rest of the path is ignored."},
	{"GET,HEAD", "/_all_dbs", Lister, getAllDBs, plain, "Names of the databases."},
	{"GET,HEAD", "/_all_dbs/{rest...}", Lister, getAllDBs, plain, "The same; the rest of the path is ignored."},
	{"GET,HEAD", "/_dbs_info", Lister, getDBsInfo, plain, "Information on several databases."},
	{"POST", "/_dbs_info", Lister, postDBsInfo, plain, "Information on the databases of a list of keys."},
	{"GET,HEAD", "/_dbs_info/{rest...}", Lister, getDBsInfo, plain, "The same; the rest of the path is ignored."},
	{"POST", "/_dbs_info/{rest...}", Lister, postDBsInfo, plain, "The same; the rest of the path is ignored."},
	{"GET,HEAD", "/_active_tasks", ServerAdmin, getActiveTasks, plain, "Running background work."},
	{"GET,HEAD", "/_active_tasks/{rest...}", ServerAdmin, getActiveTasks, plain, "The same; the rest of the path is ignored."},
	{"GET", "/_membership", ServerAdmin, getMembership, plain, "Nodes of the cluster."},
	{"POST", "/_reload_query_servers", ServerAdmin, postReloadQueryServers, plain, "Forget compiled JavaScript."},
	{"POST", "/_reload_query_servers/{rest...}", ServerAdmin, postReloadQueryServers, plain, "The same; the rest of the path is ignored."},
	{"GET", "/_db_updates", ServerAdmin, getDBUpdates, plain, "Feed of created, updated and deleted databases."},
	{"GET", "/_cluster_setup", ServerAdmin, getClusterSetup, plain, "State of the set-up."},
	{"POST", "/_cluster_setup", ServerAdmin, postClusterSetup, plain, "Set up a single node."},
	{"GET", "/_cluster_setup/{rest...}", ServerAdmin, getClusterSetup, plain, "The same; the rest of the path is ignored."},
	{"POST", "/_cluster_setup/{rest...}", ServerAdmin, postClusterSetup, plain, "The same; the rest of the path is ignored."},
	{"*", "/_replicate", Anyone, postReplicate, plain, "Transient replications."},
	{"*", "/_replicate/{rest...}", SignedIn, replicatePath, plain, "Refused."},
	{"GET,HEAD", "/_scheduler/jobs", ServerAdmin, getSchedulerJobs, plain, "Running replications."},
	{"GET,HEAD", "/_scheduler/jobs/{job}", ServerAdmin, getSchedulerJob, plain, "One running replication."},
	{"GET,HEAD", "/_scheduler/docs", ServerAdmin, getSchedulerDocs, plain, "States of replication documents."},
	{"GET,HEAD", "/_scheduler/docs/{path...}", ServerAdmin, getSchedulerDocs, plain, "States of the documents of one replicator database, or of one document."},
	{"*", "/_scheduler", ServerAdmin, schedulerUnknown, plain, "Everything else about the scheduler is missing."},
	{"*", "/_scheduler/{rest...}", ServerAdmin, schedulerUnknown, plain, "Everything else about the scheduler is missing."},
	{"GET,POST", "/_search_analyze", ServerAdmin, noAnalyzer, plain, "Full-text search is not part of this server."},
	{"POST", "/_nouveau_analyze", ServerAdmin, notFound, plain, "Full-text search is not part of this server."},

	// The node
	{"*", "/_node", ServerAdmin, nodeIncomplete, plain, "Needs the name of a node."},
	{"*", "/_node/{node}", ServerAdmin, nodeSelf, plain, "Name of the node, or its welcome."},
	{"GET", "/_node/{node}/_config", ServerAdmin, getConfig, plain, "All settings."},
	{"POST", "/_node/{node}/_config/_reload", ServerAdmin, reloadConfig, plain, "Read the ini files again."},
	{"GET", "/_node/{node}/_config/{section}", ServerAdmin, getConfigSection, plain, "Settings of a section."},
	{"GET", "/_node/{node}/_config/{section}/{key}", ServerAdmin, getConfigKey, plain, "One setting."},
	{"PUT", "/_node/{node}/_config/{section}/{key}", ServerAdmin, putConfigKey, plain, "Change a setting."},
	{"DELETE", "/_node/{node}/_config/{section}/{key}", ServerAdmin, deleteConfigKey, plain, "Remove a setting."},
	{"GET", "/_node/{node}/_stats", Metrics, getStats, plain, "Counters."},
	{"GET", "/_node/{node}/_stats/{path...}", Metrics, getStats, plain, "A part of the counters."},
	{"GET", "/_node/{node}/_prometheus", Metrics, getPrometheus, plain, "Counters in Prometheus' text form."},
	{"GET", "/_node/{node}/_system", Metrics, getSystem, plain, "Memory, processes and queues."},
	{"GET", "/_node/{node}/_versions", ServerAdmin, getVersions, plain, "Versions of JavaScript, run-time system and collation."},
	{"GET", "/_node/{node}/_smoosh/status", ServerAdmin, getSmooshStatus, plain, "Automatic compaction."},
	{"POST", "/_node/{node}/_restart", ServerAdmin, postRestart, plain, "Refused: use the service manager."},
	{"GET", "/_node/{node}/_pprof/{profile}", ServerAdmin, getProfile, plain, "Profile of the process; not in CouchDB."},
	{"*", "/_node/{node}/{rest...}", ServerAdmin, nodeUnknown, plain, "Everything else on a node is missing."},

	// Resharding
	{"GET,HEAD", "/_reshard", ServerAdmin, getReshard, plain, "Summary of resharding."},
	{"GET,HEAD", "/_reshard/state", ServerAdmin, getReshardState, plain, "Whether resharding may run."},
	{"PUT", "/_reshard/state", ServerAdmin, putReshardState, plain, "Stop or start resharding."},
	{"GET,HEAD", "/_reshard/jobs", ServerAdmin, getReshardJobs, plain, "Resharding jobs."},
	{"POST", "/_reshard/jobs", ServerAdmin, postReshardJobs, plain, "Split shards."},
	{"GET,HEAD", "/_reshard/jobs/{job}", ServerAdmin, getReshardJob, plain, "One job."},
	{"DELETE", "/_reshard/jobs/{job}", ServerAdmin, deleteReshardJob, plain, "Remove a job."},
	{"GET,HEAD", "/_reshard/jobs/{job}/state", ServerAdmin, getReshardJobState, plain, "State of a job."},
	{"PUT", "/_reshard/jobs/{job}/state", ServerAdmin, putReshardJobState, plain, "Stop or start a job."},
	{"*", "/_reshard/{rest...}", ServerAdmin, notFound, plain, "Everything else on resharding is missing."},

	// Databases
	{"DELETE", "/{db}", ServerAdmin, deleteDB, plain, "Delete a database."},
	{"GET,HEAD", "/{db}", Member, getDB, plain, "Information on a database."},
	{"POST", "/{db}", Member, postDoc, plain, "New document."},
	{"PUT", "/{db}", ServerAdmin, putDB, unlisted, "Create a database."},
	{"GET,HEAD,POST", "/{db}/_all_docs", Member, allDocs, plain, "Documents by id."},
	{"POST", "/{db}/_all_docs/queries", Member, allDocsQueries, plain, "Several _all_docs queries at once."},
	{"GET,HEAD,POST", "/{db}/_design_docs", Member, allDocs, plain, "Design documents by id."},
	{"POST", "/{db}/_design_docs/queries", Member, allDocsQueries, plain, "Several _design_docs queries at once."},
	{"GET,HEAD,POST", "/{db}/_local_docs", Member, allDocs, plain, "Local documents by id."},
	{"POST", "/{db}/_local_docs/queries", Member, allDocsQueries, plain, "Several _local_docs queries at once."},
	{"POST", "/{db}/_bulk_docs", Member, postBulkDocs, plain, "Write several documents."},
	{"POST", "/{db}/_bulk_get", Member, postBulkGet, plain, "Read several documents and revisions."},
	{"GET,POST,HEAD", "/{db}/_changes", Member, changes, plain, "Feed of changed documents."},
	{"GET", "/{db}/_changes/{rest...}", Member, changes, unlisted, "The same; the rest of the path is ignored."},
	{"GET", "/{db}/_backup", ServerAdmin, getBackup, plain, "The database as an archive (extension)."},
	{"POST", "/{db}/_restore", ServerAdmin, postRestore, plain, "Bring an archive back, or compare with it (extension)."},
	{"POST", "/{db}/_compact", DatabaseAdmin, postCompact, plain, "Drop replaced revisions."},
	{"POST", "/{db}/_compact/{ddoc}", DatabaseAdmin, postCompactViews, plain, "Compact the views of a design document."},
	{"POST", "/{db}/_compact/{ddoc}/{rest...}", DatabaseAdmin, postCompactViews, plain, "The same; the rest of the path is ignored."},
	{"POST", "/{db}/_view_cleanup", DatabaseAdmin, postViewCleanup, plain, "Remove indexes no design document uses."},
	{"POST", "/{db}/_view_cleanup/{rest...}", Member, postViewCleanup, plain, "The same; the rest of the path is ignored."},
	{"POST", "/{db}/_ensure_full_commit", Member, postEnsureFullCommit, plain, "Answered at once: acknowledged writes are on disk."},
	{"POST", "/{db}/_sync_shards", ServerAdmin, postSyncShards, plain, "Answered at once: there is one copy."},
	{"*", "/{db}/_sync_shards/{rest...}", Member, syncShardsPath, plain, "Refused for every method."},
	{"GET", "/{db}/_shards", Member, getShards, plain, "Shard map."},
	{"GET", "/{db}/_shards/{id}", Member, getShard, plain, "Shard of a document."},
	{"PUT", "/{db}/_security", Member, putSecurity, plain, "Set who may use the database."},
	{"GET", "/{db}/_security", Member, getSecurity, plain, "Who may use the database."},
	{"PUT", "/{db}/_revs_limit", Member, putRevsLimit, plain, "Set how many ancestors are kept."},
	{"GET", "/{db}/_revs_limit", Member, getRevsLimit, plain, "How many ancestors are kept."},
	{"POST", "/{db}/_purge", ServerAdmin, postPurge, plain, "Remove revisions without a trace."},
	{"GET", "/{db}/_purged_infos", Member, getPurgedInfos, plain, "What was purged."},
	{"GET", "/{db}/_purged_infos_limit", ServerAdmin, getPurgedInfosLimit, plain, "How many purges are remembered."},
	{"PUT", "/{db}/_purged_infos_limit", ServerAdmin, putPurgedInfosLimit, plain, "Set how many purges are remembered."},
	{"POST", "/{db}/_missing_revs", Member, postMissingRevs, plain, "Which revisions a database lacks (old form)."},
	{"POST", "/{db}/_revs_diff", Member, postRevsDiff, plain, "Which revisions a database lacks."},
	{"*", "/{db}/_temp_view", Member, tempView, plain, "Gone, as in CouchDB."},
	{"GET", "/{db}/_index", Member, listIndexes, plain, "Mango indexes."},
	{"POST", "/{db}/_index", Member, createIndex, plain, "New Mango index."},
	{"POST", "/{db}/_index/_bulk_delete", Member, bulkDeleteIndexes, plain, "Delete several Mango indexes."},
	{"DELETE", "/{db}/_index/{ddoc}/{type}/{name}", Member, deleteIndex, plain, "Delete a Mango index."},
	{"DELETE", "/{db}/_index/_design/{ddoc}/{type}/{name}", Member, deleteIndex, plain, "Delete a Mango index."},
	{"*", "/{db}/_index/{rest...}", Member, notFound, unlisted, "Everything else on indexes is missing."},
	{"POST", "/{db}/_find", Member, find, plain, "Mango queries."},
	{"POST", "/{db}/_find/{rest...}", Member, find, plain, "The same; the rest of the path is ignored."},
	{"POST", "/{db}/_distinct", Member, distinct, plain, "The values of a field (extension)."},
	{"POST", "/{db}/_explain", Member, explain, plain, "Plan of a Mango query."},
	{"POST", "/{db}/_explain/{rest...}", Member, explain, plain, "The same; the rest of the path is ignored."},
	{"POST", "/{db}/_search_cleanup", Member, searchCleanup, plain, "Full-text search is not part of this server."},
	{"POST", "/{db}/_nouveau_cleanup", Member, nouveauCleanup, plain, "Full-text search is not part of this server."},
	{"*", "/{db}/_partition", Member, partitionIncomplete, plain, "Needs the name of a partition."},
	{"GET", "/{db}/_partition/{partition}", Member, getPartition, plain, "Information on a partition."},
	{"POST", "/{db}/_partition/{partition}", Member, refusePartitionPost, unlisted, "Refused; looks at the name first."},
	{"*", "/{db}/_partition/{partition}/{rest...}", Member, inPartition, plain, "_all_docs, Mango and views of one partition."},

	// Documents
	{"DELETE", "/{db}/{id}", Member, deleteDoc, plain, "Delete a document."},
	{"GET,HEAD", "/{db}/{id}", Member, getDoc, plain, "Read a document."},
	{"POST", "/{db}/{id}", Member, postForm, plain, "Upload attachments from an HTML form."},
	{"PUT", "/{db}/{id}", Member, putDoc, plain, "Write a document."},
	{"COPY", "/{db}/{id}", Member, copyDoc, plain, "Copy a document."},
	{"DELETE", "/{db}/{id}/{attachment...}", Member, deleteAttachment, plain, "Delete an attachment."},
	{"GET,HEAD", "/{db}/{id}/{attachment...}", Member, getAttachment, plain, "Read an attachment."},
	{"PUT", "/{db}/{id}/{attachment...}", Member, putAttachment, plain, "Write an attachment."},
	{"*", "/{db}/_local", Member, localIncomplete, plain, "Needs the name of a local document."},
	{"*", "/{db}/_local%2F", Member, localIncomplete, plain, "Needs the name of a local document."},
	{"DELETE", "/{db}/_local/{name}", Member, deleteDoc, plain, "Delete a local document."},
	{"GET,HEAD", "/{db}/_local/{name}", Member, getDoc, plain, "Read a local document."},
	{"POST", "/{db}/_local/{name}", Member, postForm, plain, "Refused as for documents."},
	{"PUT", "/{db}/_local/{name}", Member, putDoc, plain, "Write a local document."},
	{"COPY", "/{db}/_local/{name}", Member, copyDoc, plain, "Copy a local document."},
	{"*", "/{db}/_local/{name}/{rest...}", Member, localAttachment, plain, "Local documents have no attachments."},
	{"DELETE", "/{db}/_design/{name}", Member, deleteDoc, plain, "Delete a design document."},
	{"GET,HEAD", "/{db}/_design/{name}", Member, getDoc, plain, "Read a design document."},
	{"POST", "/{db}/_design/{name}", Member, postForm, plain, "Upload attachments from an HTML form."},
	{"PUT", "/{db}/_design/{name}", Member, putDoc, plain, "Write a design document."},
	{"COPY", "/{db}/_design/{name}", Member, copyDoc, plain, "Copy a design document."},
	{"DELETE", "/{db}/_design/{name}/{attachment...}", Member, deleteAttachment, plain, "Delete an attachment of a design document."},
	{"GET,HEAD", "/{db}/_design/{name}/{attachment...}", Member, getAttachment, plain, "Read an attachment of a design document."},
	{"PUT", "/{db}/_design/{name}/{attachment...}", Member, putAttachment, plain, "Write an attachment of a design document."},

	// Views and functions of design documents
	{"GET", "/{db}/_design/{name}/_info", Member, getDesignInfo, plain, "State of a view group."},
	{"GET", "/{db}/_design/{name}/_info/{rest...}", Member, notFound, plain, "Missing."},
	{"GET,POST,HEAD", "/{db}/_design/{name}/_view/{view}", Member, queryView, plain, "Rows of a view."},
	{"POST", "/{db}/_design/{name}/_view/{view}/queries", Member, queryViewMany, plain, "Several queries of a view at once."},
	{"*", "/{db}/_design/{name}/_view", Member, refuseView, plain, "Needs the name of a view."},
	{"*", "/{db}/_design/{name}/_view/{view}/{rest...}", Member, refuseView, plain, "Refused for every method."},
	{"GET", "/{db}/_design/{name}/_view_errors/{view}", Member, getViewErrors, plain, "Documents for which the map function of a view failed; not in CouchDB."},
	{"*", "/{db}/_design/{name}/_show", Member, showFunction, plain, "Needs the name of a function."},
	{"*", "/{db}/_design/{name}/_show/{show}", Member, showFunction, plain, "A show function without document."},
	{"*", "/{db}/_design/{name}/_show/{show}/{id...}", Member, showFunction, plain, "A document through a show function."},
	{"*", "/{db}/_design/{name}/_list", Member, listFunction, plain, "Needs the names of a function and a view."},
	{"*", "/{db}/_design/{name}/_list/{list}", Member, listFunction, plain, "Needs the name of a view."},
	{"*", "/{db}/_design/{name}/_list/{list}/{view...}", Member, listFunction, plain, "A view through a list function."},
	{"*", "/{db}/_design/{name}/_update", Member, updateFunction, plain, "Needs the name of a function."},
	{"*", "/{db}/_design/{name}/_update/{update}", Member, updateFunction, plain, "An update function without document."},
	{"*", "/{db}/_design/{name}/_update/{update}/{id...}", Member, updateFunction, plain, "An update function on a document."},
	{"*", "/{db}/_design/{name}/_rewrite", Member, rewriteRequest, plain, "The same as the empty path."},
	{"*", "/{db}/_design/{name}/_rewrite/{path...}", Member, rewriteRequest, plain, "Rewritten paths."},
	{"GET,POST", "/{db}/_design/{name}/_search/{index}", Member, noSearch, plain, "Full-text search is not part of this server."},
	{"GET", "/{db}/_design/{name}/_search_info/{index}", Member, noSearch, plain, "Full-text search is not part of this server."},
	{"GET", "/{db}/_design/{name}/_search_disk_size/{index}", Member, noSearch, plain, "Full-text search is not part of this server."},
	{"*", "/{db}/_design/{name}/_nouveau/{index}", Member, notFound, plain, "Full-text search is not part of this server."},
	{"*", "/{db}/_design/{name}/_nouveau_info/{index}", Member, notFound, plain, "Full-text search is not part of this server."},
}
