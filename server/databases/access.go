package databases

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/access"
)

var errShare = compat.NewError(compat.KindBadRequest, "`share` must be \"self\" or \"any\"")

// getAccess answers GET /{db}/_access: to whom users may give their documents. In a database
// without access for each document the path is that of a document that there cannot be.
func getAccess(c *call.Call) error {
	rec, err := c.DB.Settings().Record(c.Context())
	switch {
	case err != nil:
		return err
	case !rec.Access.On:
		return compat.ErrMissing
	}
	b := ejson.AppendString([]byte(`{"share":`), access.ShareOf(rec.Access.ShareAny).String())
	return c.JSON(http.StatusOK, append(b, '}'))
}

// putAccess answers PUT /{db}/_access with {"share": "self"|"any"}, which holds for writes from then
// on.
func putAccess(c *call.Call) error {
	rec, err := c.DB.Settings().Record(c.Context())
	switch {
	case err != nil:
		return err
	case !rec.Access.On:
		return compat.ValidateDocID(c.Segment(1), compat.IDRules{})
	}
	if err := c.Docs.Access().NeedAdmin(c.Context()); err != nil {
		return err
	}
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	named, _ := v.Get("share")
	share := access.ShareOf(named.Text() == access.ShareAny.String())
	if v.Len() != 1 || named.Kind() != ejson.String || named.Text() != share.String() {
		return errShare
	}
	if err := c.DB.Settings().SetShare(c.Context(), share); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}
