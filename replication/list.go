package replication

import (
	"context"
	"sort"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat/ejson"
)

// States are the states of replication documents, in CouchDB's order
// (couch_replicator:replication_states).
var States = []string{"initializing", "error", "running", "pending", "crashing", "completed", "failed"}

// pidText is the id of a job's process in Erlang's form.
//
// Clients take it for an opaque text of this form; there is no such process.
func pidText(n uint32) string { return "<0." + strconv.Itoa(1000+int(n%100000)) + ".0>" }

// Jobs are all jobs as /_scheduler/jobs shows them, by id. node is the name of this node.
func (s *Scheduler) Jobs(node string) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*job, 0, len(s.jobs))
	for _, j := range s.jobs {
		list = append(list, j)
	}
	sort.Slice(list, func(a, b int) bool { return list[a].id.String() < list[b].id.String() })
	out := make([][]byte, len(list))
	for i, j := range list {
		out[i] = j.appendJSON(nil, node)
	}
	return out
}

// Crash is a job that failed and waits before it is tried again.
type Crash struct {
	DB, DocID      string // "" for a job of _replicate
	Source, Target string // without credentials
	Reason         string
	Times          int // in a row
}

// Crashing are the jobs that wait after failures, in no order.
func (s *Scheduler) Crashing() (list []Crash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.stop == nil && j.history[0].kind == eventCrashed {
			list = append(list, Crash{
				DB: j.spec.DB, DocID: j.spec.DocID,
				Source: j.spec.Source.DisplayURL(), Target: j.spec.Target.DisplayURL(),
				Reason: j.history[0].reason, Times: j.crashes(s.o.Settings().HealthThreshold),
			})
		}
	}
	return list
}

// Job gives one job as Jobs shows it, nil if there is no such job.
func (s *Scheduler) Job(id JobID, node string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[id]; j != nil {
		return j.appendJSON(nil, node)
	}
	return nil
}

// appendJSON appends a job (couch_replicator_scheduler:job_ejson).
func (j *job) appendJSON(b []byte, node string) []byte {
	b = appendNullable(append(b, `{"database":`...), j.spec.DB)
	b = ejson.AppendString(append(b, `,"id":`...), j.id.String())
	b = append(b, `,"pid":`...)
	if j.stop != nil {
		b = ejson.AppendString(b, pidText(j.pid))
	} else {
		b = append(b, "null"...)
	}
	b = ejson.AppendString(append(b, `,"source":`...), j.spec.Source.DisplayURL())
	b = ejson.AppendString(append(b, `,"target":`...), j.spec.Target.DisplayURL())
	b = appendNullable(append(b, `,"user":`...), j.spec.User.Name)
	b = appendNullable(append(b, `,"doc_id":`...), j.spec.DocID)
	b = j.appendInfo(append(b, `,"info":`...))
	b = append(b, `,"history":[`...)
	for i, e := range j.history {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(append(b, `{"timestamp":`...), ISO8601(e.at))
		b = ejson.AppendString(append(b, `,"type":`...), string(e.kind))
		if e.kind == eventCrashed {
			b = ejson.AppendString(append(b, `,"reason":`...), e.reason)
		}
		b = append(b, '}')
	}
	b = ejson.AppendString(append(b, `],"node":`...), node)
	b = ejson.AppendString(append(b, `,"start_time":`...), ISO8601(j.spec.Begun))
	return append(b, '}')
}

func appendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return ejson.AppendString(b, s)
}

func (j *job) appendInfo(b []byte) []byte {
	p, known := j.progress()
	if !known {
		return append(b, "null"...)
	}
	return append(p.AppendRunning(append(b, '{')), '}')
}

// DocumentInfo is the state of a document and what /_scheduler/docs shows of it.
type DocumentInfo struct {
	State string
	JSON  []byte
}

// Document is the scheduler's entry for a document that has not reached its end, nil if there is
// none (couch_replicator_doc_processor:ejson_doc).
func (s *Scheduler) Document(db, id, node string) *DocumentInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.docs.known[docKey{db, id}]
	if d == nil {
		return nil
	}
	b := ejson.AppendString([]byte(`{"database":`), db)
	b = ejson.AppendString(append(b, `,"doc_id":`...), id)
	if d.state != documentScheduled {
		info := []byte("null")
		if d.info != "" {
			info = append(ejson.AppendString([]byte(`{"error":`), d.info), '}')
		}
		b = ejson.AppendString(append(b, `,"id":null,"state":`...), string(d.state))
		b = append(append(b, `,"info":`...), info...)
		b = appendInt(b, `,"error_count":`, int64(d.errors))
		b = ejson.AppendString(append(b, `,"node":`...), node)
		b = ejson.AppendString(append(b, `,"last_updated":`...), ISO8601(d.updated))
		b = ejson.AppendString(append(b, `,"start_time":`...), ISO8601(d.spec.Begun))
		return &DocumentInfo{string(d.state), append(b, '}')}
	}
	j := s.jobs[d.job]
	if j == nil {
		return nil // it has just ended
	}
	b = ejson.AppendString(append(b, `,"id":`...), j.id.String())
	b = ejson.AppendString(append(b, `,"node":`...), node)
	return s.jobSummary(append(b, ','), j)
}

