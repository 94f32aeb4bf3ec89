package documents

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

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
