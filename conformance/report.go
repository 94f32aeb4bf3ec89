package conformance

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// Count counts verdicts.
type Count struct {
	Exact, JSON, Differs int
	Known                int // of Differs: named in known/differs.txt
	Waiting              int // scenarios that wait for a feature
}

// Add counts one verdict.
func (c *Count) Add(v Verdict, known bool) {
	switch v {
	case Exact:
		c.Exact++
	case JSON:
		c.JSON++
	case Differs:
		c.Differs++
		if known {
			c.Known++
		}
	}
}

func (c *Count) plus(d Count) {
	c.Exact += d.Exact
	c.JSON += d.JSON
	c.Differs += d.Differs
	c.Known += d.Known
	c.Waiting += d.Waiting
}

// Steps is the number of steps that were compared.
func (c *Count) Steps() int { return c.Exact + c.JSON + c.Differs }

// String is one line of the report; known differences do not count as agreement.
func (c Count) String() string {
	share := 0.0
	if c.Steps() > 0 {
		share = 100 * float64(c.Exact+c.JSON) / float64(c.Steps())
	}
	return fmt.Sprintf("%5d steps %5d exact %4d json %4d differ (%d known) %6.2f %% agree, %3d scenarios wait",
		c.Steps(), c.Exact, c.JSON, c.Differs, c.Known, share, c.Waiting)
}

// Report collects counts by target and file. It is safe for concurrent use.
type Report struct {
	mu     sync.Mutex
	counts map[string]map[string]Count // target → area → count
}

// Add adds to the counts of an area on a target.
func (r *Report) Add(target, area string, c Count) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]map[string]Count{}
	}
	if r.counts[target] == nil {
		r.counts[target] = map[string]Count{}
	}
	sum := r.counts[target][area]
	sum.plus(c)
	r.counts[target][area] = sum
}

// Write prints a line for each area and a sum for each target. An area of which every scenario
// waits gets no line.
func (r *Report) Write(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, target := range slices.Sorted(maps.Keys(r.counts)) {
		var sum Count
		fmt.Fprintf(w, "%s\n", target)
		for _, area := range sortedKeys(r.counts[target]) {
			c := r.counts[target][area]
			sum.plus(c)
			if c.Steps() > 0 {
				fmt.Fprintf(w, "  %-28s %s\n", area, c)
			}
		}
		fmt.Fprintf(w, "  %-28s %s\n", "all", sum)
	}
}
