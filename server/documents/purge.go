package documents

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

// postPurge answers POST /{db}/_purge. All revisions are parsed before any is purged, so a fault in
// the last document changes nothing. CouchDB answers 202 when fewer shards than w confirmed; here
// that is any w above one. purge_seq is null, as in a CouchDB cluster.
func postPurge(c *call.Call) error {
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	c.Env.Stats.PurgeRequests.Add(1)
	for _, list := range v.Members() {
		if _, err := compat.ParseRevs(list); err != nil {
			return err
		}
	}
	if err := c.TakeForDocuments(v.Len()); err != nil { // what was purged of each is kept for the answer
		return err
	}
	purged, err := c.Docs.Purge(c.Context(), revisionsIn(v.Members()))
	if err != nil {
		return err
	}
	c.Env.Stats.Purged(v.Len())
	status := http.StatusCreated
	if w, ok := c.Query.First("w"); ok {
		if n, err := strconv.Atoi(w); err == nil && n > 1 {
			status = http.StatusAccepted
		}
	}
	b := append([]byte(nil), `{"purge_seq":null,"purged":{`...)
	for i, p := range purged {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, p.ID), ':')
		b = compat.AppendRevs(b, p.Revs)
	}
	return c.JSON(status, append(b, "}}"...))
}
