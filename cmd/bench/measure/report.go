package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the outcome of a run.
type Report struct {
	Started time.Time     `json:"started"`
	Machine Machine       `json:"machine"`
	Seconds float64       `json:"seconds_per_round"`
	Rounds  int           `json:"rounds"`
	Servers []*ServerInfo `json:"servers"` // A, B
	Results []*Result     `json:"results"`
}

// ServerInfo is a server and what it used over the whole run. What could not be measured is 0.
type ServerInfo struct {
	Name    string  `json:"name"`
	Addr    string  `json:"address"`
	Welcome string  `json:"welcome"` // its answer to GET /
	Version string  `json:"version"` // which server it says it is, in words
	CPU     float64 `json:"cpu_seconds"`
	// Resident memory in bytes: before the run, the highest in any round, and some seconds after
	// the last one.
	StartRSS int64 `json:"start_rss_bytes"`
	PeakRSS  int64 `json:"peak_rss_bytes"`
	EndRSS   int64 `json:"end_rss_bytes"`
	EndDisk  int64 `json:"end_disk_bytes"` // the data directory at the end, bytes
	start    usage
}

// begin notes the state of machine and servers before the first workload.
func (r *runner) begin(ctx context.Context) (*Report, error) {
	report := &Report{Started: time.Now().UTC().Truncate(time.Second), Machine: thisMachine(),
		Seconds: r.options.Duration.Seconds(), Rounds: r.options.Rounds}
	for _, s := range r.sessions {
		welcome, err := s.request(ctx, "GET", "/", nil, 200)
		if err != nil {
			return nil, err
		}
		info := &ServerInfo{Name: s.target.Name, Addr: s.target.Addr, Welcome: strings.TrimSpace(string(welcome))}
		// A CouchDB before 3.3 has no _versions: then GET / is all it says.
		versions, _ := s.request(ctx, "GET", "/_node/_local/_versions", nil, 200)
		info.Version = versionOf(info.Welcome, string(versions))
		if s.target.PID != 0 {
			if info.start, err = usageOf(s.target.PID); err != nil {
				return nil, err
			}
			info.StartRSS = info.start.rss
		}
		report.Servers = append(report.Servers, info)
	}
	return report, nil
}

// versionOf says which server gives these answers to GET / and /_node/_local/_versions: versions of
// CouchDB, of Erlang and of the JavaScript engine, by which figures differ. What an answer does not
// tell is left out.
func versionOf(welcome, versions string) string {
	var said struct {
		Version string
		Sha     string `json:"git_sha"`
		Erlang  struct{ Version string }
		Engine  struct{ Name, Version string } `json:"javascript_engine"`
	}
	_ = json.Unmarshal([]byte(welcome), &said)
	_ = json.Unmarshal([]byte(versions), &said)
	var parts []string
	for _, part := range [][]string{
		{"version", said.Version}, {"git_sha", said.Sha}, {"Erlang", said.Erlang.Version},
		{said.Engine.Name, said.Engine.Version},
	} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	return strings.Join(parts, ", ")
}

// finish notes what the servers used.
func (r *runner) finish(ctx context.Context, report *Report) error {
	report.Machine.LoadAtEnd = loadAverage()
	if err := sleep(ctx, r.sessions[0].size.rest); err != nil {
		return err
	}
	for i, s := range r.sessions {
		info := report.Servers[i]
		if s.target.PID != 0 {
			end, err := usageOf(s.target.PID)
			if err != nil {
				return err
			}
			info.CPU = (end.cpu - info.start.cpu).Seconds()
			info.EndRSS, info.PeakRSS = end.rss, max(r.peak[i], end.rss)
		}
		if s.target.DataDir != "" {
			var err error
			if info.EndDisk, err = diskUsage(s.target.DataDir); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteJSON writes the whole report.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s; %d rounds of %.3gs after one to warm up\n", r.Started.Format(time.RFC3339), r.Machine,
		r.Rounds, r.Seconds)
	for _, s := range r.Servers {
		fmt.Fprintf(w, "%s: %s %s\n", s.Name, s.Addr, cmp.Or(s.Version, s.Welcome))
	}
	fmt.Fprintln(
		w,
		"A/B above 1: A is better, also where less is better (unit with a <). Latencies in ms; CPU in µs for each unit; memory in MB.",
	)
	fmt.Fprintln(w)
	return errors.Join(r.speeds(w), r.costs(w), r.totals(w))
}

// speeds prints a row for each workload. The ratio A/B is the median over rounds of the ratios
// within a round, which a machine that slows down meanwhile does not distort; a unit with "<" is
// better if it is less.
func (r *Report) speeds(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "workload\tunit\tA\tB\tA/B\tmin–max\tA p50\tA p99\tB p50\tB p99")
	for _, x := range r.Results {
		unit, ratio, spread := x.Unit, "–", "–"
		if x.LessIsBetter {
			unit = "< " + unit
		}
		if x.Ratio != nil {
			ratio = number(x.Ratio.Median)
			spread = number(x.Ratio.Min) + "–" + number(x.Ratio.Max)
		}
		b := x.B
		if b == nil {
			b = &Side{}
		}
		row(t, x.Workload, unit, number(x.A.Median), optional(b.Median), ratio, spread,
			optional(x.A.P50), optional(x.A.P99), optional(b.P50), optional(b.P99))
	}
	return t.Flush()
}

func (r *Report) costs(w io.Writer) error {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "workload\tA CPU\tB CPU\tA cores\tclient\tB cores\tclient\tA peak RSS\tB peak RSS")
	for _, x := range r.Results {
		b := x.B
		if b == nil {
			b = &Side{}
		}
		row(t, x.Workload, optional(x.A.CPUPerUnit), optional(b.CPUPerUnit), optional(x.A.ServerCPU),
			optional(x.A.ClientCPU), optional(b.ServerCPU), optional(b.ClientCPU), inMB(x.A.PeakRSS), inMB(b.PeakRSS))
	}
	return t.Flush()
}

// totals are known of processes on this machine, and not of --limits.
func (r *Report) totals(w io.Writer) error {
	if r.Servers[0].EndRSS == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "whole run\tCPU seconds\tRSS at start\thighest RSS\tRSS at the end\tdata directory at the end")
	for _, s := range r.Servers {
		row(t, s.Name, optional(s.CPU), inMB(s.StartRSS), inMB(s.PeakRSS), inMB(s.EndRSS), inMB(s.EndDisk))
	}
	return t.Flush()
}

// row writes tab-separated cells; what cannot be written shows when the table is flushed.
func row(w io.Writer, cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }

// number prints three significant digits, and whole numbers from 100 on. It cuts, so that nothing
// looks better or worse than it is by more than a digit, and 0.999 never reads as 1.
func number(v float64) string {
	decimals := 3
	for limit := 1.0; limit <= 100 && v >= limit; limit *= 10 {
		decimals--
	}
	text := strconv.FormatFloat(v, 'f', 9, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	if decimals == 0 {
		return whole
	}
	return whole + "." + fraction[:decimals]
}

// optional prints a number or a dash for what was not measured.
func optional(v float64) string {
	if v == 0 {
		return "–"
	}
	return number(v)
}

func inMB(bytes int64) string { return optional(float64(bytes) / megabyte) }
