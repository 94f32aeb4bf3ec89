package functions

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
)

// Partitions move by themselves here, while Couchbase's move when somebody begins a rebalance. Its
// clients and exporters ask how that goes: they are told of one while partitions move. Names and
// forms are those of eventing's service_manager2/internal_handlers.go (getRebalanceStatus is of the
// service_manager before it), and of tasks those of ns_server.

// nodeRows are what Couchbase has at the root of its service, and the tasks of its cluster manager.
func (p *reports) nodeRows() (rows []call.Route) {
	for _, row := range []struct {
		name   string
		answer call.Handler
		doc    string
	}{
		{"getRebalanceProgress", p.rebalanceProgress, "GET: how many partitions are to move."},
		{"getAggRebalanceProgress", p.rebalancing, "GET: functions whose partitions move."},
		{"getRebalanceStatus", p.rebalanceStatus, "GET: whether partitions move."},
		{"getAggRebalanceStatus", p.rebalanceStatus, "GET: whether partitions move."},
		{"getDeployedApps", p.names(definition.Deployed), "GET: functions that are deployed."},
		{"getLocallyDeployedApps", p.names(definition.Deployed), "GET: functions that are deployed."},
		{"getRunningApps", p.names(definition.Deployed, definition.Pausing, definition.Undeploying),
			"GET: functions that run."},
		{"getBootstrappingApps", p.names(definition.Deploying, definition.Resuming),
			"GET: functions that begin to run."},
		{"getPausingApps", p.names(definition.Pausing), "GET: functions that are being paused."},
		{"getBootstrapStatus", p.bootstrapStatus, "GET: whether functions begin to run."},
		{"getAggBootstrapStatus", p.bootstrapStatus, "GET: whether functions begin to run."},
		{"getWorkerCount", p.workerCount, "GET: the workers of all deployed functions."},
		{"pools/default/tasks", p.tasks, "GET: the rebalance, as the cluster manager tells of it."},
	} {
		for _, prefix := range []string{Mount, base} {
			rows = append(rows, newRow(prefix+"/"+row.name, methods{http.MethodGet: row.answer}, row.doc))
		}
	}
	return rows
}

// shares calls do for each deployed function that the user may manage, with how its partitions are
// divided.
func (p *reports) shares(c *call.Call, do func(*registry.Record, definition.Shares)) error {
	list, err := p.in(c, definition.Deployed)
	if err != nil {
		return err
	}
	for _, r := range list {
		s, err := p.engine.Shares(c.Context(), r)
		if err != nil {
			return err
		}
		do(r, s)
	}
	return nil
}

// allShares adds up how the partitions of all these functions are divided.
func (p *reports) allShares(c *call.Call) (sum definition.Shares, err error) {
	sum.ByNode = make(map[string]int)
	err = p.shares(c, func(_ *registry.Record, s definition.Shares) {
		sum.All += s.All
		sum.Owned += s.Owned
		sum.Planned += s.Planned
		for node, n := range s.ByNode {
			sum.ByNode[node] += n
		}
	})
	return sum, err
}

// rebalanceProgress: GET /getRebalanceProgress. Couchbase has numbers of functions where these are
// of partitions, and the nodes are always null.
func (p *reports) rebalanceProgress(c *call.Call) error {
	s, err := p.allShares(c)
	if err != nil {
		return err
	}
	return show(c, struct {
		Closing int `json:"CloseStreamVbsLen"`
		Opening int `json:"StreamReqVbsLen"`
		Moving  int `json:"VbsRemainingToShuffle"`
		Planned int `json:"VbsOwnedPerPlan"`
		Nodes   any `json:"NodeLevelStats"`
	}{
		Closing: s.Owned - s.Planned, Opening: s.All - s.Owned, Moving: s.All - s.Planned,
		Planned: s.Planned,
	})
}

// rebalancing: GET /getAggRebalanceProgress. Functions whose partitions move, each with the number
// of processes that have some to take or to give.
func (p *reports) rebalancing(c *call.Call) error {
	nodes := make(map[string]int)
	err := p.shares(c, func(r *registry.Record, s definition.Shares) {
		if s.Changing > 0 {
			nodes[r.Ref().String()] = s.Changing
		}
	})
	if err != nil {
		return err
	}
	return show(c, nodes)
}

// truth answers true or false and nothing behind it, which readers would not take.
func truth(c *call.Call, is bool) error {
	return text(c, "application/json", strconv.AppendBool(nil, is))
}

// rebalanceStatus: GET /getAggRebalanceStatus.
func (p *reports) rebalanceStatus(c *call.Call) error {
	s, err := p.allShares(c)
	if err != nil {
		return err
	}
	return truth(c, s.Planned < s.All)
}

// tasks: GET /pools/default/tasks, of which clients read the rebalance.
func (p *reports) tasks(c *call.Call) error {
	type nodeProgress struct {
		Progress float64 `json:"progress"`
	}
	type task struct {
		Type     string                  `json:"type"`
		Status   string                  `json:"status"`
		Subtype  string                  `json:"subtype,omitempty"`
		Progress *float64                `json:"progress,omitempty"`
		PerNode  map[string]nodeProgress `json:"perNode,omitempty"`
		Stale    bool                    `json:"statusIsStale"`
		TimedOut bool                    `json:"masterRequestTimedOut"`
	}
	s, err := p.allShares(c)
	if err != nil {
		return err
	}
	out := task{Type: "rebalance", Status: "notRunning"}
	if s.Planned < s.All {
		done := 100 * float64(s.Planned) / float64(s.All)
		out.Status, out.Subtype, out.Progress = "running", "rebalance", &done
		out.PerNode = make(map[string]nodeProgress)
		for node := range s.ByNode {
			out.PerNode[node] = nodeProgress{done}
		}
	}
	return show(c, []task{out})
}

// names answers the functions in some states, as an object with their names.
func (p *reports) names(states ...definition.State) call.Handler {
	return func(c *call.Call) error {
		list, err := p.in(c, states...)
		if err != nil {
			return err
		}
		names := make(map[string]string)
		for _, r := range list {
			names[r.Ref().String()] = ""
		}
		return show(c, names)
	}
}

// in gives the functions in some states that the user may manage.
func (p *reports) in(c *call.Call, states ...definition.State) (list []*registry.Record, err error) {
	all, err := p.all(c)
	for _, r := range all {
		if slices.Contains(states, r.State) {
			list = append(list, r)
		}
	}
	return list, err
}

// bootstrapStatus: GET /getAggBootstrapStatus.
func (p *reports) bootstrapStatus(c *call.Call) error {
	list, err := p.in(c, definition.Deploying, definition.Resuming)
	if err != nil {
		return err
	}
	return truth(c, len(list) > 0)
}

// workerCount: GET /getWorkerCount.
func (p *reports) workerCount(c *call.Call) error {
	list, err := p.in(c, definition.Deployed)
	if err != nil {
		return err
	}
	workers := int64(0)
	for _, r := range list {
		workers += r.Running().Settings.WorkerCount
	}
	return show(c, workers)
}
