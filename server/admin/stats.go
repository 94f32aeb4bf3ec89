package admin

import (
	"net/http"

	"github.com/settee-db/settee/server/call"
)

// getStats answers the tree of statistics, or the part of it that the path names; null where there is none.
func (h *Handlers) getStats(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	path := c.Segments[3:]
	c.Env.Stats.TakeJavaScript(h.js)
	b, ok := c.Env.Stats.AppendTree(nil, path)
	if !ok {
		b = append(b[:0], "null"...)
	}
	return c.JSON(http.StatusOK, b)
}
