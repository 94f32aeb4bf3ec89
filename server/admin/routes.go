package admin

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for the server and its node.
func (h *Handlers) Routes() []call.Route {
	routes := []call.Route{
		call.Row("GET,HEAD", "/", call.Anyone, h.getWelcome, "Name, version, uuid and features of the server."),
		call.Row("GET,HEAD", "/favicon.ico", call.Anyone, h.getFavicon, "The icon of the web interface."),
		call.Row("GET,HEAD", "/favicon.ico/{rest...}", call.Anyone, h.getFavicon, "The icon of the web interface."),
		call.Row("GET,HEAD", "/_utils", call.Anyone, h.getUtils, "The web interface: redirect to its directory."),
		call.Row("GET,HEAD", "/_utils/{rest...}", call.Anyone, h.getUtils, "Files of the web interface."),
		call.Row("GET,HEAD", "/_up", call.Anyone, h.getUp,
			"Health check; follows couchdb/maintenance_mode and the store's state.").Tail(call.ServerAdmin),
		call.Row("GET", "/_uuids", call.Anyone, getUUIDs, "New ids.").Tail(call.ServerAdmin),
		call.Row("GET,HEAD", "/_active_tasks", call.ServerAdmin, h.getActiveTasks,
			"Running background work.").Tail(call.ServerAdmin),
		call.Row("GET", "/_membership", call.ServerAdmin, h.getMembership, "Nodes of the cluster."),
		call.Row("POST", "/_reload_query_servers", call.ServerAdmin, postReloadQueryServers,
			"Forget compiled JavaScript.").Tail(call.ServerAdmin),
		call.Row("GET", "/_cluster_setup", call.ServerAdmin, h.getClusterSetup,
			"State of the set-up.").Tail(call.ServerAdmin),
		call.Row("POST", "/_cluster_setup", call.ServerAdmin, h.postClusterSetup,
			"Set up a single node.").Tail(call.ServerAdmin),
		call.Row("*", "/_node", call.ServerAdmin, nodeIncomplete, "Needs the name of a node."),
		call.Row("*", "/_node/{node}", call.ServerAdmin, nodeSelf, "Name of the node, or its welcome."),
		call.Row("GET", "/_node/{node}/_config", call.ServerAdmin, getConfig, "All settings."),
		call.Row("POST", "/_node/{node}/_config/_reload", call.ServerAdmin, reloadConfig, "Read the ini files again."),
		call.Row("GET", "/_node/{node}/_config/{section}", call.ServerAdmin, getConfigSection,
			"Settings of a section."),
		call.Row("GET", "/_node/{node}/_config/{section}/{key}", call.ServerAdmin, getConfigKey, "One setting."),
		call.Row("PUT", "/_node/{node}/_config/{section}/{key}", call.ServerAdmin, h.putConfigKey, "Change a setting."),
		call.Row("DELETE", "/_node/{node}/_config/{section}/{key}", call.ServerAdmin, deleteConfigKey,
			"Remove a setting."),
		call.Row("GET", "/_node/{node}/_stats", call.Metrics, h.getStats, "Counters."),
		call.Row("GET", "/_node/{node}/_stats/{path...}", call.Metrics, h.getStats, "A part of the counters."),
		call.Row("GET", "/_node/{node}/_prometheus", call.Metrics, h.getPrometheus,
			"Counters in Prometheus' text form."),
		call.Row("GET", "/_node/{node}/_system", call.Metrics, h.getSystem,
			"Memory, processes and queues; with cluster=true the FoundationDB cluster, too."),
		call.Row("GET", "/_node/{node}/_versions", call.ServerAdmin, getVersions,
			"Versions of JavaScript, run-time system and collation."),
		call.Row("GET", "/_node/{node}/_smoosh/status", call.ServerAdmin, getSmooshStatus, "Automatic compaction."),
		call.Row("POST", "/_node/{node}/_restart", call.ServerAdmin, postRestart, "Refused: use the service manager."),
		call.Row("GET", "/_node/{node}/_pprof/{profile}", call.ServerAdmin, getProfile,
			"Profile of the process; not in CouchDB."),
		call.Row("*", "/_node/{node}/{rest...}", call.ServerAdmin, nodeUnknown,
			"Everything else on a node is missing."),
		call.Row("GET,HEAD", "/_reshard", call.ServerAdmin, getReshard, "Summary of resharding: there are no jobs."),
		call.Row("GET,HEAD", "/_reshard/state", call.ServerAdmin, getReshardState, "Whether resharding may run."),
		call.Row("PUT", "/_reshard/state", call.ServerAdmin, putReshardState, "Accepted without an effect."),
		call.Row("GET,HEAD", "/_reshard/jobs", call.ServerAdmin, getReshardJobs,
			"Resharding jobs, of which there are none."),
		call.Row("POST", "/_reshard/jobs", call.ServerAdmin, postReshardJobs, "Refused: there are no shards to split."),
		call.Row("GET,HEAD,DELETE", "/_reshard/jobs/{job}", call.ServerAdmin, call.NotFound,
			"Missing, since there are no jobs."),
		call.Row("GET,HEAD", "/_reshard/jobs/{job}/state", call.ServerAdmin, call.NotFound,
			"Missing, since there are no jobs."),
		call.Row("PUT", "/_reshard/jobs/{job}/state", call.ServerAdmin, putReshardJobState,
			"Missing, since there are no jobs."),
		call.Row("*", "/_reshard/{rest...}", call.ServerAdmin, call.NotFound,
			"Everything else on resharding is missing."),
	}
	for i := range routes {
		routes[i] = h.atNode(routes[i])
	}
	return routes
}
