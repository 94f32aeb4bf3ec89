package fulltext

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	engine "github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
)

// readInfo reads sizes and counts of the index that the path names.
func (h *Handlers) readInfo(c *call.Call, kind segment.Kind) (*engine.Definition, *engine.Info, error) {
	def, missing, err := h.lookup(c, kind)
	if err == nil {
		err = missing
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := h.indexes.Info(c.Context(), c.DB, def)
	return def, info, err
}

// appendName begins an answer of _search_info or _nouveau_info.
func appendName(def *engine.Definition) []byte {
	b := ejson.AppendString([]byte(`{"name":`), def.DesignDoc+"/"+def.Name)
	return append(b, `,"search_index":{`...)
}

func appendNumber(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(append(append(b, `,"`...), name...), `":`...), n, 10)
}

// appendPauses appends that the build of the index, or merges of its segments, are paused, and why,
// if they are. This is an extension.
func appendPauses(b []byte, info *engine.Info) []byte {
	const paused = `"state":"paused","reason":`
	if info.Paused != "" {
		b = ejson.AppendString(append(b, ","+paused...), info.Paused)
	}
	if info.MergesPaused != "" {
		b = append(ejson.AppendString(append(b, `,"merges":{`+paused...), info.MergesPaused), '}')
	}
	return b
}

// searchInfo serves GET …/_search_info/{index} (dreyfus_fabric_info).
func (h *Handlers) searchInfo(c *call.Call) error {
	if err := h.available(c); err != nil {
		return err
	}
	def, info, err := h.readInfo(c, segment.Clouseau)
	if err != nil {
		return err
	}
	b := ejson.AppendString(append(appendName(def), `"signature":`...), def.Signature)
	b = appendNumber(b, "pending_seq", int64(info.Pending))
	b = appendNumber(b, "doc_del_count", info.Deleted)
	b = appendNumber(b, "doc_count", info.Docs)
	b = appendNumber(b, "disk_size", info.Bytes)
	b = appendNumber(b, "committed_seq", int64(info.Committed))
	b = appendPauses(appendNumber(b, "error_count", info.Errors), info)
	return c.JSON(http.StatusOK, append(b, "}}"...))
}

// searchDiskSize serves GET …/_search_disk_size/{index}.
func (h *Handlers) searchDiskSize(c *call.Call) error {
	if err := h.available(c); err != nil {
		return err
	}
	def, info, err := h.readInfo(c, segment.Clouseau)
	if err != nil {
		return err
	}
	b := strconv.AppendInt(append(appendName(def), `"disk_size":`...), info.Bytes, 10)
	return c.JSON(http.StatusOK, append(b, "}}"...))
}

var errNotBuilt = compat.NewError(compat.KindNotFound, "Index does not exist")

// nouveauInfo serves GET …/_nouveau_info/{index} (nouveau_fabric_info).
func (h *Handlers) nouveauInfo(c *call.Call) error {
	if err := h.nouveauAvailable(c, "GET", http.MethodGet); err != nil {
		return err
	}
	def, info, err := h.readInfo(c, segment.Nouveau)
	if err != nil {
		return err
	}
	if !info.Built {
		return errNotBuilt
	}
	b := ejson.AppendString(append(appendName(def), `"signature":`...), def.Signature)
	b = appendNumber(b, "disk_size", info.Bytes)
	b = appendNumber(b, "num_docs", info.Docs)
	b = appendNumber(b, "purge_seq", info.Purges)
	b = appendNumber(b, "update_seq", int64(info.Committed))
	b = appendPauses(appendNumber(b, "error_count", info.Errors), info)
	return c.JSON(http.StatusOK, append(b, "}}"...))
}

// searchCleanup serves POST /{db}/_search_cleanup. It removes unused indexes of Nouveau as well.
func (h *Handlers) searchCleanup(c *call.Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	return h.cleanUp(c)
}

// nouveauCleanup serves POST /{db}/_nouveau_cleanup.
func (h *Handlers) nouveauCleanup(c *call.Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	if err := c.RequireJSON(); err != nil {
		return err
	}
	return h.cleanUp(c)
}

// cleanUp removes indexes that no design document defines any more.
func (h *Handlers) cleanUp(c *call.Call) error {
	if err := h.available(c); err != nil {
		return err
	}
	if err := h.indexes.Cleanup(c.Context(), c.DB); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

// searchErrors serves GET …/_search_errors/{index}, an extension: the documents that the index
// could not take, in the order of their ids. Options are limit and startkey, the id to begin with.
func (h *Handlers) searchErrors(c *call.Call) error { return h.answerErrors(c, segment.Clouseau) }

// nouveauErrors serves GET …/_nouveau_errors/{index}.
func (h *Handlers) nouveauErrors(c *call.Call) error { return h.answerErrors(c, segment.Nouveau) }

// answerErrors streams the documents that an index could not index, with what the index function
// threw. CouchDB only logs them. limit and startkey are those of a view, with ids as keys.
func (h *Handlers) answerErrors(c *call.Call, kind segment.Kind) error {
	if err := h.available(c); err != nil {
		return err
	}
	def, missing, err := h.lookup(c, kind)
	if err == nil {
		err = missing
	}
	if err != nil {
		return err
	}
	o, err := params.ParseView(c.Query, ejson.Value{})
	if err != nil {
		return err
	}
	from := ""
	if o.StartKey.Kind() == ejson.String {
		from = o.StartKey.Text()
	}
	return c.StreamErrors(o.Limit, func(send func(id, message string) error) error {
		return h.indexes.Errors(c.Context(), c.DB, def, from, func(e engine.Error) error {
			return send(e.ID, e.Message)
		})
	})
}
