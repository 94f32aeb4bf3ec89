package functions

import (
	"reflect"
	"strconv"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/schedule"
	"github.com/settee-db/settee/server/call"
)

// functionStatus is where one function is in its life.
type functionStatus struct {
	CompositeStatus    definition.State `json:"composite_status"`
	Name               string           `json:"name"`
	Scope              definition.Scope `json:"function_scope"`
	BootstrappingNodes int              `json:"num_bootstrapping_nodes"`
	DeployedNodes      int              `json:"num_deployed_nodes"`
	DeploymentStatus   bool             `json:"deployment_status"`
	ProcessingStatus   bool             `json:"processing_status"`
	RedeployRequired   bool             `json:"redeploy_required"`
	Reason             string           `json:"reason,omitempty"`
	// Schedules are those of the setting, with the time of their next calls.
	Schedules []schedule.Upcoming `json:"schedules,omitempty"`
	// Messages that wait to be delivered, and those that could not be; nil if there are none.
	*outbox.Sizes
}

// status is newStatus with what the engine knows.
func (p *reports) status(c *call.Call, r *registry.Record, nodes int) (s functionStatus, err error) {
	s = newStatus(r, nodes)
	if s.Schedules, err = p.engine.NextCalls(c.Context(), r); err != nil {
		return s, err
	}
	sizes, err := p.engine.Outbox(c.Context(), r)
	if sizes.Bytes > 0 {
		s.Sizes = &sizes
	}
	return s, err
}

// newStatus returns a function's state. A transition, such as deploying, ends in the registry only
// when all nodes have completed it, so no node has to be asked.
func newStatus(r *registry.Record, nodes int) functionStatus {
	s := functionStatus{CompositeStatus: r.State, Name: r.Draft.Name, Scope: r.Draft.Scope, Reason: r.Reason}
	s.DeploymentStatus, s.ProcessingStatus = r.State.Statuses()
	switch r.State {
	case definition.Deploying, definition.Resuming:
		s.BootstrappingNodes = nodes
	case definition.Deployed, definition.Pausing, definition.Undeploying:
		s.DeployedNodes = nodes
	}
	s.RedeployRequired = r.Deployed != nil && !sameFunction(r.Draft, r.Deployed)
	return s
}

// sameFunction reports whether two versions of a function would do the same.
func sameFunction(a, b *definition.Function) bool {
	return a.Code == b.Code && reflect.DeepEqual(a.Bindings, b.Bindings) && reflect.DeepEqual(a.Settings, b.Settings)
}

// reports tell how functions fare: their states, what was counted, what they have logged. They change
// no function.
type reports struct {
	userFunctions
	engine Engine
}

// getStatus: GET /status/{name}.
func (p *reports) getStatus(c *call.Call) error {
	const statusName = 4 // /_eventing/api/v1/status/{name}
	ref, err := newRef(c, c.Segment(statusName))
	if err != nil {
		return err
	}
	r, err := p.managed(c, ref, definition.CodeNotFound)
	if err != nil {
		return err
	}
	nodes, err := p.engine.Nodes(c.Context())
	if err != nil {
		return err
	}
	s, err := p.status(c, r, nodes)
	if err != nil {
		return err
	}
	return show(c, struct {
		App   functionStatus `json:"app"`
		Nodes int            `json:"num_eventing_nodes"`
	}{s, nodes})
}

// getAllStatus: GET /status.
func (p *reports) getAllStatus(c *call.Call) error {
	all, err := p.all(c)
	if err != nil {
		return err
	}
	nodes, err := p.engine.Nodes(c.Context())
	if err != nil {
		return err
	}
	list := make([]functionStatus, len(all))
	for i, r := range all {
		if list[i], err = p.status(c, r, nodes); err != nil {
			return err
		}
	}
	return show(c, struct {
		Apps  []functionStatus `json:"apps"`
		Nodes int              `json:"num_eventing_nodes"`
	}{list, nodes})
}

// list names functions: GET /list/functions.
func (h *Handlers) list(c *call.Call) error {
	wanted, err := newFilter(c)
	if err != nil {
		return err
	}
	all, err := h.all(c)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(all))
	for _, r := range all {
		if wanted.has(r) {
			names = append(names, r.Draft.Name)
		}
	}
	return show(c, struct {
		Functions []string `json:"functions"`
	}{names})
}

// filter is which functions a list has; nil members want all.
type filter struct {
	deployed, writesSource, curl *bool
	source                       string
	scope                        definition.Scope
}

// newFilter reads the options of a list.
func newFilter(c *call.Call) (f filter, err error) {
	if f.scope, err = givenScope(c); err != nil {
		return f, err
	}
	for name, to := range map[string]**bool{"deployed": &f.deployed, "curl_binding": &f.curl} {
		text, ok := c.Query.First(name)
		if !ok {
			continue
		}
		value, err := strconv.ParseBool(text)
		if err != nil {
			return f, definition.Errorf(definition.CodeInvalidRequest, "%s must be true or false", name)
		}
		*to = &value
	}
	f.source, _ = c.Query.First("source_bucket")
	if kind, ok := c.Query.First("function_type"); ok {
		writes := kind == "sbm"
		if !writes && kind != "notsbm" {
			return f, definition.Errorf(definition.CodeInvalidRequest, "function_type must be sbm or notsbm")
		}
		f.writesSource = &writes
	}
	return f, nil
}

// has reports whether the list has a function.
func (f *filter) has(r *registry.Record) bool {
	is := func(want *bool, value bool) bool { return want == nil || *want == value }
	return is(f.deployed, r.State != definition.Undeployed) && // a paused one counts as deployed, as in Couchbase
		is(f.writesSource, r.Draft.WritesSource()) &&
		is(f.curl, len(r.Draft.Bindings.Curl) > 0) &&
		(f.source == "" || f.source == r.Draft.Bindings.SourceBucket) &&
		(f.scope == definition.Scope{} || f.scope == r.Draft.Scope)
}
