package changes

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/listeners"
)

// changes serves GET and POST /{db}/_changes. The order of checks is CouchDB's: body, options,
// filter, feed, since.
func (h *handlers) changes(c *call.Call) error {
	body, err := changesBody(c)
	if err != nil {
		return err
	}
	o, err := params.ParseChanges(c.Query, c.Header("Last-Event-ID"), c.Settings.Follows36)
	if err != nil {
		return err
	}
	err = o.ReadFilter(c.Query, c.Method == http.MethodPost, body, c.Settings.Rules.PlusIsSpace)
	if err != nil {
		return err
	}
	var f *changesFeed
	err = deep(func() (err error) {
		f, err = h.feed(c, o, body)
		return err
	})
	if err != nil {
		return err
	}
	return f.serve()
}

// feed makes the feed that a request asks for.
func (h *handlers) feed(c *call.Call, o *params.ChangesOptions, body ejson.Value) (*changesFeed, error) {
	feed, err := c.Docs.Feed(c.Context(), &o.FeedOptions, func() *documents.Request {
		request := call.DesignRequest{}
		if body.Kind() != ejson.Invalid {
			request.Body = body.AppendJSON(nil)
		}
		return c.FunctionRequest(request)
	})
	if err != nil {
		return nil, err
	}
	// CouchDB reads the filter before it looks at the kind of feed, so that its errors come first.
	kind, err := o.CheckFeed()
	if err != nil {
		return nil, err
	}
	since, err := o.ParseSince()
	if err != nil {
		return nil, err
	}
	first, err := feed.Begin(c.Context(), since)
	if err != nil {
		return nil, err
	}
	some, err := c.Docs.Access().SeesSome(c.Context())
	if err != nil {
		return nil, err
	}
	f := &changesFeed{
		c:          c,
		working:    h.working,
		db:         c.DB,
		kind:       kind,
		scan:       feed.Scan,
		descending: o.Descending,
		limit:      o.Limit,
		left:       o.Limit,
		last:       first,
		interval:   o.SeqInterval,
		inside:     feed.Inside,
		slice:      some,
	}
	f.appendRow = changeRow(c, o, feed, func(b []byte) ([]byte, error) { return f.s.Send(b) })
	f.wait, f.heartbeat = o.Wait(time.Duration(c.Settings.ChangesTimeout) * time.Millisecond)
	return f, nil
}

// changesBody is the JSON of a POST; filters alone look into it. An empty body is fine.
func changesBody(c *call.Call) (ejson.Value, error) {
	if c.Method != http.MethodPost {
		return ejson.Value{}, nil
	}
	if err := c.RequireJSON(); err != nil {
		return ejson.Value{}, err
	}
	if !c.HasBody() {
		return ejson.Value{}, nil
	}
	body, err := c.JSONObject()
	if _, ok := body.Get("selector"); ok && err == nil {
		err = c.TakeParsed(selector.PatternSize(body), func() int64 { return selector.Size(body) })
	}
	return body, err
}

// rowFunc takes a row of a feed; storage.ErrStop ends the scan.
type rowFunc = func(*storage.Change) error

// scanFunc hands the rows after a sequence that pass the filter to row, at most limit;
// documents.Feed.Scan is one.
type scanFunc func(ctx context.Context, since storage.Seq, limit int64, row rowFunc) (storage.ChangesEnd, error)

// changesFeed is one running feed, of a database's changes or of _db_updates.
type changesFeed struct {
	c          *call.Call
	working    semaphore
	db         *storage.DB // whose changes these are
	kind       params.Feed
	scan       scanFunc
	appendRow  func(b []byte, ch *storage.Change, withSeq bool) ([]byte, error)
	descending bool
	limit      int64
	interval   int64 // seq_interval, 0 for none
	wait       time.Duration
	heartbeat  bool
	// reports that more rows of the last row's commit may come; nil: rows of a commit need not stay
	// together
	inside func() bool
	quiet  bool // _db_updates: no line feeds for waits and updates, no pending at the end
	// slice: the user sees only some documents, and is not told when others change
	slice bool

	mu      sync.Mutex // of s and spoke, held by who writes: rows, or heartbeats while the store is read
	s       *call.Stream
	left    int64 // rows still allowed
	last    storage.UpdateSeq
	pending int64
	waited  bool // the next round is one of what came after another
	spoke   bool // a row or a waiting mark went out, or into the buffer
}

// serve answers a normal feed at once and follows the others, which count as open until they end.
func (f *changesFeed) serve() error {
	if f.kind == params.FeedNormal {
		return f.normal()
	}
	f.c.Feed = true
	f.c.Env.Stats.OpenFeeds.Add(1)
	defer f.c.Env.Stats.OpenFeeds.Add(-1)
	return f.follow()
}

