package admin

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/views"
)

// warning is something that needs somebody to act.
type warning struct {
	ID       string `json:"id"`       // of its kind
	Severity string `json:"severity"` // critical: something does not work, or is about to; warning
	Subject  string `json:"subject"`  // what it is about, of several of a kind
	Text     string `json:"text"`     // what is so, and what follows from it
	Do       string `json:"do"`       // what to do
	Doc      string `json:"doc"`      // where the documentation says more
}

const (
	critical = "critical"
	serious  = "warning"
)

// When numbers are worth a warning. Of a kind with many subjects, mostWarnings are shown.
const (
	diskFilling    = 85 // percent that are used
	diskNearlyFull = 95
	memoryFilled   = 90 // percent of a budget, or of what the collector keeps below
	fewFiles       = 4096
	clocksApart    = 10 * time.Second
	mostWarnings   = 20
)

// checks find the warnings of one kind, or of some that belong together.
var checks = []func(context.Context, *Handlers, reading) ([]warning, error){
	warnOfDisk, warnOfMemory, warnOfFiles, warnOfAdmins, warnOfNodes, warnOfIndexes,
	warnOfFunctions, warnOfReplications, warnOfSettings,
}

// warningsOf are all of this node, and of what the nodes share.
func warningsOf(ctx context.Context, h *Handlers, now reading) ([]warning, error) {
	all := []warning{}
	for _, check := range checks {
		found, err := check(ctx, h, now)
		if err != nil {
			return nil, err
		}
		all = append(all, found[:min(len(found), mostWarnings)]...)
	}
	slices.SortStableFunc(all, func(a, b warning) int { // critical is first in the alphabet, too
		return strings.Compare(a.Severity, b.Severity)
	})
	return all, nil
}

