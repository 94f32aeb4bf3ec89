package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage"
)

// localPeer is a database of this server as one end of a replication. It does what the handlers of the same requests would
// do for the user, without HTTP in between.
type localPeer struct {
	srv  *Server
	name string
	uri  string
	user Principal
}

// URI implements replication.Peer.
func (p *localPeer) URI() string { return p.uri }

// Close implements replication.Peer.
func (p *localPeer) Close() {}

// call makes a call as the handler of a request would get it. It is for one goroutine.
func (p *localPeer) call(ctx context.Context, method string, query []replication.Header, segments ...string) (*Call, error) {
	r, err := http.NewRequestWithContext(ctx, method, "/", nil)
	if err != nil {
		return nil, err
	}
	c := &Call{
		srv: p.srv, set: p.srv.settings.Load(), r: r, method: method, user: p.user,
		segments: append([]string{p.name}, segments...), db: p.srv.store.DB(p.name),
	}
	for _, q := range query {
		c.query = append(c.query, compat.Param{Name: q.Name, Value: q.Value})
	}
	return c, nil
}

// member makes a call that a member of the database may make.
func (p *localPeer) member(ctx context.Context, method string, query []replication.Header, segments ...string) (*Call, error) {
	c, err := p.call(ctx, method, query, segments...)
	if err == nil {
		err = c.authorize(Member)
	}
	return c, err
}

// opened turns the error of opening the database into that of the replication.
func (p *localPeer) opened(err error, uri string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, compat.KindUnauthorized):
		return replication.Unauthorized(uri)
	case errors.Is(err, compat.KindForbidden):
		return replication.Forbidden(uri)
	}
	if _, wire := compat.AsError(err); wire {
		return replication.NotFound(uri)
	}
	return err
}

// Open implements replication.Peer.
func (p *localPeer) Open(ctx context.Context, create bool, params []replication.Header) error {
	if create {
		c, err := p.call(ctx, http.MethodPut, params)
		if err != nil {
			return err
		}
		if err := c.authorize(ServerAdmin); err != nil {
			uri := p.uri
			for i, q := range params {
				uri += string("?&"[min(i, 1)]) + compat.EncodeURL(q.Name) + "=" + compat.EncodeURL(q.Value)
			}
			return p.opened(err, uri)
		}
		if err := c.createDatabase(p.name); err != nil {
			if _, wire := compat.AsError(err); !wire {
				return err
			}
		}
	}
	_, err := p.Info(ctx)
	return err
}

// Info implements replication.Peer.
func (p *localPeer) Info(ctx context.Context) (replication.Info, error) {
	if compat.ValidateDatabaseName(p.name) != nil {
		return replication.Info{}, replication.NotFound(p.uri)
	}
	c, err := p.member(ctx, http.MethodGet, nil)
	if err != nil {
		return replication.Info{}, p.opened(err, p.uri)
	}
	info, err := c.db.Info(ctx)
	if err != nil {
		return replication.Info{}, p.opened(err, p.uri)
	}
	return replication.Info{UpdateSeq: replication.Sequence(appendSeq(nil, info.UpdateSeq)), InstanceStart: string(appendStart(nil, info))}, nil
}

