package server

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/fieldindex"
	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/storage"
)

// This file is about indexes over all fields, which CouchDB does not have: their settings, and what is told of them.

// autoDefaults are the settings for new indexes over all fields.
func autoDefaults(c *config.Config) mango.AutoDefaults {
	d := mango.AutoDefaults{Depth: int(c.Int("mango", "all_fields_depth", fieldindex.MaxDepth)), Values: int(c.Int("mango", "all_fields_max_values", fieldindex.MaxValues))}
	for field := range strings.SplitSeq(c.String("mango", "all_fields_exclude"), ",") {
		if field = strings.TrimSpace(field); field != "" {
			if _, ok := mango.SplitField(field); ok {
				d.Exclude = append(d.Exclude, field)
			}
		}
	}
	return d
}

// addDefaultIndex gives a new database an index over all fields, if mango/all_fields_by_default says so.
func (s *Server) addDefaultIndex(ctx context.Context, database string) error {
	if !s.config.Bool("mango", "all_fields_by_default") || strings.HasPrefix(database, "_") {
		return nil
	}
	request, err := ejson.Parse([]byte(`{"index":{},"type":"auto","ddoc":"all-fields","name":"all"}`))
	if err != nil {
		return err
	}
	definition, err := mango.ParseDefinition(request)
	if err == nil {
		err = definition.Complete(autoDefaults(s.config))
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
	results, err := s.store.DB(database).Update(ctx, []*compat.Document{{ID: definition.DDoc, HasID: true, Body: body}}, storage.UpdateOptions{})
	if err == nil && results[0].Err != nil {
		err = results[0].Err
	}
	return err
}

// autoStatus tells of the database's indexes over all fields.
func (c *Call) autoStatus() ([]fieldindex.Status, error) {
	if c.srv.fields == nil {
		return nil, nil
	}
	return c.srv.fields.Status(c.Context(), c.db)
}

// appendAutoStatus appends the members that _index has of an index over all fields besides those of all indexes: nothing if it is not
// known.
func appendAutoStatus(b []byte, list []fieldindex.Status, ddoc, name string) []byte {
	i := slices.IndexFunc(list, func(st fieldindex.Status) bool { return st.DesignDoc == ddoc && st.Name == name })
	if i < 0 {
		return b
	}
	st := &list[i]
	integer := func(name string, n int64) { b = strconv.AppendInt(append(b, name...), n, 10) }
	b = append(append(append(b, `,"state":"`...), autoState(st.Ready)...), '"')
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

// appendAutoInfo appends what _info tells of the indexes over all fields of a design document, before the end of its object.
func (c *Call) appendAutoInfo(b []byte) ([]byte, error) {
	list, err := c.autoStatus()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(st fieldindex.Status) bool { return st.DesignDoc != c.DocID() })
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

// awaitAuto waits a while for the indexes over all fields, and tells whether they are ready.
func (c *Call) awaitAuto() bool {
	if c.srv.fields == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(c.Context(), awaitTime)
	defer cancel()
	ready, err := c.srv.fields.Wait(ctx, c.db)
	if err != nil && ctx.Err() == nil {
		c.srv.log.Warn("index over all fields is not built yet", "database", c.db.Name(), "error", err)
	}
	return ready
}
