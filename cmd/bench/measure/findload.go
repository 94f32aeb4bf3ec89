package measure

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

const (
	// findDB is the database of the Mango workloads that read; fieldsDB is the same with an index
	// over all fields where a server has one.
	findDB   = "find"
	fieldsDB = "find-fields"
	// writtenDB is the database of a round that writes.
	writtenDB = "find-written"
)

// writeFields are the fields of the JSON indexes beside which documents are written.
var writeFields = []string{"number", "customer.name", "address.city", "created", "total"}

// findWorkloads are the workloads of Mango: queries by an index, by none and by the index over all
// fields, and writes beside 0 to 5 indexes, whose difference is the cost of an index.
func findWorkloads() []*workload {
	return []*workload{
		findQuery(
			"mango-index-25",
			findDB,
			"25 documents of a random range of a JSON index",
			26,
			func(rnd *rand.Rand) string {
				return fmt.Sprintf(`{"selector":{"number":{"$gte":%d}},"sort":["number"],"limit":25}`,
					100_000+rnd.Int64N(poolSize/2))
			},
		),
		findQuery(
			"mango-index-key",
			findDB,
			"documents with a random number, by a JSON index that covers the query",
			2,
			func(rnd *rand.Rand) string {
				return fmt.Sprintf(`{"selector":{"number":%d},"fields":["_id","number"],"limit":10}`,
					100_000+rnd.Int64N(1000))
			},
		),
		findAfterWrites(),
		findScan(),
		findAnyField(),
		cities.workload(), fiftyOfAMillion.workload(),
		writeBesideIndexes("mango-write-0", 0, false),
		writeBesideIndexes("mango-write-1", 1, false),
		writeBesideIndexes("mango-write-3", 3, false),
		writeBesideIndexes("mango-write-5", 5, false),
		writeBesideIndexes("mango-write-all-fields", 0, true),
	}
}

// createIndex makes a JSON index over one field.
func (s *session) createIndex(ctx context.Context, db, field string) error {
	_, err := s.request(ctx, "POST", s.db(db)+"/_index",
		fmt.Appendf(nil, `{"index":{"fields":[%q]},"name":%q,"ddoc":%q}`, field, field, field), 200)
	return err
}

// createFieldsIndex makes an index over all fields; a server without such an index refuses, and
// goes without.
func (s *session) createFieldsIndex(ctx context.Context, db string) error {
	if _, err := s.request(ctx, "POST", s.db(db)+"/_index", []byte(`{"index":{},"type":"auto"}`), 200); err != nil {
		_, err = s.request(ctx, "GET", s.db(db), nil, 200)
		return err
	}
	return nil
}

func fillFind(ctx context.Context, s *session) error {
	if slices.Contains(s.made, findDB) {
		return nil
	}
	if err := s.fill(ctx, findDB, s.size.viewDocuments); err != nil {
		return err
	}
	if err := s.createIndex(ctx, findDB, "number"); err != nil {
		return err
	}
	_, err := s.findOnce(ctx, findDB, `{"selector":{"number":{"$gte":0}},"limit":1}`)
	return err
}

func fillFields(ctx context.Context, s *session) error {
	if slices.Contains(s.made, fieldsDB) {
		return nil
	}
	if err := s.create(ctx, fieldsDB); err != nil {
		return err
	}
	if err := s.createFieldsIndex(ctx, fieldsDB); err != nil {
		return err
	}
	return s.fillExisting(ctx, fieldsDB, s.size.viewDocuments)
}

// findOnce sends one query with all the time it takes and returns the number of lines of the
// answer.
func (s *session) findOnce(ctx context.Context, db, query string) (lines int64, err error) {
	c, err := s.connect(ctx, buildLimit)
	if err != nil {
		return 0, err
	}
	defer c.close()
	resp, err := c.do(ctx, &request{method: "POST", path: []byte(s.db(db) + "/_find"), body: []byte(query)}, 200)
	return resp.lines, err
}

