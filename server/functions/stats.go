package functions

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
)

// functionStats are the statistics of one function.
type functionStats struct {
	Name     string     `json:"function_name"`
	ID       uint32     `json:"function_id"`
	Scope    statsScope `json:"function_scope"`
	Boundary string     `json:"dcp_feed_boundary"`
	Backlog  backlog    `json:"events_remaining"`
	// Outbox is what is published and not delivered.
	Outbox outbox.Sizes `json:"outbox_stats"`
	definition.Stats
}

// statsScope is a scope as statistics have it, unlike everything else.
type statsScope struct {
	Bucket string `json:"bucket_name"`
	Scope  string `json:"scope_name"`
}

// backlog is how many events are not yet processed.
type backlog struct {
	Events int64 `json:"dcp_backlog"`
}

// gather gives the statistics of a function that is not undeployed.
func (p *reports) gather(c *call.Call, r *registry.Record, detail definition.Detail) (*functionStats, error) {
	s, err := p.engine.Stats(c.Context(), r, detail)
	if err != nil {
		return nil, err
	}
	sizes, err := p.engine.Outbox(c.Context(), r)
	if err != nil {
		return nil, err
	}
	all := &functionStats{
		Name: r.Draft.Name, ID: r.Draft.UUID, Boundary: r.Running().Settings.Boundary,
		Scope:   statsScope{r.Draft.Scope.Bucket, r.Draft.Scope.Scope},
		Backlog: backlog{s.Backlog}, Outbox: sizes, Stats: *s,
	}
	if detail < definition.Debug {
		all.Internal = nil
	}
	if detail < definition.Full {
		all.Latency, all.CurlLatency = nil, nil
	}
	for _, m := range []*map[string]any{&all.Execution, &all.Failure, &all.EventProcessing, &all.Distribution} {
		orEmpty(m)
	}
	for _, m := range []*map[string]int64{&all.StoreExceptions, &all.Percentiles, &all.WorkerPIDs} {
		orEmpty(m)
	}
	return all, nil
}

// orEmpty has a map shown as {} and not as null.
func orEmpty[V any](m *map[string]V) {
	if *m == nil {
		*m = map[string]V{}
	}
}

// details are the values of type.
var details = map[string]definition.Detail{
	"": definition.Usual, "full": definition.Full, "debug": definition.Debug,
}

// readDetail reads type, how much is told.
func readDetail(c *call.Call) (definition.Detail, error) {
	kind, _ := c.Query.First("type")
	detail, ok := details[kind]
	if !ok {
		return definition.Usual, definition.Errorf(definition.CodeInvalidRequest, "type must be full or debug")
	}
	return detail, nil
}

// getAllStats: GET /stats.
func (p *reports) getAllStats(c *call.Call) error {
	detail, err := readDetail(c)
	if err != nil {
		return err
	}
	all, err := p.all(c)
	if err != nil {
		return err
	}
	list := make([]*functionStats, 0, len(all))
	for _, r := range all {
		if r.State == definition.Undeployed {
			continue
		}
		s, err := p.gather(c, r, detail)
		if err != nil {
			return err
		}
		list = append(list, s)
	}
	return show(c, list)
}

// getStats: GET /stats/{name}. A function that does not run has an empty list.
func (p *reports) getStats(c *call.Call) error {
	const statsName = 4 // /_eventing/api/v1/stats/{name}
	detail, err := readDetail(c)
	if err != nil {
		return err
	}
	ref, err := newRef(c, c.Segment(statsName))
	if err != nil {
		return err
	}
	r, err := p.managed(c, ref, definition.CodeNotFound)
	if err != nil && !hasCode(err, definition.CodeNotFound) {
		return err
	}
	if r == nil || r.State == definition.Undeployed {
		return show(c, []functionStats{})
	}
	s, err := p.gather(c, r, detail)
	if err != nil {
		return err
	}
	return show(c, s)
}

// hasCode reports whether an error is one of a code.
func hasCode(err error, code definition.Code) bool { return toError(err).Code == code }

// running is the function that the query names, which must not be undeployed.
func (u *userFunctions) running(c *call.Call) (*registry.Record, error) {
	ref, err := queryRef(c)
	if err != nil {
		return nil, err
	}
	r, err := u.managed(c, ref, definition.CodeNotFound)
	if err != nil {
		return nil, err
	}
	if r.State == definition.Undeployed {
		return nil, definition.Errorf(definition.CodeNotDeployed, "Function: %s is not deployed", ref)
	}
	return r, nil
}

// part makes a handler that answers a part of the statistics of the function that the query names.
func (p *reports) part(choose func(*functionStats) any) call.Handler {
	return func(c *call.Call) error {
		r, err := p.running(c)
		if err != nil {
			return err
		}
		s, err := p.gather(c, r, definition.Full)
		if err != nil {
			return err
		}
		return show(c, choose(s))
	}
}

// resetStats: POST /resetStatsCounters?appName=f. Couchbase takes GET as well, which any page can
// make a browser send.
func (p *reports) resetStats(c *call.Call) error {
	r, err := p.running(c)
	if err != nil {
		return err
	}
	if err := p.engine.ResetStats(c.Context(), r); err != nil {
		return err
	}
	return done(c, fmt.Sprintf("Function: %s reset stats counters", r.Ref()))
}

// getPrometheus: GET /_prometheusMetrics, for server admins and holders of the role _metrics.
func (p *reports) getPrometheus(c *call.Call) error {
	if !c.User.HasRole("_metrics") {
		if err := requireAdmin(c); err != nil {
			return err
		}
	}
	all, _, err := p.registry.List(c.Context())
	if err != nil {
		return err
	}
	lines := map[string][]string{} // by counter: all series of one belong together
	for _, r := range all {
		if r.State == definition.Undeployed {
			continue
		}
		s, err := p.gather(c, r, definition.Usual)
		if err != nil {
			return err
		}
		counters := map[string]any{
			"dcp_backlog": s.Backlog.Events, "outbox": s.Outbox.Waiting, "outbox_bytes": s.Outbox.Bytes,
			"dead_letters": s.Outbox.DeadLetters,
		}
		for _, group := range []map[string]any{s.Execution, s.Failure, s.EventProcessing} {
			flatten(counters, "", group)
		}
		if n, ok := counters["dcp_mutation_msg_counter"]; ok { // as Couchbase's list of its metrics spells it
			counters["dcp_mutations_msg_counter"] = n
		}
		for name, n := range counters {
			lines[name] = append(lines[name], fmt.Sprintf("eventing_%s{functionName=%q} %v\n", name, r.Ref(), n))
		}
	}
	var b bytes.Buffer
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "# TYPE eventing_%s untyped\n", name)
		for _, line := range lines[name] {
			b.WriteString(line)
		}
	}
	return text(c, "text/plain; version=0.0.4", b.Bytes())
}

// renamed are counters whose series have another name than they have in statistics.
var renamed = map[string]string{"timer_context_size_exceeded_counter": "timer_context_size_exception_counter"}

// flatten takes over the numbers of a group of counters, those of groups in it with its name before
// theirs.
func flatten(into map[string]any, prefix string, group map[string]any) {
	for name, value := range group {
		if other, ok := renamed[name]; ok {
			name = other
		}
		v := reflect.ValueOf(value)
		switch {
		case v.CanInt() || v.CanUint() || v.CanFloat():
			into[prefix+name] = value
		case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
			nested := map[string]any{}
			for it := v.MapRange(); it.Next(); {
				nested[it.Key().String()] = it.Value().Interface()
			}
			flatten(into, prefix+name+"_", nested)
		}
	}
}
