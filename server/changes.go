package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
)

// changes serves GET and POST /{db}/_changes. The order of checks is CouchDB's: body, options, filter, feed, since.
func changes(c *Call) error {
	body, err := c.changesBody()
	if err != nil {
		return err
	}
	o, err := compat.ParseChangesOptions(c.query, c.Header("Last-Event-ID"))
	if err != nil {
		return err
	}
	filter, err := c.changesFilter(o, body)
	if err != nil {
		return err
	}
	kind, err := o.CheckFeed()
	if err != nil {
		return err
	}
	since, err := c.changesSince(o)
	if err != nil {
		return err
	}
	f := &changesFeed{c: c, db: c.db, kind: kind, scan: filter.scan, descending: o.Descending, limit: o.Limit, left: o.Limit, last: since,
		interval: o.SeqInterval, appendRow: c.changeRow(o, filter.fields)}
	if filter.function != nil {
		filter.function.feed = f
	}
	f.wait, f.heartbeat = o.Wait(time.Duration(c.set.changesTimeout) * time.Millisecond)
	return f.serve()
}

// changesBody is the JSON of a POST; filters alone look into it. An empty body is fine.
func (c *Call) changesBody() (ejson.Value, error) {
	if c.method != http.MethodPost {
		return ejson.Value{}, nil
	}
	if err := c.RequireJSON(); err != nil {
		return ejson.Value{}, err
	}
	if !c.HasBody() {
		return ejson.Value{}, nil
	}
	return c.JSONObject()
}

// changesSince is where the feed begins. A descending feed does not look at since.
func (c *Call) changesSince(o *compat.ChangesOptions) (storage.UpdateSeq, error) {
	if o.Descending {
		return storage.UpdateSeq{}, nil
	}
	since, err := compat.ParseSince(o.Since)
	if err != nil {
		return storage.UpdateSeq{}, err
	}
	if since.Now {
		return c.db.LastSeq(c.Context())
	}
	return storage.UpdateSeq{Seq: since.Seq}, nil
}

// appendSeq appends a sequence as a JSON string.
func appendSeq(b []byte, s storage.UpdateSeq) []byte {
	return append(compat.AppendSeq(append(b, '"'), s.N, s.Seq), '"')
}

// scanFunc hands the rows after a sequence that pass the filter to row, at most limit.
type scanFunc func(since storage.Seq, limit int64, row func(*storage.Change) error) (storage.ChangesEnd, error)

// changesFeed is one running feed, of a database's changes or of _db_updates.
type changesFeed struct {
	c          *Call
	db         *storage.DB // whose changes these are
	kind       compat.Feed
	scan       scanFunc
	appendRow  func(b []byte, ch *storage.Change, withSeq bool) ([]byte, error)
	descending bool
	limit      int64
	interval   int64 // seq_interval, 0 for none
	wait       time.Duration
	heartbeat  bool
	quiet      bool // _db_updates: no line feeds for waits and updates, no pending at the end

	s       *Stream
	left    int64 // rows still allowed
	last    storage.UpdateSeq
	pending int64
	spoke   bool // a row or a waiting mark went out, or into the buffer
}

func (f *changesFeed) serve() error {
	if f.kind == compat.FeedNormal {
		return f.normal()
	}
	f.c.srv.stats.add(openFeeds, 1)
	defer f.c.srv.stats.add(openFeeds, -1)
	return f.follow()
}

// openFeeds is the name of the gauge of feeds that wait.
const openFeeds = "couchdb.httpd.clients_requesting_changes"

// normal answers with all rows there are now.
func (f *changesFeed) normal() error {
	now, err := f.db.LastSeq(f.c.Context())
	if err != nil {
		return err
	}
	if f.c.NotModified(string(appendSeqText(now))) {
		return nil
	}
	f.s = f.c.Stream(http.StatusOK)
	f.s.WriteString("{\"results\":[\n")
	if err := f.round(); err != nil {
		return err
	}
	return f.stop()
}

// appendSeqText is a sequence as an ETag: it changes with every write.
func appendSeqText(s storage.UpdateSeq) []byte {
	quoted := appendSeq(nil, s)
	return quoted[1 : len(quoted)-1]
}

// follow answers with rows as they come (fabric_view_changes:keep_sending_changes).
func (f *changesFeed) follow() error {
	listener, err := f.db.Listen(f.c.Context())
	if err != nil {
		return err
	}
	defer listener.Close()
	f.start()
	timer := time.NewTimer(f.wait)
	defer timer.Stop()
	for {
		before := f.left
		if err := f.round(); err != nil {
			return err
		}
		if f.ended(before) || f.c.srv.leaving() {
			return f.stop()
		}
		if err := f.waiting(); err != nil {
			return err
		}
		timer.Reset(f.wait)
		beat := false
		select {
		case <-listener.C():
			if err := listener.Wait(f.c.Context()); err != nil {
				return f.stop() // the database is gone
			}
		case <-timer.C:
			if !f.heartbeat {
				return f.stop()
			}
			beat = true
		case <-f.c.srv.Stopping():
			return f.stop()
		case <-f.c.Context().Done():
			return errClientGone
		}
		if err := f.wakeUp(beat); err != nil {
			return err
		}
	}
}

