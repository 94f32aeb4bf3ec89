package databases

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/autopurge"
	"github.com/settee-db/settee/storage/keyspace"
)

// historyMember is the one member of what _history keeps.
const historyMember = "history"

var errHistory = compat.NewError(compat.KindBadRequest,
	`_history is an object with the one member "history": a period such as "30d", or "off"`)

// getHistory serves GET /{db}/_history, which CouchDB does not have: what was put there.
func getHistory(c *call.Call) error {
	rec, err := c.DB.Settings().Record(c.Context())
	if err != nil {
		return err
	}
	return replyLife(c, historyMember, rec.History)
}

// putHistory serves PUT /{db}/_history: how long replaced revisions are kept; with an empty object
// the server's setting counts again.
func putHistory(c *call.Call) error {
	if err := c.Docs.Access().NeedAdmin(c.Context()); err != nil {
		return err
	}
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	life := ""
	for name, value := range v.Members() {
		if name.Text() != historyMember || value.Kind() != ejson.String {
			return errHistory
		}
		if life = value.Text(); !isHistory(life) {
			return errHistory
		}
	}
	if err := c.DB.Settings().SetHistory(c.Context(), life); err != nil {
		return err
	}
	return c.OK(http.StatusCreated)
}

// isHistory tells whether a text says how long replaced revisions are kept.
func isHistory(text string) bool {
	_, ok := autopurge.ParseHistory(text)
	return ok && len(text) <= keyspace.MaxAutoPurge
}
