package call

import (
	"net/http"

	"github.com/settee-db/settee/compat"
)

// The setting couchdb/maintenance_mode takes the server out of service: `nolb` for load balancers,
// which ask /_up, and `true` for everybody. In both feeds do not wait
// (fabric_view_changes:keep_sending_changes). In the latter requests to databases fail as those to
// the only node of a CouchDB cluster do (fabric_rpc:set_io_priority); background work goes on, and
// databases can be created and deleted.

// errNoShards is what fabric_util:get_db makes of it.
var errNoShards = compat.NewError(compat.KindInternal, "No DB shards could be opened.").WithRef()

// outOfService refuses a request to a database that exists.
func (c *Call) outOfService() error {
	if c.Settings.Maintenance != "true" ||
		len(c.Segments) == 1 && (c.Method == http.MethodPut || c.Method == http.MethodDelete) {
		return nil
	}
	exists, err := c.DB.Exists(c.Context())
	if err == nil && exists {
		err = errNoShards
	}
	return err
}

// NodeDown refuses what reads the list of databases (chttpd:error_info).
func (h *Head) NodeDown() error {
	if h.Settings.Maintenance != "true" {
		return nil
	}
	return compat.Named(compat.KindFileExists, "nodedown", h.Env.Node)
}

// Leaving reports whether feeds are to end now.
func (e *Env) Leaving() bool {
	mode := e.settings.Load().Maintenance
	return mode == "true" || mode == "nolb"
}
