package admin

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
)

var errSince = compat.NewError(compat.KindQueryParse, "since must be a time in seconds since 1970.")

// overview is the answer of _overview.
type overview struct {
	Node     string             `json:"node"`
	Version  string             `json:"version"`
	Started  int64              `json:"started"`      // this and Now in seconds since 1970
	Now      int64              `json:"now"`          // by this node's clock
	Interval int                `json:"interval"`     // seconds between two samples
	Capacity int                `json:"capacity"`     // how many are kept
	Memory   int                `json:"memory_bytes"` // that they take
	Limits   map[string]float64 `json:"limits"`
	Times    []int64            `json:"times"`
	Series   map[string]numbers `json:"series"`
	Cluster  json.RawMessage    `json:"cluster,omitempty"`
	Warnings []warning          `json:"warnings"`
}

// getOverview answers GET /_node/{node}/_overview: what the node counted in the last hour, or
// after since, its bounds, and for administrators what needs somebody to act; with cluster=true
// what a FoundationDB cluster says of itself, which is asked then.
func (h *Handlers) getOverview(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	after := int64(0)
	if text, given := c.Query.First("since"); given {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil {
			return errSince
		}
	}
	now := h.samples.read()
	answer := overview{
		Node: c.Env.Node, Version: h.build, Started: h.started.Unix(), Now: time.Now().Unix(),
		Interval: int(sampleEvery.Seconds()), Capacity: samplesKept, Memory: samplesMemory,
		Limits: map[string]float64{}, Warnings: []warning{},
	}
	for name, of := range limits {
		if n, there := now[of]; there {
			answer.Limits[name] = n
		}
	}
	answer.Times, answer.Series = h.samples.since(after)
	if asked, _ := c.Query.First("cluster"); asked == "true" && h.cluster != nil {
		answer.Cluster = h.cluster.JSON()
	}
	if c.User.IsAdmin() {
		var err error
		if answer.Warnings, err = warningsOf(c.Context(), h, now); err != nil {
			return err
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, body)
}
