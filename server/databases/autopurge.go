package databases

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/autopurge"
	"github.com/settee-db/settee/storage/keyspace"
)

// lifeMember is the one member of what _auto_purge keeps.
const lifeMember = "deleted_document_ttl"

var (
	errNoLife     = compat.NewError(compat.KindBadRequest, lifeMember+" must be a valid string")
	errAutoMember = compat.NewError(compat.KindBadRequest, "invalid auto purge property")
)

// getAutoPurge answers GET /{db}/_auto_purge: what was put there.
func getAutoPurge(c *call.Call) error {
	rec, err := c.DB.Settings().Record(c.Context())
	if err != nil {
		return err
	}
	return replyLife(c, lifeMember, rec.AutoPurge)
}

// replyLife answers with an object of one member, or of none where nothing was put.
func replyLife(c *call.Call, member, life string) error {
	if life == "" {
		return c.JSON(http.StatusOK, []byte("{}"))
	}
	b := ejson.AppendString([]byte(`{"`+member+`":`), life)
	return c.JSON(http.StatusOK, append(b, '}'))
}

// putAutoPurge answers PUT /{db}/_auto_purge (chttpd_db:validate_auto_purge_props). In CouchDB
// whoever may read the database may set it; here its admins may.
func putAutoPurge(c *call.Call) error {
	if err := c.Docs.Access().NeedAdmin(c.Context()); err != nil {
		return err
	}
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	life := ""
	for name, value := range v.Members() {
		if name.Text() != lifeMember {
			return errAutoMember
		}
		if value.Kind() != ejson.String {
			return errNoLife
		}
		life = value.Text()
		if !isLife(life) {
			return errNoLife
		}
	}
	if err := c.DB.Settings().SetAutoPurge(c.Context(), life); err != nil {
		return err
	}
	return c.OK(http.StatusCreated)
}

// isLife tells whether a text says how long deleted documents are kept.
func isLife(text string) bool {
	_, ok := autopurge.ParsePeriod(text)
	return (ok || text == autopurge.Forever) && len(text) <= keyspace.MaxAutoPurge
}
