package replication

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat/ejson"
)

// maxHistory is how many sessions a checkpoint remembers.
const maxHistory = 50

// maxCheckpoint is the size of a checkpoint, many times what fifty sessions take with CouchDB's
// longest sequences.
const maxCheckpoint = 1 << 20

// checkpointer reads and writes the checkpoints of a replication: equal _local documents at both
// ends.
type checkpointer struct {
	session *Session
	// "_local/" and the base of the replication's id: the same at both ends, whichever server runs
	// it.
	id string // of the documents
	// Revisions of the two documents as they were read or written last, by which the next write
	// follows them.
	sourceRev  string
	targetRev  string
	sourceBody []byte   // the document found at the source, "{}" for none
	history    [][]byte // entries of the sessions before this one, newest first
	// Where this session begins: FirstSequence without a checkpoint that both sides know.
	start Sequence
	// Counters of the session before, from which this one counts on.
	startStats Stats
	committed  Sequence // "" before anything was copied in this session
	written    []byte   // body of the last checkpoint, nil before the first
	// instance_start_time of both databases as the session has found them. If one changes, the
	// database was made anew and no checkpoint is written (commit).
	sourceTime string
	targetTime string
}

// find reads the checkpoints at both ends, older versions of their ids as well, and decides where
// to begin (couch_replicator_scheduler_job:find_and_migrate_logs, compare_replication_logs).
func (c *checkpointer) find(ctx context.Context) error {
	c.id = "_local/" + c.session.spec.ID.Base
	source, err := c.findLog(ctx, c.session.source)
	if err != nil {
		return err
	}
	target, err := c.findLog(ctx, c.session.target)
	if err != nil {
		return err
	}
	c.sourceRev, c.targetRev, c.sourceBody = source.Rev, target.Rev, source.Body
	s, err := ejson.Parse(source.Body)
	if err != nil {
		return err
	}
	t, err := ejson.Parse(target.Body)
	if err != nil {
		return err
	}
	c.compare(s, t)
	return nil
}

// findLog opens the checkpoint of one side, also under the ids that older versions of CouchDB gave
// the same replication (couch_replicator_scheduler_job:fold_replication_logs). One that is found
// there is written under the id of today, so that it is found at once next time; that another
// replication has written it first does no harm. A checkpoint that is nowhere is empty, and the
// replication begins at the beginning. What a peer sends is not parsed if it is larger than
// maxCheckpoint.
func (c *checkpointer) findLog(ctx context.Context, p Peer) (*LocalDocument, error) {
	for version := IDVersion; version >= 1; version-- {
		id := c.id
		if version < IDVersion {
			id = "_local/" + c.session.spec.baseID(c.session.set, version, c.session.filterCode)
		}
		doc, err := p.OpenLocal(ctx, id)
		if err != nil {
			return nil, err
		}
		if doc == nil {
			continue
		}
		if len(doc.Body) > maxCheckpoint {
			return nil, pairFailure("checkpoint_too_large", id+" has more than "+strconv.Itoa(maxCheckpoint)+" bytes")
		}
		if version < IDVersion {
			// The document found has a revision of another id; under today's id it is new.
			doc.Rev = ""
			if c.session.spec.Options.UseCheckpoints {
				if doc.Rev, err = p.PutLocal(ctx, c.id, *doc); err != nil && !errors.Is(err, ErrConflict) {
					return nil, err
				}
			}
		}
		return doc, nil
	}
	return &LocalDocument{Body: []byte("{}")}, nil
}

