package functions_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/servertest"
)

func (e *fakeEngine) Shares(context.Context, *registry.Record) (definition.Shares, error) {
	return e.shares, nil
}

// told are the paths that tell of a rebalance or of functions in a state, with what they answer.
type told map[string]string

// requireTold looks at the answers, at the root of the service and below api/v1.
func (x *fixture) requireTold(want told, headers ...string) {
	x.t.Helper()
	for path, body := range want {
		for _, prefix := range []string{"/_eventing", base} {
			w := x.Do("GET", prefix+"/"+path, "", headers...)
			require.Equal(x.t, http.StatusOK, w.Code, path)
			require.JSONEq(x.t, body, w.Body.String(), path)
			require.Equal(x.t, "application/json", w.Header().Get("Content-Type"), path)
			if body == "true" || body == "false" {
				require.Equal(x.t, body, w.Body.String(), "Couchbase's readers take nothing else")
			}
		}
	}
}

// idle are the answers where no function is deployed or on its way.
var idle = told{
	"getRebalanceProgress": `{"CloseStreamVbsLen":0,"StreamReqVbsLen":0,"VbsRemainingToShuffle":0,
		"VbsOwnedPerPlan":0,"NodeLevelStats":null}`,
	"getAggRebalanceProgress": "{}",
	"getRebalanceStatus":      "false", "getAggRebalanceStatus": "false",
	"getDeployedApps": "{}", "getLocallyDeployedApps": "{}", "getRunningApps": "{}",
	"getBootstrappingApps": "{}", "getPausingApps": "{}",
	"getBootstrapStatus": "false", "getAggBootstrapStatus": "false", "getWorkerCount": "0",
	"pools/default/tasks": `[{"type":"rebalance","status":"notRunning","statusIsStale":false,
		"masterRequestTimedOut":false}]`,
}

// changed are the answers of idle, but for some.
func (t told) changed(some told) told {
	all := told{}
	for _, from := range []told{t, some} {
		for path, body := range from {
			all[path] = body
		}
	}
	return all
}

// TestRebalancePaths: what Couchbase's tools ask about a rebalance is answered while partitions move
// and when they do not, in each state of a function.
func TestRebalancePaths(t *testing.T) {
	x := newFixture(t)
	x.run([]step{{"POST", "/functions/f", function(), 200, 0, ""}})
	x.requireTold(idle)
	x.run([]step{{"POST", "/functions/f/deploy", "", 200, 0, ""}})
	x.requireTold(idle.changed(told{
		"getBootstrappingApps": `{"f":""}`, "getBootstrapStatus": "true", "getAggBootstrapStatus": "true",
	}))
	x.settle(false)
	deployed := idle.changed(told{
		"getDeployedApps": `{"f":""}`, "getLocallyDeployedApps": `{"f":""}`, "getRunningApps": `{"f":""}`,
		"getWorkerCount": "2",
	})
	x.engine.shares = definition.Shares{
		All: 64, Owned: 60, Planned: 48, ByNode: map[string]int{"n1": 60, "n2": 0}, Changing: 2,
	}
	x.requireTold(deployed.changed(told{
		"getRebalanceProgress": `{"CloseStreamVbsLen":12,"StreamReqVbsLen":4,"VbsRemainingToShuffle":16,
			"VbsOwnedPerPlan":48,"NodeLevelStats":null}`,
		"getAggRebalanceProgress": `{"f":2}`,
		"getRebalanceStatus":      "true", "getAggRebalanceStatus": "true",
		"pools/default/tasks": `[{"type":"rebalance","status":"running","subtype":"rebalance","progress":75,
			"perNode":{"n1":{"progress":75},"n2":{"progress":75}},"statusIsStale":false,
			"masterRequestTimedOut":false}]`,
	}))
	x.engine.shares = definition.Shares{All: 64, Owned: 64, Planned: 64, ByNode: map[string]int{"n1": 64}}
	x.requireTold(deployed.changed(told{
		"getRebalanceProgress": `{"CloseStreamVbsLen":0,"StreamReqVbsLen":0,"VbsRemainingToShuffle":0,
			"VbsOwnedPerPlan":64,"NodeLevelStats":null}`,
	}))
	x.run([]step{
		{"GET", "/getConsumerPids?name=f", "", 200, 0, `"worker_f_0": 4711`},
		{"GET", "/getEventProcessingStats?name=f", "", 200, 0, "{}"},
		{"POST", "/functions/f/pause", "", 200, 0, ""},
	})
	x.requireTold(idle.changed(told{"getPausingApps": `{"f":""}`, "getRunningApps": `{"f":""}`}))
}

// TestRebalanceRights: users are told of the functions that they may manage, and nobody of any.
func TestRebalanceRights(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""}, {"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
	})
	x.engine.shares = definition.Shares{
		All: 64, Owned: 60, Planned: 48, ByNode: map[string]int{"n1": 60}, Changing: 2,
	}
	x.requireTold(idle, servertest.As("joe0")...)
	for path := range idle {
		x.run([]step{{"GET", "/" + path, "", 401, 61, ""}}, "Authorization", "")
		x.run([]step{{"POST", "/" + path, "", 405, 62, ""}})
	}
	for _, path := range []string{"/getConsumerPids?name=f", "/getEventProcessingStats?name=f"} {
		x.run([]step{{"GET", path, "", 401, 61, ""}}, "Authorization", "")
		x.run([]step{{"GET", path, "", 403, 60, ""}}, servertest.As("joe0")...)
	}
}