// normal answers with all rows there are now.
func (f *changesFeed) normal() error {
	now, err := f.db.Feed().Last(f.c.Context())
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
	quoted := documents.AppendSeq(nil, s)
	return quoted[1 : len(quoted)-1]
}

// follow answers with rows as they come (fabric_view_changes:keep_sending_changes).
func (f *changesFeed) follow() error {
	var listener *listeners.Listener
	err := deep(func() (err error) {
		listener, err = f.db.Feed().Listen(f.c.Context())
		return err
	})
	if err != nil {
		return err
	}
	defer listener.Close()
	f.start()
	timer := time.NewTimer(f.pause())
	defer timer.Stop()
	others := false // that others have changed something is not told, nor does it put off the next beat
	for mark := ""; ; {
		before := f.left
		done, err := f.work(mark)
		if err != nil || done {
			return err
		}
		if !others || f.left != before {
			timer.Reset(f.pause())
		}
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
		case <-f.c.Env.Stopping():
			return f.stop()
		case <-f.c.Context().Done():
			return call.ErrClientGone
		}
		mark, others = f.markOf(beat), f.slice && !beat
	}
}

// work waits until the feed may work, then sends a heartbeat or line feed (mark) and the rows that
// there are. done says that the feed has ended.
func (f *changesFeed) work(mark string) (done bool, err error) {
	end, err := f.working.acquire(f.c.Context())
	if err != nil {
		return true, call.ErrClientGone
	}
	defer end()
	err = deep(func() (err error) {
		done, err = f.send(mark)
		return err
	})
	return done, err
}

// send does what work says, once the feed may work.
func (f *changesFeed) send(mark string) (done bool, err error) {
	if mark != "" {
		f.s.WriteString(mark)
		if err := f.s.Flush(); err != nil {
			return true, err
		}
	}
	before := f.left
	if err := f.round(); err != nil {
		return true, err
	}
	f.waited = true
	if f.ended(before) || f.c.Env.Leaving() {
		return true, f.stop()
	}
	return false, f.waiting()
}

// Heartbeats are not sent more often than a client can need them: ten times a second where there
// are few feeds, each second where there are thousands. All that wait for less than a second send
// at most 2000 a second together, up to that number of feeds.
const (
	leastHeartbeat = 100 * time.Millisecond
	heartbeatShare = 500 * time.Microsecond // of each feed
	slowHeartbeat  = time.Second            // from which on clients get what they ask for
)

// pause is how long the feed waits for a change.
func (f *changesFeed) pause() time.Duration {
	if !f.heartbeat {
		return f.wait
	}
	feeds := f.c.Env.Stats.OpenFeeds.Value()
	return max(f.wait, leastHeartbeat, min(time.Duration(feeds)*heartbeatShare, slowHeartbeat))
}

// start begins the answer. A long poll is an object like a normal feed, the others have a row a
// line.
func (f *changesFeed) start() {
	if f.kind == params.FeedEventSource {
		f.c.SetHeader("Content-Type", "text/event-stream")
		f.c.SetHeader("Cache-Control", "no-cache")
	}
	f.s = f.c.Stream(http.StatusOK)
	if f.kind == params.FeedLongpoll {
		f.s.WriteString("{\"results\":[\n")
	}
}

// ended reports whether the feed ends after a round that began with so many rows allowed.
func (f *changesFeed) ended(before int64) bool {
	switch {
	case f.descending && f.pending <= 0:
		return true
	case f.kind == params.FeedLongpoll:
		return f.left < before
	}
	return f.left <= 0
}

