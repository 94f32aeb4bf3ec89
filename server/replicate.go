package server

import (
	"net/http"

	"github.com/settee-db/settee/compat"
)

// postReplicate makes the checks of POST /_replicate. The body comes first, whatever the method and the user
// (chttpd_misc:handle_replicate_req).
func postReplicate(c *Call) error {
	if !c.HasBody() && c.method != http.MethodPost {
		return errMissingBody
	}
	if c.user.Name == "" {
		return errNotSignedIn
	}
	if c.method != http.MethodPost {
		return compat.MethodNotAllowed("POST")
	}
	if _, err := c.JSONRequest(); err != nil {
		return err
	}
	return compat.NewError(compat.KindNotImplemented, "This server does not replicate by itself yet.")
}