// sizeText writes a number of bytes for people.
func sizeText(n float64) string {
	for _, unit := range []string{"bytes", "KB", "MB", "GB"} {
		if n < 999.5 {
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.3g TB", n)
}

// warnOfDisk: the file system of the store.
func warnOfDisk(_ context.Context, h *Handlers, now reading) ([]warning, error) {
	total, free := now["settee_volume_bytes"], now["settee_volume_free_bytes"]
	used := math.Ceil(100 * (1 - free/total)) // NaN where it is not known
	refused := h.noRoom != nil && h.noRoom()
	if !refused && !(used >= diskFilling) {
		return nil, nil
	}
	w := warning{
		ID: "disk_nearly_full", Severity: serious,
		Text: fmt.Sprintf("The file system of the store is %.0f %% full: %s of %s are free.",
			used, sizeText(free), sizeText(total)),
		Do:  "Delete what is not needed and compact (_compact), or move the data to a larger volume.",
		Doc: "docs/operations.md#before-it-is-full",
	}
	if refused || used >= diskNearlyFull {
		w.Severity, w.Doc = critical, "docs/operations.md#when-the-disk-is-full"
		w.Text += " Without space writes are refused."
	}
	if refused {
		w.Text += " They are refused already: a threshold of [disk_monitor] is passed."
	}
	return []warning{w}, nil
}

// warnOfMemory: budgets that requests share, and the heap.
func warnOfMemory(_ context.Context, _ *Handlers, now reading) (found []warning, err error) {
	for _, of := range []struct{ name, limit, what string }{
		{"bodies", "bodies limit", "the memory for bodies of requests"},
		{"answers", "answers limit", "the memory for answers"},
		{"sorting", "sorting limit", "the memory for sorting"},
		{"heap", "memory limit", "the memory of the process"},
	} {
		limit := now[of.limit]
		if limit <= 0 || now[of.name] < limit/100*memoryFilled {
			continue
		}
		found = append(found, warning{
			ID: "memory_full", Severity: serious, Subject: of.name,
			Text: fmt.Sprintf("Of %s %s of %s are in use. Large requests wait, and are 503 if that takes long.",
				of.what, sizeText(now[of.name]), sizeText(limit)),
			Do:  "Give the process more ([settee] memory), or send smaller requests, fewer at a time.",
			Doc: "docs/operations.md#memory",
		})
	}
	return found, nil
}

// warnOfFiles: how many files the process may have open.
func warnOfFiles(_ context.Context, _ *Handlers, now reading) ([]warning, error) {
	most, known := now["process_max_fds"]
	if !known || most >= fewFiles {
		return nil, nil
	}
	return []warning{{
		ID: "few_files", Severity: serious,
		Text: fmt.Sprintf("The process may have only %.0f files open: it takes %.0f connections.",
			most, now["settee_http_connections_max"]),
		Do:  "Raise the limit (ulimit -n, LimitNOFILE= of the service) to 65536 and start again.",
		Doc: "docs/operations.md#limits",
	}}, nil
}

// warnOfAdmins: a server that nobody can administrate with a password of its own.
func warnOfAdmins(_ context.Context, h *Handlers, _ reading) ([]warning, error) {
	if len(h.env.Config.Section("admins")) > 0 {
		return nil, nil
	}
	return []warning{{
		ID: "no_admin", Severity: critical,
		Text: "There is nobody in [admins]: after this session nobody may be able to manage the server.",
		Do:   "Set a password: PUT /_node/_local/_config/admins/NAME.",
		Doc:  "docs/configuration.md#admins",
	}}, nil
}

// warnOfNodes: what several nodes have to agree on.
func warnOfNodes(_ context.Context, h *Handlers, _ reading) ([]warning, error) {
	others := h.nodes.Others()
	found := warnOfClocks(time.Now(), others)
	if len(others) > 0 && h.env.Settings().Auth.Secret == "" {
		found = append(found, warning{
			ID: "secret_missing", Severity: critical,
			Text: "The nodes have no secret that they share: a session of one is not known to the others.",
			Do:   "Set [chttpd_auth] secret to a random text, the same everywhere (COUCHDB_SECRET).",
			Doc:  "docs/configuration.md#chttpd_auth",
		})
	}
	return found, nil
}

// warnOfClocks compares the clocks of other nodes with this one's. A node has told its time when
// it last gave a sign of life, a few seconds ago at most.
func warnOfClocks(now time.Time, others []nodes.Member) (found []warning) {
	for _, m := range others {
		apart := now.Sub(m.Beat)
		if m.Beat.IsZero() || apart.Abs() < clocksApart {
			continue
		}
		word := "behind"
		if apart < 0 {
			word = "ahead of"
		}
		found = append(found, warning{
			ID: "clocks_apart", Severity: serious, Subject: m.Label(),
			Text: fmt.Sprintf("The clock of %s is about %s %s this node's: sessions and timers are early or late.",
				m.Label(), apart.Abs().Round(time.Second), word),
			Do:  "Have all machines follow a time server (systemd-timesyncd, chrony).",
			Doc: "docs/cluster.md#what-it-takes",
		})
	}
	return found
}

// warnOfIndexes: builds that fail, and those that are not tried any more.
func warnOfIndexes(ctx context.Context, h *Handlers, _ reading) (found []warning, err error) {
	if h.jobs == nil {
		return nil, nil
	}
	paused, err := h.jobs.Paused(ctx, mostWarnings)
	if err != nil {
		return nil, err
	}
	for i := range paused {
		what := jobSubject(&paused[i])
		found = append(found, warning{
			ID: "job_paused", Severity: critical, Subject: what,
			Text: fmt.Sprintf("The work on %s is paused: %s.", what, paused[i].Error),
			Do:   "Look in the log for why the server ended. A change of the design document has it tried again.",
			Doc:  "docs/operations.md#after-three-ends-without-a-shutdown",
		})
	}
	failing, err := h.jobs.Failing(ctx, mostWarnings)
	for i := range failing {
		what := jobSubject(&failing[i])
		found = append(found, warning{
			ID: "index_failing", Severity: serious, Subject: what,
			Text: fmt.Sprintf("The work on %s has failed: %s", what, failing[i].Error),
			Do:   "Mend what the reason names; it is tried again with the next change or query.",
			Doc:  "docs/views.md",
		})
	}
	return found, err
}

// jobSubject names what a job works on: the database, and the design document if it has one.
func jobSubject(j *jobs.Job) string {
	database, _, _ := strings.Cut(j.ID, "\x00")
	if design := views.DesignOf(j); design != "" {
		return database + "/" + design
	}
	return database
}

// warnOfFunctions: event functions that were paused after a fault.
func warnOfFunctions(ctx context.Context, h *Handlers, _ reading) (found []warning, err error) {
	if h.functions == nil {
		return nil, nil
	}
	functions, err := h.functions(ctx)
	for _, p := range functions {
		if p.Reason == "" {
			continue
		}
		found = append(found, warning{
			ID: "function_paused", Severity: critical, Subject: p.Function,
			Text: fmt.Sprintf("The event function %s was paused: %s", p.Function, p.Reason),
			Do:   "Mend the cause and resume it. Changes since then wait and are not lost.",
			Doc:  "docs/eventing.md#states",
		})
	}
	return found, err
}

// warnOfReplications: those of this node that wait after failures.
func warnOfReplications(_ context.Context, h *Handlers, _ reading) (found []warning, err error) {
	for _, r := range h.crashing() {
		name := r.Source + " to " + r.Target
		if r.DocID != "" {
			name = r.DB + "/" + r.DocID
		}
		found = append(found, warning{
			ID: "replication_crashing", Severity: serious, Subject: name,
			Text: fmt.Sprintf("The replication from %s to %s has failed %d times in a row: %s",
				r.Source, r.Target, r.Times, r.Reason),
			Do:  "See whether both ends can be reached and let its user in. It is tried again, ever later.",
			Doc: "docs/replication.md#how-it-goes",
		})
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Subject < found[j].Subject })
	return found, nil
}

// warnOfSettings: settings that somebody has set and that do nothing here.
func warnOfSettings(_ context.Context, h *Handlers, _ reading) (found []warning, err error) {
	for name, means := range h.env.Config.WithoutEffect() {
		found = append(found, warning{
			ID: "setting_without_effect", Severity: serious, Subject: name,
			Text: fmt.Sprintf("The setting %s has no effect. %s", name, means),
			Do:   "Remove it, unless a CouchDB reads the same files.",
			Doc:  "docs/configuration.md#settings-of-couchdb-without-effect",
		})
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Subject < found[j].Subject })
	return found, nil
}
