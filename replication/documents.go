package replication

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/docread"
)

// documents turns documents of replicator databases into jobs (couch_replicator_doc_processor). The
// scheduler's lock guards known.
type documents struct {
	s     *Scheduler
	known map[docKey]*document
}

type docKey struct{ db, id string }

// document is a replication document that is not at its end.
//
// It begins with the first change that asks for a replication and ends when that is completed or
// failed for good, the document is deleted, or another process is to run it. The scheduler's lock
// guards it, but for key and spec, which never change.
type document struct {
	key docKey
	// Of the document as far as it was heard of. It moves with each change, also with those that
	// the scheduler itself writes.
	rev   compat.Rev
	spec  *Spec
	state documentState
	job   JobID // when scheduled
	// What /_scheduler/docs shows of the last error, or that the id of the replication has changed.
	info string
	// Errors in a row while the job was being made; they double the pause before the next try.
	errors  int
	updated time.Time
	cancel  context.CancelFunc // ends the work of making a job of it
	resumes JobID              // of a replication that was paused, and is to run again because the document was saved
}

type documentState string

const (
	documentNew       documentState = "initializing"
	documentError     documentState = "error"
	documentScheduled documentState = "scheduled"
)

// Follow runs the replications of documents until ctx ends. Of several processes on one store, one
// has to do it.
func (s *Scheduler) Follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	w := &watcher{s: s, ctx: ctx, followed: make(map[string]context.CancelFunc)}
	w.run()
	w.tasks.Wait()
	s.docs.removeAll()
}

// removeAll stops the jobs of all documents: they are somebody else's now, or begin again at the
// next start.
func (d *documents) removeAll() {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	for key := range d.known {
		d.forget(key)
	}
}

// removeDB forgets the documents of a database.
func (d *documents) removeDB(name string) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	for key := range d.known {
		if key.db == name {
			d.forget(key)
		}
	}
}

// forget drops a document and its jobs. The lock is held.
func (d *documents) forget(key docKey) {
	doc := d.known[key]
	if doc == nil {
		return
	}
	doc.cancel()
	delete(d.known, key)
	if j := d.jobOf(doc); j != nil {
		d.s.remove(j)
	}
}

// jobOf gives the job of a document, nil if it has none. The lock is held.
func (d *documents) jobOf(doc *document) *job {
	if doc == nil || doc.state != documentScheduled {
		return nil
	}
	j := d.s.jobs[doc.job]
	// A job of the same id may be that of _replicate, or of another document.
	if j == nil || j.spec.DB != doc.key.db || j.spec.DocID != doc.key.id {
		return nil
	}
	return j
}

// changed takes a change of a replicator database; moved says that it is no change, but that others
// may have had the replication until now.
func (d *documents) changed(ctx context.Context, db string, c *docChange, moved bool) {
	id := c.id
	key := docKey{db, id}
	if compat.IsDesignID(id) {
		return
	}
	if c.deleted {
		if paused := d.lose(key); paused != (JobID{}) {
			// A pause is kept in the store by the replication's id; a document that is written anew
			// later shall not meet it.
			if err := d.s.o.Sharing.Resume(ctx, paused); err != nil {
				d.s.o.Log.Warn("a pause was not forgotten", "replication", paused.String(), "error", err)
			}
		}
		return
	}
	// A document that is no object cannot be a replication; the database has refused it unless it
	// was replicated.
	doc, err := parseDocument(id, c.body)
	if err != nil {
		return
	}
	// A document that cannot be parsed as a replication has a share too, its own name, so that just
	// one process writes "failed" into it.
	set := d.s.o.Settings()
	spec, refused := ParseDocument(doc, set)
	share := db + "\x00" + id
	if refused == nil {
		share = spec.share(set)
	}
	// Documents that ask for the same replication have one share, so that one process sees that
	// there are two of them.
	if !d.s.o.Sharing.Mine(share) {
		d.lose(key)
		return
	}
	set.Counters.DocumentChanges.add(1)
	state := memberText(doc, "_replication_state")
	switch state {
	case "completed":
		d.s.mu.Lock()
		if old := d.known[key]; old != nil {
			old.cancel()
			delete(d.known, key)
		}
		d.s.mu.Unlock()
		return
	case "failed":
		// The state is the user's to remove; until then nothing runs.
		return
	// Left by a process that wrote states of replications that run; this one keeps them in memory
	// (update_docs).
	case "triggered", "error":
		if !set.UpdateDocs {
			d.write(db, id, noStateFields())
		}
	}
	if refused != nil {
		var bad *SpecError
		reason := refused.Error()
		if errors.As(refused, &bad) {
			reason = bad.Forbidden()
		}
		d.write(db, id, failedFields(reason))
		return
	}
	spec.DB, spec.DocID, spec.Begun, spec.TakenOver = db, id, time.Now(), moved
	// A document without a state was saved by its user.
	d.update(ctx, &document{key: key, rev: c.rev, spec: spec, state: documentNew, updated: time.Now()}, state == "")
}

