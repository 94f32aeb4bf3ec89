package eventing

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
)

// statsOf are the statistics of an instance in this process.
func (e *Engine) statsOf(r *registry.Record) *Statistics {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats[r.Instance]
	if s == nil {
		s = &Statistics{since: time.Now()}
		e.stats[r.Instance] = s
	}
	return s
}

// forget forgets the statistics of an instance that ends.
func (e *Engine) forget(r *registry.Record) {
	e.mu.Lock()
	delete(e.stats, r.Instance)
	e.mu.Unlock()
}

// ResetStats sets the counters of a function back to 0.
func (e *Engine) ResetStats(_ context.Context, r *registry.Record) error {
	e.statsOf(r).reset()
	return nil
}

// Stats are the statistics of a function that is not undeployed, as this process has counted them.
func (e *Engine) Stats(ctx context.Context, r *registry.Record, detail definition.Detail) (*definition.Stats, error) {
	s := e.statsOf(r)
	out := s.report(detail)
	e.mu.Lock()
	run := e.running[r.Ref()]
	e.mu.Unlock()
	if run == nil {
		return out, nil
	}
	run.f.mu.Lock()
	reader := run.f.reader
	run.f.mu.Unlock()
	if reader == nil {
		return out, nil
	}
	out.Backlog = reader.backlog()
	for i := range reader.lanes {
		var list []int
		for p := range partitions {
			if p*len(reader.lanes)/partitions == i {
				list = append(list, p)
			}
		}
		out.Distribution["worker_"+r.Draft.Name+"_"+strconv.Itoa(i)] = list
	}
	return out, nil
}

// report gives what was counted in Couchbase's names.
func (s *Statistics) report(detail definition.Detail) *definition.Stats {
	load := func(c *atomic.Int64) int64 { return c.Load() }
	s.mu.Lock()
	counters := maps.Clone(s.counters)
	latency, lateness := s.latency, s.lateness
	s.mu.Unlock()
	updates := load(&s.updates.done) + load(&s.updates.failed) + load(&s.updates.skipped)
	deletes := load(&s.deletes.done) + load(&s.deletes.failed) + load(&s.deletes.skipped)
	timers := load(&s.timers.done) + load(&s.timers.failed) + load(&s.timers.skipped)
	out := &definition.Stats{
		Execution: map[string]any{
			"on_update_success":             load(&s.updates.done),
			"on_update_failure":             load(&s.updates.failed),
			"on_delete_success":             load(&s.deletes.done),
			"on_delete_failure":             load(&s.deletes.failed),
			"no_op_counter":                 load(&s.updates.skipped) + load(&s.deletes.skipped),
			"timer_create_counter":          load(&s.timersCreated),
			"timer_cancel_counter":          load(&s.timersCancelled),
			"timer_create_failure":          counters["timer_create_failure"],
			"timer_msg_counter":             timers,
			"timer_callback_success":        load(&s.timers.done),
			"timer_callback_failure":        load(&s.timers.failed),
			"timers_skipped":                load(&s.timersSkipped),
			"dcp_mutation_msg_counter":      updates,
			"dcp_delete_msg_counter":        deletes,
			"messages_parsed":               updates + deletes + timers,
			"num_processed_events":          updates + deletes,
			"processed_events_size":         load(&s.bytes),
			"filtered_dcp_delete_counter":   int64(0),
			"filtered_dcp_mutation_counter": int64(0),
			"agg_queue_size":                int64(0),
			"agg_queue_memory":              int64(0),
			"lcb_retry_failure":             int64(0),
			"curl_success_count":            counters["curl_success_count"],
			"curl": map[string]int64{
				"get": counters["curl_get"], "post": counters["curl_post"], "put": counters["curl_put"],
				"delete": counters["curl_delete"], "head": counters["curl_head"],
			},
			"timestamp": time.Now().UTC().Format(time.RFC3339),
		},
		Failure: map[string]any{
			"timeout_count":                   load(&s.timeouts),
			"timer_callback_missing_counter":  load(&s.callbackMissing),
			"checkpoint_failure_count":        load(&s.checkpointFailures),
			"dcp_mutation_checkpoint_failure": int64(0),
			"debugger_events_lost":            int64(0),
			"analytics_op_exception_count":    int64(0),
			"search_op_exception_count":       int64(0),
			"retries":                         load(&s.retries),
			"conflicts":                       load(&s.conflicts),
			"superseded_writes":               load(&s.superseded),
			"hop_limit_exceeded":              load(&s.hops),
			"progress_lost":                   load(&s.progressLost),
		},
		EventProcessing: map[string]any{
			"dcp_mutation_sent_to_worker":     updates,
			"dcp_deletion_sent_to_worker":     deletes,
			"dcp_expiry_sent_to_worker":       int64(0),
			"dcp_mutation_suppressed_counter": load(&s.suppressedUpdates),
			"dcp_deletion_suppressed_counter": load(&s.suppressedDeletes),
			"worker_spawn_counter":            int64(1),
		},
		Percentiles: map[string]int64{
			"50": latency.percentile(0.5), "80": latency.percentile(0.8), "90": latency.percentile(0.9),
			"95": latency.percentile(0.95), "99": latency.percentile(0.99), "100": latency.percentile(1),
		},
		Distribution:    make(map[string]any),
		StoreExceptions: make(map[string]int64),
	}
	for name, n := range counters {
		if code, ok := strings.CutPrefix(name, "kv_error_"); ok {
			out.StoreExceptions[code] = n
		}
	}
	for _, name := range failureCounters {
		out.Failure[name] = counters[name]
	}
	if detail >= definition.Full {
		out.Latency = make(map[string]int64)
		latency.each(func(us, n int64) { out.Latency[strconv.FormatInt(us, 10)] = n })
	}
	if detail >= definition.Debug {
		out.Internal = map[string]any{
			"timer_lateness_us": map[string]int64{
				"50": lateness.percentile(0.5), "99": lateness.percentile(0.99), "100": lateness.percentile(1),
			},
			"counters": counters,
		}
	}
	return out
}

// failureCounters are those that workers count.
var failureCounters = []string{
	"bucket_op_exception_count", "bucket_op_cache_miss_count", "bkt_ops_cas_mismatch_count",
	"n1ql_op_exception_count", "timer_context_size_exceeded_counter", "curl_non_200_response", "curl_timeout_count",
	"curl_failure_count", "curl_max_resp_size_exceeded",
}

// Insight is what the lines of a function's code did in this process.
func (e *Engine) Insight(_ context.Context, r *registry.Record, _ bool) (*definition.Insight, error) {
	s := e.statsOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	insight := &definition.Insight{Script: r.Running().Code, Lines: make(map[int]definition.InsightLine)}
	maps.Copy(insight.Lines, s.lines)
	return insight, nil
}

// Nodes is how many processes run functions on this store: with a lease for each function, any number; told is this
// one.
func (e *Engine) Nodes(context.Context) (int, error) { return 1, nil }
