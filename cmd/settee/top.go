package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/settee-db/settee/replication/site"
)

const (
	topEvery              = time.Second // between two looks
	plainWide, plainLines = 80, 24      // what a frame has where there is no terminal
)

// Sequences of a terminal: another screen without a cursor on which lines do not wrap (a character
// of a name may be two columns wide), and back; the upper left corner; what is right of, and below,
// the cursor is emptied.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	toCorner    = "\x1b[H"
	clearRight  = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// nodeOverview is what commands read of _node/{node}/_overview.
type nodeOverview struct {
	Node, Version string
	Started, Now  int64
	Limits        map[string]float64
	Times         []int64
	Series        map[string][]*float64
	Warnings      []finding
}

// latest is the newest value of a series; ok is false where there is none.
func (o *nodeOverview) latest(series string) (v float64, ok bool) {
	if list := o.Series[series]; len(list) > 0 && list[len(list)-1] != nil {
		return *list[len(list)-1], true
	}
	return 0, false
}

// runningTask is what top reads of _active_tasks.
type runningTask struct {
	Type, Node, Database, Source, Target, State string
	DesignDocument                              string   `json:"design_document"`
	DocID                                       string   `json:"doc_id"`
	Progress                                    *float64 // percent
}

// topCommand is "settee top".
func topCommand() *cobra.Command {
	var address, node string
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what a running settee does, each second: what the console's overview shows",
		Long: `Show what a running settee does: requests, latencies, memory and its budgets, disk, workers,
what runs with its progress, and what needs somebody to act.

The frame is drawn anew each second until Ctrl-C; numbers of the last ten seconds are the server's
own. Where standard output is no terminal one frame is printed. A name and password may be part of
the URL, or be in COUCHDB_USER and COUCHDB_PASSWORD; a user with the role _metrics sees no warnings.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, rest, err := parseSite(address)
			if err != nil {
				return err
			}
			if rest != "" {
				return fmt.Errorf("the URL of a server is expected, without /%s", rest)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			t := top{site: server, node: url.PathEscape(node), out: cmd.OutOrStdout()}
			if f, ok := t.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
				return t.follow(ctx, func() (int, int) { w, h, _ := term.GetSize(int(f.Fd())); return w, h })
			}
			if err := t.look(ctx); err != nil {
				return err
			}
			_, err = io.WriteString(t.out, strings.Join(t.frame(plainWide, plainLines), "\n")+"\n")
			return err
		},
	}
	cmd.Flags().StringVar(&address, "url", "http://127.0.0.1:5984", "URL of the server")
	cmd.Flags().StringVar(&node, "node", "_local", "name of the node to show")
	return cmd
}

// top is what is shown of one node. One goroutine uses it.
type top struct {
	site     *site.Site
	node     string // escaped
	out      io.Writer
	overview nodeOverview
	tasks    []runningTask
	failed   error // of the last look, nil where it went well
}

// look asks the server. The last minute is enough, of which the newest numbers are shown; those of
// the look before stay where it fails.
func (t *top) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var o nodeOverview
	path := "/_node/" + t.node + "/_overview?since=" + strconv.FormatInt(max(0, t.overview.Now-60), 10)
	if t.failed = t.site.GetJSON(ctx, path, &o); t.failed != nil {
		return t.failed
	}
	t.overview, t.tasks = o, nil
	err := t.site.GetJSON(ctx, "/_active_tasks", &t.tasks)
	if refused, ok := errors.AsType[*site.Error](err); ok && (refused.Status == 401 || refused.Status == 403) {
		return nil // who has the role _metrics only
	}
	t.failed = err
	return err
}

// follow draws until ctx ends. A server that cannot be reached at first is an error; later it
// is told in the frame, since it may come back.
func (t *top) follow(ctx context.Context, size func() (wide, high int)) error {
	if err := t.look(ctx); err != nil {
		return err
	}
	_, err := io.WriteString(t.out, enterScreen)
	defer func() { _, _ = io.WriteString(t.out, leaveScreen) }() // nothing can be told any more
	ticker := time.NewTicker(topEvery)
	defer ticker.Stop()
	for err == nil {
		wide, high := size()
		frame := t.frame(max(wide, 20), max(high, 4))
		_, err = io.WriteString(t.out, toCorner+strings.Join(frame, clearRight+"\r\n")+clearRight+clearBelow)
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
			_ = t.look(ctx) // frame tells of it
		}
	}
	return err
}

// frame are the lines of what is shown, no more than high, none wider than wide.
func (t *top) frame(wide, high int) []string {
	o := &t.overview
	lines := []string{fmt.Sprintf("%s · %s · up %s · %s", o.Node, o.Version, longTime(o.Now-o.Started),
		time.Unix(o.Now, 0).UTC().Format("15:04:05 UTC"))}
	if t.failed != nil {
		lines = append(lines, "NO ANSWER: "+t.failed.Error())
	}
	if len(o.Times) == 0 {
		lines = append(lines, "The first sample comes ten seconds after the start.")
	}
	lines = append(lines, t.numbers()...)
	lines = append(lines, "", fmt.Sprintf("Warnings (%d)", len(o.Warnings)))
	for _, w := range o.Warnings {
		name := w.ID
		if w.Subject != "" {
			name += " " + w.Subject
		}
		lines = append(lines, fmt.Sprintf("%-8s %s: %s", w.Severity, name, w.Text))
	}
	lines = append(lines, fmt.Sprintf("Running (%d)", len(t.tasks)))
	for i := range t.tasks {
		lines = append(lines, t.tasks[i].line())
	}
	if len(lines) > high {
		left := len(lines) - high + 1
		lines = append(lines[:high-1], fmt.Sprintf("… %d more lines", left))
	}
	for i, line := range lines {
		lines[i] = cut(line, wide)
	}
	return lines
}

// numbers are the lines of series and limits. What the engine does not tell has no line.
func (t *top) numbers() []string {
	o := &t.overview
	var lines []string
	// add writes pairs of a text and a series; those without a value are left out, the line too if
	// it has none.
	add := func(label string, write func(float64) string, pairs ...string) {
		var parts []string
		for i := 0; i < len(pairs); i += 2 {
			if v, ok := o.latest(pairs[i+1]); ok {
				parts = append(parts, strings.TrimSpace(pairs[i]+" "+write(v)))
			}
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("%-11s %s", label, strings.Join(parts, "  ")))
		}
	}
	perSecond := func(v float64) string { return shortNumber(v) + "/s" }
	milliseconds := func(v float64) string { return shortNumber(v) + " ms" }
	add("Requests", perSecond, "", "requests_per_second", "2xx", "answers_2xx_per_second", "3xx",
		"answers_3xx_per_second", "4xx", "answers_4xx_per_second", "5xx", "answers_5xx_per_second")
	add("Latency", milliseconds, "p50", "latency_p50_ms", "p95", "latency_p95_ms", "p99", "latency_p99_ms")
	add("Documents", perSecond, "read", "documents_read_per_second", "written", "documents_written_per_second")
	add("Bodies", func(v float64) string { return byteText(v) + "/s" }, "in", "bytes_in_per_second", "out",
		"bytes_out_per_second")
	add("Processor", shortNumber, "", "processor_seconds_per_second")
	lines = append(lines, t.gauges()...)
	add("Resident", byteText, "", "memory_resident_bytes")
	add("Store", byteText, "", "store_disk_bytes", "memtables", "store_memtable_bytes", "to compact",
		"store_compaction_debt_bytes")
	add("Commits", milliseconds, "write", "store_write_ms", "sync", "store_sync_ms")
	add("Work", shortNumber, "jobs", "jobs_running", "replications", "replications_running", "crashed",
		"replications_crashed", "feeds", "feeds")
	return lines
}

// gauges are the lines of what has a bound.
func (t *top) gauges() (lines []string) {
	o := &t.overview
	for _, g := range []struct {
		label, series, limit string
		write                func(float64) string
	}{
		{"Heap", "memory_heap_bytes", "memory_bytes", byteText},
		{"  bodies", "memory_bodies_bytes", "memory_bodies_bytes", byteText},
		{"  answers", "memory_answers_bytes", "memory_answers_bytes", byteText},
		{"  sorting", "memory_sorting_bytes", "memory_sorting_bytes", byteText},
		{"Disk used", "store_volume_free_bytes", "store_volume_bytes", byteText},
		{"Workers", "workers_busy", "workers", shortNumber},
		{"Connections", "connections", "connections", shortNumber},
	} {
		v, there := o.latest(g.series)
		if limit := o.Limits[g.limit]; there && limit > 0 {
			if g.series == "store_volume_free_bytes" {
				v = limit - v
			}
			full := min(20, max(0, int(20*v/limit)))
			bar := strings.Repeat("#", full) + strings.Repeat(".", 20-full)
			lines = append(lines, fmt.Sprintf("%-11s [%s] %s of %s", g.label, bar, g.write(v), g.write(limit)))
		}
	}
	return lines
}

// line says what a task works on, and how far it is.
func (r *runningTask) line() string {
	what := r.Database
	switch {
	case r.Source != "" || r.Target != "":
		what = r.Source + " to " + r.Target
	case r.DesignDocument != "":
		what += "/" + r.DesignDocument
	}
	far := r.State
	if r.Progress != nil {
		far = fmt.Sprintf("%3.0f %%", *r.Progress)
	}
	return fmt.Sprintf("%-20s %6s %s", r.Type, far, what)
}

// cut makes a text one line of at most so many characters. What a server sent must not be able to
// move the cursor.
func cut(text string, wide int) string {
	runes := []rune(strings.TrimRight(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text), " "))
	if len(runes) > wide {
		return string(runes[:wide-1]) + "…"
	}
	return string(runes)
}

// shortNumber has three digits at most behind which there is a point.
func shortNumber(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// byteText writes a number of bytes for people.
func byteText(v float64) string {
	unit := 0
	units := []string{"B", "kB", "MB", "GB", "TB"}
	for ; v >= 999.5 && unit < len(units)-1; unit++ {
		v /= 1000
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " " + units[unit]
}

// longTime writes seconds as the two largest units.
func longTime(seconds int64) string {
	switch d := max(0, seconds); {
	case d >= 86400:
		return fmt.Sprintf("%d d %d h", d/86400, d%86400/3600)
	case d >= 3600:
		return fmt.Sprintf("%d h %d min", d/3600, d%3600/60)
	default:
		return fmt.Sprintf("%d min %d s", d/60, d%60)
	}
}
