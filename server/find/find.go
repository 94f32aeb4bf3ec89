package find

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/tracing"
)

// requestBody reads the body of a request, and takes the memory that its selector needs.
func requestBody(c *call.Call) (ejson.Value, error) {
	body, err := c.JSONRequest()
	if err != nil {
		return body, err
	}
	return body, c.TakeParsed(selector.PatternSize(body), func() int64 { return selector.Size(body) })
}

// defaults are the options of a request that do not come from its body.
func (h *Handlers) defaults(c *call.Call) mango.Defaults {
	d := mango.Defaults{
		Limit:        c.Settings.MangoLimit,
		TextLimit:    c.Env.Config.Int("dreyfus", "max_limit", math.MaxInt64),
		NouveauLimit: c.Env.Config.Int("nouveau", "max_limit", math.MaxInt64),
		Follows36:    c.Settings.Follows36,
	}
	if partition, ok := c.Query.First("partition"); ok {
		d.Partition = &partition
	}
	return d
}

// mangoPlan reads the request of _find or _explain and chooses an index
// (mango_httpd:handle_find_req/2).
func (h *Handlers) mangoPlan(c *call.Call, body ejson.Value, explain bool) (*mango.Plan, error) {
	request, err := mango.ParseRequest(body, h.defaults(c))
	if err != nil {
		return nil, err
	}
	indexes, partitioned, err := h.planned(c, false)
	if err != nil {
		return nil, err
	}
	return mango.NewPlan(request, indexes, partitioned, explain)
}

// find serves POST /{db}/_find.
func (h *Handlers) find(c *call.Call) error {
	body, err := requestBody(c)
	if err != nil {
		return err
	}
	plan, err := h.mangoPlan(c, body, false)
	if err != nil {
		return err
	}
	// The error is given even where the answer would be empty, so that it does not depend on what is
	// stored.
	if plan.Index().Kind != mango.KindAllDocs {
		// What an index holds is not cut down to what the user may see.
		if err := c.Docs.CheckQuery(c.Context()); err != nil {
			return err
		}
	}
	source, err := h.mangoSource(c)
	if err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"docs":[`); err != nil {
		return err
	}
	var answer *mango.Answer
	if !plan.Nothing() {
		// Line ends and spaces are CouchDB's (mango_httpd:handle_doc).
		separator := "\r\n"
		ctx, span := tracing.Start(c.Context(), "find")
		span.String("settee.index", plan.Index().Kind.String())
		answer, err = plan.Find(ctx, source, func(doc []byte) error {
			if _, err := s.WriteString(separator); err != nil {
				return err
			}
			separator = ",\r\n"
			return s.Pass(doc)
		})
		if err == nil {
			span.Int("settee.docs_examined", answer.Stats.Docs)
			span.Int("settee.results", answer.Stats.Results)
		}
		span.End(err)
		if err != nil {
			return err
		}
		countQuery(c, plan, answer)
		// The index that an administrator would make does not serve those who see a slice.
		if source.Who == nil && plan.Index().Kind == mango.KindAllDocs {
			h.scans.note(c.DB.Name(), mango.FieldsOf(plan), &answer.Stats)
		}
	}
	b := appendAnswer(append(s.Buffer(), "\r\n]"...), plan, answer)
	if err := s.Commit(append(b, "}\r\n\n"...)); err != nil {
		return err
	}
	return s.Close()
}

// appendAnswer appends what follows the documents; a query that can have no answer gets nothing of
// it.
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

// mangoSource is what a query of this caller reads from. A caller who may not see every document
// gets a check of each one, which answers ErrHidden for a document that is not there as well as for
// one that is not theirs. Indexes of the whole database are not there for a slice of it.
func (h *Handlers) mangoSource(c *call.Call) (*mango.Source, error) {
	who, err := slice(c)
	if err != nil {
		return nil, err
	}
	source := &mango.Source{
		DB:          c.DB,
		Who:         who,
		Views:       h.o.Views,
		SearchTime:  time.Duration(c.Env.Config.Int("search", "timeout", 0)) * time.Millisecond,
		Keep:        c.Keep,
		ScanWarning: c.Settings.MangoScanWarning,
	}
	if who == nil {
		source.AllFields, source.Search = h.o.AllFields, h.o.Search
	}
	if c.Docs.Hides() {
		source.Shown = func(d *docread.Document) error {
			err := c.Docs.Show(c.Context(), d)
			if errors.Is(err, compat.ErrMissing) { // else the error would tell that there is one
				return mango.ErrHidden
			}
			return err
		}
	}
	return source, nil
}

// explain serves POST /{db}/_explain, for queries and for requests to _aggregate, which have values.
func (h *Handlers) explain(c *call.Call) error {
	body, err := requestBody(c)
	if err != nil {
		return err
	}
	var plan interface {
		AppendExplain(ctx context.Context, src *mango.Source, dst []byte, db string) ([]byte, error)
	}
	// CouchDB refuses the member, so that no request that it takes is read another way.
	if _, computes := body.Get("values"); computes {
		plan, err = h.aggregatePlan(c, body)
	} else {
		plan, err = h.mangoPlan(c, body, true)
	}
	if err != nil {
		return err
	}
	source, err := h.mangoSource(c)
	if err != nil {
		return err
	}
	answer, err := plan.AppendExplain(c.Context(), source, nil, c.DB.Name())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// distinct serves POST /{db}/_distinct, an extension: the values of a field, each once, with how
// many documents have it.
func (h *Handlers) distinct(c *call.Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	request, err := mango.ParseDistinct(body, c.Settings.MangoLimit)
	if err != nil {
		return err
	}
	// Values come out of an index, which has no documents to ask whether they are shown.
	if c.Docs.Hides() {
		return compat.NewError(compat.KindForbidden, "You are not allowed to list values of this database.")
	}
	source, err := h.mangoSource(c)
	if err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"values":[`); err != nil {
		return err
	}
	separator := "\r\n"
	answer, err := request.Find(c.Context(), source, func(value []byte, count int64) error {
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
func countQuery(c *call.Call, plan *mango.Plan, a *mango.Answer) {
	s := c.Env.Stats
	s.KeysExamined.Add(a.Stats.Keys)
	s.DocsExamined.Add(a.Stats.Docs)
	s.QuorumDocsExamined.Add(a.Stats.QuorumDocs)
	s.ResultsReturned.Add(a.Stats.Results)
	s.Evaluated(int(max(a.Stats.Keys, a.Stats.Docs)))
	s.QueryTime.Took(a.Stats.Time)
	s.Read(int(a.Stats.Docs + a.Stats.QuorumDocs))
	if plan.Index().Kind == mango.KindAllDocs {
		s.UnindexedQueries.Add(1)
	}
}
