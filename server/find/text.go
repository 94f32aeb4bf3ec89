package find

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/server/call"
)

// checkText refuses text indexes where there is no full-text search, and those of all fields where
// a setting says so.
func (h *Handlers) checkText(c *call.Call, d *mango.Definition) error {
	switch kind := d.Kind(); kind {
	case mango.KindText, mango.KindNouveau:
		if h.o.Search == nil {
			return compat.Named(compat.KindServiceUnavailable, "required index service unavailable", kind.String())
		}
	}
	setting := c.Env.Config.String("mango", "index_all_disabled")
	if d.AllOfText() && setting == "warn" {
		c.Env.Log.Warn("a text index of all fields is made", "database", c.DB.Name(), "design", d.DDoc, "name", d.Name)
	}
	return d.CheckText(setting)
}

// awaitText begins to build a text index, as awaitIndex does with others.
func (h *Handlers) awaitText(c *call.Call, d *mango.Definition) {
	ctx, cancel := context.WithTimeout(c.Context(), awaitTime)
	defer cancel()
	def, err := h.o.Search.Lookup(ctx, c.DB, d.Kind().SearchKind(), d.DDoc, d.Name)
	if err == nil {
		err = h.o.Search.Update(ctx, c.DB, def)
	}
	if err != nil && ctx.Err() == nil {
		c.Env.Log.Warn("text index is not built yet", "database", c.DB.Name(), "design", d.DDoc, "name", d.Name,
			"error", err)
	}
}
