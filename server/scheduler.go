package server

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage"
)

const defaultTaskLimit = 100

// getSchedulerJobs lists the jobs of replications (couch_replicator_httpd:handle_scheduler_req).
func getSchedulerJobs(c *Call) error {
	limit, err := c.schedulerInt("limit", defaultTaskLimit)
	if err != nil {
		return err
	}
	skip, err := c.schedulerInt("skip", 0)
	if err != nil {
		return err
	}
	list := c.srv.replications.scheduler.Jobs(c.srv.node)
	total := int64(len(list))
	offset := min(skip, total)
	list = list[offset:min(total, offset+min(limit, total))]
	b := strconv.AppendInt([]byte(`{"total_rows":`), total, 10)
	b = strconv.AppendInt(append(b, `,"offset":`...), offset, 10)
	b = append(b, `,"jobs":[`...)
	for i, job := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, job...)
	}
	return c.JSON(http.StatusOK, append(b, "]}"...))
}

// schedulerInt reads a number that is not negative (couch_replicator_httpd_util:parse_int_param).
func (c *Call) schedulerInt(name string, standard int64) (int64, error) {
	text, given := c.query.First(name)
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
func getSchedulerJob(c *Call) error {
	if job := c.srv.replications.scheduler.Job(replication.ParseJobID(c.Segment(2)), c.srv.node); job != nil {
		return c.JSON(http.StatusOK, job)
	}
	return compat.ErrMissing
}

// getSchedulerDocs shows the documents of a replicator database, or one of them. Slashes of the database's name may stand
// unescaped (couch_replicator_httpd:parse_unquoted_docs_path).
func getSchedulerDocs(c *Call) error {
	path := c.segments[2:]
	if len(path) == 0 {
		return c.schedulerDocs(replication.ReplicatorDB)
	}
	if replication.IsReplicatorDB(path[0]) {
		switch len(path) {
		case 1:
			return c.schedulerDocs(path[0])
		case 2:
			return c.schedulerDoc(path[0], path[1])
		}
	}
	at := slices.Index(path, replication.ReplicatorDB)
	if len(path) > 1 && at >= 0 && at >= len(path)-2 {
		db := strings.Join(path[:at+1], "/")
		if at == len(path)-1 {
			return c.schedulerDocs(db)
		}
		return c.schedulerDoc(db, path[at+1])
	}
	return compat.NewError(compat.KindBadRequest, "Invalid path")
}

// schedulerUnknown answers every other path below /_scheduler.
func schedulerUnknown(c *Call) error {
	if c.method != http.MethodGet {
		return compat.MethodNotAllowed("GET,HEAD")
	}
	return c.JSON(http.StatusNotFound, []byte(`{"error":"not found"}`))
}

func (c *Call) schedulerDoc(db, id string) error {
	if info := c.srv.replications.scheduler.Document(db, id, c.srv.node); info != nil {
		return c.JSON(http.StatusOK, info.JSON)
	}
	d, err := c.srv.store.DB(db).Open(c.Context(), id, storage.OpenOptions{})
	if err != nil {
		if isNoDatabase(err) {
			return err
		}
		if _, wire := compat.AsError(err); wire {
			return compat.ErrMissing
		}
		return err
	}
	if info := replication.EndedDocument(db, id, d.Body, c.srv.replications.settings()); info != nil {
		return c.JSON(http.StatusOK, info.JSON)
	}
	return c.JSON(http.StatusOK, replication.IdleDocument(db, id, d.Body, c.srv.replications.settings()).JSON)
}

// schedulerStates reads the parameter states (couch_replicator_httpd_util:parse_replication_state_filter).
func (c *Call) schedulerStates() ([]string, error) {
	text, given := c.query.First("states")
	if !given {
		return nil, nil
	}
	states := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' })
	for _, state := range states {
		if !slices.Contains(replication.States, state) {
			return nil, compat.NewError(compat.KindQueryParse, "States must be one or more of ["+strings.Join(replication.States, ",")+"]")
		}
	}
	return states, nil
}

// schedulerDocs lists documents by id with the parameters of a view; skip and limit count those that pass states
// (couch_replicator_httpd:handle_scheduler_docs).
func (c *Call) schedulerDocs(db string) error {
	o, err := compat.ParseViewOptions(c.query, ejson.Value{})
	if err != nil {
		return err
	}
	states, err := c.schedulerStates()
	if err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	skip, limit, separator := o.Skip, o.Limit, ""
	r := (&listWriter{c: c, o: o}).rangeOptions()
	r.Skip, r.Limit, r.IncludeDocs = 0, -1, true
	err = c.srv.store.DB(db).AllDocs(c.Context(), r, func(h storage.ListHeader) error {
		b := strconv.AppendInt([]byte(`{"total_rows":`), h.Total, 10)
		b = strconv.AppendInt(append(b, `,"offset":`...), min(h.Total, h.Offset+skip), 10)
		_, err := s.Write(append(b, ",\"docs\":[\r\n"...))
		return err
	}, func(row *storage.ListRow) error {
		if limit <= 0 {
			return storage.ErrStop
		}
		info := c.documentInfo(db, row)
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
func (c *Call) documentInfo(db string, row *storage.ListRow) *replication.DocumentInfo {
	if compat.IsDesignID(row.ID) || row.Doc == nil {
		return nil
	}
	if info := replication.EndedDocument(db, row.ID, row.Doc.Body, c.srv.replications.settings()); info != nil {
		return info
	}
	return c.srv.replications.scheduler.Document(db, row.ID, c.srv.node)
}
