package find

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/kv"
)

// listIndexes serves GET /{db}/_index.
func (h *Handlers) listIndexes(c *call.Call) error {
	limit, skip, err := indexListRange(c)
	if err != nil {
		return err
	}
	list, _, err := h.indexes(c)
	if err != nil {
		return err
	}
	var auto []allfields.Status
	if slices.ContainsFunc(list, func(ix *mango.Index) bool { return ix.Kind == mango.KindAllFields }) {
		if auto, err = h.autoStatus(c); err != nil {
			return err
		}
	}
	b := strconv.AppendInt([]byte(`{"total_rows":`), int64(len(list)), 10)
	b = append(b, `,"indexes":[`...)
	list = list[min(skip, int64(len(list))):]
	for i, ix := range list[:min(limit, int64(len(list)))] {
		if i > 0 {
			b = append(b, ',')
		}
		if b = ix.AppendJSON(b); ix.Kind == mango.KindAllFields {
			b = append(appendAutoStatus(b[:len(b)-1], auto, ix.DDoc, ix.Name), '}')
		}
	}
	return c.JSON(http.StatusOK, append(b, "]}"...))
}

var errIndexListRange = compat.Named(compat.KindUnknown, "invalid_list_index_params",
	"Index parameter ranges: limit > 1, skip > 0")

