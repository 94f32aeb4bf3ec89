package measure

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
)

// viewWorkloads are the workloads of views. view-reduce-few and -many ask the same of indexes of
// different sizes, because what a reduction costs must hardly grow with the rows below it.
func viewWorkloads() []*workload {
	return []*workload{
		buildView("view-build-sum", "first query of a view: JavaScript map with two rows a document, _sum", mapTwo,
			"_sum"),
		buildView("view-build-count", "first query of a view: JavaScript map with one row a document, _count", mapDates,
			"_count"),
		updateView(),
		viewRange(),
		viewQuery("view-key", viewDB, "ids", 2, "the row of a random key", func(s *session, rnd *rand.Rand) string {
			return "reduce=false&key=" + idKey(rnd.Int64N(s.size.viewDocuments))
		}),
		viewQuery("view-reduce", viewDB, "ids", 2, "_sum of a random range", randomIDs),
		viewQuery(
			"view-group-level",
			viewDB,
			"dates",
			13,
			"_sum with group_level=2 of the whole view, 12 groups",
			asking("group_level=2"),
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
		viewAsk{
			name: "view-reduce-16", db: viewDB, design: "bench", view: "ids", conns: 16, lines: 2,
			about: "_sum of a random range", query: randomIDs,
		}.workload(),
		viewAsk{
			name: "view-group-many", db: viewDB, design: "bench", view: "dates", conns: 1, lines: 13,
			about: "_sum with group_level=3 of the whole view, 336 groups", query: asking("group_level=3"),
		}.workload(),
		viewStats("view-stats-few", 1, "_stats with group_level=2 of the whole view, 12 groups", asking("group_level=2")),
		viewStats("view-stats-many", 1, "_stats with group_level=3 of the whole view, 336 groups",
			asking("group_level=3")),
		viewStats("view-stats-16", 16, "_stats of a random range of months and days", randomDates),
	}
}

// viewRange asks for 100 rows.
func viewRange() *workload {
	return viewQuery("view-range-100", viewDB, "ids", 101, "100 rows of a random range of keys",
		func(s *session, rnd *rand.Rand) string {
			first := rnd.Int64N(max(1, s.size.viewDocuments-100))
			return hundredRows(first)
		})
}

// hundredRows asks the view ids for the rows of 100 documents.
func hundredRows(first int64) string {
	return "reduce=false&startkey=" + idKey(first) + "&endkey=" + idKey(first+99)
}

// viewStats asks a view whose reduce function is _stats; it has the rows of the view dates.
func viewStats(name string, conns int, about string, query func(*session, *rand.Rand) string) *workload {
	w := viewAsk{
		name: name, db: viewDB, design: statsDesign, view: "dates", conns: conns, lines: 2, about: about, query: query,
	}.workload()
	w.prepare = func(ctx context.Context, s *session) error {
		if err := fillViews(ctx, s); err != nil {
			return err
		}
		return s.addStats(ctx)
	}
	return w
}

// asking asks the same again and again.
func asking(query string) func(*session, *rand.Rand) string {
	return func(*session, *rand.Rand) string { return query }
}

// randomIDs asks for a range of the view ids.
func randomIDs(s *session, rnd *rand.Rand) string {
	a, b := rnd.Int64N(s.size.viewDocuments), rnd.Int64N(s.size.viewDocuments)
	return "startkey=" + idKey(min(a, b)) + "&endkey=" + idKey(max(a, b))
}

// randomDates asks for a range of the view dates, of a day or more.
func randomDates(_ *session, rnd *rand.Rand) string {
	a, b := rnd.IntN(12*28), rnd.IntN(12*28)
	key := func(day int) string { return fmt.Sprintf("[2025,%d,%d]", 1+day/28, 1+day%28) }
	return "startkey=" + key(min(a, b)) + "&endkey=" + key(max(a, b))
}

// randomTens asks for a range of the view tens, of a database that has the documents divided by
// part.
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

// viewAsk asks a view again and again; lines is how many newlines an answer has at least.
type viewAsk struct {
	name, db, design, view string
	conns                  int
	lines                  int64
	about                  string
	query                  func(*session, *rand.Rand) string
}

// viewQuery is a viewAsk of the design document bench with one connection.
func viewQuery(name, db, view string, lines int64, about string, query func(*session, *rand.Rand) string) *workload {
	return viewAsk{
		name: name, db: db, design: "bench", view: view, conns: 1, lines: lines, about: about, query: query,
	}.workload()
}

// workload makes the workload. The number of lines in an answer is checked, since each row is a
// line: an empty answer would be fast.
func (a viewAsk) workload() *workload {
	about := fmt.Sprintf("%s, %d connection", a.about, a.conns)
	if a.conns > 1 {
		about += "s"
	}
	return &workload{
		name: a.name, unit: "queries/s", about: about, prepare: fillViews,
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.load(ctx, demand{conns: a.conns, buffer: joinBelow, newStep: func(n int) step {
				rnd := rand.New(rand.NewPCG(uint64(p.round), uint64(n)))
				req := &request{method: "GET"}
				base := s.design(a.db, a.design) + "/_view/" + a.view + "?"
				return func(c *conn) (int64, error) {
					c.keep = true
					req.path = append(append(req.path[:0], base...), a.query(s, rnd)...)
					resp, err := c.do(ctx, req, 200)
					if err == nil && (resp.lines < a.lines || !bytes.Contains(c.body, []byte(`"key":`))) {
						err = fmt.Errorf("%s has %d lines instead of %d, or no rows", req.path, resp.lines, a.lines)
					}
					return 1, err
				}
			}}, p.duration)
		},
	}
}
