package queries

import (
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/views"
)

// This file serves what there is about indexes besides queries: what they are, and their clean-up.

// collatorVersions is what _info says of the order of keys: the version of ICU 72's collator, whose
// order is followed.
const collatorVersions = `["153.120"]`

// getDesignInfo serves GET …/_info (fabric_group_info).
func (h *Handlers) getDesignInfo(c *call.Call) error {
	i, err := h.views.Info(c.Context(), c.DB, c.DocID())
	if err != nil {
		return err
	}
	b, err := h.info(c, appendDesignInfo(nil, i))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, b)
}

// appendDesignInfo writes the answer of GET /{db}/_design/{name}/_info. updates_pending has three
// equal numbers: CouchDB counts over copies of shards, and here is one copy. File sizes begin at
// FileBase, the size of an empty file, because in CouchDB a file is always
// larger than what lives in it.
func appendDesignInfo(b []byte, i *views.Info) []byte {
	integer := func(name string, n int64) { b = strconv.AppendInt(append(b, name...), n, 10) }
	boolean := func(name string, v bool) { b = strconv.AppendBool(append(b, name...), v) }
	b = ejson.AppendString(append(b, `{"name":`...), i.Name)
	integer(`,"view_index":{"updates_pending":{"minimum":`, i.UpdatesPending)
	integer(`,"preferred":`, i.UpdatesPending)
	integer(`,"total":`, i.UpdatesPending)
	boolean(`},"waiting_commit":`, i.WaitingCommit)
	integer(`,"waiting_clients":`, int64(i.WaitingClients))
	boolean(`,"updater_running":`, i.UpdaterRunning)
	integer(`,"update_seq":`, int64(i.UpdateSeq.N))
	integer(`,"sizes":{"file":`, documents.FileBase+i.SizeFile)
	integer(`,"external":`, i.SizeExternal)
	integer(`,"active":`, i.SizeActive)
	b = hex.AppendEncode(append(b, `},"signature":"`...), i.Signature[:])
	integer(`","purge_seq":`, int64(i.PurgeSeq))
	b = ejson.AppendString(append(b, `,"language":`...), i.Language)
	boolean(`,"compact_running":`, i.CompactRunning)
	b = append(b, `,"collator_versions":`+collatorVersions+`}`...)
	if i.Paused != "" { // an extension
		b = append(ejson.AppendString(append(b, `,"state":"paused","reason":`...), i.Paused), '}')
		return b
	}
	return append(b, '}')
}

// postCompactViews serves POST …/_compact/{ddoc}.
func (h *Handlers) postCompactViews(c *call.Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	if err := h.views.Compact(c.Context(), c.DB, compat.DesignPrefix+c.Segment(2)); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

// postViewCleanup serves POST …/_view_cleanup.
func (h *Handlers) postViewCleanup(c *call.Call) error {
	if err := h.views.Cleanup(c.Context(), c.DB); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

// getViewErrors serves GET …/_view_errors/{view}, an extension: the documents that have no rows in
// a view because its map function failed for them, in order of their ids. Options are limit and
// startkey, the id to begin with.
func (h *Handlers) getViewErrors(c *call.Call) error {
	if err := c.Docs.CheckQuery(c.Context()); err != nil {
		return err
	}
	o, err := params.ParseView(c.Query, ejson.Value{})
	if err != nil {
		return err
	}
	return c.StreamErrors(o.Limit, func(send func(id, message string) error) error {
		return h.views.Errors(c.Context(), c.DB, c.DocID(), c.Segment(4), func(e views.MapError) error {
			if o.StartKey.Kind() == ejson.String && e.ID < o.StartKey.Text() {
				return nil
			}
			return send(e.ID, e.Message)
		})
	})
}
