package eventing

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/definition"
)

// exported are the series of a function that Couchbase's list of metrics has (parser/metrics_metadata.json in
// couchbase/eventing), which exporters read; as they are called in statistics.
const exported = `agg_queue_memory agg_queue_size analytics_op_exception_count bkt_ops_cas_mismatch_count
	bucket_op_exception_count checkpoint_failure_count dcp_delete_msg_counter dcp_deletion_sent_to_worker
	dcp_deletion_suppressed_counter dcp_expiry_sent_to_worker dcp_mutation_sent_to_worker
	dcp_mutation_suppressed_counter dcp_mutation_msg_counter n1ql_op_exception_count on_delete_failure
	on_delete_success on_update_failure on_update_success timeout_count timer_callback_failure
	timer_callback_missing_counter timer_callback_success timer_cancel_counter
	timer_context_size_exceeded_counter timer_create_counter timer_create_failure timer_msg_counter
	worker_spawn_counter`

// TestExportersFindTheirCounters: each is among the statistics of a function from its beginning on, and so are
// the processes of its workers.
func TestExportersFindTheirCounters(t *testing.T) {
	n := newAlone(t, "src")
	n.define("f", `function OnUpdate(doc, meta) {}`, "")
	n.deploy("f")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	s, err := n.engine.Stats(t.Context(), r, definition.Usual)
	require.NoError(t, err)
	for name := range strings.FieldsSeq(exported) {
		found := 0
		for _, group := range []map[string]any{s.Execution, s.Failure, s.EventProcessing} {
			if _, ok := group[name]; ok {
				found++
			}
		}
		require.Equal(t, 1, found, name)
	}
	n.put("src", "a", `{}`)
	n.eventually(func() bool {
		s, err := n.engine.Stats(t.Context(), r, definition.Usual)
		return err == nil && s.WorkerPIDs["worker_f_0"] == int64(os.Getpid())
	}, "no worker has a process")
}

// TestDividedAs: a process counts as one whose share changes if it has partitions to take or to give,
// and only while it lives.
func TestDividedAs(t *testing.T) {
	one, two, dead := nodes.ID{1}, nodes.ID{2}, nodes.ID{9}
	owned := func(by ...nodes.ID) (owners []nodes.ID) {
		for _, id := range by {
			for range partitions / len(by) {
				owners = append(owners, id)
			}
		}
		return owners
	}
	for name, c := range map[string]struct {
		owners                   []nodes.ID
		members                  []nodes.ID
		owned, planned, changing int
	}{
		"at rest":            {owned(one, two), []nodes.ID{one, two}, 64, 64, 0},
		"a process has come": {owned(one), []nodes.ID{one, two}, 64, 32, 2},
		"nobody had any":     {owned(nodes.ID{}), []nodes.ID{one, two}, 0, 0, 2},
		"one has died":       {owned(one, dead), []nodes.ID{one}, 32, 32, 1},
		"one for another":    {owned(one, dead), []nodes.ID{one, two}, 32, 32, 1},
		"nobody lives":       {owned(one, dead), nil, 0, 0, 0},
	} {
		var members []nodes.Member
		for _, id := range c.members {
			members = append(members, nodes.Member{ID: id})
		}
		s := dividedAs(c.owners, members)
		require.Equal(t, []int{partitions, c.owned, c.planned, c.changing},
			[]int{s.All, s.Owned, s.Planned, s.Changing}, name)
	}
}
