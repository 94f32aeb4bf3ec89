// Package admin serves the server and its node: what an administrator of the whole server asks for.
//
//	routes.go          the rows of the route table; handlers.go: what they need besides call.Env
//	welcome.go         /, _uuids, _membership, _reload_query_servers
//	extensions.go      _settee: what CouchDB has not
//	up.go              _up
//	utils.go           _utils, the web interface
//	tasks.go           _active_tasks
//	clustersetup.go    _cluster_setup; administrators' passwords
//	reshard.go         _reshard
//	node.go            _node: its name, _versions, _smoosh
//	forward.go         _node/{name} of another node, which that one answers
//	config.go          _node/…/_config
//	settings.go        _node/…/_settings
//	stats.go           _node/…/_stats
//	overview.go        _node/…/_overview: samples.go, the last hour; warnings.go, what is to be done
//	prometheus.go      _node/…/_prometheus, on an additional port too; warningmetrics.go: warnings
//	system.go, system_linux.go, system_other.go   _node/…/_system
//	pprof.go           _node/…/_pprof
package admin
