package main

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// toldStatus is an engine with a status.
type toldStatus struct {
	text string
	err  error
}

// Status implements statusTeller.
func (s toldStatus) Status() ([]byte, error) { return []byte(s.text), s.err }

// TestClusterStatus: of FoundationDB's status there are metrics; of a cluster that is away that it
// is.
func TestClusterStatus(t *testing.T) {
	gather := func(s toldStatus) map[string]float64 {
		registry := prometheus.NewRegistry()
		registry.MustRegister(clusterStatus{s})
		families, err := registry.Gather()
		require.NoError(t, err)
		values := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				name := f.GetName()
				for _, label := range m.GetLabel() {
					name += " " + label.GetValue()
				}
				values[name] = m.GetGauge().GetValue()
			}
		}
		return values
	}
	require.Equal(t, map[string]float64{
		"settee_cluster_available": 1, "settee_cluster_healthy": 1, "settee_cluster_processes": 2,
		"settee_cluster_data_bytes": 66000, "settee_cluster_moving_bytes": 7,
		"settee_cluster_fault_tolerance_zones data": 1, "settee_cluster_fault_tolerance_zones availability": 0,
		"settee_cluster_latency_seconds begin": 0.01, "settee_cluster_latency_seconds begin_batch": 0.02,
		"settee_cluster_latency_seconds read": 0.03, "settee_cluster_latency_seconds commit": 0.04,
		"settee_cluster_transactions_limit": 1000, "settee_cluster_transactions": 5,
		"settee_cluster_limited storage_server_write_queue_size": 1,
	}, gather(toldStatus{text: `{"client":{"database_status":{"available":true,"healthy":true}},"cluster":{
		"data":{"total_kv_size_bytes":66000,"moving_data":{"in_flight_bytes":3,"in_queue_bytes":4}},
		"fault_tolerance":{"max_zone_failures_without_losing_data":1,"max_zone_failures_without_losing_availability":0},
		"latency_probe":{"transaction_start_seconds":0.01,"batch_priority_transaction_start_seconds":0.02,
			"read_seconds":0.03,"commit_seconds":0.04},
		"processes":{"a":{"x":1},"b":{}},
		"qos":{"transactions_per_second_limit":1000,"released_transactions_per_second":5,
			"performance_limited_by":{"name":"storage_server_write_queue_size"}}}}`}))
	away := map[string]float64{"settee_cluster_available": 0}
	require.Equal(t, away, gather(toldStatus{err: errors.New("away")}))
	require.Equal(t, away, gather(toldStatus{text: `{"client":{"database_status":{"available":false}}}`}))
}
