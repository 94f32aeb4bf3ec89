package admin

import (
	"maps"
	"net/http"
	"slices"
	"sort"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
)

// features are what GET / announces; clients look for them before they use partitions, the
// scheduler or full-text search, which comes first, as in a CouchDB with both of its search
// servers.
const (
	features       = `"access-ready","partitioned","pluggable-storage-engines","reshard","scheduler"]`
	searchFeatures = `"search","nouveau",`
)

// getWelcome answers GET / as CouchDB does: version, features and vendor are CouchDB's, since
// clients choose by them what they can use; git_sha, which none reads, says which settee this is. What
// CouchDB has not comes last, in a member of its own.
func (h *Handlers) getWelcome(c *call.Call) error {
	b := append([]byte(nil), `{"couchdb":"Welcome","version":"`+call.Version+`","git_sha":`...)
	b = append(ejson.AppendString(b, h.build), `,"uuid":`...)
	b = ejson.AppendString(b, c.Env.UUID())
	b = append(b, `,"features":[`...)
	if h.search != nil {
		b = append(b, searchFeatures...)
	}
	b = append(b, features+`,"vendor":`...)
	b = append(appendVendor(c, b), `,"settee":`...)
	return c.JSON(http.StatusOK, append(h.appendExtensions(b, appendVersion), '}'))
}

// appendVendor appends the settings of the section vendor, keys sorted.
func appendVendor(c *call.Call, b []byte) []byte {
	return appendTextMembers(b, c.Env.Config.Section("vendor"))
}

// appendTextMembers appends a JSON object of strings, keys sorted bytewise.
func appendTextMembers(b []byte, m map[string]string) []byte {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, name), ':')
		b = ejson.AppendString(b, m[name])
	}
	return append(b, '}')
}

// getUUIDs answers GET /_uuids. The headers forbid caches to store the answer, because an id that
// is handed out twice leads to conflicts. The date is the one that CouchDB sends
// (chttpd_misc:handle_uuids_req).
func getUUIDs(c *call.Call) error {
	count, err := params.UUIDCount(c.Query, c.Settings.MaxUUIDs)
	if err != nil {
		return err
	}
	b := append(make([]byte, 0, 16+39*count), `{"uuids":[`...)
	for i := range count {
		if i > 0 {
			b = append(b, ',')
		}
		id, err := c.Settings.Rules.UUIDs.Next()
		if err != nil {
			return err
		}
		b = ejson.AppendString(b, id)
	}
	b = append(b, "]}"...)
	c.SetETag(call.ContentTag(b))
	c.SetHeader("Cache-Control", "no-cache")
	c.SetHeader("Expires", "Mon, 01 Jan 1990 00:00:00 GMT")
	c.SetHeader("Pragma", "no-cache")
	return c.JSON(http.StatusOK, b)
}

// getMembership tells which nodes there are: no other one is part of a cluster.
func (h *Handlers) getMembership(c *call.Call) error {
	b := []byte{'['}
	for i, name := range slices.Sorted(maps.Keys(h.live())) {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, name)
	}
	names := string(append(b, ']'))
	return c.JSON(http.StatusOK, []byte(`{"all_nodes":`+names+`,"cluster_nodes":`+names+`}`))
}

// postReloadQueryServers has nothing to forget: JavaScript is compiled for each design document's
// revision.
func postReloadQueryServers(c *call.Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}
