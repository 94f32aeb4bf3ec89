package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// soakLine is the outcome of an interval. What could not be measured is 0.
type soakLine struct {
	requests  float64 // a second
	latencies []time.Duration
	slowest   time.Duration
	stalls    int
	memory    int64 // the highest resident, in bytes
	disk      int64
	readAmp   float64 // of settee's store
	writeAmp  float64
}

// ends are at which part of the run its beginning ends and its end begins, for the comparison of
// both.
const ends = 3

// head prints what the columns are called.
func (r *soaking) head() {
	fmt.Fprintln(r.Out, "99.9th percentile of each kind of request, and the slowest, in ms; memory and disk in MB;"+
		" stalls: above one second.")
	cells := []string{"time", "req/s"}
	for _, k := range r.kinds {
		cells = append(cells, k.name)
	}
	r.print(append(cells, "slowest", "stalls", "memory", "disk", "read amp", "write amp")...)
}

// print writes a line of the table; the first cell is the widest.
func (r *soaking) print(cells ...string) {
	fmt.Fprintf(r.Out, "%-8s", cells[0])
	for _, c := range cells[1:] {
		fmt.Fprintf(r.Out, " %8s", c)
	}
	fmt.Fprintln(r.Out)
}

// line prints what came since the line before.
func (r *soaking) line(ctx context.Context, used resources) error {
	l := soakLine{memory: used.peakRSS}
	var stalls []stall
	requests := int64(0)
	for _, k := range r.kinds {
		k.mu.Lock()
		requests += k.recent.total
		l.latencies = append(l.latencies, k.recent.quantile(0.999))
		l.slowest = max(l.slowest, k.recent.quantile(1))
		k.whole.merge(&k.recent)
		k.recent = histogram{}
		k.many += len(k.stalls)
		stalls = append(stalls, k.stalls...)
		k.stalls = nil
		k.mu.Unlock()
	}
	r.mu.Lock()
	l.stalls = len(stalls)
	stalls = append(r.still, stalls...)
	r.still = nil
	r.mu.Unlock()
	l.requests = float64(requests) / used.elapsed.Seconds()
	if r.target.DataDir != "" {
		var err error
		if l.disk, err = diskUsage(r.target.DataDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.readAmp, l.writeAmp = r.amplification(context.WithoutCancel(ctx))
	r.lines = append(r.lines, l)
	cells := []string{time.Since(r.start).Round(time.Second).String(), number(l.requests)}
	for _, d := range l.latencies {
		cells = append(cells, inMS(d))
	}
	r.print(append(cells, inMS(l.slowest), strconv.Itoa(l.stalls), inMB(l.memory), inMB(l.disk),
		optional(l.readAmp), optional(l.writeAmp))...)
	for i, s := range stalls {
		if i == stallsNamed {
			fmt.Fprintf(r.Out, "         and %d more\n", len(stalls)-i)
			break
		}
		fmt.Fprintln(r.Out, "         "+s.String())
	}
	return nil
}

// amplification asks settee how many places a read may have to look at, and how often its store has
// written each byte. Other servers do not tell.
func (r *soaking) amplification(ctx context.Context) (read, write float64) {
	r.ring.mu.Lock()
	defer r.ring.mu.Unlock()
	text, err := r.session.request(ctx, "GET", "/_node/_local/_prometheus", nil, 200)
	if err != nil {
		return 0, 0
	}
	return metric(text, "settee_read_amplification"), metric(text, "settee_write_amplification")
}

// metric reads a number in Prometheus' text form; 0 if it is not there.
func metric(text []byte, name string) float64 {
	_, rest, found := bytes.Cut(text, []byte("\n"+name+" "))
	value, _, _ := strings.Cut(string(rest[:min(len(rest), 32)]), "\n")
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if !found || err != nil {
		return 0
	}
	return v
}

// summary prints the whole run by kind of request, and its beginning beside its end.
func (r *soaking) summary() {
	elapsed := time.Since(r.start).Seconds()
	fmt.Fprintln(r.Out)
	r.print("whole", "unit", "units/s", "p50", "p99", "p99.9", "slowest", "stalls")
	for _, k := range r.kinds {
		r.print(k.name, k.unit, number(float64(k.units)/elapsed), inMS(k.whole.quantile(0.5)),
			inMS(k.whole.quantile(0.99)), inMS(k.whole.quantile(0.999)),
			inMS(k.whole.quantile(1)), strconv.Itoa(k.many))
	}
	part := len(r.lines) / ends
	if part == 0 {
		return
	}
	fmt.Fprintln(r.Out)
	r.print("medians", "req/s", "memory", "disk", "read amp", "write amp")
	r.medians("first ⅓", r.lines[:part])
	r.medians("last ⅓", r.lines[len(r.lines)-part:])
}

func (r *soaking) medians(name string, lines []soakLine) {
	of := func(value func(soakLine) float64) float64 {
		var values []float64
		for _, l := range lines {
			values = append(values, value(l))
		}
		return median(values)
	}
	r.print(name, number(of(func(l soakLine) float64 { return l.requests })),
		inMB(int64(of(func(l soakLine) float64 { return float64(l.memory) }))),
		inMB(int64(of(func(l soakLine) float64 { return float64(l.disk) }))),
		optional(of(func(l soakLine) float64 { return l.readAmp })),
		optional(of(func(l soakLine) float64 { return l.writeAmp })))
}

func inMS(d time.Duration) string { return optional(float64(d) / float64(time.Millisecond)) }
