package server

import (
	"net/http"
	"sort"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// features are what GET / announces; clients look for them before they use partitions or the scheduler.
const features = `["access-ready","partitioned","pluggable-storage-engines","reshard","scheduler"]`

// gitSHA is what GET / shows as the revision of the source; the version it belongs to is CouchDB's.
const gitSHA = "settee"

func getWelcome(c *Call) error {
	b := append([]byte(nil), `{"couchdb":"Welcome","version":"`+Version+`","git_sha":"`+gitSHA+`","uuid":`...)
	b = ejson.AppendString(b, c.srv.uuid())
	b = append(b, `,"features":`+features+`,"vendor":`...)
	return c.JSON(http.StatusOK, append(c.appendVendor(b), '}'))
}

// appendVendor appends the settings of the section vendor, keys sorted.
func (c *Call) appendVendor(b []byte) []byte {
	return appendStrings(b, c.srv.config.Section("vendor"))
}

// appendStrings appends a JSON object of strings, keys sorted bytewise.
func appendStrings(b []byte, m map[string]string) []byte {
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

func getUUIDs(c *Call) error {
	count, err := compat.UUIDCount(c.query, c.set.maxUUIDs)
	if err != nil {
		return err
	}
	b := append(make([]byte, 0, 16+35*count), `{"uuids":[`...)
	for i := range count {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, c.set.uuids.Next())
	}
	b = append(b, "]}"...)
	c.SetETag(contentTag(b))
	c.SetHeader("Cache-Control", "no-cache")
	c.SetHeader("Expires", "Mon, 01 Jan 1990 00:00:00 GMT")
	c.SetHeader("Pragma", "no-cache")
	return c.JSON(http.StatusOK, b)
}

func getMembership(c *Call) error {
	return c.JSON(http.StatusOK, []byte(`{"all_nodes":["`+c.srv.node+`"],"cluster_nodes":["`+c.srv.node+`"]}`))
}

// postReloadQueryServers has nothing to forget: JavaScript is compiled for each design document's revision.
func postReloadQueryServers(c *Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// notFound answers what CouchDB answers below known endpoints: 404 missing.
func notFound(*Call) error { return compat.ErrMissing }
