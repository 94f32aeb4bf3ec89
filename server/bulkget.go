package server

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// bulkGetEntry is one element of the docs of a _bulk_get request.
type bulkGetEntry struct {
	id   string
	rev  []byte // JSON, for error rows
	err  *compat.Error
	noID bool
	open storage.OpenRevsRequest
	q    compat.DocOptions
}

// postBulkGet serves POST /{db}/_bulk_get. Rows stream out as they are read; what is wrong with an entry is told in its row.
func postBulkGet(c *Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	list, given := body.Get("docs")
	if !given {
		return compat.NewError(compat.KindBadRequest, "Missing JSON list of 'docs'.")
	}
	q, err := compat.ParseBulkGetOptions(c.query)
	if err != nil {
		return err
	}
	if list.Kind() != ejson.Array {
		return compat.NewError(compat.KindBadRequest, "`docs` parameter must be an array.")
	}
	entries, err := c.bulkGetEntries(list, q)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		if err := c.RequireDB(); err != nil {
			return err
		}
	}
	if mediaType, multipart := c.accept().BulkGetMultipart(); multipart {
		return c.bulkGetMultipart(entries, mediaType)
	}
	return c.bulkGetJSON(entries)
}

func (c *Call) bulkGetEntries(list ejson.Value, q *compat.DocOptions) ([]bulkGetEntry, error) {
	rules, err := c.docRules()
	if err != nil {
		return nil, err
	}
	entries := make([]bulkGetEntry, 0, list.Len())
	for v := range list.Elements() {
		e, err := parseBulkGetEntry(v, q, rules.IDs)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// parseBulkGetEntry reads {id, rev, atts_since} (chttpd_db:bulk_get_parse_arg).
func parseBulkGetEntry(v ejson.Value, q *compat.DocOptions, rules compat.IDRules) (bulkGetEntry, error) {
	e := bulkGetEntry{rev: []byte("null"), q: *q}
	if v.Kind() != ejson.Object || v.Len() == 0 {
		e.noID, e.err = true, compat.NewError(compat.KindBadRequest, "document must be a JSON object")
		return e, nil
	}
	id, given := v.Get("id")
	if !given {
		e.noID, e.err = true, compat.NewError(compat.KindBadRequest, "document id missed")
		return e, nil
	}
	if id.Kind() != ejson.String {
		return e, compat.NewError(compat.KindIllegalDocID, "Document id must be a string")
	}
	e.id = id.Text()
	if err := compat.ValidateDocID(e.id, rules); err != nil {
		e.err, _ = compat.AsError(err)
		return e, nil
	}
	e.open = storage.OpenRevsRequest{ID: e.id, OpenRevsOptions: storage.OpenRevsOptions{
		All: true, Latest: q.Latest, Open: storage.OpenOptions{Revs: q.Revs},
	}}
	if rev, given := v.Get("rev"); given {
		parsed, err := parseRevValue(rev)
		if err != nil {
			e.err, _ = compat.AsError(err)
			e.rev = rev.AppendJSON(nil)
			return e, nil
		}
		e.open.All, e.open.Revs = false, []compat.Rev{parsed}
	}
	e.attsSince(v)
	return e, nil
}

func (e *bulkGetEntry) attsSince(v ejson.Value) {
	list, given := v.Get("atts_since")
	if !given || (list.Kind() == ejson.Array && list.Len() == 0) {
		return
	}
	if list.Kind() != ejson.Array {
		e.err, e.rev = compat.NewError(compat.KindBadRequest, "att_since value must be array of revs."), list.AppendJSON(nil)
		return
	}
	for r := range list.Elements() {
		rev, err := parseRevValue(r)
		if err != nil {
			e.err, _ = compat.AsError(err)
			e.rev = r.AppendJSON(nil)
			return
		}
		e.q.AttsSince = append(e.q.AttsSince, rev)
	}
	e.q.HasAttsSince, e.q.Attachments, e.open.Open.Revs = true, true, true
}

func parseRevValue(v ejson.Value) (compat.Rev, error) {
	if v.Kind() != ejson.String {
		return compat.Rev{}, compat.ErrInvalidRev
	}
	return compat.ParseRev(v.Text())
}

// bulkGet calls row for every entry in order, with the revisions read or with what was wrong.
func (c *Call) bulkGet(entries []bulkGetEntry, row func(e *bulkGetEntry, results []storage.RevResult) error) error {
	var asked []storage.OpenRevsRequest
	var place []int
	for i := range entries {
		if entries[i].err == nil {
			asked = append(asked, entries[i].open)
			place = append(place, i)
		}
	}
	next := 0
	refused := func(until int) error {
		for ; next < until; next++ {
			if err := row(&entries[next], nil); err != nil {
				return err
			}
		}
		return nil
	}
	if len(asked) > 0 {
		err := c.db.BulkGet(c.Context(), asked, func(i int, results []storage.RevResult) error {
			if err := refused(place[i]); err != nil {
				return err
			}
			next++
			c.srv.stats.read(len(results))
			e := &entries[place[i]]
			if refusal := c.shownAll(results); refusal != nil {
				e.rev, e.err, results = []byte(`"undefined"`), refusal, nil
			}
			return row(e, results)
		})
		if err != nil {
			return err
		}
	}
	return refused(len(entries))
}

func (c *Call) bulkGetJSON(entries []bulkGetEntry) error {
	s := c.Stream(http.StatusOK)
	b := append(s.Buffer(), `{"results":[`...)
	first := true
	err := c.bulkGet(entries, func(e *bulkGetEntry, results []storage.RevResult) error {
		if !first {
			b = append(b, ',')
		}
		first = false
		var err error
		if b, err = c.appendBulkGetRow(b, e, results); err != nil {
			return err
		}
		err = s.Commit(b)
		b = s.Buffer()
		return err
	})
	if err != nil {
		return err
	}
	if err := s.Commit(append(b, "]}\n"...)); err != nil {
		return err
	}
	return s.Close()
}

func (c *Call) appendBulkGetRow(b []byte, e *bulkGetEntry, results []storage.RevResult) ([]byte, error) {
	b = append(b, `{"id":`...)
	b = e.appendID(b)
	b = append(b, `,"docs":[`...)
	if e.err != nil || len(results) == 0 {
		b = append(b, `{"error":`...)
		b = e.appendError(b)
		return append(b, "}]}"...), nil
	}
	for i := range results {
		if i > 0 {
			b = append(b, ',')
		}
		r := &results[i]
		if r.Doc == nil {
			b = append(b, `{"error":`...)
			b = e.appendErrorRow(b, r.Rev.AppendJSON(nil), compat.ErrMissing)
			b = append(b, '}')
			continue
		}
		view, err := c.docView(r.Doc, &e.q)
		if err != nil {
			return b, err
		}
		b = append(b, `{"ok":`...)
		b = append(compat.AppendDocument(b, view), '}')
	}
	return append(b, "]}"...), nil
}

func (e *bulkGetEntry) appendID(b []byte) []byte {
	if e.noID {
		return append(b, "null"...)
	}
	return ejson.AppendString(b, e.id)
}

// appendError appends the error of the whole entry; an unknown document has the revision `undefined`.
func (e *bulkGetEntry) appendError(b []byte) []byte {
	if e.err != nil {
		return e.appendErrorRow(b, e.rev, e.err)
	}
	return e.appendErrorRow(b, []byte(`"undefined"`), compat.ErrMissing)
}

func (e *bulkGetEntry) appendErrorRow(b, rev []byte, err *compat.Error) []byte {
	b = append(append(b, `{"rev":`...), rev...)
	b = ejson.AppendString(append(b, `,"reason":`...), err.Reason)
	b = e.appendID(append(b, `,"id":`...))
	b = ejson.AppendString(append(b, `,"error":`...), err.Word())
	return append(b, '}')
}

func (c *Call) bulkGetMultipart(entries []bulkGetEntry, mediaType string) error {
	s := c.RawStream(http.StatusOK)
	w := compat.NewBulkGetWriter(s, mediaType, compat.NewBoundary)
	c.SetHeader("Content-Type", w.ContentType())
	err := c.bulkGet(entries, func(e *bulkGetEntry, results []storage.RevResult) error {
		if e.err != nil || len(results) == 0 {
			return w.Error(e.appendError(nil))
		}
		for i := range results {
			var err error
			if r := &results[i]; r.Doc == nil {
				b := r.Rev.AppendJSON([]byte(`{"rev":`))
				err = w.Error(append(b, `,"error":"not_found","reason":"missing"}`...))
			} else {
				json, parts := c.relatedParts(r.Doc, &e.q)
				err = w.Document(r.Doc.ID, r.Doc.Rev, json, parts)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return s.Close()
}
