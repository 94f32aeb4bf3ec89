package measure

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

const (
	// viewDB is the database of the view workloads, fewDB one with a hundredth of its documents.
	// They stay until the run's end.
	viewDB = "views"
	fewDB  = "views-few"
	// statsDesign is a design document whose views have the reduce function _stats.
	statsDesign = "bench-stats"
	// buildLimit bounds how long an index may be built.
	buildLimit = 30 * time.Minute
	// changedDocuments is how many documents change between two queries.
	changedDocuments = 1000
	// tens is how many rows the view of that name has for each document.
	tens = 10
)

// The map functions.
const (
	mapTwo   = `function (doc) { var d = doc.created; emit([+d.slice(0, 4), +d.slice(5, 7), +d.slice(8, 10)], doc.number); emit([doc.customer.name, doc.address.city], doc.items.length); }`
	mapIDs   = `function (doc) { emit(doc._id, doc.number); }`
	mapDates = `function (doc) { var d = doc.created; emit([+d.slice(0, 4), +d.slice(5, 7), +d.slice(8, 10)], doc.number); }`
	mapTens  = `function (doc) { for (var i = 0; i < 10; i++) emit([i, doc._id], doc.number); }`
)

// designDocument writes one with a view of each map function, all with the same reduce function,
// that no server builds unasked.
func designDocument(reduce string, sources map[string]string) []byte {
	b := []byte(`{"autoupdate":false,"views":{`)
	for i, name := range slices.Sorted(maps.Keys(sources)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `%q:{"map":%q,"reduce":%q}`, name, sources[name], reduce)
	}
	return append(b, "}}"...)
}

// design is the path of a design document.
func (s *session) design(db, name string) string { return s.db(db) + "/_design/" + name }

// fillViews fills the databases of the view workloads and builds the views that queries read.
func fillViews(ctx context.Context, s *session) error {
	if err := s.fillView(ctx, viewDB, s.size.viewDocuments, "ids", "dates", "tens"); err != nil {
		return err
	}
	return s.fillView(ctx, fewDB, s.size.viewDocuments/100, "tens")
}

func (s *session) fillView(ctx context.Context, db string, count int64, views ...string) error {
	fresh := !slices.Contains(s.made, db)
	if err := s.fill(ctx, db, count); err != nil || !fresh {
		return err
	}
	sources := map[string]string{"ids": mapIDs, "dates": mapDates, "tens": mapTens}
	if _, err := s.request(ctx, "PUT", s.design(db, "bench"), designDocument("_sum", sources), 201); err != nil {
		return err
	}
	for _, view := range views {
		if err := s.index(ctx, s.design(db, "bench")+"/_view/"+view); err != nil {
			return err
		}
	}
	return nil
}

// addStats adds statsDesign, unless it is there.
func (s *session) addStats(ctx context.Context) error {
	const name = viewDB + "/" + statsDesign
	if slices.Contains(s.views, name) {
		return nil
	}
	design := designDocument("_stats", map[string]string{"dates": mapDates})
	if _, err := s.request(ctx, "PUT", s.design(viewDB, statsDesign), design, 201); err != nil {
		return err
	}
	s.views = append(s.views, name)
	return s.index(ctx, s.design(viewDB, statsDesign)+"/_view/dates")
}

// index asks a view for a row, and so has it brought up to date.
func (s *session) index(ctx context.Context, view string) error {
	c, err := s.connect(ctx, buildLimit)
	if err != nil {
		return err
	}
	defer c.close()
	req := &request{method: "GET", path: []byte(view + "?reduce=false&limit=1")}
	for {
		c.keep = true
		var resp response
		// CouchDB gives up waiting after a minute and goes on building.
		if resp, err = c.do(ctx, req, 200); resp.status != 500 || !bytes.Contains(c.body, []byte(`"error":"timeout"`)) {
			break
		}
	}
	if err == nil && !bytes.Contains(c.body, []byte(`"key":`)) {
		err = fmt.Errorf("%s has no rows", view)
	}
	return err
}

// timed measures something that is done once; its value is units per second.
func (s *session) timed(units int64, do func() error) (sample, error) {
	m, err := startMeter(s.target)
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	err = do()
	out := sample{units: units, value: float64(units) / time.Since(start).Seconds()}
	used, stopErr := m.stop()
	if out.used = used; err == nil {
		err = stopErr
	}
	return out, err
}

// buildView builds the index of one map function over all documents, with a source of its own in
// each round.
func buildView(name, about, source, reduce string) *workload {
	return &workload{
		name: name, unit: "docs/s", about: about, prepare: fillViews,
		round: func(ctx context.Context, s *session, p plan) (out sample, err error) {
			source := fmt.Sprintf("%s // round %d of %s", source, p.round, name)
			path := s.design(viewDB, fmt.Sprintf("%s-%d", name, p.round))
			answer, err := s.request(ctx, "PUT", path, designDocument(reduce, map[string]string{"v": source}), 201)
			if err != nil {
				return out, err
			}
			_, rest, _ := bytes.Cut(answer, []byte(`"rev":"`))
			rev, _, _ := bytes.Cut(rest, []byte(`"`))
			remove := path + "?rev=" + string(rev)
			build := func() error { return s.index(ctx, path+"/_view/v") }
			if out, err = s.timed(s.size.viewDocuments, build); err != nil {
				return out, err
			}
			if _, err = s.request(ctx, "DELETE", remove, nil, 200); err != nil {
				return out, err
			}
			_, err = s.request(ctx, "POST", s.db(viewDB)+"/_view_cleanup", nil, 202)
			return out, err
		},
	}
}

// updateView changes documents and measures the query that follows.
func updateView() *workload {
	return &workload{
		name: "view-update", unit: "docs/s", prepare: fillViews,
		about: fmt.Sprintf("a query after %d of the documents have changed, JavaScript map and _sum", changedDocuments),
		round: func(ctx context.Context, s *session, p plan) (out sample, err error) {
			count, err := s.changeDocuments(ctx, viewDB, p.round)
			if err != nil {
				return out, err
			}
			return s.timed(count, func() error { return s.index(ctx, s.design(viewDB, "bench")+"/_view/ids") })
		},
	}
}

// changeDocuments writes new revisions of some documents, spread over the database of
// viewDocuments, other ones in each round.
func (s *session) changeDocuments(ctx context.Context, db string, round int) (count int64, err error) {
	count = min(changedDocuments, s.size.viewDocuments)
	step := s.size.viewDocuments / count
	c, err := s.connect(ctx, requestLimit)
	if err != nil {
		return 0, err
	}
	defer c.close()
	pick := func(i int64) int64 { return (i*step + int64(round)) % s.size.viewDocuments }
	body, err := s.appendRevisions(ctx, c, nil, db, count, pick)
	if err != nil {
		return 0, err
	}
	answer, err := s.request(ctx, "POST", s.db(db)+"/_bulk_docs", body, 201)
	if err != nil {
		return 0, err
	}
	if stored := int64(bytes.Count(answer, []byte(`"ok":true`))); stored != count {
		return 0, fmt.Errorf("%d of %d documents were changed", stored, count)
	}
	return count, nil
}

// idKey is the JSON of an id, for a URL.
func idKey(n int64) string { return url.QueryEscape(`"` + string(appendID(nil, n)) + `"`) }

// tensKey is a key of the view tens.
func tensKey(ten, n int64) string {
	return url.QueryEscape(fmt.Sprintf(`[%d,"%s"]`, ten, appendID(nil, n)))
}
