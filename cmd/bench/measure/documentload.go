package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// readDB is the database that reading workloads share. It stays until the run's end.
const readDB = "read"

func documentWorkloads() []*workload {
	return []*workload{
		putDocuments("put-1", 1), putDocuments("put-64", 64),
		bulkDocuments("bulk-docs", 1), bulkDocuments("bulk-docs-4", 4), atomicDocuments(),
		getDocuments("get-1", 1), getDocuments("get-64", 64),
		editDocuments("edit-1", 1), editDocuments("edit-64", 64),
		patchDocuments("patch-1", 1, false), patchDocuments("patch-64-one", 64, true),
		readFields(),
	}
}

func createOnly(name string) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error { return s.create(ctx, name) }
}

// counters give each server's session its own next document number, over all rounds.
type counters map[*session]*atomic.Int64

func (c counters) of(s *session) *atomic.Int64 {
	if c[s] == nil {
		c[s] = new(atomic.Int64)
	}
	return c[s]
}

// putDocuments measures writes of single documents. The numbers go on from round to round, since a
// document that exists would be a conflict.
func putDocuments(name string, conns int) *workload {
	next := counters{}
	return &workload{
		name: name, unit: "docs/s", prepare: createOnly(name), databases: []string{name},
		about: fmt.Sprintf("PUT of new 1 KB documents, %d connection(s)", conns),
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			n := next.of(s)
			return s.load(ctx, demand{conns: conns, buffer: joinBelow, newStep: func(int) step {
				req := &request{method: "PUT"}
				base := s.db(name) + "/"
				return func(c *conn) (int64, error) {
					i := n.Add(1)
					req.path = appendID(append(req.path[:0], base...), i)
					req.body = s.docs.body(i)
					_, err := c.do(ctx, req, 201)
					return 1, err
				}
			}}, p.duration)
		},
	}
}

func bulkDocuments(name string, conns int) *workload {
	next := counters{}
	return &workload{
		name: name, unit: "docs/s", prepare: createOnly(name), databases: []string{name},
		about: fmt.Sprintf("_bulk_docs of 1,000 new 1 KB documents a request, %d connection(s)", conns),
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.bulk(ctx, name, batches{conns: conns, size: s.size.bulk}, next.of(s), p.duration)
		},
	}
}

// atomicDocuments measures requests that store all documents or none; a server that cannot stores
// them one by one.
func atomicDocuments() *workload {
	const name = "atomic-100"
	next := counters{}
	return &workload{
		name: name, unit: "docs/s", prepare: createOnly(name), databases: []string{name},
		about: `_bulk_docs with "atomic" of 100 new 1 KB documents a request, 1 connection`,
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.bulk(ctx, name, batches{conns: 1, size: 100, members: `"atomic":true,`}, next.of(s), p.duration)
		},
	}
}

// batches says what s.bulk writes: documents a request, and members of each request besides.
type batches struct {
	conns, size int
	members     string
}

// bulk writes batches of new documents; next is the next free number.
func (s *session) bulk(
	ctx context.Context,
	name string,
	b batches,
	next *atomic.Int64,
	d time.Duration,
) (sample, error) {
	size := int64(b.size)
	return s.load(ctx, demand{conns: b.conns, buffer: bufferLarge, newStep: func(int) step {
		req := &request{method: "POST", path: []byte(s.db(name) + "/_bulk_docs")}
		return func(c *conn) (int64, error) {
			req.body = s.docs.appendBulk(req.body[:0], next.Add(size)-size, b.size)
			req.body = slices.Insert(req.body, 1, []byte(b.members)...)
			c.keep = true
			if _, err := c.do(ctx, req, 201); err != nil {
				return 0, err
			}
			if stored := int64(bytes.Count(c.body, []byte(`"ok":true`))); stored != size {
				return 0, fmt.Errorf("%d of %d documents were stored", stored, size)
			}
			return size, nil
		}
	}}, d)
}

func getDocuments(name string, conns int) *workload {
	return &workload{
		name: name, unit: "docs/s", prepare: fillReadDB,
		about: fmt.Sprintf("GET of random 1 KB documents, %d connection(s)", conns),
		round: func(ctx context.Context, s *session, p plan) (sample, error) { return s.get(ctx, conns, p) },
	}
}

func fillReadDB(ctx context.Context, s *session) error { return s.fill(ctx, readDB, s.size.documents) }

// get reads random documents of the read database.
func (s *session) get(ctx context.Context, conns int, p plan) (sample, error) {
	return s.load(ctx, demand{conns: conns, buffer: joinBelow, newStep: func(worker int) step {
		rnd := rand.New(rand.NewPCG(uint64(p.round), uint64(worker)))
		req := &request{method: "GET"}
		base := s.db(readDB) + "/"
		return func(c *conn) (int64, error) {
			req.path = appendID(append(req.path[:0], base...), rnd.Int64N(s.size.documents))
			resp, err := c.do(ctx, req, 200)
			if err == nil && resp.length < documentSize {
				err = fmt.Errorf("a document of %d bytes", resp.length)
			}
			return 1, err
		}
	}}, p.duration)
}

