package replicator

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

const defaultTaskLimit = 100

// getSchedulerJobs lists the jobs of replications (couch_replicator_httpd:handle_scheduler_req).
func (r *Replications) getSchedulerJobs(c *call.Call) error {
	limit, err := schedulerInt(c, "limit", defaultTaskLimit)
	if err != nil {
		return err
	}
	skip, err := schedulerInt(c, "skip", 0)
	if err != nil {
		return err
	}
	list := r.jobsOfAll(c, skip+min(limit, math.MaxInt64-skip))
	total := list.total
	jobs := list.jobs
	offset := min(skip, total)
	jobs = jobs[min(offset, int64(len(jobs))):]
	jobs = jobs[:min(limit, int64(len(jobs)))]
	b := strconv.AppendInt([]byte(`{"total_rows":`), total, 10)
	b = strconv.AppendInt(append(b, `,"offset":`...), offset, 10)
	b = append(b, `,"jobs":[`...)
	for i, job := range jobs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, job...)
	}
	return c.JSON(http.StatusOK, append(b, "]}"...))
}

// schedulerInt reads a number that is not negative (couch_replicator_httpd_util:parse_int_param).
func schedulerInt(c *call.Call, name string, standard int64) (int64, error) {
	text, given := c.Query.First(name)
	if !given {
		return standard, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, compat.NewError(compat.KindQueryParse, name+" must be an integer")
	}
	if n < 0 {
		return 0, compat.NewError(compat.KindQueryParse, name+" not in range of [0,infinity]")
	}
	return n, nil
}

// getSchedulerJob shows one job.
func (r *Replications) getSchedulerJob(c *call.Call) error {
	if job := r.scheduler.Job(replication.ParseJobID(c.Segment(2)), c.Env.Node); job != nil {
		return c.JSON(http.StatusOK, job)
	}
	for _, answer := range r.nodes.All(c, c.Request.URL.EscapedPath(), nil) {
		if answer.Status == http.StatusOK {
			return c.JSON(http.StatusOK, answer.Body)
		}
	}
	return compat.ErrMissing
}

// getSchedulerDocs shows the documents of a replicator database, or one of them. Slashes of the
// database's name may stand unescaped (couch_replicator_httpd:parse_unquoted_docs_path).
func (r *Replications) getSchedulerDocs(c *call.Call) error {
	path := c.Segments[2:]
	if len(path) == 0 {
		return r.schedulerDocs(c, compat.ReplicatorDB)
	}
	if compat.IsReplicatorDB(path[0]) {
		switch len(path) {
		case 1:
			return r.schedulerDocs(c, path[0])
		case 2:
			return r.schedulerDoc(c, path[0], path[1])
		}
	}
	at := slices.Index(path, compat.ReplicatorDB)
	if len(path) > 1 && at >= 0 && at >= len(path)-2 {
		db := strings.Join(path[:at+1], "/")
		if at == len(path)-1 {
			return r.schedulerDocs(c, db)
		}
		return r.schedulerDoc(c, db, path[at+1])
	}
	return compat.NewError(compat.KindBadRequest, "Invalid path")
}

// schedulerUnknown answers every other path below /_scheduler.
func schedulerUnknown(c *call.Call) error {
	if c.Method != http.MethodGet && c.Method != http.MethodHead {
		return compat.MethodNotAllowed("GET,HEAD")
	}
	return c.JSON(http.StatusNotFound, []byte(`{"error":"not found"}`))
}

