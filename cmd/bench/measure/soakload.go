package measure

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// soakDB is the database that is read, edited and queried. Its number of documents stays the
	// same.
	soakDB = "soak"
	// soakBatch is how many documents a _bulk_docs request of a soak has.
	soakBatch = 100
	// soakPage is how many rows of the feed are read at a time.
	soakPage = 1000
	// largePause is how long connections wait that send much at a time: the others are to be seen
	// beside them.
	largePause = 100 * time.Millisecond
)

// fillSoak makes the database with a view, and builds that.
func (s *session) fillSoak(ctx context.Context) error {
	if err := s.fill(ctx, soakDB, s.size.documents); err != nil {
		return err
	}
	ids := designDocument("_sum", map[string]string{"ids": mapIDs})
	if _, err := s.request(ctx, "PUT", s.design(soakDB, "bench"), ids, 201); err != nil {
		return err
	}
	return s.index(ctx, s.design(soakDB, "bench")+"/_view/ids")
}

// loads are the kinds of requests of a soak.
func (r *soaking) loads() []*soakKind {
	return []*soakKind{
		{name: "get", unit: "docs/s", conns: 4, newStep: r.gets},
		{name: "put", unit: "docs/s", conns: 4, newStep: r.puts},
		{name: "edit", unit: "edits/s", conns: 2, newStep: r.edits},
		{name: "bulk", unit: "docs/s", conns: 1, pause: largePause, newStep: r.batches},
		{name: "attach", unit: "files/s", conns: 1, pause: largePause, newStep: r.attachments},
		{name: "query", unit: "queries/s", conns: 2, newStep: r.queries},
		{name: "changes", unit: "rows/s", conns: 1, newStep: r.changes},
	}
}

// ring gives new documents their places. They fill one database after the other; an older one is
// deleted, so that what is stored stays as much as it was. It also has the session's own
// connection, one user at a time.
type ring struct {
	session *session
	per     int64 // documents of a database
	next    atomic.Int64
	mu      sync.Mutex
	made    int64 // databases that were made
}

// ringKept is how many databases there are: the one that is filled, and those in which requests may
// still be under way.
const ringKept = 3

func ringName(n int64) string { return fmt.Sprintf("soak-%d", n) }

// take reserves the numbers of count documents and returns the first with the path of the database
// of all of them.
func (r *ring) take(ctx context.Context, count int64) (first int64, db string, err error) {
	first = r.next.Add(count) - count
	n := first / r.per
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.made <= n {
		if err := r.session.create(ctx, ringName(r.made)); err != nil {
			return 0, "", err
		}
		r.made++
		if err := r.session.drop(ctx, ringName(r.made-1-ringKept)); err != nil {
			return 0, "", err
		}
	}
	return first, r.session.db(ringName(n)), nil
}

// control sends a request on the session's own connection.
func (r *ring) control(ctx context.Context, method, path string, want int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.session.request(ctx, method, path, nil, want)
	return err
}

func (r *soaking) gets(worker int) step {
	rnd, req := rand.New(rand.NewPCG(1, uint64(worker))), &request{method: "GET"}
	return func(c *conn) (int64, error) {
		req.path = appendID(append(append(req.path[:0], r.db(soakDB)...), '/'), rnd.Int64N(r.size.documents))
		resp, err := c.do(context.Background(), req, 200)
		if err == nil && resp.length < documentSize {
			err = fmt.Errorf("a document of %d bytes", resp.length)
		}
		return 1, err
	}
}

func (r *soaking) puts(int) step {
	req := &request{method: "PUT"}
	return func(c *conn) (int64, error) {
		ctx := context.Background()
		n, db, err := r.ring.take(ctx, 1)
		if err != nil {
			return 0, err
		}
		req.path = appendID(append(append(req.path[:0], db...), '/'), n)
		req.body = r.docs.body(n)
		_, err = c.do(ctx, req, 201)
		return 1, err
	}
}

