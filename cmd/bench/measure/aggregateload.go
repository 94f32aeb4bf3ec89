package measure

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

const (
	// groupsDB is the database of the workload of many documents in few groups, manyGroups how many
	// groups there are.
	groupsDB   = "groups"
	manyGroups = 50
	// groupsIndex is the body of _index for it.
	groupsIndex = `{"index":{"fields":["group"],"values":["amount"]},"name":"group","ddoc":"group"}`
)

// grouping is what is computed for groups of documents: with _aggregate, or on a server without it
// by a view that has the same groups, as its users do it.
type grouping struct {
	name, about string
	db          string
	fill        func(ctx context.Context, s *session) error
	own         []string // the databases that nothing else uses
	index, ask  string   // bodies of _index and of _aggregate
	view        []byte   // a design document whose view is called groups
	groups      int      // that an answer has at least
}

// cities counts documents by an index that has nothing besides.
var cities = grouping{
	name: "aggregate-cities", about: "documents counted by a field that an index has", db: findDB, fill: fillFind,
	index: `{"index":{"fields":["address.city"]},"name":"address.city","ddoc":"address.city"}`,
	ask:   `{"group_by":["address.city"],"values":{"n":{"$count":true}},"limit":1000}`,
	view: designDocument("_count", map[string]string{
		"groups": "function (doc) { emit([doc.address.city], null); }",
	}),
	groups: 1,
}

// fiftyOfAMillion counts and adds up by an index that has sums.
var fiftyOfAMillion = grouping{
	name: "aggregate-50-of-1m", about: "1,000,000 documents in 50 groups, their number and the sum of a field",
	db: groupsDB, fill: fillGroups, own: []string{groupsDB},
	index: groupsIndex,
	ask:   `{"group_by":["group"],"values":{"n":{"$count":true},"total":{"$sum":"amount"}},"limit":1000}`,
	view: designDocument("_stats", map[string]string{
		"groups": "function (doc) { emit([doc.group], doc.amount); }",
	}),
	groups: manyGroups,
}

// fillGroups makes the database of many documents in few groups. The index is there before them,
// so that no server has to build one within the time of a request.
func fillGroups(ctx context.Context, s *session) error {
	if err := s.create(ctx, groupsDB); err != nil {
		return err
	}
	s.offerIndex(ctx, groupsDB, groupsIndex)
	return s.fillWith(ctx, groupsDB, s.size.groupDocuments, func(b []byte, n int64) []byte {
		return fmt.Appendf(b, `"group":"group %02d","amount":%d}`, n%manyGroups, n%1000)
	})
}

// offerIndex makes the index that _aggregate wants. A server that does not know it refuses, and is
// asked for a view later.
func (s *session) offerIndex(ctx context.Context, db, index string) {
	_, _ = s.request(ctx, "POST", s.db(db)+"/_index", []byte(index), 200)
}

// workload asks for the groups again and again.
func (g *grouping) workload() *workload {
	return &workload{
		name: g.name, unit: "queries/s", prepare: g.fill, databases: g.own,
		about: "POST /_aggregate: " + g.about + "; without it, a view with group=true",
		round: func(ctx context.Context, s *session, p plan) (out sample, err error) {
			req := &request{method: "POST", path: []byte(s.db(g.db) + "/_aggregate"), body: []byte(g.ask)}
			s.offerIndex(ctx, g.db, g.index)
			if _, err := s.request(ctx, "POST", string(req.path), req.body, 200); err != nil {
				if req, err = g.byView(ctx, s); err != nil {
					return out, err
				}
			}
			return s.load(ctx, demand{conns: 1, buffer: joinBelow, newStep: func(int) step {
				return func(c *conn) (int64, error) {
					c.keep = true
					_, err := c.do(ctx, req, 200)
					if n := bytes.Count(c.body, []byte(`"key":[`)); err == nil && n < g.groups {
						err = fmt.Errorf("%s gives %d groups instead of %d", req.path, n, g.groups)
					}
					return 1, err
				}
			}}, p.duration)
		},
	}
}

// byView is the request for the groups of a view, which it adds.
func (g *grouping) byView(ctx context.Context, s *session) (*request, error) {
	name := g.db + "/groups"
	view := s.design(g.db, "groups") + "/_view/groups"
	if !slices.Contains(s.views, name) {
		if _, err := s.request(ctx, "PUT", s.design(g.db, "groups"), g.view, 201); err != nil {
			return nil, err
		}
		s.views = append(s.views, name)
	}
	return &request{method: "GET", path: []byte(view + "?group=true")}, s.index(ctx, view)
}
