package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
)

// searchDB is the database of the workloads of full-text search; it stays until the run's end.
const searchDB = "search"

// errNoSearch says that a server has no full-text search.
var errNoSearch = errors.New("has no full-text search")

// indexText is an index function over all texts of a document, two of its fields and a number.
const indexText = `function (doc) {
  var d = doc, t = [d.customer.name, d.address.street, d.address.city, d.tags.join(' '), d.note];
  for (var i = 0; i < d.items.length; i++) t.push(d.items[i].title);
  index('default', t.join(' '));
  index('city', d.address.city, {facet: true});
  index('number', d.number);
}`

// searchWorkloads are the workloads of full-text search. Words are frequent ones unless said
// otherwise: rare ones would measure HTTP rather than the index.
func searchWorkloads() []*workload {
	word := func(rnd *rand.Rand) string { return words[rnd.IntN(len(words))] }
	return []*workload{
		buildSearch(),
		searchQuery("search-rare", "a word that a thousandth of the documents has",
			func(rnd *rand.Rand) string { return fmt.Sprintf("number:%d", 100_000+rnd.IntN(1000)) }),
		searchQuery("search-term", "a word that most documents have", word),
		searchQuery("search-and", "two such words with AND and a rare one",
			func(rnd *rand.Rand) string { return word(rnd) + " AND " + word(rnd) + " AND city:" + word(rnd) }),
		searchQuery("search-or", "three such words with OR",
			func(rnd *rand.Rand) string { return word(rnd) + " OR " + word(rnd) + " OR " + word(rnd) }),
		searchQuery("search-phrase", "a phrase of two such words",
			func(rnd *rand.Rand) string { return `"` + word(rnd) + " " + word(rnd) + `"` }),
		searchQuery("search-prefix", "words with a prefix", func(rnd *rand.Rand) string { return word(rnd)[:3] + "*" }),
		searchFresh(),
		searchDisk(),
	}
}

// searchDesign is a design document with one search index, which no server builds unasked.
func searchDesign(note string) []byte {
	return fmt.Appendf(nil, `{"autoupdate":false,"indexes":{"text":{"index":%q}}}`, indexText+" // "+note)
}

// search is the path of a query of an index; a document of a hit has about 60 bytes.
func (s *session) search(db, design, query string) string {
	return s.design(db, design) + "/_search/text?limit=10&q=" + url.QueryEscape(query)
}

// askSearch sends one query with all the time it takes.
func (s *session) askSearch(ctx context.Context, path string) error {
	c, err := s.connect(ctx, buildLimit)
	if err != nil {
		return err
	}
	defer c.close()
	c.keep = true
	resp, err := c.do(ctx, &request{method: "GET", path: []byte(path)}, http.StatusOK)
	if resp.status == http.StatusNotFound || resp.status == http.StatusServiceUnavailable {
		return errNoSearch
	}
	if err == nil && !bytes.Contains(c.body, []byte(`"total_rows":`)) {
		err = fmt.Errorf("%s has no total", path)
	}
	return err
}

// fillSearch fills the database of the search workloads and builds the index that queries read.
func fillSearch(ctx context.Context, s *session) error {
	fresh := !slices.Contains(s.made, searchDB)
	if err := s.fill(ctx, searchDB, s.size.viewDocuments); err != nil {
		return err
	}
	if fresh {
		if _, err := s.request(ctx, "PUT", s.design(searchDB, "bench"), searchDesign("queries"), 201); err != nil {
			return err
		}
	}
	return s.askSearch(ctx, s.search(searchDB, "bench", "water"))
}