// edits writes new revisions of documents that belong to this connection, so that there are no
// conflicts.
func (r *soaking) edits(worker int) step {
	rnd, e := rand.New(rand.NewPCG(2, uint64(worker))), &editor{session: r.session, base: r.db(soakDB) + "/"}
	return func(c *conn) (int64, error) {
		n := rnd.Int64N(r.size.documents)/2*2 + int64(worker)
		err := e.edit(context.Background(), c, n%r.size.documents, r.docs.body(rnd.Int64N(poolSize)))
		c.keep = false
		return 1, err
	}
}

// batches writes documents by the batch into databases that are made and deleted in turn, and
// counts what was stored. A step takes no context: the soak ends between steps.
func (r *soaking) batches(int) step {
	req := &request{method: "POST"}
	return func(c *conn) (int64, error) {
		ctx := context.Background()
		n, db, err := r.ring.take(ctx, soakBatch)
		if err != nil {
			return 0, err
		}
		req.path = append(append(req.path[:0], db...), "/_bulk_docs"...)
		req.body = r.docs.appendBulk(req.body[:0], n, soakBatch)
		c.keep = true
		if _, err := c.do(ctx, req, 201); err != nil {
			return 0, err
		}
		if stored := bytes.Count(c.body, []byte(`"ok":true`)); stored != soakBatch {
			return 0, fmt.Errorf("%d of %d documents were stored", stored, soakBatch)
		}
		return soakBatch, nil
	}
}

func (r *soaking) attachments(int) step {
	req := &request{method: "PUT", kind: attachmentKind}
	return func(c *conn) (int64, error) {
		ctx := context.Background()
		n, db, err := r.ring.take(ctx, 1)
		if err != nil {
			return 0, err
		}
		req.path = appendID(append(append(req.path[:0], db...), '/'), n)
		req.path = append(req.path, attachmentSuffix...)
		req.body = r.piece(n, r.size.smallAttachment)
		_, err = c.do(ctx, req, 201)
		return 1, err
	}
}

// queries asks for rows and for sums, in turn. Each brings the view up to date first.
func (r *soaking) queries(worker int) step {
	rnd, req := rand.New(rand.NewPCG(3, uint64(worker))), &request{method: "GET"}
	base, turn := r.design(soakDB, "bench")+"/_view/ids?", 0
	return func(c *conn) (int64, error) {
		a, b := rnd.Int64N(r.size.documents), rnd.Int64N(r.size.documents)
		query, lines := "startkey="+idKey(min(a, b))+"&endkey="+idKey(max(a, b)), int64(2)
		if turn++; turn%2 == 0 {
			a = rnd.Int64N(max(1, r.size.documents-100))
			query, lines = "reduce=false&startkey="+idKey(a)+"&endkey="+idKey(a+99), 101
		}
		req.path = append(append(req.path[:0], base...), query...)
		resp, err := c.do(context.Background(), req, 200)
		if err == nil && resp.lines < lines {
			err = fmt.Errorf("%s has %d lines instead of %d", req.path, resp.lines, lines)
		}
		return 1, err
	}
}

// changes reads the whole feed in pages, again and again. Its units are rows.
func (r *soaking) changes(int) step {
	req := &request{method: "GET"}
	base := fmt.Sprintf("%s/_changes?limit=%d", r.db(soakDB), soakPage)
	var since []byte
	return func(c *conn) (int64, error) {
		req.path = append(req.path[:0], base...)
		if len(since) > 0 {
			req.path = append(append(req.path, "&since="...), since...)
		}
		c.keep = true
		_, err := c.do(context.Background(), req, 200)
		rows := int64(bytes.Count(c.body, []byte(`"id":`)))
		if err == nil && rows == 0 && len(since) == 0 {
			err = fmt.Errorf("%s has no rows", req.path)
		}
		if since = since[:0]; rows == soakPage {
			since = append(since, lastSequence(c.body)...)
		}
		return rows, err
	}
}

// lastSequence is the value of last_seq in a page of a feed, nil where there is none.
func lastSequence(page []byte) []byte {
	i := bytes.LastIndex(page, []byte(`"last_seq":"`))
	if i < 0 {
		return nil
	}
	value, _, _ := bytes.Cut(page[i+len(`"last_seq":"`):], []byte(`"`))
	return slices.Clip(value)
}