// schedulerDoc answers GET /_scheduler/docs/{db}/{id} with the state of a replication document. It
// may run in any process of the cluster: first this one is asked, then the document itself if it
// says that the replication ended, then the other nodes. A node that was asked by another one
// answers for itself alone, so that questions do not go in circles.
func (r *Replications) schedulerDoc(c *call.Call, db, id string) error {
	// First the document: the scheduler hears of a deletion some time after it.
	d, err := c.Env.Store.DB(db).Open(c.Context(), id, docread.OpenOptions{})
	if err != nil {
		if errors.Is(err, compat.KindNoDatabase) {
			return err
		}
		if _, wire := compat.AsError(err); wire {
			return compat.ErrMissing
		}
		return err
	}
	if info := r.scheduler.Document(db, id, c.Env.Node); info != nil {
		return c.JSON(http.StatusOK, info.JSON)
	}
	if forward.Passed(c) { // asked whether it runs here
		return compat.ErrMissing
	}
	if info := replication.EndedDocument(db, id, d.Body, r.Settings()); info != nil {
		return c.JSON(http.StatusOK, info.JSON)
	}
	for _, answer := range r.nodes.All(c, c.Request.URL.EscapedPath(), nil) {
		if answer.Status == http.StatusOK {
			return c.JSON(http.StatusOK, answer.Body)
		}
	}
	return c.JSON(http.StatusOK, replication.IdleDocument(db, id, d.Body, r.Settings()).JSON)
}

// schedulerStates reads the parameter states
// (couch_replicator_httpd_util:parse_replication_state_filter).
func schedulerStates(c *call.Call) ([]string, error) {
	text, given := c.Query.First("states")
	if !given {
		return nil, nil
	}
	states := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' })
	for _, state := range states {
		if !slices.Contains(replication.States, state) {
			return nil, compat.NewError(compat.KindQueryParse,
				"States must be one or more of ["+strings.Join(replication.States, ",")+"]")
		}
	}
	return states, nil
}

// errSchedulerKeys is for what CouchDB crashes at; one key it takes as key.
var errSchedulerKeys = compat.NewError(compat.KindQueryParse, "`keys` of several documents is not supported here.")

// schedulerDocs lists documents by id with the parameters of a view; skip and limit count those
// that pass states (couch_replicator_httpd:handle_scheduler_docs).
func (r *Replications) schedulerDocs(c *call.Call, db string) error {
	o, err := params.ParseView(c.Query, ejson.Value{})
	if err != nil {
		return err
	}
	states, err := schedulerStates(c)
	if err != nil {
		return err
	}
	if err := o.CheckUnreduced(); err != nil {
		return err
	}
	if o.Keys.Kind() == ejson.Array {
		if o.Keys.Len() > 0 {
			return errSchedulerKeys
		}
		o.Limit = 0
	}
	others := r.documentsOfOthers(c, db)
	s := c.Stream(http.StatusOK)
	skip, limit, separator := o.Skip, o.Limit, ""
	list := o.IDRange()
	list.Skip, list.Limit, list.IncludeDocs = 0, -1, true
	err = c.Env.Store.DB(db).AllDocs(c.Context(), list, func(h storage.ListHeader) error {
		b := strconv.AppendInt([]byte(`{"total_rows":`), h.Total, 10)
		b = strconv.AppendInt(append(b, `,"offset":`...), min(h.Total, h.Offset+skip), 10)
		_, err := s.Write(append(b, ",\"docs\":[\r\n"...))
		return err
	}, func(row *storage.ListRow) error {
		if limit <= 0 {
			return storage.ErrStop
		}
		info := r.documentInfo(c, db, row)
		if info == nil {
			info = others[row.ID]
		}
		if info == nil || len(states) > 0 && !slices.Contains(states, info.State) {
			return nil
		}
		if skip > 0 {
			skip--
			return nil
		}
		limit--
		b := append(append(s.Buffer(), separator...), info.JSON...)
		separator = ",\r\n"
		return s.Commit(b)
	})
	if err != nil && !errors.Is(err, storage.ErrStop) {
		return err
	}
	if _, err := s.WriteString("\r\n]}\n"); err != nil {
		return err
	}
	return s.Close()
}

// documentInfo is the state of a document, nil for what is no replication or has none.
func (r *Replications) documentInfo(c *call.Call, db string, row *storage.ListRow) *replication.DocumentInfo {
	if compat.IsDesignID(row.ID) || row.Doc == nil {
		return nil
	}
	if info := replication.EndedDocument(db, row.ID, row.Doc.Body, r.Settings()); info != nil {
		return info
	}
	return r.scheduler.Document(db, row.ID, c.Env.Node)
}
