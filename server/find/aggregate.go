package find

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/aggregate"
	"github.com/settee-db/settee/server/call"
)

// aggregatePlan chooses how a request to _aggregate is answered.
func (h *Handlers) aggregatePlan(c *call.Call, body ejson.Value) (*aggregate.Plan, error) {
	// A sum over documents would reveal something about documents that the user must not see, even
	// where none of them is shown.
	if c.Docs.Hides() {
		return nil, compat.NewError(compat.KindForbidden, "You are not allowed to compute with documents of this database.")
	}
	request, err := aggregate.Parse(body, h.defaults(c))
	if err != nil {
		return nil, err
	}
	indexes, partitioned, err := h.planned(c, true)
	if err != nil {
		return nil, err
	}
	return aggregate.NewPlan(request, indexes, partitioned)
}

// aggregate serves POST /{db}/_aggregate, an extension: documents in groups, counted and added up.
// It ends after `[mango] aggregate_timeout` seconds, and when the client goes away.
func (h *Handlers) aggregate(c *call.Call) error {
	body, err := requestBody(c)
	if err != nil {
		return err
	}
	plan, err := h.aggregatePlan(c, body)
	if err != nil {
		return err
	}
	source, err := h.mangoSource(c)
	if err != nil {
		return err
	}
	timeout := time.Duration(c.Env.Config.Int("mango", "aggregate_timeout", 0)) * time.Second
	ctx, cancel := context.WithTimeoutCause(c.Context(), timeout, compat.ErrTimeout)
	defer cancel()
	// An error before the first byte still gets its status: the stream sends the head only with
	// what is flushed.
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"groups":[`); err != nil {
		return err
	}
	separator := "\r\n"
	answer, err := plan.Run(ctx, source, func(group []byte) error {
		if _, err := s.WriteString(separator); err != nil {
			return err
		}
		separator = ",\r\n"
		return s.Pass(group)
	})
	if err != nil {
		// Its own time is over; if it is the request that has ended, nobody reads the answer.
		if errors.Is(err, context.DeadlineExceeded) && c.Context().Err() == nil {
			return compat.ErrTimeout
		}
		return err
	}
	b := strconv.AppendInt(append(s.Buffer(), "\r\n],\r\n\"ungrouped\": "...), answer.Ungrouped, 10)
	b = ejson.AppendString(append(b, ",\r\n\"bookmark\": "...), answer.Bookmark)
	if plan.WantsStats() {
		b = answer.Stats.AppendJSON(append(b, ",\r\n\"execution_stats\": "...))
	}
	if err := s.Commit(append(b, "}\r\n"...)); err != nil {
		return err
	}
	return s.Close()
}
