package server

import (
	"net/http"

	"github.com/settee-db/settee/compat"
)

// The setting couchdb/maintenance_mode takes the server out of service: `nolb` for load balancers, which ask /_up, and `true` for everybody.
// In both feeds do not wait (fabric_view_changes:keep_sending_changes). In the latter requests to databases fail as those to the only node of
// a CouchDB cluster do (fabric_rpc:set_io_priority); background work goes on, and databases can be created and deleted.

// errNoShards is what fabric_util:get_db makes of it.
var errNoShards = compat.NewError(compat.KindInternal, "No DB shards could be opened.").WithRef()

// outOfService refuses a request to a database that exists.
func (c *Call) outOfService() error {
	if c.set.maintenance != "true" || len(c.segments) == 1 && (c.method == http.MethodPut || c.method == http.MethodDelete) {
		return nil
	}
	exists, err := c.db.Exists(c.Context())
	if err == nil && exists {
		err = errNoShards
	}
	return err
}

// nodeDown refuses what reads the list of databases (chttpd:error_info).
func (c *Call) nodeDown() error {
	if c.set.maintenance != "true" {
		return nil
	}
	return compat.Named(compat.KindFileExists, "nodedown", c.srv.node)
}

// leaving tells whether feeds are to end now.
func (s *Server) leaving() bool {
	mode := s.settings.Load().maintenance
	return mode == "true" || mode == "nolb"
}