// compare finds the newest session that both sides know.
func (c *checkpointer) compare(source, target ejson.Value) {
	c.start = FirstSequence
	s, hasS := source.Get("session_id")
	t, hasT := target.Get("session_id")
	// The same session wrote last at both ends, or neither has a checkpoint: its last sequence is
	// safe.
	if hasS == hasT && (!hasS || s.Text() == t.Text()) {
		if seq, ok := source.Get("source_last_seq"); ok {
			c.start = Sequence(seq.AppendJSON(nil))
		}
		c.remember(elements(source, "history"))
		return
	}
	// Else one side missed the last checkpoint, or several. Both lists begin with the newest
	// session; the first that is anywhere in the other list is the last that both have heard of.
	sh, th := elements(source, "history"), elements(target, "history")
	known := func(id string, entries []ejson.Value) bool {
		return id != "" &&
			slices.ContainsFunc(entries, func(e ejson.Value) bool { return memberText(e, "session_id") == id })
	}
	for len(sh) > 0 && len(th) > 0 {
		if known(memberText(sh[0], "session_id"), th) {
			c.found(sh)
			return
		}
		if known(memberText(th[0], "session_id"), sh[1:]) {
			c.found(th)
			return
		}
		sh, th = sh[1:], th[1:]
	}
}

// found begins after the first entry.
func (c *checkpointer) found(entries []ejson.Value) {
	// recorded_seq is what both sides had when that session wrote its last checkpoint.
	if seq, ok := entries[0].Get("recorded_seq"); ok {
		c.start = Sequence(seq.AppendJSON(nil))
	}
	c.remember(entries[1:])
}

func (c *checkpointer) remember(entries []ejson.Value) {
	if len(entries) > 0 {
		c.startStats = historyStats(entries[0])
	}
	for _, e := range entries {
		c.history = append(c.history, e.AppendJSON(nil))
	}
}

// elements are the objects in a list, as many of them as a checkpoint has: a peer may send any
// number.
func elements(v ejson.Value, name string) []ejson.Value {
	list, _ := v.Get(name)
	if list.Kind() != ejson.Array {
		return nil
	}
	var out []ejson.Value
	for e := range list.Elements() {
		if len(out) == maxHistory {
			break
		}
		if e.Kind() == ejson.Object {
			out = append(out, e)
		}
	}
	return out
}

// save writes a checkpoint at a sequence up to which everything is written
// (couch_replicator_scheduler_job:do_checkpoint).
func (c *checkpointer) save(ctx context.Context, through Sequence) error {
	if !c.session.spec.Options.UseCheckpoints {
		// What _replicate answers then, as by CouchDB: the last checkpoint is the answer, and this
		// stands for one.
		c.written = []byte(`{"use_checkpoints":false}`)
		c.committed = through
		c.session.commit(through)
		return nil
	}
	if through == c.committed {
		return nil
	}
	err := c.write(ctx, through)
	if err != nil {
		c.session.set.Counters.CheckpointFailures.add(1)
	} else {
		c.session.set.Counters.Checkpoints.add(1)
	}
	return err
}

// write writes both documents.
func (c *checkpointer) write(ctx context.Context, through Sequence) error {
	if err := c.commit(ctx); err != nil {
		return err
	}
	body := c.body(through, time.Now())
	var err error
	// The source is written first. If the session ends between the two writes the histories differ
	// in their newest entry, and the next session begins at the one before it (compare): some work
	// is done twice, nothing is lost.
	if c.sourceRev, err = c.put(ctx, c.session.source, c.sourceRev, body, "source"); err != nil {
		return err
	}
	if c.targetRev, err = c.put(ctx, c.session.target, c.targetRev, body, "target"); err != nil {
		return err
	}
	c.committed, c.written = through, body
	c.session.commit(through)
	return nil
}

