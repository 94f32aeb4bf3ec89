package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/patterns"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server/stats"
	"github.com/settee-db/settee/storage/autopurge"
)

// autoPurge is the section of the settings of what purges deleted documents, and its name among
// CouchDB's plugins.
const autoPurge = "couch_auto_purge_plugin"

// AutoPurge is what purges deleted documents, as the settings say. It is made once; whoever runs it
// calls Step.
func (s *Server) AutoPurge() *autopurge.Sweeper {
	return autopurge.New(autopurge.Options{
		Store: s.env.Store, Log: s.env.Log, Now: time.Now,
		Settings: func() autopurge.Settings { return purgeSettings(s.env.Config) },
		Count:    func(e autopurge.Event, n int) { countPurge(s.env.Stats, e, n) },
	})
}

func countPurge(s *stats.Stats, e autopurge.Event, n int) { s.AutoPurges[e].Add(int64(n)) }

// purgeSettings reads the settings of the scanner and its plugin. Where a pattern of what is to be
// skipped cannot be read, nothing is purged.
func purgeSettings(c *config.Config) autopurge.Settings {
	databases, fault := skipped(c, autoPurge+".skip_dbs")
	documents, other := skipped(c, autoPurge+".skip_docs")
	repeat := c.String(autoPurge, "repeat")
	return autopurge.Settings{
		On:     c.Bool("couch_scanner_plugins", autoPurge),
		Fault:  cmp.Or(fault, other),
		Life:   c.String(autoPurge, "deleted_document_ttl"),
		DryRun: c.Bool(autoPurge, "dry_run"),
		Rate:   c.Int("couch_scanner", "doc_write_rate_limit", 0),
		Batch:  c.Int(autoPurge, "max_batch_size", 0),
		Look:   time.Duration(min(max(c.Int("couch_scanner", "interval_sec", 0), 1), 3600)) * time.Second,
		Due:    func(last, now time.Time) bool { return purgeDue(repeat, last, now) },
		SkipDB: databases, SkipDoc: documents,
	}
}

// purgeDue tells whether a pass begins (couch_scanner_util:schedule_time, without jitter): the first
// one at once, others a period after the one before, or on a day of the week.
func purgeDue(repeat string, last, now time.Time) bool {
	if last.IsZero() {
		return true
	}
	if seconds, ok := autopurge.ParsePeriod(strings.ToLower(repeat)); ok {
		return now.Unix()-last.Unix() >= seconds
	}
	repeat = strings.ToLower(repeat)
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.HasPrefix(repeat, strings.ToLower(day.String()[:3])) {
			today := now.UTC().Truncate(24 * time.Hour)
			return now.UTC().Weekday() == day && last.Before(today)
		}
	}
	return false
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
