package config

import (
	"fmt"
	"sort"
	"strings"
)

//go:generate go test . -run TestReference -update

// Reference is the text of docs/configuration.md: where settings come from, the table of those that
// have effect, and that of CouchDB's that have none.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	rows := make([]Setting, len(Settings))
	copy(rows, Settings)
	sort.SliceStable(rows, func(i, j int) bool {
		if rows[i].Section != rows[j].Section {
			return rows[i].Section < rows[j].Section
		}
		return rows[i].Key < rows[j].Key
	})
	section := ""
	for _, s := range rows {
		if s.Section != section {
			section = s.Section
			fmt.Fprintf(&b, "\n### [%s]\n\n| key | default | |\n|---|---|---|\n", section)
		}
		key, value := "(any name)", ""
		if s.Key != "" {
			key = "`" + s.Key + "`"
		}
		if s.Default != "" {
			value = "`" + strings.ReplaceAll(s.Default, "|", `\|`) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", key, value, strings.ReplaceAll(s.Doc, "|", `\|`))
	}
	b.WriteString(ignoredHead)
	for _, s := range Ignored {
		key := "(all)"
		if s.Key != "" {
			key = "`" + s.Key + "`"
		}
		fmt.Fprintf(&b, "| `[%s]` | %s | %s |\n", s.Section, key, s.Means)
	}
	return b.String()
}

const ignoredHead = `
## Settings of CouchDB without effect

What else is in the ini file of a stock CouchDB 3.5 or 3.6 can be set and read back, and does nothing. A server names those
that are set to something else than there in its log, once at each start. A star stands for any rest of the name.

| section | key | here |
|---|---|---|
`

const referenceHead = `# Configuration

Made from the table in config/settings.go (` + "`go generate ./config`" + `).

Settings are CouchDB's: an ini file's sections and keys, all values strings. Later sources win over earlier ones, key by
key:

1. what a stock CouchDB sets, built in;
2. the ini files, in order: those of ` + "`--config`" + ` (may be repeated; a directory stands for its *.ini files in the order of
   their names), else those of the environment variable ` + "`COUCHDB_INI_FILES`" + ` (separated by blanks), else ` + "`local.ini`" + ` in
   the data directory. The container image names /opt/couchdb/etc/default.ini, default.d, local.ini and local.d, as
   CouchDB's does;
3. the flags ` + "`--bind`" + `, ` + "`--port`" + ` and ` + "`--listen`" + `, for the address only, which ` + "`_config/chttpd`" + ` shows then. A server that
   was started with one stays there: what the API sets of ` + "`chttpd/bind_address`" + ` and ` + "`port`" + ` counts for a start without;
4. what the API set: ` + "`PUT /_node/_local/_config/section/key`" + ` takes effect at once and is written to the last ini file,
   unless the header ` + "`X-Couch-Persist: false`" + ` keeps it in memory. ` + "`POST /_node/_local/_config/_reload`" + ` reads the files
   again. On FoundationDB all nodes share what the API set ([operations.md](operations.md#foundationdb)).

The environment: ` + "`COUCHDB_USER`" + `, ` + "`COUCHDB_PASSWORD`" + ` make an administrator unless the user exists, ` + "`COUCHDB_SECRET`" + `
the secret of cookies unless there is one, ` + "`NODENAME`" + ` is the host in the node's name (couchdb@NODENAME),
` + "`COUCHDB_FAUXTON_DOCROOT`" + ` the directory of the web interface. The container image also takes the first three from the
files that ` + "`COUCHDB_USER_FILE`" + `, ` + "`COUCHDB_PASSWORD_FILE`" + ` and ` + "`COUCHDB_SECRET_FILE`" + ` name. ` + "`COUCHDB_ERLANG_COOKIE`" + `,
` + "`COUCHDB_ERLANG_COOKIE_FILE`" + ` and ` + "`ERL_FLAGS`" + ` are ignored.

A clear password in [admins] is replaced by its salted hash at the start, at a reload and when it is set. Where the last
ini file may not be written, hashes and a secret of cookies are made in memory for each run, and changes over HTTP are
400 ` + "`eacces`" + ` or ` + "`erofs`" + ` unless ` + "`X-Couch-Persist: false`" + ` keeps them in memory. The sections
daemons, external, feature_flags, httpd_design_handlers, httpd_db_handlers, httpd_global_handlers, native_query_servers,
os_daemons and query_servers cannot be changed over HTTP. What CouchDB also reads in the older sections httpd and
couch_httpd_auth counts there, too. Settings that are not listed here can be set and read back; they have no effect, as those of the last list.

## Settings that have effect

All take effect at once, except where the text says that a restart is needed.
`
