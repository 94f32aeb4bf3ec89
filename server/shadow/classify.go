package shadow

import (
	"net/http"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
)

// comparable are the paths below a database that CouchDB has; those of the server's own are not
// asked of a shadow.
var comparable = []string{
	"_all_docs", "_design_docs", "_bulk_docs", "_bulk_get", "_changes", "_design",
	"_ensure_full_commit", "_explain", "_find", "_index", "_local", "_local_docs", "_missing_revs",
	"_partition", "_purge", "_purged_infos", "_purged_infos_limit", "_revs_diff", "_revs_limit",
	"_security", "_view_cleanup", "_compact",
}

// reading are the paths whose POST changes nothing.
var reading = []string{
	"_all_docs", "_design_docs", "_local_docs", "_bulk_get", "_changes", "_explain", "_find",
	"_missing_revs", "_revs_diff", "_view", "_search", "_ensure_full_commit", "queries",
}

// hop are headers of a connection, or of how a body is framed on it.
var hop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Expect", "Content-Length", compat.TrustedHeader,
}

// classify finds out what a request is: whether it is sent, whether it writes, and why its answers
// cannot be the same. What cannot be the same is listed in docs/moving.md.
func (x *exchange) classify(r *http.Request) {
	for _, name := range hop {
		x.header.Del(name)
	}
	path, _ := compat.SplitTarget(x.target)
	x.segments = compat.PathParts(path, true)
	if !strings.HasPrefix(x.target, "/") || compat.CheckURLEncoding(x.target) != nil ||
		len(x.segments) == 0 {
		x.never, x.uncompared = true, "server"
		return
	}
	// What a client asks by another method is that one.
	method := r.Method
	override := r.Header.Get("X-Http-Method-Override")
	if method == http.MethodPost && override != "" {
		method = override
	}
	x.writes = method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
	first := x.segments[0]
	switch {
	// A password gets another salt on each server, and its user another revision.
	case first == "_users":
		x.never, x.uncompared = true, "users"
		return
	case first == "_replicator" || strings.HasSuffix(first, "/_replicator"):
		x.never, x.uncompared = true, "replication"
		return
	case first == "_session":
		x.never, x.uncompared = true, "session"
		return
	case first == "_replicate" || first == "_scheduler":
		x.never, x.uncompared = true, "replication"
		return
	case strings.HasPrefix(first, "_"):
		x.never, x.uncompared = true, "server"
		return
	}
	x.db = first
	x.classifyInDatabase(r, method)
}

// classifyInDatabase goes on for paths of a database: which are sent at all, which read though
// they are a POST, and which have answers that are one server's own.
func (x *exchange) classifyInDatabase(r *http.Request, method string) {
	for _, s := range x.segments[1:] {
		if method == http.MethodPost && slices.Contains(reading, s) {
			x.writes = false
		}
	}
	if len(x.segments) == 1 {
		return
	}
	query := r.URL.Query()
	second := x.segments[1]
	restored := method == http.MethodPost && len(x.segments) == 3 && x.segments[2] == "_restore"
	feed, since := query.Get("feed"), query.Get("since")
	// The same list on both servers: a sequence is understood only by the server that gave it, and
	// which rows come first is each one's own.
	fromBegin := (since == "" || since == "0") && query.Get("limit") == "" &&
		r.Header.Get("Last-Event-Id") == ""
	switch {
	case strings.HasPrefix(second, "_") && !slices.Contains(comparable, second) || restored ||
		method == http.MethodPatch || query.Has("fields") || query.Has("pointer"): // see docs/parts.md
		x.never, x.uncompared = true, "not in CouchDB"
	case second == "_changes" && (feed == "continuous" || feed == "eventsource" || feed == "longpoll"):
		x.never, x.uncompared = true, "feed"
	case second == "_compact" || second == "_view_cleanup" || second == "_explain" ||
		second == "_ensure_full_commit":
		x.uncompared = "server"
	case second == "_changes" && !fromBegin:
		x.uncompared = "sequence"
	case second == "_purge" || second == "_purged_infos": // purge_seq counts what each has purged
		x.uncompared = "sequence"
	case second == "_design" && len(x.segments) > 3 && strings.HasPrefix(x.segments[3], "_info"):
		x.uncompared = "server"
	// Stale rows are those of a moment that is each server's own.
	case second == "_find" || second == "_partition" && x.segments[len(x.segments)-1] == "_find":
		x.paged = true // its bookmark is in the body
	case query.Has("update_seq") || query.Has("bookmark") || query.Has("stale") ||
		query.Get("update") == "false" || query.Get("update") == "lazy":
		x.uncompared = "sequence"
	case second == "_local" || second == "_local_docs":
		x.uncompared = "local documents" // those of the servers' own are among them
	}
}
