package main

import (
	"fmt"
	"strings"
	"time"
)

// row is what one attack did.
type row struct {
	attack   attack
	outcome  string
	took     time.Duration
	peaks    peaks
	interval interval
	before   usage
	after    usage
	died     bool
	fault    error

	failures []string // see problems
}

// problems are what the server did wrong.
func (r row) problems(c *campaign) (all []string) {
	if r.fault != nil {
		all = append(all, r.fault.Error())
	}
	if r.died {
		return append(all, "the server has died")
	}
	if c.t.memory > 0 && r.peaks.server > c.t.memory {
		all = append(all, fmt.Sprintf("%d MB were resident", r.peaks.server>>20))
	}
	if leak := r.after.leaks(r.before); leak != "" {
		all = append(all, leak)
	}
	for _, failure := range r.interval.failures {
		all = append(all, "an innocent request: "+failure)
	}
	return append(all, r.interval.late(c.getBound, c.putBound)...)
}

// late compares with bounds of the 99th percentiles.
func (s interval) late(get, put time.Duration) (all []string) {
	if get > 0 && s.get.p99 > get {
		all = append(all, fmt.Sprintf("innocent GETs took %s", s.get))
	}
	if put > 0 && s.put.p99 > put {
		all = append(all, fmt.Sprintf("innocent PUTs took %s", s.put))
	}
	return all
}

func (q quantiles) String() string {
	return fmt.Sprintf("%d/%d ms", q.p99.Milliseconds(), q.most.Milliseconds())
}

// text is the row for a terminal.
func (r row) text() string {
	died := ""
	if r.died {
		died = "; the server DIED"
	}
	return fmt.Sprintf(
		"%s: %s in %s; peak %d MB, workers %d MB; innocent GET %s, PUT %s (p99/worst); goroutines %d to %d, descriptors %d to %d%s",
		r.attack.name,
		r.outcome,
		r.took.Round(100*time.Millisecond),
		r.peaks.server>>20,
		r.peaks.workers>>20,
		r.interval.get,
		r.interval.put,
		r.before.goroutines,
		r.after.goroutines,
		r.before.descriptors,
		r.after.descriptors,
		died,
	)
}

// table is all rows as Markdown.
func (c *campaign) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n", machine(c.t.memory, c.began))
	if len(c.rows) > 0 {
		c.tableOfAttacks(&b)
	}
	b.WriteString("| asked of the run | seen | verdict |\n|---|---|---|\n")
	for _, j := range c.verdict {
		seen, _, _ := strings.Cut(j.seen, "\n")
		fmt.Fprintf(&b, "| %s | %s | %s |\n", j.asked, cell(seen), j.word())
	}
	return b.String()
}

// cell is a text within a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// tableOfAttacks writes a row for each attack, after a row of the calm server. Memory is in MiB,
// times are in milliseconds; goroutines and descriptors are before→after, where growth that stays
// is a leak.
func (c *campaign) tableOfAttacks(b *strings.Builder) {
	b.WriteString(
		"| attack | shows | answers | peak MB (workers) | GET p99/worst ms | PUT p99/worst ms | goroutines | descriptors | verdict |\n" +
			"|---|---|---|---|---|---|---|---|---|\n",
	)
	ms := func(q quantiles) string { return fmt.Sprintf("%d/%d", q.p99.Milliseconds(), q.most.Milliseconds()) }
	fmt.Fprintf(b, "| none | | | %d | %s | %s | %d | %d | |\n", c.first.memory>>20, ms(c.calm.get), ms(c.calm.put),
		c.first.goroutines, c.first.descriptors)
	for _, r := range c.rows {
		outcome := r.outcome
		if r.died {
			outcome += ", **died**"
		}
		verdict := "held"
		if len(r.failures) > 0 {
			verdict = "FAILED: " + strings.Join(r.failures, "; ")
		}
		fmt.Fprintf(b, "| %s | %s | %s | %d (%d) | %s | %s | %d→%d | %d→%d | %s |\n", r.attack.name,
			cell(r.attack.shows), outcome, r.peaks.server>>20, r.peaks.workers>>20, ms(r.interval.get),
			ms(r.interval.put),
			r.before.goroutines, r.after.goroutines, r.before.descriptors, r.after.descriptors, cell(verdict))
	}
	b.WriteString("\n")
}
