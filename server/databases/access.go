package databases

import (
	"cmp"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/keyspace"
)

var errShare = compat.NewError(compat.KindBadRequest, "`share` must be \"self\" or \"any\"")

// recordWithAccess is the record of a database with access for each document. In another one the
// paths of _access, _group and _groups are those of documents, and of attachments, that there cannot
// be: a reader misses them, a writer is told that the id is none.
func recordWithAccess(c *call.Call) (*keyspace.Record, error) {
	rec, err := c.DB.Settings().Record(c.Context())
	switch {
	case err != nil || rec.Access.On:
		return &rec, err
	case c.Method == http.MethodGet || c.Method == http.MethodHead:
		return nil, compat.ErrMissing
	}
	noID := compat.ValidateDocID(c.Segment(1), compat.IDRules{})
	return nil, cmp.Or(noID, error(compat.ErrMissing))
}

// getAccess answers GET /{db}/_access: to whom users may give their documents.
func getAccess(c *call.Call) error {
	rec, err := recordWithAccess(c)
	if err != nil {
		return err
	}
	b := ejson.AppendString([]byte(`{"share":`), access.ShareOf(rec.Access.ShareAny).String())
	return c.JSON(http.StatusOK, append(b, '}'))
}

// putAccess answers PUT /{db}/_access with {"share": "self"|"any"}, which holds for writes from then
// on.
func putAccess(c *call.Call) error {
	if _, err := recordWithAccess(c); err != nil {
		return err
	}
	if err := c.Docs.Access().NeedAdmin(c.Context()); err != nil {
		return err
	}
	v, err := c.JSONObject()
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
