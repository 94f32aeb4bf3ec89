package functions

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/server/call"
)

const (
	// Mount is where the paths of Couchbase's eventing service begin here; a listener of its own
	// serves them without.
	Mount = "/_eventing"
	base  = Mount + "/api/v1"
)

// Routes are the rows of the route table for functions. Each takes every method and lets everybody
// pass, since methods and users that are refused get the envelope of this API.
func (h *Handlers) Routes() []call.Route {
	p := &reports{h.userFunctions, h.engine}
	rows := h.functionRows(p)
	for _, row := range []struct {
		name    string
		methods methods
		doc     string
	}{
		{"getErrorCodes", methods{http.MethodGet: getErrorCodes}, "GET: the numbers of errors."},
		{"getAppLog", methods{http.MethodGet: p.getAppLog}, "GET: what a function has logged."},
		{"getInsight", methods{http.MethodGet: p.getInsight}, "GET: what the lines of a function's code did."},
		{"getExecutionStats", p.statsPart(func(s *functionStats) any { return s.Execution }),
			"GET: a part of a function's statistics."},
		{"getLatencyStats", p.statsPart(func(s *functionStats) any { orEmpty(&s.Latency); return s.Latency }),
			"GET: a part of a function's statistics."},
		{"getFailureStats", p.statsPart(func(s *functionStats) any { return s.Failure }),
			"GET: a part of a function's statistics."},
		{"getConsumerPids", p.statsPart(func(s *functionStats) any { return s.WorkerPIDs }),
			"GET: a part of a function's statistics."},
		{"getEventProcessingStats", p.statsPart(func(s *functionStats) any { return s.EventProcessing }),
			"GET: a part of a function's statistics."},
		{"getDcpEventsRemaining", p.statsPart(func(s *functionStats) any { return s.Backlog }),
			"GET: how many events a function has not yet processed."},
		{"resetStatsCounters", methods{http.MethodPost: p.resetStats},
			"POST: set the counters of a function back."},
		{"_prometheusMetrics", methods{http.MethodGet: p.getPrometheus}, "GET: statistics for Prometheus."},
	} {
		// Couchbase has these at the root of its service; below api/v1 they are for those who
		// expect all in one place.
		for _, prefix := range []string{Mount, base} {
			rows = append(rows, newRow(prefix+"/"+row.name, row.methods, row.doc))
		}
	}
	rows = append(rows, h.debuggerRows()...)
	rows = append(rows, letterRows(h)...)
	request := func(c *call.Call) error { return answerRequest(h, c) }
	for _, pattern := range []string{"/_functions/{name}", "/_functions/{name}/{rest...}"} {
		rows = append(rows,
			call.Row("*", pattern, call.Anyone, request, "All methods: requests that a function answers."))
	}
	rows = append(rows, p.nodeRows()...)
	rest := call.Row("*", base+"/{rest...}", call.Anyone, unknownPath, "Everything else about functions is missing.")
	return append(rows, rest)
}

// functionRows are the rows below api/v1.
func (h *Handlers) functionRows(p *reports) []call.Route {
	one := base + "/functions/{name}"
	rows := []call.Route{
		newRow(base+"/functions", methods{
			http.MethodGet: h.getAll, http.MethodPost: h.putAll, http.MethodDelete: h.removeAll,
		}, "GET, POST, DELETE: all functions."),
		newRow(one, methods{http.MethodGet: h.get, http.MethodPost: h.put, http.MethodDelete: h.remove},
			"GET, POST, DELETE: one function."),
		newRow(one+"/settings", methods{http.MethodGet: h.getSettings, http.MethodPost: h.postSettings},
			"GET, POST: how a function runs."),
		newRow(one+"/config", methods{http.MethodGet: h.getBindings, http.MethodPost: h.postBindings},
			"GET, POST: what a function may use."),
		newRow(one+"/appcode", methods{http.MethodGet: h.getCode, http.MethodPost: h.postCode},
			"GET, POST: the code of a function."),
		newRow(one+"/appcode/checksum", methods{http.MethodGet: h.getChecksum}, "GET: SHA-256 of the code."),
		newRow(one+"/test", methods{http.MethodPost: h.test}, "POST: run a handler without effects."),
		newRow(base+"/status", methods{http.MethodGet: p.getAllStatus}, "GET: the states of all functions."),
		newRow(base+"/status/{name}", methods{http.MethodGet: p.getStatus}, "GET: the state of a function."),
		newRow(base+"/stats", methods{http.MethodGet: p.getAllStats}, "GET: the statistics of all functions."),
		newRow(base+"/stats/{name}", methods{http.MethodGet: p.getStats}, "GET: the statistics of a function."),
		newRow(base+"/list/functions", methods{http.MethodGet: h.list}, "GET: names of functions."),
		newRow(base+"/list/functions/query", methods{http.MethodGet: h.list}, "GET: names of functions."),
		newRow(base+"/export", methods{http.MethodGet: h.export}, "GET: all functions, as another server takes them."),
		newRow(base+"/import", methods{http.MethodPost: h.importAll}, "POST: functions of another server."),
		newRow(base+"/backup", methods{http.MethodGet: h.backup, http.MethodPost: h.restore},
			"GET, POST: functions of some databases."),
		newRow(base+"/config", methods{
			http.MethodGet: h.getConfig, http.MethodPost: h.postConfig, http.MethodDelete: h.deleteConfig,
		}, "GET, POST, DELETE: what holds for all functions."),
	}
	for _, op := range []definition.Operation{
		definition.OpDeploy, definition.OpUndeploy, definition.OpPause, definition.OpResume,
	} {
		rows = append(rows, newRow(one+"/"+string(op), methods{http.MethodPost: h.lifecycle(op)},
			"POST: begin to "+string(op)+" a function."))
	}
	return rows
}

func newRow(pattern string, m methods, doc string) call.Route {
	return call.Row("*", pattern, call.Anyone, m.serve, doc)
}

// statsPart is part, for a row.
func (p *reports) statsPart(choose func(*functionStats) any) methods {
	return methods{http.MethodGet: p.part(choose)}
}

func unknownPath(*call.Call) error { return compat.ErrMissing }
