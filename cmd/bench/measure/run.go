package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"
)

// Options say what a run measures, and for how long.
type Options struct {
	A, B     *Target // B may be nil
	Duration time.Duration
	Rounds   int            // counted rounds, besides the one that warms up
	Quick    bool           // small databases
	Only     *regexp.Regexp // names of the workloads, nil for all
	// Timers is how many timers of an event function are pending while others are measured, Workers
	// how many workers event functions have; 0 for what a run of this size has.
	Timers, Workers int
	// Node is the command that runs programs for Node, which follow feeds in the place of functions
	// where there are none; "" has programs in Go do that.
	Node     string
	Progress io.Writer // gets a line for each workload
}

// runner runs workloads on one or two sessions.
type runner struct {
	options  Options
	sessions []*session
	peak     []int64 // highest resident memory of each server in any round
}

// Run runs the workloads on both servers in turn. It deletes the databases it made, also when ctx
// ends. The report is complete only if the error is nil.
func Run(ctx context.Context, o Options) (*Report, error) { return run(ctx, o, o.sizes()) }

func (o Options) sizes() sizes {
	size := fullSizes
	if o.Quick {
		size = quickSizes
	}
	if o.Timers > 0 {
		size.timers = o.Timers
	}
	if o.Workers > 0 {
		size.eventWorkers = o.Workers
	}
	return size
}

// run opens a session with each server and runs all workloads. Databases have a prefix that no
// other run has, and are deleted even after an error. The report is returned with an error as well,
// with what was measured until then.
func run(ctx context.Context, o Options, size sizes) (_ *Report, err error) {
	docs, blob := newDocuments(), newBlob(size.largeAttachment+size.smallAttachment)
	r := &runner{options: o}
	prefix := fmt.Sprintf("bench-%x-", time.Now().UnixNano())
	for _, t := range []*Target{o.A, o.B} {
		if t == nil {
			continue
		}
		s, err := newSession(ctx, t, docs, blob, size, prefix+fmt.Sprint(len(r.sessions))+"-")
		if err != nil {
			return nil, errors.Join(err, r.close(ctx))
		}
		s.node = o.Node
		r.sessions = append(r.sessions, s)
	}
	r.peak = make([]int64, len(r.sessions))
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	report, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.all(ctx, workloads(size), report); err != nil {
		return report, err
	}
	return report, r.finish(ctx, report)
}

// all runs the workloads one after the other. One that a server cannot do is left out and named on
// the progress output, rather than ending the run.
func (r *runner) all(ctx context.Context, list []*workload, report *Report) error {
	for _, w := range list {
		if r.options.Only != nil && !r.options.Only.MatchString(w.name) {
			continue
		}
		result, err := r.workload(ctx, w)
		if errors.Is(err, errNotHere) || lacks(err) {
			fmt.Fprintf(r.options.Progress, "%s: left out: %v\n", w.name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		report.Results = append(report.Results, result)
		fmt.Fprintln(r.options.Progress, result.line())
	}
	return nil
}

// lacks says that a server does not have what a workload measures.
func lacks(err error) bool {
	return errors.Is(err, errNoFunctions) || errors.Is(err, errNoSearch) || errors.Is(err, errNoAccess)
}

// workload runs all rounds of one workload on both servers in turn.
func (r *runner) workload(ctx context.Context, w *workload) (_ *Result, err error) {
	defer func() {
		for _, s := range r.sessions {
			for _, name := range w.databases {
				err = errors.Join(err, s.drop(context.WithoutCancel(ctx), name))
			}
		}
	}()
	sessions := r.sessions
	for i, s := range sessions {
		err := w.prepare(ctx, s)
		if i > 0 && lacks(err) {
			fmt.Fprintf(r.options.Progress, "%s: without server %s: %v\n", w.name, s.target.Name, err)
			sessions = sessions[:i]
			break
		}
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", s.target.Name, err)
		}
	}
	samples := make([][]sample, len(sessions))
	first, last := 0, r.options.Rounds
	if w.once {
		first, last = 1, 1
	}
	for round := first; round <= last; round++ {
		for i, s := range sessions {
			out, err := w.round(ctx, s, plan{round: round, duration: r.options.Duration})
			if err == nil {
				out.used.laterCPU, err = comeToRest(ctx, s.target, s.size.pause)
			}
			if err != nil {
				return nil, fmt.Errorf("server %s: %w", s.target.Name, err)
			}
			r.peak[i] = max(r.peak[i], out.used.peakRSS)
			if round > 0 {
				samples[i] = append(samples[i], out)
			}
		}
	}
	return newResult(w, samples), ctx.Err()
}

func (r *runner) close(ctx context.Context) error {
	var errs []error
	for _, s := range r.sessions {
		errs = append(errs, s.close(ctx))
	}
	return errors.Join(errs...)
}
