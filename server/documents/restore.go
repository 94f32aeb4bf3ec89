package documents

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
)

// postRestore serves POST /{db}/{id}/_restore?rev=, which CouchDB does not have: it answers that
// path with 405, as that of an attachment. If-Match names the revision that has to be the current
// one.
func postRestore(c *call.Call) error {
	rev, named, err := params.RequestRev(c.Query, nil)
	if err != nil {
		return err
	}
	if !named || rev.IsZero() {
		return compat.NewError(compat.KindBadRequest,
			"rev has to name the revision that is to come back")
	}
	over, _, err := params.RequestRev(compat.Query{}, c.Request.Header["If-Match"])
	if err != nil {
		return err
	}
	if err := checkWriteQuorum(c); err != nil {
		return err
	}
	o, err := writeOptions(c, false)
	if err != nil {
		return err
	}
	restore := documents.Restore{ID: c.DocID(), Rev: rev, Over: over}
	current, changed, err := restore.Write(c.Context(), c.Docs, o)
	if err != nil {
		return err
	}
	c.SetETag(current.String())
	c.SetHeader("Location", c.Link(c.DB.Name(), restore.ID))
	status := http.StatusOK
	if changed {
		status = storedStatus(c)
	}
	return c.JSON(status, appendWritten(nil, restore.ID, current))
}

// attachmentNamedRestore serves what the path of _restore is otherwise, as that of any attachment.
func attachmentNamedRestore(c *call.Call) error {
	switch c.Method {
	case http.MethodPut:
		return putAttachment(c)
	case http.MethodDelete:
		return deleteAttachment(c)
	}
	return getAttachment(c)
}