// lose forgets a document that is gone, or is another process's now, and gives the id of its job if
// that is paused.
func (d *documents) lose(key docKey) (paused JobID) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if j := d.jobOf(d.known[key]); j != nil && j.paused {
		paused = j.id
	}
	d.forget(key)
	return paused
}

// parseDocument parses a body with the document's id in it.
func parseDocument(id string, body []byte) (ejson.Value, error) {
	b := ejson.AppendString([]byte(`{"_id":`), id)
	if len(body) > len("{}") {
		b = append(append(b, ','), body[1:]...)
	} else {
		b = append(b, '}')
	}
	return ejson.Parse(b)
}

// update makes a job of a document, unless it asks for what it has asked for before. What is paused
// begins anew where the document was saved, which users do without a state in it.
func (d *documents) update(ctx context.Context, doc *document, stateless bool) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.s.ctx.Err() != nil || ctx.Err() != nil {
		return
	}
	// Writes of states come back as changes, too: a document that asks for the same as before is
	// left alone, so that a write of a job's state does not stop that job.
	if old := d.known[doc.key]; old != nil {
		saved := old.rev != doc.rev && stateless
		old.rev = doc.rev
		j := d.jobOf(old)
		paused := j != nil && j.paused
		if old.spec.fingerprint() == doc.spec.fingerprint() && !(paused && saved) {
			return
		}
		if paused {
			doc.resumes = j.id
		}
		d.forget(doc.key)
	}
	ctx, doc.cancel = context.WithCancel(ctx)
	d.known[doc.key] = doc
	d.s.tasks.Go(func() { d.process(ctx, doc) })
}

const (
	firstErrorPause = 64 * time.Second // upper end of a random pause, doubled with each error
	maxErrorDouble  = 12
	minFilterPause  = 60 * time.Second
	processTimeout  = 61 * time.Second
)

// process schedules a document, and looks again and again whether the filter function that its id
// depends on has changed.
func (d *documents) process(ctx context.Context, doc *document) {
	for ctx.Err() == nil {
		err := d.scheduleDocument(ctx, doc)
		var failed *permanentError
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &failed):
			d.s.mu.Lock()
			if d.known[doc.key] == doc {
				delete(d.known, doc.key)
			}
			d.s.mu.Unlock()
			d.write(doc.key.db, doc.key.id, failedFields(failed.reason))
			return
		// A replication without a user's filter has the same id for ever.
		case err == nil && !doc.spec.Options.UserFilter():
			return
		}
		// Random, so that many documents do not read their filters in the same second.
		pause := minFilterPause + rand.N(minFilterPause)
		if err != nil {
			pause = d.failed(doc, err)
		}
		if sleep(ctx, pause) != nil {
			return
		}
	}
}

// failed notes an error that may pass, and returns how long to wait.
func (d *documents) failed(doc *document, err error) time.Duration {
	d.s.mu.Lock()
	doc.state, doc.info, doc.updated = documentError, err.Error(), time.Now()
	doc.errors++
	pause := rand.N(firstErrorPause<<min(doc.errors, maxErrorDouble)) + time.Second
	d.s.mu.Unlock()
	if d.s.o.Settings().UpdateDocs {
		d.write(doc.key.db, doc.key.id, errorFields("", err.Error()))
	}
	return pause
}

// permanentError ends a document.
type permanentError struct{ reason string }

// Error implements error.
func (e *permanentError) Error() string { return e.reason }