// OpenLocal implements replication.Peer.
func (p *localPeer) OpenLocal(ctx context.Context, id string) (*replication.LocalDocument, error) {
	c, err := p.member(ctx, http.MethodGet, nil, id)
	if err != nil {
		return nil, err
	}
	d, err := c.open(id, storage.OpenOptions{})
	if errors.Is(err, compat.KindNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &replication.LocalDocument{Rev: d.Rev.String(), Body: d.Body}, nil
}

// PutLocal implements replication.Peer.
func (p *localPeer) PutLocal(ctx context.Context, id string, doc replication.LocalDocument) (string, error) {
	c, err := p.member(ctx, http.MethodPut, nil, id)
	if err != nil {
		return "", err
	}
	d := &compat.Document{ID: id, HasID: true}
	if d.Body, err = compat.NewBody(doc.Body); err != nil {
		return "", err
	}
	if doc.Rev != "" {
		rev, err := compat.ParseRev(doc.Rev)
		if err != nil {
			return "", err
		}
		d.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	}
	rev, err := c.update(d, false)
	if errors.Is(err, compat.KindConflict) {
		return "", replication.ErrConflict
	}
	if e, wire := compat.AsError(err); wire {
		return "", replication.WriteFailed(e.Word(), e.Reason)
	}
	return rev.String(), err
}

// Commit implements replication.Peer: what was acknowledged is durable.
func (p *localPeer) Commit(ctx context.Context) (string, error) {
	info, err := p.Info(ctx)
	return info.InstanceStart, err
}

// OpenDocument implements replication.Peer.
func (p *localPeer) OpenDocument(ctx context.Context, id string) ([]byte, error) {
	c, err := p.member(ctx, http.MethodGet, nil, id)
	if err != nil {
		return nil, err
	}
	d, err := c.open(id, storage.OpenOptions{})
	if e, wire := compat.AsError(err); wire {
		return nil, replication.ReadFailed(e.Word())
	}
	if err != nil {
		return nil, err
	}
	return compat.AppendDocument(nil, viewOf(d, &compat.DocOptions{})), nil
}

// localChunk is how many rows are read in one transaction: the feed must not hold one while the other end is slow.
const localChunk = 1000

// Changes implements replication.Peer.
func (p *localPeer) Changes(ctx context.Context, r replication.ChangesRequest, row func(replication.ChangeRow) error) (replication.Sequence, error) {
	query, body := r.Query()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	c, err := p.member(ctx, method, query, "_changes")
	if err != nil {
		return "", changesError(err)
	}
	f := &localFeed{c: c, row: row, continuous: r.Options.Continuous, silence: max(time.Second, r.Options.Timeout/3)}
	if err := f.prepare(body); err != nil {
		return "", changesError(err)
	}
	err = f.run(ctx)
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

// localFeed reads the changes of a local database.
type localFeed struct {
	c          *Call
	row        func(replication.ChangeRow) error
	scan       scanFunc
	continuous bool
	silence    time.Duration // after which a continuous feed ends
	last       storage.UpdateSeq
	until      storage.Seq // of a normal feed: the end as of its beginning
}

// rowError is an error of the caller's function.
type rowError struct{ err error }

// Error implements error.
func (e *rowError) Error() string { return e.err.Error() }

func (f *localFeed) prepare(body []byte) error {
	o, err := compat.ParseChangesOptions(f.c.query, "")
	if err != nil {
		return err
	}
	var value ejson.Value
	if body != nil {
		if value, err = ejson.Parse(body); err != nil {
			return err
		}
	}
	filter, err := f.c.changesFilter(o, value)
	if err != nil {
		return err
	}
	f.scan = filter.scan
	if f.last, err = f.c.changesSince(o); err != nil {
		return err
	}
	end, err := f.c.db.LastSeq(f.c.Context())
	f.until = end.Seq
	return err
}

func (f *localFeed) lastSeq() replication.Sequence {
	return replication.Sequence(appendSeq(nil, f.last))
}

func (f *localFeed) run(ctx context.Context) error {
	if !f.continuous {
		return f.rows(f.until)
	}
	listener, err := f.c.db.Listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	timer := time.NewTimer(f.silence)
	defer timer.Stop()
	for {
		before := f.last
		if err := f.rows(storage.Seq{}); err != nil {
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

// seqAfter tells whether a comes after b in a feed.
func seqAfter(a, b storage.Seq) bool {
	if a.Incarnation != b.Incarnation {
		return a.Incarnation > b.Incarnation
	}
	return bytes.Compare(a.Versionstamp[:], b.Versionstamp[:]) > 0
}

// errFeedEnd stops a scan at the end that a normal feed has.
var errFeedEnd = errors.New("end of the feed")

// rows hands on all rows there are, up to a sequence unless it is zero.
func (f *localFeed) rows(until storage.Seq) error {
	for {
		var chunk []replication.ChangeRow
		ended := false
		end, err := f.scan(f.last.Seq, localChunk, func(ch *storage.Change) error {
			if until != (storage.Seq{}) && seqAfter(ch.Seq.Seq, until) {
				ended = true
				return errFeedEnd
			}
			chunk = append(chunk, replication.ChangeRow{
				Seq: replication.Sequence(appendSeq(nil, ch.Seq)), ID: ch.ID, Revs: slices.Clone(ch.Revs),
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
		if ended || len(chunk) < localChunk {
			return nil
		}
	}
}

// Pending implements replication.Peer.
func (p *localPeer) Pending(ctx context.Context, since replication.Sequence) (int64, bool) {
	from, err := compat.ParseSince(since.Query())
	if err != nil {
		return 0, false
	}
	end, err := p.srv.store.DB(p.name).Changes(ctx, storage.ChangesOptions{Since: from.Seq, Limit: 0}, func(*storage.Change) error { return nil })
	return end.Pending, err == nil
}

// RevsDiff implements replication.Peer.
func (p *localPeer) RevsDiff(ctx context.Context, asked []replication.IDRevs) ([]replication.Missing, error) {
	c, err := p.member(ctx, http.MethodPost, nil, "_revs_diff")
	if err != nil {
		return nil, requestError("revs_diff_failed", err)
	}
	wanted := make([]storage.IDRevs, len(asked))
	for i := range asked {
		wanted[i] = storage.IDRevs{ID: asked[i].ID, Revs: asked[i].Revs}
	}
	diffs, err := c.db.RevsDiff(ctx, wanted)
	if err != nil {
		return nil, requestError("revs_diff_failed", err)
	}
	missing := make([]replication.Missing, 0, len(diffs))
	for _, d := range diffs {
		if len(d.Missing) > 0 {
			missing = append(missing, replication.Missing{ID: d.ID, Revs: d.Missing, Ancestors: d.PossibleAncestors})
		}
	}
	return missing, nil
}

// requestError gives an error the form it has over HTTP.
func requestError(tag string, err error) error {
	if e, wire := compat.AsError(err); wire {
		return replication.RequestFailed(tag, e.Status(), e.Word(), e.Reason)
	}
	return err
}
