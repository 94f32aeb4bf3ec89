package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// judgement is one requirement on a run, and whether it was met.
type judgement struct {
	asked, seen string
	failed      bool
}

// judge notes a judgement, and a failure where there is one.
func (c *campaign) judge(good bool, asked, seen string, args ...any) {
	j := judgement{asked, fmt.Sprintf(seen, args...), !good}
	c.verdict = append(c.verdict, j)
	if j.failed {
		c.fail("%s: %s", asked, j.seen)
	}
}

// judgeLatency holds what the innocents saw of a whole mix to the bounds.
func (c *campaign) judgeLatency(total interval) {
	for _, of := range []struct {
		method string
		seen   quantiles
		bound  time.Duration
	}{{"GET", total.get, c.getBound}, {"PUT", total.put, c.putBound}} {
		asked := fmt.Sprintf("innocent %s, 99th percentile", of.method)
		if of.bound > 0 {
			asked += " below " + of.bound.String()
		}
		good := of.seen.requests > 0 && (of.bound == 0 || of.seen.p99 < of.bound)
		c.judge(good, asked, "%d ms of %d requests, the worst %d ms", of.seen.p99.Milliseconds(), of.seen.requests,
			of.seen.most.Milliseconds())
	}
}

// printVerdict prints every judgement, so that it shows which ones failed and that none was left
// out.
func (c *campaign) printVerdict() {
	fmt.Fprintln(c.out, "verdict:")
	for _, j := range c.verdict {
		fmt.Fprintf(c.out, "  %-6s %s: %s\n", j.word(), j.asked, j.seen)
	}
}

func (j judgement) word() string {
	if j.failed {
		return "FAILED"
	}
	return "held"
}

// machine describes the machine, the date and the server's limits, for the report.
func machine(memory int64, now time.Time) string {
	text := fmt.Sprintf("%s; %d processors", now.UTC().Format("2006-01-02"), runtime.NumCPU())
	if about, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kilobytes int64
		if _, err := fmt.Sscanf(string(about), "MemTotal: %d kB", &kilobytes); err == nil {
			text += fmt.Sprintf(", %d MB of memory", kilobytes>>10)
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		text += ", Linux " + strings.TrimSpace(string(release))
	}
	text += fmt.Sprintf(" (%s)", runtime.GOARCH)
	if memory > 0 {
		text += fmt.Sprintf("; the server had %d MB", memory>>20)
	}
	return text
}
