package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
)

func viewWorkloads() []*workload {
	return []*workload{
		buildView("view-build-sum", "first query of a view: JavaScript map with two rows a document, _sum", mapTwo,
			"_sum"),
		buildView("view-build-count", "first query of a view: JavaScript map with one row a document, _count", mapDates,
			"_count"),
		updateView(),
		viewQuery(
			"view-range-100",
			viewDB,
			"ids",
			101,
			"100 rows of a random range of keys",
			func(s *session, rnd *rand.Rand) string {
				first := rnd.Int64N(max(1, s.size.viewDocuments-100))
				return "reduce=false&startkey=" + idKey(first) + "&endkey=" + idKey(first+99)
			},
		),
		viewQuery("view-key", viewDB, "ids", 2, "the row of a random key", func(s *session, rnd *rand.Rand) string {
			return "reduce=false&key=" + idKey(rnd.Int64N(s.size.viewDocuments))
		}),
		viewQuery("view-reduce", viewDB, "ids", 2, "_sum of a random range", func(s *session, rnd *rand.Rand) string {
			a, b := rnd.Int64N(s.size.viewDocuments), rnd.Int64N(s.size.viewDocuments)
			return "startkey=" + idKey(min(a, b)) + "&endkey=" + idKey(max(a, b))
		}),
		viewQuery(
			"view-group-level",
			viewDB,
			"dates",
			13,
			"_sum with group_level=2 of the whole view, 12 groups",
			func(*session, *rand.Rand) string {
				return "group_level=2"
			},
		),
		viewQuery(
			"view-skip",
			viewDB,
			"ids",
			2,
			"one row after nine tenths of the view, with skip",
			func(s *session, rnd *rand.Rand) string {
				return fmt.Sprintf("reduce=false&limit=1&skip=%d",
					s.size.viewDocuments*9/10-rnd.Int64N(max(1, s.size.viewDocuments/100)))
			},
		),
		viewQuery("view-reduce-few", fewDB, "tens", 2,
			"_sum of a random range of a view with a tenth of the documents' number in rows", randomTens(100)),
		viewQuery("view-reduce-many", viewDB, "tens", 2,
			"_sum of a random range of a view with ten times the documents' number in rows", randomTens(1)),
	}
}

// randomTens asks for a range of the view tens, of a database that has the documents divided by part.
func randomTens(part int64) func(*session, *rand.Rand) string {
	return func(s *session, rnd *rand.Rand) string {
		count := max(1, s.size.viewDocuments/part)
		first, last := rnd.Int64N(tens*count), rnd.Int64N(tens*count)
		if first > last {
			first, last = last, first
		}
		return "startkey=" + tensKey(first/count, first%count) + "&endkey=" + tensKey(last/count, last%count)
	}
}

// viewQuery asks a view again and again; lines is how many newlines an answer has at least.
func viewQuery(name, db, view string, lines int64, about string, query func(*session, *rand.Rand) string) *workload {
	return &workload{
		name: name, unit: "queries/s", about: about + ", 1 connection", prepare: fillViews,
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: 1, buffer: joinBelow, newStep: func(int) step {
				rnd := rand.New(rand.NewPCG(uint64(p.round), 0))
				req := &request{method: "GET"}
				base := s.design(db, "bench") + "/_view/" + view + "?"
				return func(c *conn) (int64, error) {
					c.keep = true
					req.path = append(append(req.path[:0], base...), query(s, rnd)...)
					resp, err := c.do(ctx, req, 200)
					if err == nil && (resp.lines < lines || !bytes.Contains(c.body, []byte(`"key":`))) {
						err = fmt.Errorf("%s has %d lines instead of %d, or no rows", req.path, resp.lines, lines)
					}
					return 1, err
				}
			}}, p.duration)
		},
	}
}
