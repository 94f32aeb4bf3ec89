package eventing

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
)

// Stats are the statistics of a function that is not undeployed, of all processes on the store.
func (e *Engine) Stats(ctx context.Context, r *registry.Record, detail definition.Detail) (*definition.Stats, error) {
	sum, parts, err := e.total(ctx, r)
	if err != nil {
		return nil, err
	}
	out := sum.report(detail)
	unread, err := e.unread(ctx, r, parts)
	if err != nil {
		return nil, err
	}
	out.Backlog = sum.Queued + unread
	out.WorkerPIDs = make(map[string]int64)
	for name, list := range sum.Workers {
		out.Distribution[name] = list
		if !strings.Contains(name, "@") { // one of this process, which has the pids that are asked for
			out.WorkerPIDs[name] = int64(os.Getpid())
		}
	}
	if detail >= definition.Debug {
		if out.Internal["partitions"], err = e.Shares(ctx, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Shares tells how the partitions of a function are divided between the processes on the store.
func (e *Engine) Shares(ctx context.Context, r *registry.Record) (out definition.Shares, err error) {
	owners, _, err := ownersOf(ctx, e.o.KV, spaceOf(r.Instance))
	if err != nil {
		return out, err
	}
	out = dividedAs(owners, e.members.Known())
	return out, nil
}

// dividedAs tells how partitions are divided that have these owners, between living processes.
func dividedAs(owners []nodes.ID, members []nodes.Member) definition.Shares {
	out := definition.Shares{All: partitions, ByNode: make(map[string]int)}
	changing := make(map[nodes.ID]bool)
	for i, id := range planOf(owners, members) {
		planned := owners[i] == id
		if planned {
			out.Planned++
		} else if len(members) > 0 {
			changing[id] = true // has it to take
		}
		for _, m := range members {
			if owners[i] == m.ID {
				out.Owned++
				out.ByNode[m.Label()]++
				changing[m.ID] = changing[m.ID] || !planned // or to give
			}
		}
	}
	for _, has := range changing {
		if has {
			out.Changing++
		}
	}
	return out
}

// report gives the counters under the names that Couchbase has for them, so that its tools read
// them.
func (t *tally) report(detail definition.Detail) *definition.Stats {
	c := t.Counts
	updates := c[updatesDone] + c[updatesFailed] + c[updatesSkipped]
	deletes := c[deletesDone] + c[deletesFailed] + c[deletesSkipped]
	timers := c[timersDone] + c[timersFailed] + c[timersMissing]
	out := &definition.Stats{
		Execution: map[string]any{
			"no_op_counter":            c[updatesSkipped] + c[deletesSkipped],
			"timer_msg_counter":        timers,
			"dcp_mutation_msg_counter": updates,
			"dcp_delete_msg_counter":   deletes,
			"messages_parsed":          updates + deletes + timers,
			"num_processed_events":     updates + deletes,
			"agg_queue_size":           t.Queued,
			"agg_queue_memory":         t.QueuedBytes,
			"curl": map[string]int64{
				"get": c["curl_get"], "post": c["curl_post"], "put": c["curl_put"], "delete": c["curl_delete"],
				"head": c["curl_head"],
			},
			"timestamp": time.Now().UTC().Format(time.RFC3339),
		},
		Failure: make(map[string]any),
		EventProcessing: map[string]any{
			mutationsStarted: updates + c[filteredUpdates],
			deletionsStarted: deletes + c[filteredDeletes],
		},
		Percentiles: map[string]int64{
			"50": t.Latency.Percentile(0.5), "80": t.Latency.Percentile(0.8), "90": t.Latency.Percentile(0.9),
			"95": t.Latency.Percentile(0.95), "99": t.Latency.Percentile(0.99), "100": t.Latency.Percentile(1),
		},
		Distribution:    make(map[string]any),
		StoreExceptions: make(map[string]int64),
	}
	for to, names := range map[*map[string]any][]string{
		&out.Execution: executionCounters, &out.Failure: failureCounters, &out.EventProcessing: processingCounters,
	} {
		for _, name := range names {
			(*to)[name] = c[name]
		}
	}
	for name, n := range c {
		if code, ok := strings.CutPrefix(name, "kv_error_"); ok {
			out.StoreExceptions[code] = n
		}
	}
	if detail >= definition.Full {
		out.Latency = make(map[string]int64)
		t.Latency.Each(func(us, n int64) { out.Latency[strconv.FormatInt(us, 10)] = n })
	}
	if detail >= definition.Debug {
		out.Internal = map[string]any{
			"timer_lateness_us": map[string]int64{
				"50": t.Lateness.Percentile(0.5), "99": t.Lateness.Percentile(0.99), "100": t.Lateness.Percentile(1),
			},
			"counters": c,
		}
	}
	return out
}

// What is told as it was counted, under its own name. Some of Couchbase's never happen here: events
// are not lost to a debugger, and there are no analytics and search services.
var (
	executionCounters = []string{
		updatesDone, updatesFailed, deletesDone, deletesFailed, timersCreated, timersCancelled, timersDone,
		timersFailed, timersSkipped, eventBytes, filteredUpdates, filteredDeletes, "timer_create_failure",
		"lcb_retry_failure", "curl_success_count", "on_request_success", "on_request_failure", "on_request_skipped",
		messagesPublished, messagesDelivered,
	}
	failureCounters = []string{
		timeouts, timersMissing, checkpointsLost, "dcp_mutation_checkpoint_failure", "debugger_events_lost",
		"analytics_op_exception_count", "search_op_exception_count", retries, conflicts, superseded, hopsExceeded,
		progressesLost, "bucket_op_exception_count", "bucket_op_cache_miss_count", "bkt_ops_cas_mismatch_count",
		"n1ql_op_exception_count", "timer_context_size_exceeded_counter", "curl_non_200_response",
		"curl_timeout_count", "curl_failure_count", "curl_max_resp_size_exceeded", messagesRetried, messagesDead,
		"publish_failure",
	}
	processingCounters = []string{expiriesSeen, ownUpdates, ownDeletes, workersStarted}
)

// Insight is what the lines of a function's code did, in all processes on the store.
func (e *Engine) Insight(ctx context.Context, r *registry.Record, _ bool) (*definition.Insight, error) {
	sum, _, err := e.total(ctx, r)
	if err != nil {
		return nil, err
	}
	return &definition.Insight{Script: r.Running().Code, Lines: sum.Lines}, nil
}

// Nodes is how many processes run functions on this store.
func (e *Engine) Nodes(context.Context) (int, error) { return len(e.members.Known()), nil }

// workerName is what a worker is called in statistics; node is empty for those of the process that
// is asked.
func workerName(function string, worker int, node string) string {
	name := fmt.Sprintf("worker_%s_%d", function, worker)
	if node != "" {
		name += "@" + node
	}
	return name
}

// AppLog gives the last lines of a function's log, of all processes, the newest first; about size
// bytes.
func (e *Engine) AppLog(ctx context.Context, r *registry.Record, _ bool, size int64) ([]byte, error) {
	return e.logs.Last(ctx, r.Ref(), size)
}
