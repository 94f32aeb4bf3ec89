package localpeer

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage"
)

// chunkRows is how many rows are read in one transaction: the feed must not hold one while the
// other end is slow.
const chunkRows = 1000

// Changes implements replication.Peer.
func (p *peer) Changes(
	ctx context.Context,
	r replication.ChangesRequest,
	row func(replication.ChangeRow) error,
) (replication.Sequence, error) {
	query, body := r.Query()
	d := p.database()
	if err := d.Access().Authorize(ctx, true); err != nil {
		return "", changesError(err)
	}
	f := &feed{d: d, row: row, continuous: r.Options.Continuous, silence: max(time.Second, r.Options.Timeout/3)}
	if err := f.prepare(ctx, queryOf(query), body); err != nil {
		return "", changesError(err)
	}
	err := f.run(ctx)
	var own *rowError
	if errors.As(err, &own) {
		err = own.err
	}
	return f.lastSeq(), err
}

// changesError gives errors of the feed the form they have over HTTP.
func changesError(err error) error {
	if e, wire := compat.AsError(err); wire {
		return replication.RequestFailed("changes_req_failed", e.Status(), e.Word(), e.Reason)
	}
	return err
}

// feed reads the changes of a local database.
type feed struct {
	d          *documents.Database
	row        func(replication.ChangeRow) error
	changes    *documents.Feed
	continuous bool
	silence    time.Duration // after which a continuous feed ends
	last       storage.UpdateSeq
	until      storage.Seq // of a normal feed: the end as of its beginning
}

// rowError is an error of the caller's function.
type rowError struct{ err error }

// Error implements error.
func (e *rowError) Error() string { return e.err.Error() }

// prepare reads the options of a feed in the order in which the HTTP handler of _changes reads
// them, so that a replication inside this process gets the same error from the same fault. until is
// the end of the feed at this moment, where a feed that is not continuous stops.
func (f *feed) prepare(ctx context.Context, query compat.Query, body []byte) error {
	o, err := params.ParseChanges(query, "", false)
	if err != nil {
		return err
	}
	var posted ejson.Value
	if body != nil {
		if posted, err = ejson.Parse(body); err != nil {
			return err
		}
	}
	if err := o.ReadFilter(query, body != nil, posted, f.d.Rules().PlusIsSpace); err != nil {
		return err
	}
	f.changes, err = f.d.Feed(ctx, &o.FeedOptions, func() *documents.Request {
		return filterRequest(f.d.Name(), query, posted)
	})
	if err != nil {
		return err
	}
	since, err := o.ParseSince()
	if err != nil {
		return err
	}
	if f.last, err = f.changes.Begin(ctx, since); err != nil {
		return err
	}
	end, err := f.d.Bare().Feed().Last(ctx)
	f.until = end.Seq
	return err
}

// filterRequest is what filter functions see of a replication: the request that another server
// would make, without what only its connection has.
func filterRequest(db string, query compat.Query, posted ejson.Value) *documents.Request {
	r := &documents.Request{
		Method: []byte(`"GET"`), Path: []string{db, "_changes"}, Query: query, Headers: []compat.Param{{Name: "Host"}},
		Body: documents.NoBody,
	}
	if posted.Kind() != ejson.Invalid {
		r.Method, r.Body = []byte(`"POST"`), func() ([]byte, error) { return posted.AppendJSON(nil), nil }
	}
	return r
}

func (f *feed) lastSeq() replication.Sequence {
	return replication.Sequence(documents.AppendSeq(nil, f.last))
}

// run sends changes until the feed is done. The listener is opened before the first rows are read:
// a change that is committed between the two would otherwise wake nobody. A continuous feed ends
// after f.silence without changes, which is not an error.
func (f *feed) run(ctx context.Context) error {
	if !f.continuous {
		return f.rows(ctx, f.until)
	}
	listener, err := f.d.Bare().Feed().Listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	timer := time.NewTimer(f.silence)
	defer timer.Stop()
	for {
		before := f.last
		if err := f.rows(ctx, storage.Seq{}); err != nil {
			return err
		}
		if f.last != before {
			timer.Reset(f.silence)
		}
		select {
		case <-listener.C():
			if err := listener.Wait(ctx); err != nil {
				return err
			}
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// seqAfter reports whether a comes after b in a feed.
func seqAfter(a, b storage.Seq) bool {
	if a.Incarnation != b.Incarnation {
		return a.Incarnation > b.Incarnation
	}
	return bytes.Compare(a.Versionstamp[:], b.Versionstamp[:]) > 0
}

// errFeedEnd stops a scan at the end that a normal feed has.
var errFeedEnd = errors.New("end of the feed")

// rows hands on all rows there are, up to a sequence unless it is zero.
func (f *feed) rows(ctx context.Context, until storage.Seq) error {
	for {
		var chunk []replication.ChangeRow
		ended := false
		end, err := f.changes.Scan(ctx, f.last.Seq, chunkRows, func(ch *storage.Change) error {
			if until != (storage.Seq{}) && seqAfter(ch.Seq.Seq, until) {
				ended = true
				return errFeedEnd
			}
			chunk = append(chunk, replication.ChangeRow{
				Seq: replication.Sequence(documents.AppendSeq(nil, ch.Seq)), ID: ch.ID, Revs: slices.Clone(ch.Revs),
			})
			return nil
		})
		if err != nil && !errors.Is(err, errFeedEnd) {
			return err
		}
		for i := range chunk {
			if err := f.row(chunk[i]); err != nil {
				return &rowError{err}
			}
		}
		if !ended {
			f.last = end.Last
		}
		if ended || len(chunk) < chunkRows {
			return nil
		}
	}
}
