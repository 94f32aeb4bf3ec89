package documents

import (
	"iter"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/multipart"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage/docread"
)

// bulkGetEntry is one element of the docs of a _bulk_get request.
type bulkGetEntry struct {
	id   string
	rev  []byte // JSON, for error rows
	err  *compat.Error
	noID bool
	open docread.OpenRevsRequest
	q    documents.ReadOptions
}

// postBulkGet serves POST /{db}/_bulk_get. Rows stream out as they are read; what is wrong with an
// entry is reported in its row.
func postBulkGet(c *call.Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	list, given := body.Get("docs")
	if !given {
		return compat.NewError(compat.KindBadRequest, "Missing JSON list of 'docs'.")
	}
	q, err := params.BulkGet(c.Query)
	if err != nil {
		return err
	}
	if q.Fields, err = params.ReadFields(c.Query); err != nil {
		return err
	}
	if q.Fields != nil {
		q.Members = q.Fields.Members()
	}
	if list.Kind() != ejson.Array {
		return compat.NewError(compat.KindBadRequest, "`docs` parameter must be an array.")
	}
	for v := range list.Elements() {
		if id, given := v.Get("id"); given && id.Kind() != ejson.String {
			if err := c.RequireDB(); err != nil {
				return err
			}
			return compat.NewError(compat.KindIllegalDocID, "Document id must be a string")
		}
	}
	if list.Len() == 0 {
		if err := c.RequireDB(); err != nil {
			return err
		}
	}
	// There may be a million entries: each is read when its row is near.
	entries := func(rules *compat.IDRules) iter.Seq[*bulkGetEntry] {
		return func(yield func(*bulkGetEntry) bool) {
			for v := range list.Elements() {
				if !yield(parseBulkGetEntry(v, q, *rules)) {
					return
				}
			}
		}
	}
	if mediaType, multipart := c.Accept().BulkGetMultipart(); multipart && q.Fields == nil {
		return bulkGetMultipart(c, entries, mediaType)
	}
	return bulkGetJSON(c, entries)
}

// bulkGetEntries are the entries of a request, by rules that are there when the first of them is
// taken.
type bulkGetEntries func(rules *compat.IDRules) iter.Seq[*bulkGetEntry]

// parseBulkGetEntry reads {id, rev, atts_since} (chttpd_db:bulk_get_parse_arg). The id is a string,
// if it is given. An entry with an error asks for nothing.
func parseBulkGetEntry(v ejson.Value, q *documents.ReadOptions, rules compat.IDRules) *bulkGetEntry {
	e := &bulkGetEntry{rev: []byte("null"), q: *q}
	if v.Kind() != ejson.Object || v.Len() == 0 {
		e.noID, e.err = true, compat.NewError(compat.KindBadRequest, "document must be a JSON object")
		return e
	}
	id, given := v.Get("id")
	if !given {
		e.noID, e.err = true, compat.NewError(compat.KindBadRequest, "document id missed")
		return e
	}
	e.id = id.Text()
	if err := compat.ValidateDocID(e.id, rules); err != nil {
		e.err, _ = compat.AsError(err)
		return e
	}
	e.open = docread.OpenRevsRequest{ID: e.id, OpenRevsOptions: docread.OpenRevsOptions{
		All: true, Latest: q.Latest, Open: docread.OpenOptions{Revs: q.Revs, Members: q.Members},
	}}
	if rev, given := v.Get("rev"); given {
		parsed, err := parseRevValue(rev)
		if err != nil {
			e.err, _ = compat.AsError(err)
			e.open, e.rev = docread.OpenRevsRequest{}, rev.AppendJSON(nil)
			return e
		}
		e.open.All, e.open.Revs = false, []compat.Rev{parsed}
	}
	if e.attsSince(v); e.err != nil {
		e.open = docread.OpenRevsRequest{}
	}
	return e
}

