package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settee-db/settee/server/call"
)

// What rows below /{db} answer in a database with access for each document to those who are none of
// its administrators (docs/access.md). A row that is not here is refused, and
// TestEveryRowSaysWhatUsersGet fails.

// The reasons of refusals.
var (
	toServer  = call.ForAdmins("it is for administrators of the server in every database")
	toAdmins  = call.ForAdmins("it is for administrators of the database in every database")
	ofAll     = call.ForAdmins("it tells of all documents")
	overIndex = call.ForAdmins("indexes have rows of all documents")
	ofDesign  = call.ForAdmins("functions of design documents see all documents")
)

// forUsers has each row by its methods and pattern.
var forUsers = rowsFor(map[call.ForUsers][]string{
	call.OwnDocuments: {
		"GET,HEAD /{db}", "POST /{db}",
		"POST /{db}/_bulk_docs", "POST /{db}/_bulk_get", "POST /{db}/_missing_revs", "POST /{db}/_revs_diff",
		"DELETE /{db}/{id}", "GET,HEAD /{db}/{id}", "POST /{db}/{id}", "PUT /{db}/{id}", "COPY /{db}/{id}",
		"PATCH /{db}/{id}", "POST /{db}/{id}/_restore", "DELETE,GET,HEAD,PUT /{db}/{id}/_restore",
		"DELETE /{db}/{id}/{attachment...}", "GET,HEAD /{db}/{id}/{attachment...}",
		"PUT /{db}/{id}/{attachment...}",
		"DELETE /{db}/_local/{name}", "GET,HEAD /{db}/_local/{name}", "POST /{db}/_local/{name}",
		"PUT /{db}/_local/{name}", "COPY /{db}/_local/{name}", "PATCH /{db}/_local/{name}",
		"DELETE /{db}/_design/{name}", "GET,HEAD /{db}/_design/{name}", "POST /{db}/_design/{name}",
		"PUT /{db}/_design/{name}", "COPY /{db}/_design/{name}", "PATCH /{db}/_design/{name}",
		"POST /{db}/_design/{name}/_restore", "DELETE,GET,HEAD,PUT /{db}/_design/{name}/_restore",
		"DELETE /{db}/_design/{name}/{attachment...}", "GET,HEAD /{db}/_design/{name}/{attachment...}",
		"PUT /{db}/_design/{name}/{attachment...}",
		"GET,HEAD,POST /{db}/_all_docs", "POST /{db}/_all_docs/queries",
		"GET,HEAD,POST /{db}/_design_docs", "POST /{db}/_design_docs/queries",
		"GET,HEAD,POST /{db}/_local_docs", "POST /{db}/_local_docs/queries",
		"* /{db}/_partition/{partition}/{rest...}",
		"POST /{db}/_find", "POST /{db}/_find/{rest...}", "POST /{db}/_explain", "POST /{db}/_explain/{rest...}",
		"POST /{db}/_distinct", "POST /{db}/_aggregate", "GET /{db}/_index",
		"GET,POST,HEAD /{db}/_changes", "GET,POST,HEAD /{db}/_changes/{rest...}",
	},
	call.OwnRows: below("/{db}/_design/{name}/",
		"GET,POST,HEAD _view/{view}", "POST _view/{view}/queries"),
	call.NoDocuments: {
		"POST /{db}/_ensure_full_commit", "GET /{db}/_revs_limit", "GET /{db}/_access",
		"GET /{db}/_auto_purge", "HEAD /{db}/_auto_purge", "* /{db}/_auto_purge/{rest...}", "GET,HEAD /{db}/_history",
		"* /{db}/_temp_view", "* /{db}/_local", "* /{db}/_local%2F", "* /{db}/_local/{name}/{rest...}", "* /{db}/_index/{rest...}",
		"* /{db}/_partition", "* /{db}/_sync_shards/{rest...}", "* /{db}/_time_seq/{rest...}",
	},
	toServer: {
		"DELETE /{db}", "PUT /{db}", "GET /{db}/_backup", "POST /{db}/_restore", "POST /{db}/_sync_shards",
		"GET /{db}/_purged_infos_limit", "PUT /{db}/_purged_infos_limit", "POST /{db}/_purge",
	},
	toAdmins: {
		"POST /{db}/_compact", "PUT /{db}/_security", "PUT /{db}/_revs_limit", "PUT /{db}/_access",
		"DELETE /{db}/_time_seq", "PUT /{db}/_auto_purge", "PUT /{db}/_history",
		"GET /{db}/_groups", "GET /{db}/_group/{name}", "PUT /{db}/_group/{name}", "DELETE /{db}/_group/{name}",
		"GET /{db}/_access/{id}", "GET /{db}/_access/{user}/_all_docs",
		"POST /{db}/_compact/{ddoc}", "POST /{db}/_compact/{ddoc}/{rest...}",
		"POST /{db}/_view_cleanup", "POST /{db}/_view_cleanup/{rest...}", "POST /{db}/_design_test",
	},
	ofAll: {
		"GET /{db}/_shards", "GET /{db}/_shards/{id}", "GET /{db}/_purged_infos", "GET /{db}/_time_seq",
		"GET /{db}/_partition/{partition}", "POST /{db}/_partition/{partition}",
	},
	call.ForAdmins("it names others"): {"GET /{db}/_security"},
	overIndex: slices.Concat([]string{
		"GET /{db}/_index_use", "POST /{db}/_index", "POST /{db}/_index/_bulk_delete",
		"DELETE /{db}/_index/{ddoc}/{type}/{name}", "DELETE /{db}/_index/_design/{ddoc}/{type}/{name}",
		"POST /{db}/_search_cleanup", "POST /{db}/_nouveau_cleanup",
	}, below("/{db}/_design/{name}/",
		"GET _info", "GET _info/{rest...}",
		"* _view", "* _view/{view}/{rest...}", "GET _view_errors/{view}",
		"* _list", "* _list/{list}", "* _list/{list}/{view...}",
		"GET,POST _search/{index}", "GET _search_info/{index}", "GET _search_disk_size/{index}",
		"GET _search_errors/{index}", "GET _search_suggest/{index}", "* _nouveau/{index}",
		"* _nouveau_info/{index}", "GET _nouveau_suggest/{index}", "GET _nouveau_errors/{index}",
		"* _search", "* _search/{index}/{rest...}", "* _search_info", "* _search_info/{index}/{rest...}",
		"* _search_disk_size", "* _search_disk_size/{index}/{rest...}",
		"* _nouveau", "* _nouveau/{index}/{rest...}", "* _nouveau_info", "* _nouveau_info/{index}/{rest...}",
	)),
	ofDesign: below("/{db}/_design/{name}/", "* _show", "* _show/{show}", "* _show/{show}/{id...}",
		"* _update", "* _update/{update}", "* _update/{update}/{id...}", "* _rewrite", "* _rewrite/{path...}"),
})

