package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/patterns"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server/stats"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/autopurge"
)

// autoPurge is the section of the settings of what purges deleted documents, and its name among
// CouchDB's plugins.
const autoPurge = "couch_auto_purge_plugin"

// AutoPurge makes the Sweeper that purges deleted documents according to the settings. It is called
// once; the caller then calls Step again and again.
func (s *Server) AutoPurge() *autopurge.Sweeper {
	return autopurge.New(autopurge.Options{
		Store: s.env.Store, Log: s.env.Log, Now: time.Now,
		Settings: func() autopurge.Settings { return purgeSettings(s.env.Config) },
		Count:    func(e autopurge.Event, n int) { countPurge(s.env.Stats, e, n) },
	})
}

// Removals makes the function that removes what is old enough: deleted documents (AutoPurge), and
// replaced revisions. It is made once, and is for one goroutine; each call does a piece of what is
// due, and tells when there may be more. See autopurge.Sweeper.Step.
func (s *Server) Removals() func(context.Context, func([]byte)) (again time.Time, err error) {
	deleted := s.AutoPurge()
	replaced := &autopurge.History{
		Store: s.env.Store, Log: s.env.Log, Now: time.Now,
		Rate: func() int64 { return s.env.Config.Int("couch_scanner", "doc_write_rate_limit", 0) },
	}
	var nextDeleted, nextReplaced time.Time
	return func(ctx context.Context, show func([]byte)) (again time.Time, err error) {
		if !time.Now().Before(nextReplaced) {
			if nextReplaced, err = replaced.Step(ctx); err != nil {
				return time.Time{}, err
			}
		}
		if !time.Now().Before(nextDeleted) {
			if nextDeleted, err = deleted.Step(ctx, show); err != nil {
				return time.Time{}, err
			}
		}
		if nextReplaced.Before(nextDeleted) {
			return nextReplaced, nil
		}
		return nextDeleted, nil
	}
}

// History tells how long replaced revisions are kept, by the settings and that of a database
// (storage.Hooks.History). What cannot be read is off.
func History(c *config.Config) func(own string) storage.History {
	return func(own string) storage.History {
		seconds, _ := autopurge.ParseHistory(cmp.Or(own, c.String("settee", "history")))
		if seconds == 0 { // with each update, where nothing is kept for a time
			return storage.History{}
		}
		return storage.History{Seconds: seconds, Bytes: c.Int("settee", "history_max_bytes", 0)}
	}
}

func countPurge(s *stats.Stats, e autopurge.Event, n int) { s.AutoPurges[e].Add(int64(n)) }

// purgeSettings reads the settings of the scanner and its plugin. Where a pattern of what is to be
// skipped cannot be read, nothing is purged.
func purgeSettings(c *config.Config) autopurge.Settings {
	databases, fault := skipped(c, autoPurge+".skip_dbs")
	documents, other := skipped(c, autoPurge+".skip_docs")
	when := schedule{
		after:  parseAfter(c.String(autoPurge, "after")),
		repeat: strings.ToLower(c.String(autoPurge, "repeat")),
		jitter: strings.ToLower(c.String(autoPurge, "jitter")),
	}
	return autopurge.Settings{
		On:     c.Bool("couch_scanner_plugins", autoPurge),
		Fault:  cmp.Or(fault, other),
		Life:   c.String(autoPurge, "deleted_document_ttl"),
		DryRun: c.Bool(autoPurge, "dry_run"),
		Rate:   c.Int("couch_scanner", "doc_write_rate_limit", 0),
		Batch:  max(c.Int(autoPurge, "max_batch_size", 0), c.Int(autoPurge, "min_batch_size", 0)),
		Look:   time.Duration(min(max(c.Int("couch_scanner", "interval_sec", 0), 1), 3600)) * time.Second,
		Due:    when.due,
		SkipDB: databases, SkipDoc: documents,
	}
}

// schedule says when passes begin, by the texts of the settings.
type schedule struct {
	after          time.Time // no pass before that; zero: at any time
	repeat, jitter string
}

// due tells whether a pass begins (couch_scanner_util:schedule_time): the first one at once, others a
// period after the one before and up to jitter later, or on a day of the week; none before after.
func (s schedule) due(last, now time.Time) bool {
	if now.Before(s.after) {
		return false
	}
	if last.IsZero() {
		return true
	}
	if seconds, ok := autopurge.ParsePeriod(s.repeat); ok {
		return now.Unix()-last.Unix() >= seconds+s.later(last, seconds)
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.HasPrefix(s.repeat, strings.ToLower(day.String()[:3])) {
			today := now.UTC().Truncate(24 * time.Hour)
			return now.UTC().Weekday() == day && last.Before(today)
		}
	}
	return false
}

// later is how many seconds the pass after one begins later than the period says: a random number up
// to jitter, which is a part of the period (10_percent) or a time, and never longer than the period.
// However often it is asked, it is the same number for the same pass.
func (s schedule) later(last time.Time, period int64) int64 {
	most, ok := autopurge.ParsePeriod(s.jitter)
	if text, percent := strings.CutSuffix(s.jitter, "_percent"); percent {
		n, err := strconv.ParseInt(text, 10, 64)
		if ok = err == nil; ok {
			most = int64(float64(period) * float64(min(max(n, 0), 100)) / 100)
		}
	}
	if !ok {
		return 0
	}
	draws := rand.New(rand.NewPCG(uint64(last.UnixNano()), 0)) //nolint:gosec // no secret
	return draws.Int64N(max(min(most, period), 0) + 1)
}

// parseAfter reads a time, of which what is from the end may be missing, or seconds since 1970
// (couch_scanner_util:parse_after); zero for anything else.
func parseAfter(text string) time.Time {
	text = strings.ToUpper(text)
	const whole = "0000-01-01T00:00:00Z"
	if n := len(text); n == len("2006-01-02") || n == len("2006-01-02T15") || n == len("2006-01-02T15:04") ||
		n == len("2006-01-02T15:04:05") {
		if t, err := time.Parse(time.RFC3339, text+whole[n:]); err == nil {
			return notBefore1970(t)
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return notBefore1970(t)
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(text) < 7 { // as there: what is shorter is no time
		return time.Time{}
	}
	return notBefore1970(time.Unix(seconds, 0))
}

// notBefore1970 is a time, or none if it is before that.
func notBefore1970(t time.Time) time.Time {
	if t.Unix() < 0 {
		return time.Time{}
	}
	return t
}

// skipped are the names that match any expression of a section; nil for none. fault says which of
// them cannot be read, "" for none.
func skipped(c *config.Config, section string) (skips func(name string) bool, fault string) {
	var all []*patterns.Pattern
	var budget patterns.Budget
	settings := c.Section(section)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		p, err := budget.Compile(settings[name])
		if err != nil {
			return nil, fmt.Sprintf("[%s] %s cannot be read: %v", section, name, err)
		}
		all = append(all, p)
	}
	if all == nil {
		return nil, ""
	}
	return func(name string) bool {
		for _, p := range all {
			if p.Match([]byte(name)) {
				return true
			}
		}
		return false
	}, ""
}
