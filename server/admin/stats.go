package admin

import (
	"net/http"

	"github.com/settee-db/settee/server/call"
)

// getStats answers the tree of statistics, or the part of it that the path names; null where there
// is none.
func (h *Handlers) getStats(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	path := c.Segments[3:]
	h.takeStats()
	b, ok := c.Env.Stats.AppendTree(nil, path)
	if !ok {
		b = append(b[:0], "null"...)
	}
	return c.JSON(http.StatusOK, b)
}

// takeStats updates the statistics that are not counted as events happen, but measured when
// somebody asks.
func (h *Handlers) takeStats() {
	h.env.Stats.TakeJavaScript(h.js)
	h.env.Stats.TakeOpenFiles(openFiles())
	mode := h.env.Settings().Maintenance
	h.env.Stats.TakeModes(mode == "true" || mode == "nolb", h.env.Config.Bool("couchdb", "upgrade_in_progress"))
}
