package measure

import (
	"fmt"
	"time"
)

// Result is the outcome of a workload.
type Result struct {
	Workload     string `json:"workload"`
	About        string `json:"about"`
	Unit         string `json:"unit"`
	LessIsBetter bool   `json:"less_is_better,omitempty"`
	A            *Side  `json:"a"`
	B            *Side  `json:"b,omitempty"`
	// Ratio is how many times better A is, over the pairs of rounds.
	Ratio *Ratio `json:"ratio,omitempty"`
}

// Side is a server's part of a result. What could not be measured is 0.
type Side struct {
	Median float64   `json:"median"`
	Values []float64 `json:"values"` // of each round, in the workload's unit
	// Latencies of a request (edit-*: of both requests), over all rounds, in milliseconds.
	P50 float64 `json:"p50_ms,omitempty"`
	P99 float64 `json:"p99_ms,omitempty"`
	Max float64 `json:"max_ms,omitempty"`
	// CPUPerUnit is the server's CPU time for each document, row, edit, feed or MB, in
	// microseconds, with what it went on to do until it came to rest.
	CPUPerUnit float64 `json:"server_cpu_us_per_unit,omitempty"`
	// ServerCPU and ClientCPU are CPU time over time: 1 is a core that is busy all the time.
	ServerCPU float64 `json:"server_cpu_cores,omitempty"`
	ClientCPU float64 `json:"client_cpu_cores,omitempty"`
	PeakRSS   int64   `json:"peak_rss_bytes,omitempty"`
}

// newResult sums up the samples of one or two servers.
func newResult(w *workload, samples [][]sample) *Result {
	r := &Result{Workload: w.name, About: w.about, Unit: w.unit, LessIsBetter: w.lessIsBetter, A: newSide(samples[0])}
	if len(samples) > 1 {
		r.B = newSide(samples[1])
		r.Ratio = ratioOf(r.A.Values, r.B.Values, w.lessIsBetter)
	}
	return r
}

// newSide sums up the rounds of one server. Speeds are medians over rounds; latencies are of all
// requests of all rounds, in milliseconds; CPUPerUnit is in microseconds and counts what the server
// does after the round, too; ServerCPU and ClientCPU are processors in use.
func newSide(samples []sample) *Side {
	side := &Side{}
	latency := &histogram{}
	var total resources
	var units int64
	for _, s := range samples {
		side.Values = append(side.Values, s.value)
		if s.latency != nil {
			latency.merge(s.latency)
		}
		units += s.units
		total.serverCPU += s.used.serverCPU
		total.laterCPU += s.used.laterCPU
		total.clientCPU += s.used.clientCPU
		total.elapsed += s.used.elapsed
		side.PeakRSS = max(side.PeakRSS, s.used.peakRSS)
	}
	side.Median = median(side.Values)
	side.P50, side.P99, side.Max = milliseconds(latency, 0.5), milliseconds(latency, 0.99), milliseconds(latency, 1)
	if units > 0 {
		side.CPUPerUnit = float64(total.serverCPU+total.laterCPU) / float64(time.Microsecond) / float64(units)
	}
	if total.elapsed > 0 {
		side.ServerCPU = total.serverCPU.Seconds() / total.elapsed.Seconds()
		side.ClientCPU = total.clientCPU.Seconds() / total.elapsed.Seconds()
	}
	return side
}

func milliseconds(h *histogram, q float64) float64 {
	return float64(h.quantile(q)) / float64(time.Millisecond)
}

// line is the result in one line, for those who wait.
func (r *Result) line() string {
	text := fmt.Sprintf("%-18s A %s", r.Workload, number(r.A.Median))
	if r.B != nil {
		text += fmt.Sprintf("  B %s", number(r.B.Median))
	}
	text += " " + r.Unit
	if r.Ratio != nil {
		text += fmt.Sprintf("  A is %s times as good", number(r.Ratio.Median))
	}
	return text
}
