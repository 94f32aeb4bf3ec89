package designs

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/lists"
	"github.com/settee-db/settee/server/queries"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views"
)

// listRun is a list function at work. Two goroutines share it: the handler's reads rows and offers
// them, the other one has the conversation with the function and writes the answer.
type listRun struct {
	c    *call.Call
	list *listRequest
	js   *js.Design

	asks    chan struct{} // one when the function asks for its first rows
	rows    chan [][]byte // closed at the end of the rows
	done    chan struct{} // closed at the end of the conversation
	started bool
	cancel  context.CancelFunc
	batch   [][]byte // rows gathered
	size    int      // bytes of these

	// What follows belongs to the conversation.

	err      error
	response *designResponse
	out      *call.Stream // nil before the first chunk
	mute     bool         // the client takes no more
	reading  bool         // a row was read
	ended    bool         // the end was read
}

func newListRun(c *call.Call, functions *js.Design, l *listRequest) *listRun {
	return &listRun{
		c: c, list: l, js: functions,
		asks: make(chan struct{}, 1), rows: make(chan [][]byte), done: make(chan struct{}),
	}
}

// errListDone ends the query when the function wants no more rows.
var errListDone = errors.New("the list has ended")

// start begins the conversation; head is the function's first argument. It returns when the function
// asks for rows, so that of lists that wait for a worker none holds rows: as many do as there are
// workers. The error is errListDone where the function wants none.
func (l *listRun) start(head []byte) error {
	ctx, cancel := context.WithCancel(l.c.Context())
	l.started, l.cancel = true, cancel
	go func() {
		defer close(l.done)
		l.err = l.js.List(ctx, l.list.name, head, l.list.req, js.ListIO{Output: l.output, Rows: l.next})
	}()
	select {
	case <-l.asks:
		return nil
	case <-l.done:
		return errListDone
	}
}

// offer gives the rows gathered to the function when it asks for them.
func (l *listRun) offer() error {
	rows := l.batch
	if l.batch, l.size = nil, 0; len(rows) == 0 {
		return nil
	}
	select {
	case l.rows <- rows:
		return nil
	case <-l.done:
		return errListDone
	}
}

// next is js.ListIO's Rows.
func (l *listRun) next() ([][]byte, error) {
	if l.mute {
		l.ended = true
		return nil, nil
	}
	select {
	case l.asks <- struct{}{}: // nobody looks after the first
	default:
	}
	rows, more := <-l.rows
	l.reading, l.ended = l.reading || more, !more
	return rows, nil
}

// output is js.ListIO's Output: a message with chunks and perhaps a head
// (couch_mrview_show:list_cb).
func (l *listRun) output(message ejson.Value) error {
	chunks, head, err := listMessage(message)
	if err != nil {
		return err
	}
	if head.Kind() == ejson.Object {
		response, err := parseResponse(head, http.StatusOK)
		if err != nil {
			return brokenList{err}
		}
		response.json = nil
		response.complete(l.c.Settings.ShowPolicy)
		l.response = response
	}
	if chunks.Len() == 0 {
		return nil
	}
	text, ok := compat.IOText(chunks)
	l.write(text)
	if !ok {
		return brokenList{compat.ErrBadArg}
	}
	return nil
}

// listMessage takes a message apart: [word, chunks] or [word, chunks, head], where the head is an
// object.
func listMessage(message ejson.Value) (chunks, head ejson.Value, err error) {
	var parts [3]ejson.Value
	n := 0
	for e := range message.Elements() {
		if n == len(parts) {
			return chunks, head, badMatch(message)
		}
		parts[n] = e
		n++
	}
	if n < 2 || parts[1].Kind() != ejson.Array {
		return chunks, head, badMatch(message)
	}
	if n == 3 && parts[2].Kind() != ejson.Object {
		return chunks, head, brokenList{compat.ErrFunctionClause}
	}
	return parts[1], parts[2], nil
}

// brokenList is the error of a function that breaks the protocol of the query server, unlike one
// that throws.
type brokenList struct{ error }

// Unwrap gives the error itself.
func (e brokenList) Unwrap() error { return e.error }

// write sends a part of the answer; the first one brings status and headers. A client that is gone
// does not stop the function.
func (l *listRun) write(text string) {
	if l.mute {
		return
	}
	if l.out == nil {
		l.begin(l.response.code)
	}
	if _, err := l.out.WriteString(text); err != nil {
		l.mute = true
	}
}

// begin sends the head that the function has set. A client that asked with HEAD gets no more, but
// the function runs to its end.
func (l *listRun) begin(status int) {
	setDesignHeaders(l.c, l.response.headers)
	l.out = l.c.RawStream(status)
	if l.c.IsHead() {
		_ = l.out.Flush()
		l.mute = true
	}
}