// scheduleDocument computes the id of a document's replication and adds its job
// (couch_replicator_doc_processor_worker:maybe_start_replication).
func (d *documents) scheduleDocument(ctx context.Context, doc *document) error {
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	// A copy, because the id depends on the filter's source of this moment and jobs keep their
	// spec.
	spec := *doc.spec
	if err := d.s.Identify(ctx, &spec); err != nil {
		return err
	}
	if doc.resumes != (JobID{}) {
		if err := d.s.o.Sharing.Resume(ctx, doc.resumes); err != nil {
			return err
		}
		doc.resumes = JobID{}
	}
	d.s.mu.Lock()
	// The document was changed or deleted while its filter was read over the network.
	if d.known[doc.key] != doc {
		d.s.mu.Unlock()
		return context.Canceled
	}
	// The filter has changed, and with it the id: a new job with checkpoints of its own takes the
	// place of the old one.
	if doc.state == documentScheduled && doc.job != spec.ID {
		if old := d.s.jobs[doc.job]; old != nil && old.spec.DocID == doc.key.id && old.spec.DB == doc.key.db {
			d.s.remove(old)
		}
		doc.info = "Replication id changed: " + doc.job.String() + " -> " + spec.ID.String()
	}
	// Only a second document is wrong for good. A transient replication may end, so that the error
	// is tried again.
	if other := d.s.jobs[spec.ID]; other != nil && (other.spec.DocID != doc.key.id || other.spec.DB != doc.key.db) {
		d.s.mu.Unlock()
		text := "Replication `" + spec.ID.String() + "` specified by document `" + doc.key.id + "` already "
		if !other.spec.ofDocument() {
			return errors.New(text + "running as a transient replication, started via `_replicate` API endpoint")
		}
		return &permanentError{
			text + "started, triggered by document `" + other.spec.DocID + "` from db `" + other.spec.DB + "`",
		}
	}
	d.s.add(&spec)
	doc.state, doc.job, doc.errors, doc.updated = documentScheduled, spec.ID, 0, time.Now()
	d.s.mu.Unlock()
	if d.s.o.Settings().UpdateDocs {
		d.write(doc.key.db, doc.key.id, triggeredFields(spec.ID))
	}
	return nil
}

// Identify computes the id of a replication; for that it reads the source of a user's filter at the
// replication's source.
func (s *Scheduler) Identify(ctx context.Context, spec *Spec) error {
	set := s.o.Settings()
	if spec.Options.UserFilter() {
		peer := s.o.Connect(&spec.Source, spec, set)
		defer peer.Close()
		var err error
		if spec.filterCode, err = fetchFilter(ctx, peer, &spec.Options); err != nil {
			return err
		}
	}
	spec.SetID(set, spec.filterCode)
	return nil
}

// FilterError tells why a filter function cannot be read.
type FilterError struct{ Reason string }

// Error implements error.
func (e *FilterError) Error() string { return e.Reason }

// fetchFilter reads the source of a filter function (couch_replicator_filters:fetch_internal).
func fetchFilter(ctx context.Context, p Peer, o *Options) (string, error) {
	if err := p.Open(ctx, false, nil); err != nil {
		return "", &FilterError{"Could not open source database `" + p.URI() + "`: " + failureText(err)}
	}
	text, err := p.OpenDocument(ctx, compat.DesignPrefix+o.filterDoc)
	if err != nil {
		return "", &FilterError{"Couldn't open document `_design/" + o.filterDoc + "` from source database `" +
			p.URI() + "`: " + failureText(err)}
	}
	v, err := ejson.Parse(text)
	if err != nil {
		return "", err
	}
	// The source is at filters.NAME of the design document; what is missing on the way is told by
	// name, as couch_util:get_nested_json_value throws it.
	for _, name := range []string{"filters", o.filterFunc} {
		member, ok := v, false
		if v.Kind() == ejson.Object {
			member, ok = v.Get(name)
		}
		if !ok {
			return "", &FilterError{
				"Couldn't parse filter code from document " + o.filterDoc + " on `" + p.URI() + "`  Error: " +
					tupleTerm("not_found", string(appendBinaryTerm(nil, "missing json key: "+name))),
			}
		}
		v = member
	}
	return trimFilter(plainText(v)), nil
}

// trimFilter returns a filter's source in the form that is hashed into ids: a source of one line
// loses the blanks around it, but not a line feed at its end; any other source stays as it is.
func trimFilter(code string) string {
	line, end := strings.CutSuffix(code, "\n")
	switch {
	case strings.Contains(line, "\n"):
		return code
	case end:
		return strings.Trim(line, " ") + "\n"
	}
	return strings.Trim(line, " ")
}

// failureText is what Erlang's catch makes of a failure, printed: a request that failed is an exit.
func failureText(err error) string {
	var f *Failure
	var h *httpFailure
	if errors.As(err, &h) {
		return "{'EXIT'," + h.failure().Term + "}"
	}
	if errors.As(err, &f) {
		return f.Text()
	}
	return err.Error()
}

// open reads a replication document as the server itself sees it; nil if it is gone.
func (d *documents) open(ctx context.Context, db, id string) (*docread.Document, error) {
	doc, err := d.s.o.Store.DB(db).Open(ctx, id, docread.OpenOptions{})
	if errors.Is(err, compat.KindNotFound) || errors.Is(err, compat.KindNoDatabase) {
		return nil, nil
	}
	return doc, err
}
