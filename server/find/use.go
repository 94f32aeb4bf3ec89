package find

import (
	"net/http"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/lastuse"
)

// indexUse answers GET /{db}/_index_use, an extension: when queries last used the indexes that
// design documents define, to the hour, and when each design document was written; for server
// administrators what queries had no index, by this process.
func (h *Handlers) indexUse(c *call.Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	var list []lastuse.Design
	if h.o.Uses != nil {
		var err error
		if list, err = h.o.Uses.List(c.Context(), c.DB); err != nil {
			return err
		}
	}
	b := []byte(`{"designs":[`)
	for i := range list {
		d := &list[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(append(b, `{"ddoc":`...), d.ID)
		if !d.Changed.IsZero() {
			b = append(d.Changed.AppendFormat(append(b, `,"changed":"`...), time.RFC3339), '"')
		}
		b = append(b, `,"indexes":[`...)
		for n, ix := range d.Indexes {
			if n > 0 {
				b = append(b, ',')
			}
			b = ejson.AppendString(append(b, `{"type":`...), ix.Kind)
			b = ejson.AppendString(append(b, `,"name":`...), ix.Name)
			b = append(ix.Used.AppendFormat(append(b, `,"last_used":"`...), time.RFC3339), `"}`...)
		}
		b = append(b, "]}"...)
	}
	b = append(b, ']')
	if c.User.IsAdmin() {
		b = h.scans.append(b, c.DB.Name())
	}
	return c.JSON(http.StatusOK, append(b, '}'))
}