// indexListRange reads limit and skip (mango_httpd:parse_index_param/2).
func indexListRange(c *call.Call) (limit, skip int64, err error) {
	limit = 1<<63 - 1
	for _, p := range []struct {
		name  string
		least int64
		value *int64
	}{{"limit", 1, &limit}, {"skip", 0, &skip}} {
		text, ok := c.Query.First(p.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || n < p.least {
			return 0, 0, errIndexListRange
		}
		*p.value = n
	}
	return limit, skip, nil
}

// createIndex serves POST /{db}/_index.
func (h *Handlers) createIndex(c *call.Call) error {
	request, err := c.JSONRequest()
	if err != nil {
		return err
	}
	if err := c.RequireDB(); err != nil {
		return err
	}
	if err := c.TakeParsed(selector.PatternSize(request), func() int64 { return selector.Size(request) }); err != nil {
		return err
	}
	// The memory of patterns in partial_filter_selector was taken before they are compiled.
	definition, err := mango.ParseDefinition(request, c.Settings.Follows36)
	if err == nil {
		err = definition.Complete(autoDefaults(c.Env.Config))
	}
	if err == nil {
		err = h.checkText(c, definition)
	}
	if err == nil && definition.ByPrincipal() {
		var perDocument bool
		if perDocument, err = c.DB.Settings().Access(c.Context()); err == nil && !perDocument {
			err = mango.ErrNoAccess
		}
	}
	if err != nil {
		return err
	}
	d, body, exists, err := openDesign(c, definition.DDoc)
	if err != nil {
		return err
	}
	// Indexes are in design documents of their own language only (mango_util, invalid_ddoc_lang).
	if exists {
		if err := mango.CheckLanguage(body); err != nil {
			return err
		}
	}
	rules, err := c.Docs.DocRules(c.Context())
	if err != nil {
		return err
	}
	if err := compat.ValidateDocID(definition.DDoc, rules.IDs); err != nil {
		return err
	}
	next, err := definition.AddTo(body, exists)
	if err != nil {
		return err
	}
	result := "exists"
	// nil: the same index exists already, and no revision is written.
	if next != nil {
		refused, err := writeDesign(c, definition.DDoc, d, next, false)
		if err != nil {
			return err
		}
		if refused != nil {
			return errSavingDesign(refused)
		}
		result = "created"
		switch definition.Kind() {
		case mango.KindJSON:
			h.awaitIndex(c, definition)
		case mango.KindText, mango.KindNouveau:
			h.awaitText(c, definition)
		}
	}
	b := append(append([]byte(`{"result":"`), result...), `","id":`...)
	b = ejson.AppendString(b, definition.DDoc)
	b = ejson.AppendString(append(b, `,"name":`...), definition.Name)
	if definition.AllFields() {
		b = ejson.AppendString(append(b, `,"state":`...), autoState(h.awaitAuto(c)))
	}
	return c.JSON(http.StatusOK, append(b, '}'))
}

// awaitTime is how long the answer to a new index waits for it, so that that of a small database is
// there when it arrives.
const awaitTime = time.Second

// awaitIndex begins to build an index; what does not get ready in time is built by jobs and
// queries.
func (h *Handlers) awaitIndex(c *call.Call, d *mango.Definition) {
	ctx, cancel := context.WithTimeout(c.Context(), awaitTime)
	defer cancel()
	ix, err := h.o.Views.View(ctx, c.DB, d.DDoc, d.Name)
	if err == nil {
		err = ix.Wait(ctx)
	}
	if err != nil && ctx.Err() == nil {
		c.Env.Log.Warn("index is not built yet", "database", c.DB.Name(), "design", d.DDoc, "name", d.Name,
			"error", err)
	}
}

// errSavingDesign is the answer to a refused design document (mango_error:info/2).
func errSavingDesign(refused *compat.Error) error {
	reason := "Unknown error while saving the design document: " + refused.Word()
	if refused.Kind == compat.KindConflict {
		reason = "Encountered a conflict while saving the design document."
	}
	return compat.Named(compat.KindUnknown, "error_saving_ddoc", reason)
}

// deleteIndex serves DELETE /{db}/_index/{ddoc}/{type}/{name}, with or without _design/ before the
// first.
func (h *Handlers) deleteIndex(c *call.Call) error {
	parts := c.Segments[2:]
	if len(parts) == 4 {
		parts = []string{compat.DesignPrefix + parts[1], parts[2], parts[3]}
	}
	ddoc, kind, name := mango.DesignID(parts[0]), parts[1], parts[2]
	list, _, err := h.indexes(c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list,
		func(ix *mango.Index) bool { return ix.DDoc == ddoc && ix.Kind.String() == kind && ix.Name == name })
	if i < 0 {
		return compat.ErrMissing
	}
	if err := removeIndex(c, ddoc, list[i].Kind, name); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// removeIndex removes an index from its design document, and the document if nothing else is in it.
func removeIndex(c *call.Call, ddoc string, kind mango.Kind, name string) error {
	d, body, exists, err := openDesign(c, ddoc)
	if err != nil {
		return err
	}
	next, empty, err := mango.RemoveFrom(body, exists, kind, name)
	if err != nil {
		return err
	}
	if empty {
		next = []byte("{}")
	}
	refused, err := writeDesign(c, ddoc, d, next, empty)
	// a removed index frees space, so the write may use the reserve of a full store
	if errors.Is(err, kv.ErrFull) {
		c.Request = c.Request.WithContext(kv.UseReserve(c.Context()))
		refused, err = writeDesign(c, ddoc, d, next, empty)
	}
	if err == nil && refused != nil {
		err = errSavingDesign(refused)
	}
	return err
}

// bulkDeleteIndexes serves POST /{db}/_index/_bulk_delete: all indexes of some design documents.
// The results are in reverse order, as in CouchDB.
func (h *Handlers) bulkDeleteIndexes(c *call.Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	ids, err := mango.ParseBulkDelete(body)
	if err != nil {
		return err
	}
	list, _, err := h.indexes(c)
	if err != nil {
		return err
	}
	// The list is read once: what one of the documents loses does not change what others have.
	var success, fail [][]byte
	for _, id := range ids {
		if id == "" {
			return compat.ErrBadArg
		}
		b := ejson.AppendString([]byte(`{"id":`), id)
		found := false
		for _, ix := range list {
			if ix.DDoc != id {
				continue
			}
			found = true
			if err := removeIndex(c, id, ix.Kind, ix.Name); err != nil {
				return err
			}
		}
		if found {
			success = append(success, append(b, `,"ok":true}`...))
		} else {
			fail = append(fail, append(b, `,"error":"not_found"}`...))
		}
	}
	b := appendReversed([]byte(`{"success":[`), success)
	b = appendReversed(append(b, `],"fail":[`...), fail)
	return c.JSON(http.StatusOK, append(b, "]}"...))
}

// appendReversed appends parts from the last to the first, as Erlang builds the list.
func appendReversed(b []byte, parts [][]byte) []byte {
	for i, part := range slices.Backward(parts) {
		b = append(b, part...)
		if i > 0 {
			b = append(b, ',')
		}
	}
	return b
}