func (f *changesFeed) start() {
	if f.kind == compat.FeedEventSource {
		f.c.SetHeader("Content-Type", "text/event-stream")
		f.c.SetHeader("Cache-Control", "no-cache")
	}
	f.s = f.c.Stream(http.StatusOK)
	if f.kind == compat.FeedLongpoll {
		f.s.WriteString("{\"results\":[\n")
	}
}

// ended tells whether the feed ends after a round that began with so many rows allowed.
func (f *changesFeed) ended(before int64) bool {
	switch {
	case f.descending && f.pending <= 0:
		return true
	case f.kind == compat.FeedLongpoll:
		return f.left < before
	}
	return f.left <= 0
}

// round sends the rows there are.
func (f *changesFeed) round() error {
	end, err := f.scan(f.last.Seq, f.left, f.row)
	if err != nil {
		return err
	}
	f.last, f.pending = end.Last, end.Pending
	return nil
}

func (f *changesFeed) row(ch *storage.Change) error {
	b := f.s.Buffer()
	switch {
	case f.kind == compat.FeedEventSource:
		b = append(b, "data: "...)
	case f.kind != compat.FeedContinuous && f.left < f.limit:
		b = append(b, ",\r\n"...)
	}
	withSeq := f.interval == 0 || f.left%f.interval == 0
	b, err := f.appendRow(b, ch, withSeq)
	if err != nil {
		return err
	}
	switch f.kind {
	case compat.FeedEventSource:
		b = append(b, "\nid: "...)
		b = appendRowSeq(b, ch, withSeq)
		b = append(b, "\n\n"...)
	case compat.FeedContinuous:
		b = append(b, '\n')
	}
	f.left--
	f.spoke = true
	return f.s.Commit(b)
}

func appendRowSeq(b []byte, ch *storage.Change, withSeq bool) []byte {
	if !withSeq {
		return append(b, "null"...)
	}
	return appendSeq(b, ch.Seq)
}

// changeRow prints rows of _changes. Of documents it shows the fields, all if they are nil.
func (c *Call) changeRow(o *compat.ChangesOptions, fields *mango.Fields) func([]byte, *storage.Change, bool) ([]byte, error) {
	view := &compat.DocOptions{Attachments: o.Attachments, AttEncodingInfo: o.AttEncodingInfo}
	return func(b []byte, ch *storage.Change, withSeq bool) ([]byte, error) {
		b = appendRowSeq(append(b, `{"seq":`...), ch, withSeq)
		b = appendChange(b, ch)
		if o.IncludeDocs {
			b = append(b, `,"doc":`...)
			if ch.Doc == nil || !c.showable(ch.Doc) {
				b = append(b, "null"...)
			} else {
				doc, err := c.docView(ch.Doc, view)
				if err != nil {
					return b, err
				}
				start := len(b)
				b = compat.AppendDocument(b, doc)
				if fields != nil {
					if b, err = appendFields(b, start, fields); err != nil {
						return b, err
					}
				}
			}
		}
		return append(b, '}'), nil
	}
}

// showable takes out of a document what the user may not see; false if that is all of it.
func (c *Call) showable(d *storage.Document) bool { return !c.hidesDocs() || c.shown(d) == nil }

// appendChange appends the members of a row after its seq.
func appendChange(b []byte, ch *storage.Change) []byte {
	b = ejson.AppendString(append(b, `,"id":`...), ch.ID)
	b = append(b, `,"changes":[`...)
	for i, rev := range ch.Revs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rev.AppendJSON(append(b, `{"rev":`...)), '}')
	}
	b = append(b, ']')
	if ch.Deleted {
		b = append(b, `,"deleted":true`...)
	}
	return b
}

// waiting sends what is in the buffer before the feed sleeps; a feed that has said nothing yet shows with a line feed that it
// is there (changes_callback(waiting_for_updates)).
func (f *changesFeed) waiting() error {
	if !f.spoke && !f.quiet {
		f.spoke = true
		f.s.WriteString("\n")
	}
	return f.s.Flush()
}

// wakeUp marks the end of a wait: in _changes for an update as for a heartbeat.
func (f *changesFeed) wakeUp(beat bool) error {
	mark := "\n"
	switch {
	case f.kind == compat.FeedEventSource:
		mark = "event: heartbeat\ndata: \n\n"
	case f.quiet && !beat:
		return nil
	}
	f.s.WriteString(mark)
	return f.s.Flush()
}

// stop ends the answer. An eventsource has no last line; it ends with a line feed only where rows are just before it.
func (f *changesFeed) stop() error {
	b := f.s.Buffer()
	switch f.kind {
	case compat.FeedEventSource:
		if len(b) > 0 {
			b = append(b, '\n')
		}
	case compat.FeedContinuous:
		b = append(f.appendEnd(append(b, '{')), '\n', '\n')
	default:
		b = append(f.appendEnd(append(b, "\n],\n"...)), '\n', '\n')
	}
	if err := f.s.Commit(b); err != nil {
		return err
	}
	return f.s.Close()
}

func (f *changesFeed) appendEnd(b []byte) []byte {
	b = appendSeq(append(b, `"last_seq":`...), f.last)
	if !f.quiet {
		b = strconv.AppendInt(append(b, `,"pending":`...), f.pending, 10)
	}
	return append(b, '}')
}
