package lists

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage"
)

// listKind is the list that the path names.
func listKind(c *call.Call) documents.ListKind {
	switch c.Segment(1) {
	case "_design_docs":
		return documents.ListDesign
	case "_local_docs":
		return documents.ListLocal
	}
	return documents.ListAll
}

// allDocs serves _all_docs, _design_docs and _local_docs.
func allDocs(c *call.Call) error {
	var body ejson.Value
	if c.Method == http.MethodPost {
		var err error
		if body, err = c.JSONRequest(); err != nil {
			return err
		}
	}
	o, err := params.ParseAllDocs(c.Query, body)
	if err != nil {
		return err
	}
	asked, err := checkShown(c, o)
	if err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if err := writeList(c, s, asked, "\n"); err != nil {
		return err
	}
	return s.Close()
}

// Check checks the options of a list together; only those that ask for a partition need to know the
// database.
func Check(c *call.Call, o *params.ViewOptions) (*documents.ListOptions, error) {
	rules := &c.Settings.Rules
	limits := params.Limits{QueryLimit: rules.QueryLimit, PartitionQueryLimit: rules.PartitionQueryLimit}
	if o.Partition != "" {
		var err error
		if limits.Partitioned, err = c.DB.Settings().Partitioned(c.Context()); err != nil {
			return nil, err
		}
	}
	return o.List(limits)
}

// checkShown is Check for lists that are shown as they are, of whose documents some fields may be
// asked for. In the query of a list function that name is the function's.
func checkShown(c *call.Call, o *params.ViewOptions) (*documents.ListOptions, error) {
	asked, err := Check(c, o)
	if err != nil {
		return nil, err
	}
	asked.Fields, err = o.ShownFields()
	return asked, err
}

// allDocsQueries serves the …/queries endpoints: several lists in one answer. All queries are read
// before any is answered.
func allDocsQueries(c *call.Call) error {
	body, err := c.JSONObject()
	if err != nil {
		return err
	}
	queries, err := params.Queries(body)
	if err != nil {
		return err
	}
	defaults, err := params.ParseViewDefaults(c.Query)
	if err != nil {
		return err
	}
	read := func(query ejson.Value) (*documents.ListOptions, error) {
		o, err := defaults.ForQuery(query)
		if err != nil {
			return nil, err
		}
		return checkShown(c, o)
	}
	for q := range queries.Elements() { // only checked: there may be a million
		if _, err := read(q); err != nil {
			return err
		}
	}
	// An empty list of queries reads nothing that would find out that the database is missing.
	if err := c.RequireDB(); err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"results":[`); err != nil {
		return err
	}
	separator := "\r\n"
	for q := range queries.Elements() {
		asked, err := read(q)
		if err != nil {
			return err
		}
		if _, err := s.WriteString(separator); err != nil {
			return err
		}
		if err := writeList(c, s, asked, ""); err != nil {
			return err
		}
		separator = ",\r\n"
	}
	if _, err := s.WriteString("\r\n]}\n"); err != nil {
		return err
	}
	return s.Close()
}

// listWriter is the documents.ListSink that writes a list to a stream.
type listWriter struct {
	c     *call.Call
	s     *call.Stream
	list  *documents.List
	asked *documents.ListOptions
	first bool
	feed  Feed // takes the rows in place of s
}

// Feed takes what an answer would show of a list: the members of its head, without the closing
// brace, and its rows.
type Feed interface {
	Head(members []byte) error
	Row(row []byte) error
}

// Into gives the list of all documents to a feed.
func Into(c *call.Call, asked *documents.ListOptions, feed Feed) error {
	list := c.Docs.List(documents.ListAll, asked)
	return list.Rows(c.Context(), &listWriter{c: c, list: list, asked: asked, feed: feed})
}

// writeList answers one list and ends it with tail.
func writeList(c *call.Call, s *call.Stream, asked *documents.ListOptions, tail string) error {
	list := c.Docs.List(listKind(c), asked)
	w := &listWriter{c: c, s: s, list: list, asked: asked, first: true}
	if err := list.Rows(c.Context(), w); err != nil {
		return err
	}
	_, err := s.WriteString("\r\n]}" + tail)
	return err
}

// Head implements documents.ListSink.
func (w *listWriter) Head(h documents.ListHead) error {
	b := append(w.buffer(), `{"total_rows":`...)
	counted := h.Total >= 0 // else counting what a user sees would take too long
	if h.Counted && counted {
		b = strconv.AppendInt(b, h.Total, 10)
	} else {
		b = append(b, "null"...)
	}
	if h.Ranked && counted && h.Offset >= 0 {
		b = strconv.AppendInt(append(b, `,"offset":`...), min(h.Offset, h.Total), 10)
	} else {
		b = append(b, `,"offset":null`...)
	}
	switch {
	case w.asked.Range.WithSeq && h.Ranked:
		b = documents.AppendUpdateSeq(append(b, `,"update_seq":`...), h.UpdateSeq)
	case w.asked.Range.WithSeq:
		b = append(b, `,"update_seq":null`...)
	}
	if w.feed != nil {
		return w.feed.Head(b)
	}
	return w.s.Commit(append(b, ",\"rows\":[\r\n"...))
}

// buffer is what the next row is printed into; a feed makes its own.
func (w *listWriter) buffer() []byte {
	if w.feed != nil {
		return nil
	}
	return w.s.Buffer()
}

// next begins a row.
func (w *listWriter) next() []byte {
	b := w.buffer()
	if !w.first && w.feed == nil {
		b = append(b, ",\r\n"...)
	}
	w.first = false
	return b
}

// Row implements documents.ListSink.
func (w *listWriter) Row(r *storage.ListRow) error {
	b := append(w.next(), `{"id":`...)
	at := len(b)
	b = ejson.AppendString(b, r.ID)
	id := b[at:]
	b = append(append(b, `,"key":`...), id...)
	b = r.Rev.AppendJSON(append(b, `,"value":{"rev":`...))
	if r.Deleted {
		b = append(b, `,"deleted":true`...)
	}
	b = append(b, '}')
	if w.asked.Range.IncludeDocs {
		var err error
		if b, err = w.list.AppendDoc(w.c.Context(), append(b, `,"doc":`...), r, w.send()); err != nil {
			return err
		}
	}
	return w.commit(append(b, '}'))
}

// send sends what there is of a row; a feed takes whole rows.
func (w *listWriter) send() func([]byte) ([]byte, error) {
	if w.feed != nil {
		return nil
	}
	return w.s.Send
}

// commit ends a row.
func (w *listWriter) commit(b []byte) error {
	if w.feed != nil {
		return w.feed.Row(b)
	}
	return w.s.Commit(b)
}

// NotFound implements documents.ListSink.
func (w *listWriter) NotFound(key []byte) error {
	if w.feed != nil { // as list functions see it
		return w.feed.Row(append(append([]byte(`{"id":"error","key":`), key...), `,"value":"not_found"}`...))
	}
	b := append(append(w.next(), `{"key":`...), key...)
	return w.s.Commit(append(b, `,"error":"not_found"}`...))
}
