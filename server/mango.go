package server

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
)

// mangoPlan reads the request of _find or _explain and chooses an index (mango_httpd:handle_find_req/2).
func (c *Call) mangoPlan(explain bool) (*mango.Plan, error) {
	body, err := c.JSONRequest()
	if err != nil {
		return nil, err
	}
	defaults := mango.Defaults{Limit: c.set.mangoLimit}
	if partition, ok := c.query.First("partition"); ok {
		defaults.Partition = &partition
	}
	request, err := mango.ParseRequest(body, defaults)
	if err != nil {
		return nil, err
	}
	indexes, partitioned, err := c.indexes()
	if err != nil {
		return nil, err
	}
	return mango.NewPlan(request, indexes, partitioned, explain)
}

// find serves POST /{db}/_find.
func find(c *Call) error {
	plan, err := c.mangoPlan(false)
	if err != nil {
		return err
	}
	if plan.Index().Kind != mango.KindAllDocs {
		// What an index holds is not cut down to what the user may see.
		if err := c.mayQuery(); err != nil {
			return err
		}
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"docs":[`); err != nil {
		return err
	}
	var answer *mango.Answer
	if !plan.Nothing() {
		separator := "\r\n"
		answer, err = plan.Find(c.Context(), c.mangoSource(), func(doc []byte) error {
			b := append(append(s.Buffer(), separator...), doc...)
			separator = ",\r\n"
			return s.Commit(b)
		})
		if err != nil {
			return err
		}
		c.countQuery(plan, answer)
	}
	b := appendAnswer(append(s.Buffer(), "\r\n]"...), plan, answer)
	if err := s.Commit(append(b, "}\r\n\n"...)); err != nil {
		return err
	}
	return s.Close()
}

// appendAnswer appends what follows the documents; a query that can have no answer gets nothing of it.
func appendAnswer(b []byte, plan *mango.Plan, a *mango.Answer) []byte {
	if a == nil {
		if plan.WantsCount() {
			b = append(b, ",\r\n\"count\": 0"...)
		}
		return b
	}
	b = ejson.AppendString(append(b, ",\r\n\"bookmark\": "...), a.Bookmark)
	if plan.WantsStats() {
		b = a.Stats.AppendJSON(append(b, ",\r\n\"execution_stats\": "...))
	}
	if plan.WantsCount() {
		b = strconv.AppendInt(append(b, ",\r\n\"count\": "...), a.Count, 10)
	}
	if a.Warning != "" {
		b = ejson.AppendString(append(b, ",\r\n\"warning\": "...), a.Warning)
	}
	return b
}

func (c *Call) mangoSource() *mango.Source {
	source := &mango.Source{DB: c.db, Views: c.srv.views, Fields: c.srv.fields, ScanWarning: c.set.mangoScanWarning}
	if c.hidesDocs() {
		source.Shown = func(d *storage.Document) error { return c.shown(d) }
	}
	return source
}

// explain serves POST /{db}/_explain.
func explain(c *Call) error {
	plan, err := c.mangoPlan(true)
	if err != nil {
		return err
	}
	answer, err := plan.AppendExplain(c.Context(), c.mangoSource(), nil, c.db.Name())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// distinct serves POST /{db}/_distinct, an extension: the values of a field, each once, with how many documents have it.
func distinct(c *Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	request, err := mango.ParseDistinct(body, c.set.mangoLimit)
	if err != nil {
		return err
	}
	if c.hidesDocs() {
		return compat.NewError(compat.KindForbidden, "You are not allowed to list values of this database.")
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"values":[`); err != nil {
		return err
	}
	separator := "\r\n"
	answer, err := request.Find(c.Context(), c.mangoSource(), func(value []byte, count int64) error {
		b := append(append(append(s.Buffer(), separator...), `{"value":`...), value...)
		b = append(strconv.AppendInt(append(b, `,"count":`...), count, 10), '}')
		separator = ",\r\n"
		return s.Commit(b)
	})
	if err != nil {
		return err
	}
	b := ejson.AppendString(append(s.Buffer(), "\r\n],\r\n\"bookmark\": "...), answer.Bookmark)
	b = strconv.AppendInt(append(b, ",\r\n\"documents_not_counted\": "...), answer.NotCounted, 10)
	if err := s.Commit(append(b, "}\r\n"...)); err != nil {
		return err
	}
	return s.Close()
}

// countQuery adds a query to the statistics.
func (c *Call) countQuery(plan *mango.Plan, a *mango.Answer) {
	s := c.srv.stats
	s.add("mango.keys_examined", a.Stats.Keys)
	s.add("mango.docs_examined", a.Stats.Docs)
	s.add("mango.quorum_docs_examined", a.Stats.QuorumDocs)
	s.add("mango.results_returned", a.Stats.Results)
	s.read(int(a.Stats.Docs + a.Stats.QuorumDocs))
	if plan.Index().Kind == mango.KindAllDocs {
		s.add("mango.unindexed_queries", 1)
	}
}