// finish waits for the end of the conversation and ends the answer. err is why there were no more
// rows, nil if all were read.
func (l *listRun) finish(err error) error {
	if !l.started {
		return queryError(err)
	}
	if errors.Is(err, errListDone) {
		err = nil
	}
	if err != nil {
		l.cancel()
	} else {
		close(l.rows)
	}
	<-l.done
	l.cancel()
	switch {
	case err != nil:
		return err
	case l.err != nil:
		return l.fail(documents.FunctionError(l.err))
	case l.out == nil:
		return l.c.Bytes(http.StatusOK, nil)
	}
	return l.out.Close()
}

// queryError is an error of the query before its first row. Those that come from the view itself
// are a crash of the real server.
func queryError(err error) error {
	if e, ok := compat.AsError(err); ok && e.Kind != compat.KindNotFound && e.Kind != compat.KindNoDatabase {
		return compat.ErrFunctionClause
	}
	return err
}

// fail answers an error of the function. Once it has read a row, the error goes out as the end of
// the body, with the status of the error where nothing was sent before (chttpd:send_chunked_error).
func (l *listRun) fail(err error) error {
	e, wire := compat.AsError(err)
	var broken brokenList
	if !wire || !l.reading || l.ended || errors.As(err, &broken) {
		switch {
		case l.out == nil:
		case l.c.IsHead(): // the answer is whole
			return l.out.Close()
		default:
			_ = l.out.Flush() // then the answer breaks off
		}
		return err
	}
	if l.out == nil {
		l.begin(e.Status())
	}
	var raw *js.RawError
	if errors.As(err, &raw) {
		l.write(raw.Body)
		return l.out.Close()
	}
	b := strconv.AppendInt([]byte("\n{\"code\":"), int64(e.Status()), 10)
	b = ejson.AppendString(append(b, `,"error":`...), e.Word())
	b = e.AppendReason(append(b, `,"reason":`...))
	l.write(string(append(b, "}\n"...)))
	return l.out.Close()
}

// query feeds the function with the rows of a view.
func (l *listRun) query() error {
	sink := &listSink{run: l, docs: queries.NewRowDocs(l.c, l.list.options)}
	return l.list.view.Query(l.c.Context(), &l.list.options.Query, sink)
}

// listSink is the views.Sink of a list function.
type listSink struct {
	run  *listRun
	docs *queries.RowDocs // reads and prints documents
}

// Head implements views.Sink.
func (s *listSink) Head(h *views.Head) error {
	b := []byte{'{'}
	if !h.Reduced {
		b = strconv.AppendInt(append(b, `"total_rows":`...), h.TotalRows, 10)
		b = strconv.AppendInt(append(b, `,"offset":`...), h.Offset, 10)
	}
	if s.run.list.options.UpdateSeq {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = documents.AppendUpdateSeq(append(b, `"update_seq":`...), h.UpdateSeq)
	}
	return s.run.start(append(b, '}'))
}

// Rows implements views.Sink.
func (s *listSink) Rows(snapshot *storage.Snapshot, rows []views.Row) (taken int, err error) {
	taken, err = s.docs.Each(snapshot, rows, func(i int, doc *queries.RowDoc) error {
		b, err := s.docs.AppendRow(make([]byte, 0, 64+len(rows[i].Key)+len(rows[i].Value)), &rows[i], doc, nil)
		if err != nil {
			return err
		}
		return s.run.gather(b)
	})
	if err == nil {
		err = s.run.offer()
	}
	return taken, err
}

// allDocs feeds the function with the rows of _all_docs.
func (l *listRun) allDocs() error {
	feed := &documentFeed{run: l}
	if err := lists.Into(l.c, l.list.docs, feed); err != nil {
		return err
	}
	return l.offer()
}

// listBatch is how many rows a list function gets at a time, listBytes how many bytes of them, but
// for the last row.
const (
	listBatch = 128
	listBytes = 1 << 20
)

// documentFeed gives rows of _all_docs to a list function; it is a lists.Feed.
type documentFeed struct{ run *listRun }

// Head gives the function its head.
func (f *documentFeed) Head(members []byte) error {
	return f.run.start(append(members, '}'))
}

// Row gives the function a row.
func (f *documentFeed) Row(row []byte) error { return f.run.gather(row) }

// gather takes a row, and offers rows when there are enough of them.
func (l *listRun) gather(row []byte) error {
	l.batch, l.size = append(l.batch, row), l.size+len(row)
	if len(l.batch) < listBatch && l.size < listBytes {
		return nil
	}
	return l.offer()
}
