package measure

import (
	"context"
	"time"
)

// workload is one thing that is measured.
type workload struct {
	name, about  string
	unit         string
	lessIsBetter bool
	once         bool // one round without warm-up: what is measured shows only once, or takes long
	prepare      func(ctx context.Context, s *session) error
	round        func(ctx context.Context, s *session, p plan) (sample, error)
	// databases are those of prepare and round, deleted at the workload's end. What is not named
	// stays for others.
	databases []string
}

// plan is the input of a round: its number and how long it lasts.
type plan struct {
	round    int // 0 warms up
	duration time.Duration
}

// sample is the outcome of a round.
type sample struct {
	value   float64 // in the workload's unit
	units   int64   // what was done, for the CPU time of each
	latency *histogram
	used    resources
}

// The order matters: memory of feeds and disk are measured while the servers have done nothing
// else.
func workloads(size sizes) []*workload {
	all := []*workload{feedMemory(), diskSize()}
	all = append(all, documentWorkloads()...)
	all = append(all, listWorkloads(size)...)
	all = append(all, attachmentWorkloads(size)...)
	all = append(all, viewWorkloads()...)
	all = append(all, findWorkloads()...)
	all = append(all, searchWorkloads()...)
	all = append(all, replicationWorkloads()...)
	all = append(all, accessWorkloads()...)
	all = append(all, eventWorkloads(size)...)
	return append(all, feedWake(1, "feeds-wake"), feedWake(50, "feeds-wake-50-dbs"))
}