// commit makes both ends durable before a checkpoint is written, at the same time. It fails if the
// time at which one of the databases was created differs from before: the database was deleted and
// created again, and its sequences mean nothing any more
// (couch_replicator_scheduler_job:do_checkpoint).
func (c *checkpointer) commit(ctx context.Context) error {
	type result struct {
		start string
		err   error
	}
	source := make(chan result, 1)
	go func() {
		start, err := c.session.source.Commit(ctx)
		source <- result{start, err}
	}()
	targetTime, targetErr := c.session.target.Commit(ctx)
	s := <-source
	switch {
	case targetErr != nil:
		return checkpointFailure("Failure on target commit: ", targetErr)
	case s.err != nil:
		return checkpointFailure("Failure on source commit: ", s.err)
	}
	var changed string
	switch sameSource, sameTarget := sameTime(c.sourceTime, s.start), sameTime(c.targetTime, targetTime); {
	case sameSource && sameTarget:
		return nil
	case sameSource:
		changed = "target"
	case sameTarget:
		changed = "source"
	default:
		changed = "source and target"
	}
	return pairFailure("checkpoint_commit_failure",
		"instance_start_time on "+changed+" database has changed since last checkpoint.")
}

// sameTime compares instance_start_times; "0" is that of versions of CouchDB that have none.
func sameTime(a, b string) bool { return a == b || a == `"0"` || b == `"0"` }

func checkpointFailure(text string, err error) error {
	var f *Failure
	if errors.As(err, &f) {
		return pairFailure("checkpoint_commit_failure", text+f.Text())
	}
	return err
}

// put writes the checkpoint to one side. After a conflict it looks whether the document there is
// the very one that it wanted to write: then an earlier attempt had succeeded, of which only the
// answer was lost.
func (c *checkpointer) put(ctx context.Context, p Peer, rev string, body []byte, side string) (string, error) {
	got, err := p.PutLocal(ctx, c.id, LocalDocument{Rev: rev, Body: body})
	if errors.Is(err, ErrConflict) {
		// An attempt whose answer was lost may have written it.
		if doc, openErr := p.OpenLocal(ctx, c.id); openErr == nil && doc != nil && string(doc.Body) == string(body) {
			return doc.Rev, nil
		}
		err = pairFailure("conflict", "conflict")
	}
	if err != nil {
		return "", checkpointFailure("Error updating the "+side+" checkpoint document: ", err)
	}
	return got, nil
}

// body is the checkpoint's document.
func (c *checkpointer) body(through Sequence, now time.Time) []byte {
	started := c.session.spec.Begun.UTC().Format(http.TimeFormat)
	ended := now.UTC().Format(http.TimeFormat)
	stats := c.session.counters.snapshot()
	b := append([]byte(`{"session_id":"`), c.session.id...)
	b = append(append(b, `","source_last_seq":`...), through...)
	b = strconv.AppendInt(append(b, `,"replication_id_version":`...), IDVersion, 10)
	// Only checkpoints of replications with doc_ids have counters at the top, as CouchDB writes
	// them.
	if c.session.spec.Options.DocIDs != nil {
		b = append(append(b, `,"start_time":"`...), started...)
		b = append(append(append(b, `","end_time":"`...), ended...), `",`...)
		b = stats.appendDocs(b)
	}
	b = append(append(b, `,"history":[{"session_id":"`...), c.session.id...)
	b = append(append(b, `","start_time":"`...), started...)
	b = append(append(b, `","end_time":"`...), ended...)
	b = append(append(b, `","start_last_seq":`...), c.start...)
	b = append(append(b, `,"end_last_seq":`...), through...)
	b = append(append(append(b, `,"recorded_seq":`...), through...), ',')
	b = append(stats.appendHistory(b), '}')
	// The session's own entry is the first; it was left out of history, so that the document never
	// has more than maxHistory.
	for _, entry := range c.history[:min(len(c.history), maxHistory-1)] {
		b = append(append(b, ','), entry...)
	}
	return append(b, "]}"...)
}

// result is what the replication tells at its end: the last checkpoint, or that there was nothing
// to do with the one before.
func (c *checkpointer) result() []byte {
	if c.written != nil {
		return c.written
	}
	b := []byte(`{"no_changes":true`)
	// The answer is the checkpoint of the session before with a member in front, so that clients
	// find its history there.
	if len(c.sourceBody) > len("{}") {
		return append(append(b, ','), c.sourceBody[1:]...)
	}
	return append(b, '}')
}
