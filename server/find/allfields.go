package find

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// This file is about indexes over all fields, which CouchDB does not have: their settings, and what
// is told of them.

// autoDefaults are the settings for new indexes over all fields.
func autoDefaults(c *config.Config) mango.AllFieldsDefaults {
	d := mango.AllFieldsDefaults{
		Depth:  int(c.Int("mango", "all_fields_depth", allfields.MaxDepth)),
		Values: int(c.Int("mango", "all_fields_max_values", allfields.MaxValues)),
	}
	for field := range strings.SplitSeq(c.String("mango", "all_fields_exclude"), ",") {
		if field = strings.TrimSpace(field); field != "" {
			if _, ok := mango.SplitField(field); ok {
				d.Exclude = append(d.Exclude, field)
			}
		}
	}
	return d
}

// AddDefaultIndex gives a new database an index over all fields, if mango/all_fields_by_default
// says so.
func AddDefaultIndex(ctx context.Context, e *call.Env, database string) error {
	// System databases have few documents and their own rules of who may read what.
	if !e.Config.Bool("mango", "all_fields_by_default") || strings.HasPrefix(database, "_") {
		return nil
	}
	// The index is written as a user would have written it, so that it is listed, changed and
	// deleted like any other.
	request, err := ejson.Parse([]byte(`{"index":{},"type":"auto","ddoc":"all-fields","name":"all"}`))
	if err != nil {
		return err
	}
	definition, err := mango.ParseDefinition(request, false)
	if err == nil {
		err = definition.Complete(autoDefaults(e.Config))
	}
	if err != nil {
		return err
	}
	text, err := definition.AddTo(ejson.Value{}, false)
	if err != nil {
		return err
	}
	body, err := compat.NewBody(text)
	if err != nil {
		return err
	}
	design := &compat.Document{ID: definition.DDoc, HasID: true, Body: body}
	results, err := e.Store.DB(database).Update(ctx, []*compat.Document{design}, storage.UpdateOptions{})
	if err == nil && results[0].Err != nil {
		err = results[0].Err
	}
	return err
}

// autoStatus returns the state of the database's indexes over all fields.
func (h *Handlers) autoStatus(c *call.Call) ([]allfields.Status, error) {
	if h.o.AllFields == nil {
		return nil, nil
	}
	return h.o.AllFields.Status(c.Context(), c.DB)
}

// appendAutoStatus appends the members that _index has of an index over all fields besides those of
// all indexes: nothing if it is not known.
func appendAutoStatus(b []byte, list []allfields.Status, ddoc, name string) []byte {
	i := slices.IndexFunc(list, func(st allfields.Status) bool { return st.DesignDoc == ddoc && st.Name == name })
	if i < 0 {
		return b
	}
	st := &list[i]
	integer := func(name string, n int64) { b = strconv.AppendInt(append(b, name...), n, 10) }
	state := autoState(st.Ready)
	if st.Paused {
		state = "paused"
	}
	b = append(append(append(b, `,"state":"`...), state...), '"')
	integer(`,"entries":`, st.Entries)
	integer(`,"bytes":`, st.Bytes)
	integer(`,"documents_not_indexed":`, st.Others)
	if !st.Ready {
		integer(`,"progress":{"documents_done":`, st.Done)
		integer(`,"total_documents":`, st.Total)
		b = append(b, '}')
	}
	if st.Failure != "" {
		b = ejson.AppendString(append(b, `,"last_error":`...), st.Failure)
	}
	return b
}

func autoState(ready bool) string {
	if ready {
		return "ready"
	}
	return "building"
}

// AppendInfo appends what _info tells of the indexes over all fields of a design document, before
// the end of its object.
func (h *Handlers) AppendInfo(c *call.Call, b []byte) ([]byte, error) {
	list, err := h.autoStatus(c)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(st allfields.Status) bool { return st.DesignDoc != c.DocID() })
	if len(list) == 0 {
		return b, nil
	}
	b = append(b[:len(b)-1], `,"all_fields":{`...)
	for i, st := range list {
		if i > 0 {
			b = append(b, ',')
		}
		members := appendAutoStatus(nil, list, st.DesignDoc, st.Name)
		b = append(ejson.AppendString(b, st.Name), ":{"...)
		b = append(append(b, members[1:]...), '}')
	}
	return append(b, "}}"...), nil
}

// awaitAuto waits a while for the indexes over all fields, and reports whether they are ready.
func (h *Handlers) awaitAuto(c *call.Call) bool {
	if h.o.AllFields == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(c.Context(), awaitTime)
	defer cancel()
	ready, err := h.o.AllFields.Wait(ctx, c.DB)
	if err != nil && ctx.Err() == nil {
		c.Env.Log.Warn("index over all fields is not built yet", "database", c.DB.Name(), "error", err)
	}
	return ready
}
