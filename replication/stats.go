package replication

import (
	"strconv"
	"sync/atomic"

	"github.com/settee-db/settee/compat/ejson"
)

// Stats are the counters of a replication. They go on from those of the last checkpoint.
//
// Checked and Found count revisions, Read and Written documents, Failures documents that the target
// refused; the last two are about _bulk_get.
type Stats struct {
	Checked, Found, Read, Written, Failures, BulkGetDocs, BulkGetAttempts int64
}

// counters are Stats under way, for concurrent use.
type counters struct {
	checked, found, read, written, failures, bulkDocs, bulkAttempts atomic.Int64
}

// snapshot reads the counters. Each is right by itself; together they may be of slightly different
// moments.
func (c *counters) snapshot() Stats {
	return Stats{
		c.checked.Load(),
		c.found.Load(),
		c.read.Load(),
		c.written.Load(),
		c.failures.Load(),
		c.bulkDocs.Load(),
		c.bulkAttempts.Load(),
	}
}

func (c *counters) set(s Stats) {
	c.checked.Store(s.Checked)
	c.found.Store(s.Found)
	c.read.Store(s.Read)
	c.written.Store(s.Written)
	c.failures.Store(s.Failures)
	c.bulkDocs.Store(s.BulkGetDocs)
	c.bulkAttempts.Store(s.BulkGetAttempts)
}

// atLeast takes the greater of each counter (couch_replicator_stats:max_stats).
func (s Stats) atLeast(o Stats) Stats {
	return Stats{max(s.Checked, o.Checked), max(s.Found, o.Found), max(s.Read, o.Read), max(s.Written, o.Written),
		max(s.Failures, o.Failures), max(s.BulkGetDocs, o.BulkGetDocs), max(s.BulkGetAttempts, o.BulkGetAttempts)}
}

// historyStats reads the counters of an entry of a checkpoint's history.
func historyStats(entry ejson.Value) Stats {
	n := func(name string) int64 {
		m, _ := entry.Get(name)
		v, _ := m.Int()
		return v
	}
	return Stats{
		n("missing_checked"),
		n("missing_found"),
		n("docs_read"),
		n("docs_written"),
		n("doc_write_failures"),
		n("bulk_get_docs"),
		n("bulk_get_attempts"),
	}
}

// appendHistory appends the counters as members of a history entry.
func (s Stats) appendHistory(b []byte) []byte {
	b = appendInt(b, `"missing_checked":`, s.Checked)
	b = appendInt(b, `,"missing_found":`, s.Found)
	b = s.appendDocs(append(b, ','))
	b = appendInt(b, `,"bulk_get_docs":`, s.BulkGetDocs)
	return appendInt(b, `,"bulk_get_attempts":`, s.BulkGetAttempts)
}

func (s Stats) appendDocs(b []byte) []byte {
	b = appendInt(b, `"docs_read":`, s.Read)
	b = appendInt(b, `,"docs_written":`, s.Written)
	return appendInt(b, `,"doc_write_failures":`, s.Failures)
}

func appendInt(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}

// Progress is where a replication stands.
type Progress struct {
	Stats
	Pending      int64 // changes still to come; PendingKnown false: the source cannot tell
	PendingKnown bool
	Checkpointed Sequence
	// The end of the highest batch that is done, "" after the end.
	Source Sequence
	// The end up to which all batches are done, which checkpoints may name.
	Through Sequence
}

// AppendInfo appends the members that jobs and documents show, without braces
// (couch_replicator_scheduler_job:rep_stats).
func (p *Progress) AppendInfo(b []byte) []byte {
	b = appendInt(b, `"revisions_checked":`, p.Checked)
	b = appendInt(b, `,"missing_revisions_found":`, p.Found)
	b = appendInt(b, `,"docs_read":`, p.Read)
	b = appendInt(b, `,"docs_written":`, p.Written)
	if p.PendingKnown {
		b = appendInt(b, `,"changes_pending":`, p.Pending)
	} else {
		b = append(b, `,"changes_pending":null`...)
	}
	b = appendInt(b, `,"doc_write_failures":`, p.Failures)
	b = appendInt(b, `,"bulk_get_docs":`, p.BulkGetDocs)
	b = appendInt(b, `,"bulk_get_attempts":`, p.BulkGetAttempts)
	b = append(b, `,"checkpointed_source_seq":`...)
	return append(b, p.Checkpointed.Encoded()...)
}

// AppendRunning appends the members of AppendInfo and those of a running job.
func (p *Progress) AppendRunning(b []byte) []byte {
	b = append(p.AppendInfo(b), `,"source_seq":`...)
	b = append(append(b, p.Source.Encoded()...), `,"through_seq":`...)
	return append(b, p.Through.Encoded()...)
}
