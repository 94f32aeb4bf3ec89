package pebblekv

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// measure is one number of Metrics as Prometheus sees it.
type measure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*Metrics) float64
}

func counterOf(name, help string, value func(*Metrics) float64) measure {
	return measure{prometheus.NewDesc("settee_"+name, help, nil, nil), prometheus.CounterValue, value}
}

func gaugeOf(name, help string, value func(*Metrics) float64) measure {
	return measure{prometheus.NewDesc("settee_"+name, help, nil, nil), prometheus.GaugeValue, value}
}

var measures = []measure{
	counterOf("commit_conflicts_total", "commits refused because a read did not hold; each was run again",
		func(m *Metrics) float64 { return float64(m.Conflicts) }),
	counterOf("commit_postponed_total", "transactions moved to the next group for the sake of order",
		func(m *Metrics) float64 { return float64(m.Postponed) }),
	counterOf("snapshots_ended_total", "snapshots that became too old for their readers",
		func(m *Metrics) float64 { return float64(m.Ended) }),
	counterOf("counter_cache_hits_total", "atomic operations whose current value was remembered",
		func(m *Metrics) float64 { return float64(m.CounterHits) }),
	counterOf("counter_cache_misses_total", "atomic operations that read the current value",
		func(m *Metrics) float64 { return float64(m.CounterMisses) }),
	counterOf("block_cache_hits_total", "blocks of tables found in memory",
		func(m *Metrics) float64 { return float64(m.BlockCacheHits) }),
	counterOf("block_cache_misses_total", "blocks of tables read from files",
		func(m *Metrics) float64 { return float64(m.BlockCacheMisses) }),
	gaugeOf("block_cache_bytes", "memory of the block cache in use, memtables included",
		func(m *Metrics) float64 { return float64(m.BlockCacheBytes) }),
	gaugeOf("memtable_bytes", "data not yet in tables", func(m *Metrics) float64 { return float64(m.MemTableBytes) }),
	gaugeOf("memtable_held_bytes", "memtables that were written to tables but are still read",
		func(m *Metrics) float64 { return float64(m.HeldBytes) }),
	gaugeOf("disk_bytes", "all files of the store", func(m *Metrics) float64 { return float64(m.DiskBytes) }),
	gaugeOf("table_bytes", "tables of the store", func(m *Metrics) float64 { return float64(m.TableBytes) }),
	gaugeOf("log_bytes", "write-ahead logs of the store", func(m *Metrics) float64 { return float64(m.LogBytes) }),
	gaugeOf("tables", "number of tables", func(m *Metrics) float64 { return float64(m.Tables) }),
	gaugeOf("read_amplification", "tables and memtables that a read may have to look at",
		func(m *Metrics) float64 { return float64(m.ReadAmp) }),
	gaugeOf("write_amplification", "bytes written to tables per byte flushed or logged",
		func(m *Metrics) float64 { return m.WriteAmp }),
	counterOf("table_compactions_total", "compactions of tables",
		func(m *Metrics) float64 { return float64(m.Compactions) }),
	counterOf("table_flushes_total", "flushes of memtables to tables",
		func(m *Metrics) float64 { return float64(m.Flushes) }),
	counterOf("compacted_bytes_total", "bytes that compactions wrote to tables",
		func(m *Metrics) float64 { return float64(m.CompactedBytes) }),
	counterOf("flushed_bytes_total", "bytes that flushes wrote to tables",
		func(m *Metrics) float64 { return float64(m.FlushedBytes) }),
	gaugeOf("compaction_debt_bytes", "bytes that are to be compacted until tables are in order",
		func(m *Metrics) float64 { return float64(m.CompactionDebt) }),
}

// volumeMeasures are those of the file system, where it can be asked.
var volumeMeasures = []measure{
	gaugeOf("volume_bytes", "size of the file system that the store is on",
		func(m *Metrics) float64 { return float64(m.VolumeBytes) }),
	gaugeOf("volume_free_bytes", "what is free of it", func(m *Metrics) float64 { return float64(m.VolumeFree) }),
}

var (
	groupSizeDesc = prometheus.NewDesc("settee_commit_group_transactions", "transactions committed with one sync", nil,
		nil)
	latencyDesc = prometheus.NewDesc("settee_commit_sync_seconds",
		"time from building a group of transactions until it is on disk", nil, nil)
)

// The buckets shown: group sizes up to 2^12-1, latencies from 2^5 microseconds (32 µs) to 2^24 (17
// s).
const (
	maxGroupBucket   = 12
	minLatencyBucket = 5
	maxLatencyBucket = 24
)

// Describe implements prometheus.Collector.
func (s *Store) Describe(out chan<- *prometheus.Desc) {
	for _, m := range slices.Concat(measures, volumeMeasures) {
		out <- m.desc
	}
	out <- groupSizeDesc
	out <- latencyDesc
}

// Collect implements prometheus.Collector with the numbers of Metrics; there are none once the
// store is closed.
func (s *Store) Collect(out chan<- prometheus.Metric) {
	if !s.gate.enter() {
		return
	}
	s.gate.leave()
	m := s.Metrics()
	shown := measures
	if m.VolumeBytes > 0 {
		shown = slices.Concat(measures, volumeMeasures)
	}
	for _, p := range shown {
		out <- prometheus.MustNewConstMetric(p.desc, p.kind, p.value(&m))
	}
	// whole numbers
	sizes := m.GroupSize.cumulative(0, maxGroupBucket, func(bound float64) float64 { return bound - 1 })
	out <- prometheus.MustNewConstHistogram(groupSizeDesc, m.GroupSize.Count, float64(m.GroupSize.Sum), sizes)
	latencies := m.SyncLatency.cumulative(minLatencyBucket, maxLatencyBucket,
		func(bound float64) float64 { return bound / 1e6 })
	out <- prometheus.MustNewConstHistogram(latencyDesc, m.SyncLatency.Count, float64(m.SyncLatency.Sum)/1e6, latencies)
}

// cumulative gives the counts of values up to the bounds of the buckets first to last; unit
// converts a bound.
func (h *Histogram) cumulative(first, last int, unit func(bound float64) float64) map[float64]uint64 {
	counts := make(map[float64]uint64, last-first+1)
	sum := uint64(0)
	for i := 0; i <= last; i++ {
		sum += h.Buckets[i]
		if i >= first {
			counts[unit(float64(uint64(1)<<i))] = sum
		}
	}
	return counts
}
