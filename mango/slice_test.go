package mango_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// sliceTest is a database with access for each document on a store that counts what is read.
type sliceTest struct {
	t     testing.TB
	count *kvtest.Counting
	w     *world
}

func openSlice(t testing.TB) *sliceTest {
	s := &sliceTest{t: t, count: kvtest.NewCounting(memkv.New())}
	s.w = openWorld(t, s.count)
	s.w.beginWith(t, "db", storage.CreateOptions{Access: true})
	return s
}

// fill writes documents of somebody, with a member n from 0 on.
func (s *sliceTest) fill(owner, prefix string, count int) { s.fillWith(owner, prefix, count, "") }

func (s *sliceTest) fillWith(owner, prefix string, count int, text string) {
	s.t.Helper()
	for from := 0; from < count; from += 500 {
		var docs []*compat.Document
		for n := from; n < min(count, from+500); n++ {
			body, err := compat.NewBody([]byte(fmt.Sprintf(`{"n":%d,"_access":[%q],"text":%q}`, n, owner, text)))
			check(s.t, err)
			docs = append(docs, &compat.Document{ID: fmt.Sprintf("%05d%s", n, prefix), HasID: true, Body: body})
		}
		_, err := s.w.src.DB.Update(context.Background(), docs, storage.UpdateOptions{})
		check(s.t, err)
	}
}

// read answers a query of a user, and tells how many keys were read for it.
func (s *sliceTest) read(user access.Principals, query string, want int) (keys int64) {
	s.t.Helper()
	body, err := ejson.Parse([]byte(query))
	check(s.t, err)
	request, err := mango.ParseRequest(body, mango.Defaults{Limit: 25})
	check(s.t, err)
	src := *s.w.src
	src.DB, src.Who = s.w.src.DB.As(user), &user
	s.count.Reset()
	indexes, partitioned, err := new(mango.Catalogue).OfSlice(context.Background(), src.DB, user)
	check(s.t, err)
	plan, err := mango.NewPlan(request, indexes, partitioned, false)
	check(s.t, err)
	docs := 0
	answer, err := plan.Find(context.Background(), &src, func([]byte) error { docs++; return nil })
	check(s.t, err)
	if docs != want {
		s.t.Errorf("%s: %d documents, want %d", query, docs, want)
	}
	counts := s.count.Counts()
	if examined := answer.Stats.Docs; examined > 1000 {
		s.t.Errorf("%s: %d documents were looked at", query, examined)
	}
	return counts.Gets + counts.Rows
}

// A query of a user reads what is the user's own: ten thousand documents of others before, between
// and behind them change nothing.
func TestQueriesOfSlicesReadTheirOwn(t *testing.T) {
	s := openSlice(t)
	s.w.put(t, "_design/i", `{"language":"query","_access":["_users"],"views":{"n":{"map":{"fields":{"n":"asc"},
		"partial_filter_selector":{},"access":true},"reduce":"_count","options":{"def":{"fields":["n"]}}}}}`)
	index, err := s.w.src.Views.View(t.Context(), s.w.src.DB, "_design/i", "n")
	check(t, err)
	check(t, index.Wait(t.Context()))
	ann := access.Of("ann", []string{"sales"})
	s.fill("ann", "a", 200)
	s.fill("role:sales", "s", 200)
	others := 10_000
	if testing.Short() {
		others = 2000
	}
	queries := map[string]int{
		`{"selector":{}}`: 25, `{"selector":{"n":{"$gte":190}},"limit":100}`: 20,
		`{"selector":{"n":{"$gt":3}},"sort":["n"],"limit":4}`:            4,
		`{"selector":{"n":{"$gt":3}},"fields":["n"],"limit":30}`:         30,
		`{"selector":{"n":{"$lt":150}},"sort":[{"n":"desc"}],"limit":4}`: 4,
		`{"selector":{"_id":{"$gt":"00100","$lt":"00103"}}}`:             6, `{"selector":{"n":5},"count":true}`: 2,
		`{"selector":{"_id":{"$gt":null}},"sort":[{"_id":"desc"}],"limit":3,"fields":["n"]}`: 3,
	}
	before := map[string]int64{}
	for query, want := range queries {
		before[query] = s.read(ann, query, want)
	}
	s.fill("bob", "b", others)
	for query, want := range queries {
		if n := s.read(ann, query, want); n != before[query] {
			t.Errorf("%s reads %d keys, %d before there were documents of others", query, n, before[query])
		}
		// The index has the 400 documents of the user, of which the query reads some.
		if strings.Contains(query, `"n"`) && !strings.Contains(query, "_id") && before[query] > 300 {
			t.Errorf("%s reads %d keys", query, before[query])
		}
		t.Logf("%s: %d keys", query, before[query])
	}
}

// While an index by principal is not ready, its queries sort the user's own documents, more than are
// kept in memory among them.
func TestQueriesOfSlicesWithoutTheirIndex(t *testing.T) {
	s := openSlice(t)
	s.w.put(t, "_design/i", `{"language":"query","_access":["_users"],"views":{"n":{"map":{"fields":{"n":"asc"},
		"partial_filter_selector":{},"access":true},"reduce":"_count","options":{"def":{"fields":["n"]}}}}}`)
	s.fillWith("ann", "a", 60, strings.Repeat("x", 200_000))
	s.fill("bob", "b", 60)
	s.w.src.Views = nil
	ann := access.Of("ann", nil)
	s.read(ann, `{"selector":{"n":{"$gte":10}},"sort":[{"n":"desc"}],"limit":100}`, 50)
	s.read(ann, `{"selector":{"n":{"$lt":10}},"fields":["n"]}`, 10)
}