// jobSummary appends the members that a scheduled document has
// (couch_replicator_scheduler:job_summary).
func (s *Scheduler) jobSummary(b []byte, j *job) *DocumentInfo {
	crashes := j.crashes(s.o.Settings().HealthThreshold)
	state := "running"
	if j.stop == nil {
		state = "pending"
		if crashes > 0 || j.history[0].kind == eventCrashed {
			state = "crashing"
		}
	}
	b = ejson.AppendString(append(b, `"source":`...), j.spec.Source.DisplayURL())
	b = ejson.AppendString(append(b, `,"target":`...), j.spec.Target.DisplayURL())
	b = ejson.AppendString(append(b, `,"state":`...), state)
	b = append(b, `,"info":`...)
	if state == "crashing" {
		b = append(ejson.AppendString(append(b, `{"error":`...), j.history[0].reason), '}')
	} else {
		b = j.appendInfo(b)
	}
	b = appendInt(b, `,"error_count":`, int64(crashes))
	b = ejson.AppendString(append(b, `,"last_updated":`...), ISO8601(j.history[0].at))
	b = ejson.AppendString(append(b, `,"start_time":`...), ISO8601(j.spec.Begun))
	b = appendNullable(append(b, `,"source_proxy":`...), StripPassword(j.spec.Source.Proxy))
	b = appendNullable(append(b, `,"target_proxy":`...), StripPassword(j.spec.Target.Proxy))
	return &DocumentInfo{state, append(b, '}')}
}

// EndedDocument is what /_scheduler/docs shows of a document that is at its end, nil if it is not
// (couch_replicator:info_from_doc).
func EndedDocument(db, id string, body []byte, set *Settings) *DocumentInfo {
	doc, err := parseDocument(id, body)
	if err != nil {
		return nil
	}
	state := memberText(doc, "_replication_state")
	if state != "completed" && state != "failed" {
		return nil
	}
	return documentAsStored(db, id, doc, state, set)
}

// IdleDocument is what /_scheduler/docs shows of a document that is neither at its end nor known to
// the scheduler.
func IdleDocument(db, id string, body []byte, set *Settings) *DocumentInfo {
	doc, err := parseDocument(id, body)
	if err != nil {
		return nil
	}
	return documentAsStored(db, id, doc, "", set)
}

// documentAsStored shows the members of a document that say how it stands; state is "" for no end.
func documentAsStored(db, id string, doc ejson.Value, state string, set *Settings) *DocumentInfo {
	updated := memberJSON(doc, "_replication_state_time")
	started, info, errors := updated, []byte("null"), 1
	switch state {
	case "":
		// A document nobody has looked at yet has neither a beginning nor errors.
		started, errors = []byte("null"), 0
	case "completed":
		started, info, errors = []byte("null"), []byte("{}"), 0
		if stats, ok := doc.Get("_replication_stats"); ok && stats.Kind() == ejson.Object {
			started = memberJSON(stats, "start_time")
			info = withFields(stats, []field{{"start_time", nil}}, time.Time{})
		}
	// Failed: there is one error, whose text is the reason that the document has.
	default:
		if reason, ok := doc.Get("_replication_state_reason"); ok {
			info = append(reason.AppendJSON([]byte(`{"error":`)), '}')
		}
	}
	b := ejson.AppendString([]byte(`{"database":`), db)
	b = ejson.AppendString(append(b, `,"doc_id":`...), id)
	source, _ := doc.Get("source")
	target, _ := doc.Get("target")
	b = append(append(b, `,"id":null,"source":`...), StripCredentials(source, set)...)
	b = append(append(b, `,"target":`...), StripCredentials(target, set)...)
	b = appendNullable(append(b, `,"state":`...), state)
	b = appendInt(b, `,"error_count":`, int64(errors))
	b = append(append(b, `,"info":`...), info...)
	b = append(append(b, `,"start_time":`...), started...)
	b = append(append(b, `,"last_updated":`...), updated...)
	return &DocumentInfo{state, append(b, '}')}
}

func memberJSON(v ejson.Value, name string) []byte {
	if m, ok := v.Get(name); ok {
		return m.AppendJSON(nil)
	}
	return []byte("null")
}

// Task is a running replication as _active_tasks shows it.
type Task struct {
	PID            string
	Members        map[string]string // their JSON
	Began, Updated time.Time
}

// Tasks are the replications that copy (couch_replicator_scheduler_job:do_init).
func (s *Scheduler) Tasks(_ context.Context) []Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Task
	for _, j := range s.jobs {
		if j.session == nil {
			continue
		}
		p := j.session.Progress()
		members := map[string]string{
			"type":                `"replication"`,
			"replication_id":      string(text(j.id.String())),
			"user":                string(appendNullable(nil, j.spec.User.Name)),
			"database":            string(appendNullable(nil, j.spec.DB)),
			"doc_id":              string(appendNullable(nil, j.spec.DocID)),
			"source":              string(text(j.spec.Source.DisplayURL())),
			"target":              string(text(j.spec.Target.DisplayURL())),
			"continuous":          strconv.FormatBool(j.spec.Options.Continuous),
			"checkpoint_interval": strconv.FormatInt(j.spec.Options.CheckpointInterval.Milliseconds(), 10),
		}
		if v, err := ejson.Parse(append(p.AppendRunning([]byte{'{'}), '}')); err == nil {
			for name, value := range v.Members() {
				members[name.Text()] = string(value.AppendJSON(nil))
			}
		}
		out = append(out, Task{PID: pidText(j.pid), Members: members, Began: j.lastStarted(), Updated: time.Now()})
	}
	return out
}