// buildSearch builds an index over all documents, with a source of its own in each round.
func buildSearch() *workload {
	const name = "search-build"
	return &workload{
		name: name, unit: "docs/s", prepare: fillSearch,
		about: "first query of a _search index over all texts of the documents, JavaScript",
		round: func(ctx context.Context, s *session, p plan) (out sample, err error) {
			design := fmt.Sprintf("%s-%d", name, p.round)
			answer, err := s.request(ctx, "PUT", s.design(searchDB, design), searchDesign(design), 201)
			if err != nil {
				return out, err
			}
			_, rest, _ := bytes.Cut(answer, []byte(`"rev":"`))
			rev, _, _ := bytes.Cut(rest, []byte(`"`))
			remove := s.design(searchDB, design) + "?rev=" + string(rev)
			build := func() error { return s.askSearch(ctx, s.search(searchDB, design, "water")) }
			if out, err = s.timed(s.size.viewDocuments, build); err != nil {
				return out, err
			}
			if _, err = s.request(ctx, "DELETE", remove, nil, 200); err != nil {
				return out, err
			}
			_, err = s.request(ctx, "POST", s.db(searchDB)+"/_search_cleanup", nil, 202)
			return out, err
		},
	}
}

// searchQuery asks again and again for the best ten hits.
func searchQuery(name, about string, query func(*rand.Rand) string) *workload {
	return &workload{
		name: name, unit: "queries/s", about: "_search: " + about + ", the best 10, 1 connection", prepare: fillSearch,
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: 1, buffer: joinBelow, newStep: func(int) step {
				rnd := rand.New(rand.NewPCG(uint64(p.round), 1))
				return func(c *conn) (int64, error) {
					c.keep = true
					req := &request{method: "GET", path: []byte(s.search(searchDB, "bench", query(rnd)))}
					_, err := c.do(ctx, req, http.StatusOK)
					if err == nil && !bytes.Contains(c.body, []byte(`"total_rows":`)) {
						err = fmt.Errorf("%s has no total", req.path)
					}
					return 1, err
				}
			}}, p.duration)
		},
	}
}

// searchFresh measures queries each of which follows a write.
func searchFresh() *workload {
	return &workload{
		name: "search-fresh", unit: "queries/s", prepare: fillSearch,
		about: "_search: a query for one word after each write of a document, 1 connection",
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: 1, buffer: joinBelow, newStep: func(int) step {
				n := 0
				return func(c *conn) (int64, error) {
					n++
					word := fmt.Sprintf("fresh%dx%d", p.round, n)
					body := fmt.Appendf(nil, `{"customer":{"name":%q},"address":{"street":"","city":""},"tags":[],`+
						`"items":[],"note":"","number":1}`, word)
					put := &request{method: "PUT", path: []byte(s.db(searchDB) + "/" + word), body: body}
					if _, err := c.do(ctx, put, http.StatusCreated); err != nil {
						return 0, err
					}
					c.keep = true
					get := &request{method: "GET", path: []byte(s.search(searchDB, "bench", word))}
					_, err := c.do(ctx, get, http.StatusOK)
					if err == nil && !bytes.Contains(c.body, []byte(`"total_rows":1,`)) {
						err = fmt.Errorf("%s does not find what was written before: %s", get.path, c.body)
					}
					return 1, err
				}
			}}, p.duration)
		},
	}
}

// searchDisk measures how much a data directory grows by an index.
func searchDisk() *workload {
	const name = "search-disk"
	return &workload{
		name: name, unit: "MB", lessIsBetter: true, once: true, prepare: fillSearch,
		about: "growth of the data directory by a second _search index over all texts of the documents",
		round: func(ctx context.Context, s *session, _ plan) (sample, error) {
			if s.target.DataDir == "" {
				return sample{}, errNotHere
			}
			before, err := settledDiskUsage(ctx, s.target.DataDir, s.size.diskSteady)
			if err != nil {
				return sample{}, err
			}
			if _, err := s.request(ctx, "PUT", s.design(searchDB, name), searchDesign(name), 201); err != nil {
				return sample{}, err
			}
			if err := s.askSearch(ctx, s.search(searchDB, name, "water")); err != nil {
				return sample{}, err
			}
			after, err := settledDiskUsage(ctx, s.target.DataDir, s.size.diskSteady)
			return sample{value: float64(after-before) / megabyte}, err
		},
	}
}
