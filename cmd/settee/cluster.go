package main

import (
	"encoding/json"

	"github.com/prometheus/client_golang/prometheus"
)

// clusterStatus reads the status of a FoundationDB cluster, for Prometheus and for _system.
type clusterStatus struct{ engine statusTeller }

// statusTeller is an engine that gives FoundationDB's status.
type statusTeller interface{ Status() ([]byte, error) }

// status is the part of the cluster's status that is used.
type status struct {
	Client struct {
		Database struct {
			Available bool
			Healthy   bool
		} `json:"database_status"`
	}
	Cluster clusterState
}

// clusterState is the part that is there only while the cluster is available.
type clusterState struct {
	Data struct {
		Bytes  float64 `json:"total_kv_size_bytes"`
		Moving struct {
			InFlight float64 `json:"in_flight_bytes"`
			InQueue  float64 `json:"in_queue_bytes"`
		} `json:"moving_data"`
	}
	FaultTolerance struct {
		Data         float64 `json:"max_zone_failures_without_losing_data"`
		Availability float64 `json:"max_zone_failures_without_losing_availability"`
	} `json:"fault_tolerance"`
	Latency struct {
		Begin  float64 `json:"transaction_start_seconds"`
		Batch  float64 `json:"batch_priority_transaction_start_seconds"`
		Read   float64 `json:"read_seconds"`
		Commit float64 `json:"commit_seconds"`
	} `json:"latency_probe"`
	Processes map[string]struct{}
	Quality   struct {
		Limit   float64 `json:"transactions_per_second_limit"`
		Rate    float64 `json:"released_transactions_per_second"`
		Limited struct {
			Name string
		} `json:"performance_limited_by"`
	} `json:"qos"`
}

// gauges of the cluster.
var (
	availableDesc = clusterGauge("available", "1 if the database can be read and written")
	healthyDesc   = clusterGauge("healthy", "1 if there are as many copies of everything as there should be")
	processesDesc = clusterGauge("processes", "fdbserver processes that are there")
	bytesDesc     = clusterGauge("data_bytes", "keys and values of all that share the cluster, one copy")
	movingDesc    = clusterGauge("moving_bytes", "data that is being copied to other processes, or is going to be")
	toleranceDesc = clusterGauge("fault_tolerance_zones",
		"zones that may be lost without losing data, or availability", "keeps")
	latencyDesc = clusterGauge("latency_seconds", "what the cluster's probe has seen", "of")
	limitDesc   = clusterGauge("transactions_limit", "transactions a second that may begin")
	rateDesc    = clusterGauge("transactions", "transactions a second that have begun")
	limitedDesc = clusterGauge("limited", "1 for what bounds the limit", "by")
)

func clusterGauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("settee_cluster_"+name, help+" (FoundationDB's status)", labels, nil)
}

// Describe implements prometheus.Collector.
func (c clusterStatus) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		availableDesc, healthyDesc, processesDesc, bytesDesc, movingDesc, toleranceDesc, latencyDesc, limitDesc,
		rateDesc, limitedDesc,
	} {
		descs <- d
	}
}

// read asks the cluster. While nothing is known of it it is not available.
func (c clusterStatus) read() (st status) {
	text, err := c.engine.Status()
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err != nil {
		return status{}
	}
	return st
}

// JSON is the cluster in the answer of _system, in terms of the metrics.
func (c clusterStatus) JSON() []byte {
	st := c.read()
	now := &st.Cluster
	text, _ := json.Marshal(struct {
		Available bool               `json:"available"`
		Healthy   bool               `json:"healthy"`
		Processes int                `json:"processes"`
		Zones     map[string]float64 `json:"fault_tolerance_zones"`
		Data      float64            `json:"data_bytes"`
		Moving    float64            `json:"moving_bytes"`
		Latency   map[string]float64 `json:"latency_seconds"`
		Limit     float64            `json:"transactions_limit"`
		Rate      float64            `json:"transactions"`
		Limited   string             `json:"limited_by"`
	}{
		st.Client.Database.Available, st.Client.Database.Healthy, len(now.Processes), now.zones(),
		now.Data.Bytes, now.Data.Moving.InFlight + now.Data.Moving.InQueue, now.latencies(),
		now.Quality.Limit, now.Quality.Rate, now.Quality.Limited.Name,
	}) // never fails
	return text
}

// zones is how many zones may fail before the cluster loses data, or is not available any more.
func (s *clusterState) zones() map[string]float64 {
	return map[string]float64{"data": s.FaultTolerance.Data, "availability": s.FaultTolerance.Availability}
}

// latencies are what the cluster's probe has seen of each step of a transaction.
func (s *clusterState) latencies() map[string]float64 {
	return map[string]float64{
		"begin": s.Latency.Begin, "begin_batch": s.Latency.Batch, "read": s.Latency.Read, "commit": s.Latency.Commit,
	}
}

// Collect implements prometheus.Collector. While nothing is known of the cluster it is not
// available.
func (c clusterStatus) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	truth := map[bool]float64{true: 1}
	st := c.read()
	gauge(availableDesc, truth[st.Client.Database.Available])
	if !st.Client.Database.Available {
		return
	}
	now := &st.Cluster
	gauge(healthyDesc, truth[st.Client.Database.Healthy])
	gauge(processesDesc, float64(len(now.Processes)))
	gauge(bytesDesc, now.Data.Bytes)
	gauge(movingDesc, now.Data.Moving.InFlight+now.Data.Moving.InQueue)
	for what, zones := range now.zones() {
		gauge(toleranceDesc, zones, what)
	}
	for of, seconds := range now.latencies() {
		gauge(latencyDesc, seconds, of)
	}
	gauge(limitDesc, now.Quality.Limit)
	gauge(rateDesc, now.Quality.Rate)
	if by := now.Quality.Limited.Name; by != "" {
		gauge(limitedDesc, 1, by)
	}
}
