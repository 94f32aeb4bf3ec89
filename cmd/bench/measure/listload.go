package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
)

func listWorkloads(size sizes) []*workload {
	return []*workload{
		list("all-docs", "_all_docs", "_all_docs of the whole database"),
		list("all-docs-include", "_all_docs?include_docs=true", "_all_docs?include_docs=true of the whole database"),
		list("changes", "_changes", "_changes of the whole database"),
		list("changes-include", "_changes?include_docs=true", "_changes?include_docs=true of the whole database"),
		bulkGet(size.bulkGet),
	}
}

// list reads a whole list of the read database again and again. The servers write each row on a
// line of its own, so newlines tell whether it is complete.
func list(name, path, about string) *workload {
	return &workload{
		name: name, unit: "rows/s", about: about + ", 1 connection", prepare: fillReadDB,
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: 1, buffer: bufferLarge, newStep: func(int) step {
				req := &request{method: "GET", path: []byte(s.db(readDB) + "/" + path)}
				return func(c *conn) (int64, error) {
					resp, err := c.do(ctx, req, 200)
					if err == nil && resp.lines < s.size.documents {
						err = fmt.Errorf("%s has %d lines for %d documents", path, resp.lines, s.size.documents)
					}
					return s.size.documents, err
				}
			}}, p.duration)
		},
	}
}

// bulkGet measures _bulk_get as replications use it. The length of each answer is checked: an
// answer of errors would be fast.
func bulkGet(ids int) *workload {
	return &workload{
		name: "bulk-get", unit: "docs/s", prepare: fillReadDB,
		about: fmt.Sprintf("_bulk_get?revs=true of %d random documents a request, 1 connection", ids),
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: 1, buffer: bufferLarge, newStep: func(int) step {
				rnd := rand.New(rand.NewPCG(uint64(p.round), 0))
				req := &request{method: "POST", path: []byte(s.db(readDB) + "/_bulk_get?revs=true")}
				return func(c *conn) (int64, error) {
					b := append(req.body[:0], `{"docs":[`...)
					for i := range ids {
						if i > 0 {
							b = append(b, ',')
						}
						b = appendID(append(b, `{"id":"`...), rnd.Int64N(s.size.documents))
						b = append(b, `"}`...)
					}
					req.body = append(b, "]}"...)
					resp, err := c.do(ctx, req, 200)
					if err == nil && resp.length < int64(ids)*documentSize {
						err = fmt.Errorf("_bulk_get answered %d bytes for %d documents", resp.length, ids)
					}
					return int64(ids), err
				}
			}}, p.duration)
		},
	}
}