// round sends the rows there are. While a feed follows, rows that the store does not answer for
// come in a later round.
func (f *changesFeed) round() error {
	var end storage.ChangesEnd
	err := f.withHeartbeats(func() (err error) {
		end, err = f.scan(f.c.Context(), f.last.Seq, f.left, f.row)
		return err
	})
	if f.kind != params.FeedNormal && !f.descending && isAway(err) {
		f.c.Env.Log.Warn("a feed waits for the store", "request", f.c.ID, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	f.last, f.pending = end.Last, end.Pending
	// A lookup leaves the rows pending that it did not look at (storage.Feed.ByID). Those that
	// came while the feed waited have been passed, whether it woke up once for two of them or for
	// each.
	if f.waited && !f.descending && f.left > 0 {
		f.pending = 0
	}
	return f.c.Outgoing.Hold(f.c.Context(), 0) // the feed may wait for hours
}

// isAway reports whether the store did not answer.
func isAway(err error) bool { return errors.Is(err, kv.ErrUnavailable) || errors.Is(err, kv.ErrTooOld) }

// row sends one change in the form of the feed: an event, a line, or an element of the list that is
// open. Heartbeats are written from another goroutine, so a row and what it counts are under one
// lock. A feed that goes backwards ends at the sequence that it began with, which Begin gave.
func (f *changesFeed) row(ch *storage.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.s.Buffer()
	switch {
	case f.kind == params.FeedEventSource:
		b = append(b, "data: "...)
	case f.kind != params.FeedContinuous && f.left < f.limit:
		b = append(b, ",\r\n"...)
	}
	withSeq := f.interval == 0 || f.left%f.interval == 0
	b, err := f.appendRow(b, ch, withSeq)
	if err != nil {
		return err
	}
	switch f.kind {
	case params.FeedEventSource:
		b = append(b, "\nid: "...)
		b = appendRowSeq(b, ch, withSeq)
		b = append(b, "\n\n"...)
	case params.FeedContinuous:
		b = append(b, '\n')
	}
	f.left--
	f.spoke = true
	if !f.descending {
		f.last = ch.Seq
	}
	return f.s.Commit(b)
}

// appendRowSeq appends the sequence of a row, null between the rows that seq_interval asks for.
func appendRowSeq(b []byte, ch *storage.Change, withSeq bool) []byte {
	if !withSeq {
		return append(b, "null"...)
	}
	return documents.AppendSeq(b, ch.Seq)
}

// changeRow prints rows of _changes.
func changeRow(
	c *call.Call,
	o *params.ChangesOptions,
	feed *documents.Feed,
	send func([]byte) ([]byte, error),
) func([]byte, *storage.Change, bool) ([]byte, error) {
	return func(b []byte, ch *storage.Change, withSeq bool) ([]byte, error) {
		b = appendRowSeq(append(b, `{"seq":`...), ch, withSeq)
		b = appendChange(b, ch)
		if o.Group {
			b = append(base64.RawURLEncoding.AppendEncode(append(b, `,"commit":"`...), commitOf(ch.Seq.Seq)), '"')
		}
		if o.IncludeDocs {
			var err error
			if b, err = feed.AppendDoc(c.Context(), append(b, `,"doc":`...), ch, send); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
}

// commitOf is the part of a sequence that all rows of one commit share.
func commitOf(seq storage.Seq) []byte {
	return append([]byte{seq.Incarnation}, seq.Versionstamp[:documents.CommitSize]...)
}

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
	if ch.Revoked {
		b = append(b, `,"revoked":true`...)
	}
	return b
}

// waiting sends what is in the buffer before the feed sleeps; a feed that has said nothing yet
// shows with a line feed that it is there (changes_callback(waiting_for_updates)).
func (f *changesFeed) waiting() error {
	if !f.spoke && !f.quiet {
		f.spoke = true
		f.s.WriteString("\n")
	}
	if err := f.s.Flush(); err != nil {
		return err
	}
	f.s.Rest()
	return nil
}

// markOf returns what is sent at the end of a wait, "" for nothing. _changes sends a line feed for
// an update as well as for a heartbeat.
func (f *changesFeed) markOf(beat bool) string {
	switch {
	case f.slice && !beat:
		return ""
	case f.kind == params.FeedEventSource:
		return "event: heartbeat\ndata: \n\n"
	case f.quiet && !beat:
		return ""
	}
	return "\n"
}

// stop ends the answer. An eventsource has no last line; it ends with a line feed only where rows
// are just before it.
func (f *changesFeed) stop() error {
	b := f.s.Buffer()
	switch f.kind {
	case params.FeedEventSource:
		if len(b) > 0 {
			b = append(b, '\n')
		}
	case params.FeedContinuous:
		b = append(f.appendEnd(append(b, '{')), '\n', '\n')
	default:
		b = append(f.appendEnd(append(b, "\n],\n"...)), '\n', '\n')
	}
	if err := f.s.Commit(b); err != nil {
		return err
	}
	return f.s.Close()
}

// appendEnd appends the object with last_seq, which ends a feed.
func (f *changesFeed) appendEnd(b []byte) []byte {
	b = documents.AppendSeq(append(b, `"last_seq":`...), f.last)
	if !f.quiet {
		b = strconv.AppendInt(append(b, `,"pending":`...), f.pending, 10)
	}
	return append(b, '}')
}

// withHeartbeats reads the store for the feed while a timer goes on sending heartbeats between
// rows. A scan that passes over many rows may take longer than a client waits.
func (f *changesFeed) withHeartbeats(read func() error) error {
	if !f.heartbeat || f.s == nil {
		return read()
	}
	ended := false // under mu
	var beat *time.Timer
	f.mu.Lock()
	beat = time.AfterFunc(f.pause(), func() {
		f.mu.Lock() // when the row that is on its way has been sent
		defer f.mu.Unlock()
		if ended {
			return
		}
		if f.inside == nil || !f.inside() { // nothing comes between the rows of a commit
			f.s.WriteString(f.markOf(true))
			if f.s.Flush() != nil {
				return
			}
		}
		beat.Reset(f.pause())
	})
	f.mu.Unlock()
	err := read()
	beat.Stop()
	f.mu.Lock()
	ended = true
	f.mu.Unlock()
	return err
}
