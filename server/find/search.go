package find

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// This file answers what concerns full-text search as a CouchDB without a search server does (dreyfus_httpd,
// nouveau_httpd).

var errNoSearch = compat.NewError(compat.KindServiceUnavailable, "Search is not available")

// noSearch answers for the text indexes of a design document.
func noSearch(c *call.Call) error {
	if _, err := c.Docs.Open(c.Context(), c.DocID(), storage.OpenOptions{NoBody: true}); err != nil {
		return err
	}
	return errNoSearch
}

// nouveauCleanup has nothing to clean up.
func nouveauCleanup(c *call.Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	if err := c.RequireJSON(); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

// searchCleanup refuses, where CouchDB fails.
func searchCleanup(c *call.Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	return errNoSearch
}