// attsSince takes the revisions whose attachments the client has already; only younger attachments
// are sent. An empty list is as if none was given. A fault stays in the entry, whose place in the
// answer shows it: it does not end the request. The misspelt name in the text is CouchDB's.
func (e *bulkGetEntry) attsSince(v ejson.Value) {
	list, given := v.Get("atts_since")
	if !given || (list.Kind() == ejson.Array && list.Len() == 0) {
		return
	}
	if list.Kind() != ejson.Array {
		e.err = compat.NewError(compat.KindBadRequest, "att_since value must be array of revs.")
		e.rev = list.AppendJSON(nil)
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

// parseRevValue reads a revision of a request's body; what is no string is as wrong as a malformed
// one.
func parseRevValue(v ejson.Value) (compat.Rev, error) {
	if v.Kind() != ejson.String {
		return compat.Rev{}, compat.ErrInvalidRev
	}
	return compat.ParseRev(v.Text())
}

// bulkGet calls part for every entry in order, with what was wrong, or with the revisions as they
// are read; more is false in the last call for an entry.
func bulkGet(
	c *call.Call,
	entries bulkGetEntries,
	part func(e *bulkGetEntry, revs []docread.RevResult, more bool) error,
) error {
	var ahead []*bulkGetEntry // asked for and not done, from number first on
	first := 0
	var rules compat.IDRules // from the snapshot that the revisions are read in
	asked := func(yield func(docread.OpenRevsRequest) bool) {
		for e := range entries(&rules) {
			if ahead = append(ahead, e); !yield(e.open) {
				return
			}
		}
	}
	each := func(i int, revs []docread.RevResult, more bool, refusal *compat.Error) error {
		ahead, first = ahead[i-first:], i
		e := ahead[0]
		if refusal != nil && e.err == nil {
			e.rev, e.err = []byte(`"undefined"`), refusal
		}
		return part(e, revs, more)
	}
	return c.Docs.TellingRules(func(r compat.IDRules) { rules = r }).BulkGet(c.Context(), asked, each)
}

// bulkGetJSON streams the answer as JSON. Revisions of one entry come in several calls, so the row
// is left open until the last of them; an entry that differs from the one before opens the next.
func bulkGetJSON(c *call.Call, entries bulkGetEntries) error {
	s := c.Stream(http.StatusOK)
	_ = s.Commit(append(s.Buffer(), `{"results":[`...)) // too little to be sent
	var row *bulkGetEntry
	err := bulkGet(c, entries, func(e *bulkGetEntry, revs []docread.RevResult, more bool) error {
		b := s.Buffer()
		if e != row {
			if row != nil {
				b = append(b, ',')
			}
			b = append(e.appendID(append(b, `{"id":`...)), `,"docs":[`...)
		} else {
			b = append(b, ',')
		}
		row = e
		b, err := appendBulkGetRevs(c, b, e, revs, s.Send)
		if err != nil {
			return err
		}
		if !more {
			b = append(b, "]}"...)
		}
		return s.Commit(b)
	})
	if err != nil {
		return err
	}
	return s.End("]}")
}

// appendBulkGetRevs appends what an entry's row has of some revisions.
func appendBulkGetRevs(
	c *call.Call,
	b []byte,
	e *bulkGetEntry,
	revs []docread.RevResult,
	send func([]byte) ([]byte, error),
) (_ []byte, err error) {
	if e.err != nil || len(revs) == 0 {
		return append(e.appendError(append(b, `{"error":`...)), '}'), nil //nolint:nilerr // the error is in the answer
	}
	for i := range revs {
		if i > 0 {
			b = append(b, ',')
		}
		r := &revs[i]
		if r.Doc == nil {
			b = append(b, `{"error":`...)
			b = e.appendErrorRow(b, r.Rev.AppendJSON(nil), compat.ErrMissing)
			b = append(b, '}')
			continue
		}
		b = append(b, `{"ok":`...)
		if b, err = c.Docs.View(r.Doc, &e.q).Append(c.Context(), b, e.q.Fields, send); err != nil {
			return b, err
		}
		b = append(b, '}')
	}
	return b, nil
}

// appendID prints the id of an entry, null where it had none.
func (e *bulkGetEntry) appendID(b []byte) []byte {
	if e.noID {
		return append(b, "null"...)
	}
	return ejson.AppendString(b, e.id)
}

// appendError appends the error of the whole entry; an unknown document has the revision
// `undefined`.
func (e *bulkGetEntry) appendError(b []byte) []byte {
	if e.err != nil {
		return e.appendErrorRow(b, e.rev, e.err)
	}
	return e.appendErrorRow(b, []byte(`"undefined"`), compat.ErrMissing)
}

// appendErrorRow prints the error of one revision, with the members in CouchDB's order.
func (e *bulkGetEntry) appendErrorRow(b, rev []byte, err *compat.Error) []byte {
	b = append(append(b, `{"rev":`...), rev...)
	b = ejson.AppendString(append(b, `,"reason":`...), err.Reason)
	b = e.appendID(append(b, `,"id":`...))
	b = ejson.AppendString(append(b, `,"error":`...), err.Word())
	return append(b, '}')
}

// bulkGetMultipart streams the answer as a multipart body: documents with attachments become parts
// of multipart/related, so that attachments are neither packed as base64 nor held in memory.
// Replicators of CouchDB ask for it.
func bulkGetMultipart(c *call.Call, entries bulkGetEntries, mediaType string) error {
	s := c.RawStream(http.StatusOK)
	w := multipart.NewBulkGetWriter(s, mediaType, multipart.NewBoundary)
	c.SetHeader("Content-Type", w.ContentType())
	err := bulkGet(c, entries, func(e *bulkGetEntry, revs []docread.RevResult, _ bool) error {
		if e.err != nil || len(revs) == 0 {
			return w.Error(e.appendError(nil))
		}
		for i := range revs {
			var err error
			if r := &revs[i]; r.Doc == nil {
				b := r.Rev.AppendJSON([]byte(`{"rev":`))
				err = w.Error(append(b, `,"error":"not_found","reason":"missing"}`...))
			} else {
				json, parts := c.Docs.Parts(c.Context(), r.Doc, &e.q)
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