// editDocuments reads a document and writes a new revision of it. Connections work on documents of
// their own, so that there are no conflicts.
func editDocuments(name string, conns int) *workload {
	return &workload{
		name: name, unit: "edits/s", databases: []string{name},
		about:   fmt.Sprintf("GET then PUT of the next revision of random documents, %d connection(s)", conns),
		prepare: func(ctx context.Context, s *session) error { return s.fill(ctx, name, s.size.documents) },
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: conns, buffer: joinBelow, newStep: func(worker int) step {
				rnd := rand.New(rand.NewPCG(uint64(p.round), uint64(worker)))
				share := s.size.documents / int64(conns)
				e := &editor{session: s, base: s.db(name) + "/"}
				return func(c *conn) (int64, error) {
					return 1, e.edit(ctx, c, int64(worker)*share+rnd.Int64N(share), s.docs.body(rnd.Int64N(poolSize)))
				}
			}}, p.duration)
		},
	}
}

// patchDocuments adds to a number in documents of 1 KB, without a revision: in any of them, or all
// connections in one. A server without PATCH has the documents read and written again, as often as
// there are conflicts, which is how its users count.
func patchDocuments(name string, conns int, one bool) *workload {
	where := "random documents"
	if one {
		where = "one document"
	}
	body := []byte(`[{"op":"increment","path":"/number","value":1}]`)
	return &workload{
		name: name, unit: "patches/s", databases: []string{name},
		about: fmt.Sprintf("PATCH of %s without a revision, %d connection(s); "+
			"without it, GET and PUT until there is no conflict", where, conns),
		prepare: func(ctx context.Context, s *session) error { return s.fill(ctx, name, s.size.documents) },
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: conns, buffer: joinBelow, newStep: func(worker int) step {
				rnd := rand.New(rand.NewPCG(uint64(p.round), uint64(worker)))
				req := &request{method: "PATCH", body: body}
				e := &editor{session: s, base: s.db(name) + "/"}
				old := false
				return func(c *conn) (int64, error) {
					var n int64
					if !one {
						n = rnd.Int64N(s.size.documents)
					}
					if !old {
						req.path = appendID(append(req.path[:0], e.base...), n)
						resp, err := c.do(ctx, req, 201)
						if old = resp.status == 405; !old {
							return 1, err
						}
					}
					return 1, e.increment(ctx, c, n)
				}
			}}, p.duration)
		},
	}
}

// readFields measures reads of one small member of a document of 600 KB. A server that does not know
// `fields` answers with the whole document, which is how its users read a member.
func readFields() *workload {
	const name, member = "fields-600k", `"number":7`
	return &workload{
		name: name, unit: "reads/s", databases: []string{name},
		about: "GET with `fields` of one small member of a 600 KB document, 1 connection",
		prepare: func(ctx context.Context, s *session) error {
			if err := s.create(ctx, name); err != nil {
				return err
			}
			text := strings.Repeat("x", 300_000)
			body := fmt.Appendf(nil, `{"text":%q,%s,"more":%q}`, text, member, text)
			_, err := s.request(ctx, "PUT", s.db(name)+"/large", body, 201)
			return err
		},
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			req := &request{method: "GET", path: []byte(s.db(name) + "/large?fields=%5B%22number%22%5D")}
			return s.load(ctx, demand{conns: 1, buffer: joinBelow, newStep: func(int) step {
				return func(c *conn) (int64, error) {
					c.keep = true
					_, err := c.do(ctx, req, 200)
					if err == nil && !bytes.Contains(c.body, []byte(member)) {
						err = fmt.Errorf("%s has no member: %.100s", req.path, c.body)
					}
					return 1, err
				}
			}}, p.duration)
		},
	}
}

// editor holds the buffers of a connection that edits.
type editor struct {
	session  *session
	base     string
	get, put request
}

// edit reads a document and writes it with the revision that was read, as applications do; both
// requests are one unit.
func (e *editor) edit(ctx context.Context, c *conn, n int64, body []byte) error {
	e.get.method, e.put.method = "GET", "PUT"
	e.get.path = appendID(append(e.get.path[:0], e.base...), n)
	e.put.path = e.get.path
	c.keep = true
	if _, err := c.do(ctx, &e.get, 200); err != nil {
		return err
	}
	rev, err := revisionIn(c.body)
	if err != nil {
		return err
	}
	b := append(e.put.body[:0], `{"_rev":"`...)
	b = append(append(b, rev...), `",`...)
	e.put.body = append(b, body[1:]...)
	_, err = c.do(ctx, &e.put, 201)
	return err
}

// increment adds 1 to the number in a document until nobody else is faster.
func (e *editor) increment(ctx context.Context, c *conn, n int64) error {
	e.get.method, e.put.method = "GET", "PUT"
	e.get.path = appendID(append(e.get.path[:0], e.base...), n)
	e.put.path = e.get.path
	c.keep = true
	for {
		if _, err := c.do(ctx, &e.get, 200); err != nil {
			return err
		}
		const member = `"number":`
		before, rest, _ := bytes.Cut(c.body, []byte(member))
		digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
		number, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return fmt.Errorf("%s has no number: %w", e.get.path, err)
		}
		b := append(append(e.put.body[:0], before...), member...)
		e.put.body = append(strconv.AppendInt(b, number+1, 10), rest[len(digits):]...)
		if resp, err := c.do(ctx, &e.put, 201); resp.status != 409 || ctx.Err() != nil {
			return err
		}
	}
}

// revisionIn returns the value of the first _rev member of a document.
func revisionIn(doc []byte) ([]byte, error) {
	_, rest, found := bytes.Cut(doc, []byte(`"_rev":"`))
	rev, _, ended := bytes.Cut(rest, []byte(`"`))
	if !found || !ended {
		return nil, errors.New("a document without _rev")
	}
	return rev, nil
}
