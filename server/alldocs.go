package server

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// listKind is one of the three lists of documents.
type listKind uint8

const (
	listAll listKind = iota
	listDesign
	listLocal
)

func (c *Call) listKind() listKind {
	switch c.Segment(1) {
	case "_design_docs":
		return listDesign
	case "_local_docs":
		return listLocal
	}
	return listAll
}

// allDocs serves _all_docs, _design_docs and _local_docs.
func allDocs(c *Call) error {
	var body ejson.Value
	if c.method == http.MethodPost {
		var err error
		if body, err = c.JSONRequest(); err != nil {
			return err
		}
	}
	o, err := compat.ParseAllDocsOptions(c.query, body)
	if err != nil {
		return err
	}
	if err := c.checkListOptions(o); err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if err := c.writeList(s, o, "\n"); err != nil {
		return err
	}
	return s.Close()
}

// allDocsQueries serves the …/queries endpoints: several lists in one answer. All queries are read before any is answered.
func allDocsQueries(c *Call) error {
	body, err := c.JSONObject()
	if err != nil {
		return err
	}
	queries, err := compat.QueriesMember(body)
	if err != nil {
		return err
	}
	defaults, err := compat.ParseViewDefaults(c.query)
	if err != nil {
		return err
	}
	lists := make([]*compat.ViewOptions, 0, queries.Len())
	for q := range queries.Elements() {
		o, err := defaults.ForQuery(q)
		if err != nil {
			return err
		}
		if err := c.checkListOptions(o); err != nil {
			return err
		}
		lists = append(lists, o)
	}
	if err := c.RequireDB(); err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"results":[`); err != nil {
		return err
	}
	separator := "\r\n"
	for _, o := range lists {
		if _, err := s.WriteString(separator); err != nil {
			return err
		}
		if err := c.writeList(s, o, ""); err != nil {
			return err
		}
		separator = ",\r\n"
	}
	if _, err := s.WriteString("\r\n]}\n"); err != nil {
		return err
	}
	return s.Close()
}

// checkListOptions checks the options together; only those that ask for a partition need to know the database.
func (c *Call) checkListOptions(o *compat.ViewOptions) error {
	limits := compat.ViewLimits{QueryLimit: c.set.queryLimit, PartitionQueryLimit: c.set.partitionQueryLimit}
	if o.Partition != nil {
		var err error
		if limits.Partitioned, err = c.db.Partitioned(c.Context()); err != nil {
			return err
		}
	}
	return o.CheckAllDocs(limits)
}

// listWriter writes one list to a stream.
type listWriter struct {
	c     *Call
	s     *Stream
	o     *compat.ViewOptions
	kind  listKind
	first bool
	// feed takes the rows in place of s: a list function.
	feed  *listRun
	batch [][]byte
}

// writeList answers one list and ends it with tail.
func (c *Call) writeList(s *Stream, o *compat.ViewOptions, tail string) error {
	w := &listWriter{c: c, s: s, o: o, kind: c.listKind(), first: true}
	if err := w.rows(); err != nil {
		return err
	}
	_, err := s.WriteString("\r\n]}" + tail)
	return err
}

// rows writes the header and the rows.
func (w *listWriter) rows() error {
	switch {
	case w.o.Keys.Kind() == ejson.Array:
		return w.byKeys()
	case w.kind == listLocal:
		return w.local()
	}
	header := func(h storage.ListHeader) error { return w.header(h, true) }
	return w.c.db.AllDocs(w.c.Context(), w.rangeOptions(), header, w.row)
}

// rangeOptions maps the options to a range of ids. Keys that are no strings compare like Erlang terms: below all strings.
func (w *listWriter) rangeOptions() storage.RangeOptions {
	o := w.o
	r := storage.RangeOptions{
		Descending: o.Descending, Skip: o.Skip, Limit: o.Limit, IncludeDocs: o.IncludeDocs,
		Conflicts: o.Conflicts == compat.Yes, WithSeq: o.UpdateSeq,
	}
	if w.kind == listDesign {
		r.Namespace = storage.NamespaceDesign
	}
	startEmpty, endEmpty := false, false
	r.Start, startEmpty = bound(o.StartKey, o.StartKeyDocID, o.Descending)
	r.End, endEmpty = bound(o.EndKey, o.EndKeyDocID, !o.Descending)
	r.End.Exclusive = !o.InclusiveEnd && o.EndKey.Kind() != ejson.Invalid
	if o.Partition != nil {
		clampToPartition(&r, *o.Partition)
	}
	if startEmpty || endEmpty {
		r = emptyRange(r, startEmpty)
	}
	return r
}

// bound is one end of the range: the key, else the document id given for the end. empty tells that the key lies beyond all
// ids in the direction of the listing; upper that the end is the greater one.
func bound(key ejson.Value, docID *string, upper bool) (b storage.Bound, empty bool) {
	switch {
	case key.Kind() == ejson.String:
		return storage.Bound{ID: key.Text(), Set: true}, false
	case key.Kind() != ejson.Invalid:
		return storage.Bound{}, upper
	case docID != nil:
		return storage.Bound{ID: *docID, Set: true}, false
	}
	return storage.Bound{}, false
}

// emptyRange keeps what the header shows, but has no rows: the range ends (or begins) below all ids.
func emptyRange(r storage.RangeOptions, atStart bool) storage.RangeOptions {
	lowest := storage.Bound{Set: true, Exclusive: true}
	if atStart {
		r.Start, r.End = lowest, storage.Bound{}
	} else {
		r.End = lowest
	}
	return r
}

// clampToPartition narrows a range to p: … p;.
func clampToPartition(r *storage.RangeOptions, partition string) {
	low, high := &r.Start, &r.End
	if r.Descending {
		low, high = high, low
	}
	if first := partition + ":"; !low.Set || low.ID < first {
		*low = storage.Bound{ID: first, Set: true}
	}
	if last := partition + ";"; !high.Set || high.ID >= last {
		*high = storage.Bound{ID: last, Set: true, Exclusive: true}
	}
}

func (w *listWriter) header(h storage.ListHeader, withOffset bool) error {
	b := strconv.AppendInt(append(w.buffer(), `{"total_rows":`...), h.Total, 10)
	if withOffset {
		b = strconv.AppendInt(append(b, `,"offset":`...), min(h.Offset, h.Total), 10)
	} else {
		b = append(b, `,"offset":null`...)
	}
	if w.o.UpdateSeq {
		b = append(b, `,"update_seq":`...)
		if withOffset {
			b = appendSeq(b, h.UpdateSeq)
		} else {
			b = append(b, "null"...)
		}
	}
	if w.feed != nil {
		return w.feedHeader(b)
	}
	return w.s.Commit(append(b, ",\"rows\":[\r\n"...))
}

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

func (w *listWriter) row(r *storage.ListRow) error {
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
	if w.o.IncludeDocs {
		var err error
		if b, err = w.doc(append(b, `,"doc":`...), r); err != nil {
			return err
		}
	}
	return w.commit(append(b, '}'))
}

// commit ends a row.
func (w *listWriter) commit(b []byte) error {
	if w.feed != nil {
		return w.feedRow(b)
	}
	return w.s.Commit(b)
}

func (w *listWriter) doc(b []byte, r *storage.ListRow) ([]byte, error) {
	if r.Doc == nil || r.Deleted {
		return append(b, "null"...), nil
	}
	if err := w.c.shown(r.Doc); err != nil {
		return nil, err
	}
	view, err := w.c.docView(r.Doc, &compat.DocOptions{Attachments: w.o.Attachments, AttEncodingInfo: w.o.AttEncodingInfo})
	if err != nil {
		return nil, err
	}
	if len(view.Conflicts) == 0 {
		view.Conflicts = nil
	}
	return compat.AppendDocument(b, view), nil
}

// notFound writes the row of a key without a document.
func (w *listWriter) notFound(key []byte) error {
	if w.feed != nil { // as list functions see it
		return w.feedRow(append(append([]byte(`{"id":"error","key":`), key...), `,"value":"not_found"}`...))
	}
	b := append(append(w.next(), `{"key":`...), key...)
	return w.s.Commit(append(b, `,"error":"not_found"}`...))
}

// byKeys looks ids up, in the order given. Keys outside the namespace of _design_docs and _local_docs are dropped.
func (w *listWriter) byKeys() error {
	keys := w.cut(slices.Collect(w.o.Keys.Elements()))
	var ids []string
	for _, k := range keys {
		if k.Kind() == ejson.String {
			ids = append(ids, k.Text())
		}
	}
	err := w.c.requirePartitions(func(yield func(string) bool) {
		for _, k := range keys {
			if !yield(k.Text()) { // "" for what is no string: it names no partition either
				return
			}
		}
	})
	if err != nil {
		return err
	}
	options := storage.RangeOptions{Limit: -1, IncludeDocs: w.o.IncludeDocs, Conflicts: w.o.Conflicts == compat.Yes}
	if w.kind == listDesign {
		options.Namespace = storage.NamespaceDesign
	}
	at := 0
	others := func() error { // the keys before the next string
		for ; at < len(keys) && keys[at].Kind() != ejson.String; at++ {
			if err := w.notFound(keys[at].AppendJSON(nil)); err != nil {
				return err
			}
		}
		return nil
	}
	err = w.c.db.DocsByID(w.c.Context(), ids, options, w.keysHeader, func(r *storage.ListRow) error {
		if err := others(); err != nil {
			return err
		}
		at++
		if !r.Found {
			return w.notFound(ejson.AppendString(nil, r.ID))
		}
		return w.row(r)
	})
	if err != nil {
		return err
	}
	return others()
}

func (w *listWriter) keysHeader(h storage.ListHeader) error {
	if w.kind == listLocal {
		return w.localHeader()
	}
	return w.header(h, false)
}

// cut applies descending, skip, limit and the namespace to a list of keys, in this order (fabric_view_all_docs:go).
func (w *listWriter) cut(keys []ejson.Value) []ejson.Value {
	if w.o.Descending {
		slices.Reverse(keys)
	}
	keys = keys[min(w.o.Skip, int64(len(keys))):]
	keys = keys[:min(w.o.Limit, int64(len(keys)))]
	if w.kind == listAll {
		return keys
	}
	inside := compat.IsDesignID
	if w.kind == listLocal {
		inside = compat.IsLocalID
	}
	return slices.DeleteFunc(keys, func(k ejson.Value) bool { return k.Kind() != ejson.String || !inside(k.Text()) })
}

// local lists the local documents, which are neither counted nor ranked.
func (w *listWriter) local() error {
	if err := w.c.RequireDB(); err != nil {
		return err
	}
	if err := w.localHeader(); err != nil {
		return err
	}
	return w.c.db.LocalDocs(w.c.Context(), w.rangeOptions(), w.row)
}

func (w *listWriter) localHeader() error {
	b := append(w.s.Buffer(), `{"total_rows":null,"offset":null`...)
	if w.o.UpdateSeq {
		b = append(b, `,"update_seq":null`...)
	}
	return w.s.Commit(append(b, ",\"rows\":[\r\n"...))
}
