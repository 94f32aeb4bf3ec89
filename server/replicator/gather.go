package replicator

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/call"
)

// jobList are jobs by their ids: the first ones of total.
type jobList struct {
	total int64
	jobs  [][]byte
}

// jobsOfAll are the first so many jobs of all nodes.
func (r *Replications) jobsOfAll(c *call.Call, most int64) (list jobList) {
	list.jobs = r.scheduler.Jobs(c.Env.Node)
	list.total = int64(len(list.jobs))
	answers := r.nodes.All(c, "/_scheduler/jobs?limit="+strconv.FormatInt(most, 10), nil)
	for _, answer := range answers {
		v, err := ejson.Parse(answer.Body)
		if answer.Status != http.StatusOK || err != nil || v.Kind() != ejson.Object {
			continue
		}
		total, _ := v.Get("total_rows")
		n, _ := strconv.ParseInt(string(total.AppendJSON(nil)), 10, 64)
		list.total += n
		if jobs, ok := v.Get("jobs"); ok && jobs.Kind() == ejson.Array {
			for job := range jobs.Elements() {
				list.jobs = append(list.jobs, job.AppendJSON(nil))
			}
		}
	}
	if len(answers) > 0 {
		slices.SortStableFunc(list.jobs, func(a, b []byte) int { return cmp.Compare(textOf(a, "id"), textOf(b, "id")) })
	}
	return list
}

// textOf is a text in the text of an object, "" where there is none.
func textOf(object []byte, name string) string {
	if v, err := ejson.Parse(object); err == nil && v.Kind() == ejson.Object {
		if m, ok := v.Get(name); ok && m.Kind() == ejson.String {
			return m.Text()
		}
	}
	return ""
}

// documentsOfOthers returns the documents of a database whose replications run on other nodes, by
// id, as /_scheduler/docs shows them. The state of a replication that has ended is read from its
// document.
func (r *Replications) documentsOfOthers(c *call.Call, db string) map[string]*replication.DocumentInfo {
	found := make(map[string]*replication.DocumentInfo)
	for _, answer := range r.nodes.All(c, c.Request.URL.EscapedPath(), nil) {
		v, err := ejson.Parse(answer.Body)
		if answer.Status != http.StatusOK || err != nil || v.Kind() != ejson.Object {
			continue
		}
		docs, _ := v.Get("docs")
		if docs.Kind() != ejson.Array {
			continue
		}
		for doc := range docs.Elements() {
			text := bytes.Clone(doc.AppendJSON(nil))
			state := textOf(text, "state")
			if state != "completed" && state != "failed" && textOf(text, "database") == db {
				found[textOf(text, "doc_id")] = &replication.DocumentInfo{State: state, JSON: text}
			}
		}
	}
	return found
}
