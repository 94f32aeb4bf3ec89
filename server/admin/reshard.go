package admin

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
)

// Databases have no shards here, so there is nothing to split: _reshard answers as a CouchDB that
// has no jobs, and POST as one that has no such shard (mem3_reshard_httpd:handle_reshard_req).

// constantJSON answers with a text that never changes.
func constantJSON(text string) func(*call.Call) error {
	return func(c *call.Call) error { return c.JSON(http.StatusOK, []byte(text)) }
}

var (
	getReshard = constantJSON(
		`{"state":"running","state_reason":null,"completed":0,"failed":0,"running":0,"stopped":0,"total":0}`)
	getReshardState = constantJSON(`{"state":"running","reason":null}`)
	getReshardJobs  = constantJSON(`{"total_rows":0,"offset":0,"jobs":[]}`)
)

// checkReshardState refuses a body whose state is neither "running" nor "stopped".
func checkReshardState(c *call.Call) error {
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	state, ok := v.Get("state")
	if !ok {
		return compat.NewError(compat.KindBadRequest, "Expected a `state` field")
	}
	if !state.TextIs("running") && !state.TextIs("stopped") {
		return compat.NewError(compat.KindBadRequest, "State field not `running` or `stopped`")
	}
	return nil
}

// putReshardState accepts both states: without jobs they are the same.
func putReshardState(c *call.Call) error {
	if err := checkReshardState(c); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// postReshardJobs finds no shard to split.
func postReshardJobs(c *call.Call) error {
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	if kind, _ := v.Get("type"); !kind.TextIs("split") {
		return compat.NewError(compat.KindBadRequest, "`job type must be `split`")
	}
	return compat.ErrMissing
}

// putReshardJobState checks the body like CouchDB and then knows no such job: there are none.
func putReshardJobState(c *call.Call) error {
	if err := checkReshardState(c); err != nil {
		return err
	}
	return compat.ErrMissing
}