// findQuery asks again and again; lines is how many newlines an answer has at least.
func findQuery(name, db, about string, lines int64, query func(*rand.Rand) string) *workload {
	return &workload{
		name: name, unit: "queries/s", about: "POST /_find: " + about + ", 1 connection", prepare: fillFind,
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: 1, buffer: joinBelow, newStep: func(int) step {
				rnd := rand.New(rand.NewPCG(uint64(p.round), 1))
				req := &request{method: "POST", path: []byte(s.db(db) + "/_find")}
				return func(c *conn) (int64, error) {
					c.keep = true
					req.body = append(req.body[:0], query(rnd)...)
					resp, err := c.do(ctx, req, 200)
					if err == nil && (resp.lines < lines || !bytes.Contains(c.body, []byte(`"_id":`))) {
						err = fmt.Errorf("%s has %d lines instead of %d, or no documents", req.body, resp.lines, lines)
					}
					return 1, err
				}
			}}, p.duration)
		},
	}
}

// findAfterWrites measures the query that follows after documents have changed.
func findAfterWrites() *workload {
	return &workload{
		name: "mango-after-writes", unit: "queries/s", prepare: fillFind,
		about: fmt.Sprintf("POST /_find: the first query on a JSON index after %d of the documents have changed",
			changedDocuments),
		round: func(ctx context.Context, s *session, p plan) (out sample, err error) {
			if _, err := s.changeDocuments(ctx, findDB, p.round); err != nil {
				return out, err
			}
			return s.timed(1, func() error {
				_, err := s.findOnce(ctx, findDB, `{"selector":{"number":{"$gte":100500}},"limit":25}`)
				return err
			})
		},
	}
}

// findScan measures a query that reads every document and finds none.
func findScan() *workload {
	return &workload{
		name: "mango-scan", unit: "docs/s", prepare: fillFind,
		about: "POST /_find: a selector without an index that no document passes",
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.timed(s.size.viewDocuments, func() error {
				_, err := s.findOnce(ctx, findDB,
					fmt.Sprintf(`{"selector":{"customer.name":"nobody %d","total":{"$gt":1}}}`, p.round))
				return err
			})
		},
	}
}

// findAnyField measures equality on a field nobody made an index for.
func findAnyField() *workload {
	return &workload{
		name: "mango-any-field", unit: "queries/s", prepare: fillFields, databases: []string{fieldsDB},
		about: "POST /_find: equality on a field without an index of its own; with an index over all fields where there is one",
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			const queries = 2
			return s.timed(queries, func() error {
				for i := range queries {
					zip := 7919 * (queries*p.round + i) % 100_000
					query := fmt.Sprintf(`{"selector":{"address.zip":"%05d"},"limit":1000}`, zip)
					if _, err := s.findOnce(ctx, fieldsDB, query); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// writeBesideIndexes measures bulk writes together with the first query on each of the indexes
// after them.
func writeBesideIndexes(name string, count int, allFields bool) *workload {
	about := fmt.Sprintf("POST /_bulk_docs of new documents with %d JSON indexes, and a query on each of them", count)
	if allFields {
		about = "POST /_bulk_docs of new documents with an index over all fields, where there is one, and a query"
	}
	return &workload{
		name: name, unit: "docs/s", about: about, databases: []string{writtenDB},
		prepare: func(context.Context, *session) error { return nil },
		round: func(ctx context.Context, s *session, p plan) (out sample, err error) {
			if err := s.drop(ctx, writtenDB); err != nil {
				return out, err
			}
			if err := s.create(ctx, writtenDB); err != nil {
				return out, err
			}
			for _, field := range writeFields[:count] {
				if err := s.createIndex(ctx, writtenDB, field); err != nil {
					return out, err
				}
			}
			if allFields {
				if err := s.createFieldsIndex(ctx, writtenDB); err != nil {
					return out, err
				}
			}
			documents := s.size.viewDocuments / 5
			return s.timed(documents, func() error {
				if err := s.fillExisting(ctx, writtenDB, documents); err != nil {
					return err
				}
				for _, field := range writeFields[:count] {
					query := fmt.Sprintf(`{"selector":{%q:{"$gt":null}},"limit":1}`, field)
					if _, err := s.findOnce(ctx, writtenDB, query); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}