// below puts a prefix before the patterns of rows.
func below(prefix string, rows ...string) []string {
	for i, row := range rows {
		methods, pattern, _ := strings.Cut(row, " ")
		rows[i] = methods + " " + prefix + pattern
	}
	return rows
}

// rowsFor gives what users get by the rows.
func rowsFor(rows map[call.ForUsers][]string) map[string]call.ForUsers {
	by := make(map[string]call.ForUsers)
	for users, list := range rows {
		for _, row := range list {
			by[row] = users
		}
	}
	return by
}

// withUsers says of each row what users get.
func withUsers(rows []call.Route) []call.Route {
	for i := range rows {
		rows[i].Users = forUsers[rowName(&rows[i])]
	}
	return rows
}

func rowName(r *call.Route) string { return r.Methods + " " + r.Pattern }

// UsersTable is the table of docs/access.md: what each row below /{db} answers to whom.
func UsersTable() string {
	var b strings.Builder
	b.WriteString("| path | methods | administrators | users | nobody |\n|---|---|---|---|---|\n")
	for _, r := range routes(nil, nil, nil, nil, nil, nil, nil) {
		if !strings.HasPrefix(r.Pattern, "/{db}") {
			continue
		}
		methods, users := strings.Replace(r.Methods, "*", "all", 1), "403: "+r.Users.Text
		nobody := "403"
		switch {
		case r.Users == call.OwnDocuments:
			users, nobody = r.Users.Text, "no documents"
		case r.Users == call.OwnRows:
			users = r.Users.Text
		case r.Users.Open:
			users, nobody = r.Users.Text, r.Users.Text
		}
		admins := "all"
		if r.Access == call.ServerAdmin {
			admins = "of the server"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Pattern, methods, admins, users, nobody)
	}
	return b.String()
}
