package admin

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
	"github.com/settee-db/settee/storage/compactions"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/views"
)

// task is an entry of _active_tasks: its members with their JSON, besides those that every task
// has.
type task struct {
	node    string
	pid     string
	members map[string]string
	text    []byte // of another node's, in place of members
}

// getActiveTasks lists background work of all nodes, sorted as couch_task_status and
// chttpd_misc:handle_task_status_req do: the jobs whose handlers tell what they are at, which the
// store has of all, and what each node knows of itself.
func (h *Handlers) getActiveTasks(c *call.Call) error {
	var tasks []task
	if !forward.Passed(c) {
		var err error
		if tasks, err = h.runningJobs(c.Context()); err != nil {
			return err
		}
		paused, err := h.eventFunctions(c.Context())
		if err != nil {
			return err
		}
		tasks = append(tasks, paused...)
		if paused, err = h.pausedJobs(c.Context()); err != nil {
			return err
		}
		tasks = append(tasks, paused...)
		for _, answer := range h.nodes.All(c, "/_active_tasks", nil) {
			tasks = append(tasks, tasksOf(answer)...)
		}
	}
	tasks = append(tasks, h.indexTasks()...)
	tasks = append(tasks, h.searchTasks()...)
	tasks = append(tasks, h.replicationTasks()...)
	for _, run := range c.Env.Store.Compactions() {
		tasks = append(tasks, h.compactionTask(run))
	}
	sort.Slice(tasks, func(i, j int) bool {
		return tasks[i].node+"\x00"+tasks[i].pid < tasks[j].node+"\x00"+tasks[j].pid
	})
	b := []byte{'['}
	for i, t := range tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.append(b)
	}
	return c.JSON(http.StatusOK, append(b, ']'))
}

// tasksOf are the tasks in the answer of another node.
func tasksOf(answer forward.Answer) (tasks []task) {
	list, err := ejson.Parse(answer.Body)
	if answer.Status != http.StatusOK || err != nil || list.Kind() != ejson.Array {
		return nil
	}
	for v := range list.Elements() {
		node, pid := memberOf(v, "node"), memberOf(v, "pid")
		if node != "" {
			tasks = append(tasks, task{node: node, pid: pid, text: v.AppendJSON(nil)})
		}
	}
	return tasks
}

// memberOf is a text in an object, "" where there is none.
func memberOf(v ejson.Value, name string) string {
	if v.Kind() == ejson.Object {
		if m, ok := v.Get(name); ok && m.Kind() == ejson.String {
			return m.Text()
		}
	}
	return ""
}

// append appends the task: node, pid and status first, then the other members by name.
func (t *task) append(b []byte) []byte {
	if t.text != nil {
		return append(b, t.text...)
	}
	b = ejson.AppendString(append(b, `{"node":`...), t.node)
	b = ejson.AppendString(append(b, `,"pid":`...), t.pid)
	b = append(b, `,"process_status":"waiting"`...)
	return append(append(b, ','), appendMembers(nil, t.members)[1:]...)
}

// appendMembers appends an object, members by name.
func appendMembers(b []byte, members map[string]string) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, name), ':')
		b = append(b, members[name]...)
	}
	return append(b, '}')
}

// show adds the members of an object.
func (t *task) show(v ejson.Value) {
	for name, value := range v.Members() {
		t.members[name.Text()] = string(value.AppendJSON(nil))
	}
}

// setTimes sets the two times in seconds since 1970; a task is never updated before it has started.
func (t *task) setTimes(began, updated time.Time) {
	t.members["started_on"] = strconv.FormatInt(began.Unix(), 10)
	t.members["updated_on"] = strconv.FormatInt(max(updated.Unix(), began.Unix()), 10)
}

// runningJobs are the jobs whose progress is an object with a type: the task shows that object.
// There are at most as many as workers.
func (h *Handlers) runningJobs(ctx context.Context) (tasks []task, err error) {
	if h.jobs == nil {
		return nil, nil
	}
	running, err := h.jobs.Running(ctx, "", math.MaxInt)
	if err != nil {
		return nil, err
	}
	for i := range running {
		if t, ok := h.jobTask(&running[i]); ok {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// jobTask shows a running job by what its handler tells of it; false for one that tells nothing
// that _active_tasks could show.
func (h *Handlers) jobTask(job *jobs.Job) (task, bool) {
	v, err := ejson.Parse(job.Progress)
	if err != nil || v.Kind() != ejson.Object {
		return task{}, false
	}
	if _, ok := v.Get("type"); !ok {
		return task{}, false
	}
	t := task{node: job.Owner, pid: pidOf(binary.BigEndian.Uint32(job.Run[:])), members: make(map[string]string)}
	if t.node == "" {
		t.node = h.env.Node
	}
	t.show(v)
	t.setTimes(job.Began, job.Updated)
	return t, true
}

// indexTasks are the builds of this process that are no jobs.
func (h *Handlers) indexTasks() (tasks []task) {
	if h.views == nil {
		return nil
	}
	for _, build := range h.views.Tasks() {
		t := task{
			node:    h.env.Node,
			pid:     pidOf(crc32.ChecksumIEEE([]byte(build.Database + build.DesignDoc))),
			members: indexerMembers(&build),
		}
		t.members["indexer_pid"] = string(ejson.AppendString(nil, t.pid))
		t.setTimes(time.Unix(build.Started, 0), time.Unix(build.Updated, 0))
		tasks = append(tasks, t)
	}
	return tasks
}

// searchTasks are the builds of full-text indexes of this process (dreyfus_index_updater,
// nouveau_index_updater).
func (h *Handlers) searchTasks() (tasks []task) {
	if h.search == nil {
		return nil
	}
	for _, build := range h.search.Tasks() {
		t := task{
			node: h.env.Node,
			pid:  pidOf(crc32.ChecksumIEEE([]byte(build.Database + build.DesignDoc + "\x00" + build.Index))),
			members: map[string]string{
				"type":            `"search_indexer"`,
				"database":        string(ejson.AppendString(nil, build.Database)),
				"design_document": string(ejson.AppendString(nil, build.DesignDoc)),
				"index":           string(ejson.AppendString(nil, build.Index)),
				"progress":        strconv.FormatInt(min(100, build.Changes*100/build.ToChange), 10),
				"changes_done":    strconv.FormatInt(build.Changes, 10),
				"total_changes":   strconv.FormatInt(build.ToChange, 10),
			},
		}
		t.setTimes(time.Unix(build.Started, 0), time.Unix(build.Updated, 0))
		tasks = append(tasks, t)
	}
	return tasks
}

// indexerMembers are what couch_mrview_updater reports of a build.
func indexerMembers(t *views.Task) map[string]string {
	return map[string]string{
		"type":            `"indexer"`,
		"database":        string(ejson.AppendString(nil, t.Database)),
		"design_document": string(ejson.AppendString(nil, t.DesignDoc)),
		"progress":        strconv.FormatInt(t.Progress(), 10),
		"changes_done":    strconv.FormatInt(t.ChangesDone, 10),
		"total_changes":   strconv.FormatInt(t.TotalChanges, 10),
	}
}

// FunctionTask is an event function that somebody has to know of: it was paused without anybody asking
// for it, or has messages that are not delivered.
type FunctionTask struct {
	Function, State string
	Reason          string // why it was paused; empty if that was asked for
	Since           time.Time
	// Messages that wait and that are dead letters, and the bytes of both.
	Outbox, DeadLetters, OutboxBytes int64
}

// eventFunctions lists event functions as tasks, so that monitoring of _active_tasks sees that an
// administrator has to act.
func (h *Handlers) eventFunctions(ctx context.Context) (tasks []task, err error) {
	if h.functions == nil {
		return nil, nil
	}
	list, err := h.functions(ctx)
	for _, f := range list {
		t := task{node: h.env.Node, pid: pidOf(crc32.ChecksumIEEE([]byte(f.Function))), members: map[string]string{
			"type": `"event_function"`, "state": string(ejson.AppendString(nil, f.State)),
			"function": string(ejson.AppendString(nil, f.Function)),
		}}
		if f.Reason != "" {
			t.members["reason"] = string(ejson.AppendString(nil, f.Reason))
		}
		if f.Outbox+f.DeadLetters > 0 {
			t.members["outbox"] = strconv.FormatInt(f.Outbox, 10)
			t.members["dead_letters"] = strconv.FormatInt(f.DeadLetters, 10)
			t.members["outbox_bytes"] = strconv.FormatInt(f.OutboxBytes, 10)
		}
		t.setTimes(f.Since, f.Since)
		tasks = append(tasks, t)
	}
	return tasks, err
}

// pausedJobs are the jobs that are not run because the server ended too often while they ran. Those
// whose data is an object show its members.
func (h *Handlers) pausedJobs(ctx context.Context) (tasks []task, err error) {
	if h.jobs == nil {
		return nil, nil
	}
	list, err := h.jobs.Paused(ctx, math.MaxInt)
	for i := range list {
		job := &list[i]
		database, _, _ := strings.Cut(job.ID, "\x00")
		pid := pidOf(crc32.ChecksumIEEE([]byte(job.Type + job.ID)))
		t := task{node: h.env.Node, pid: pid, members: map[string]string{
			"state": `"paused"`, "reason": string(ejson.AppendString(nil, job.Error)),
		}}
		if v, err := ejson.Parse(job.Data); err == nil && v.Kind() == ejson.Object {
			t.show(v)
		} else {
			t.members["type"], t.members["job"] = `"indexer"`, string(ejson.AppendString(nil, job.Type))
			t.members["database"] = string(ejson.AppendString(nil, database))
		}
		if design := views.DesignOf(job); design != "" {
			t.members["design_document"] = string(ejson.AppendString(nil, design))
		}
		t.setTimes(job.Began, job.Due)
		tasks = append(tasks, t)
	}
	return tasks, err
}

// replicationTasks are the replications that run.
func (h *Handlers) replicationTasks() (tasks []task) {
	for _, t := range h.replications() {
		shown := task{node: h.env.Node, pid: t.PID, members: t.Members}
		shown.setTimes(t.Began, t.Updated)
		tasks = append(tasks, shown)
	}
	return tasks
}

// compactionTask is what couch_bt_engine_compactor reports.
func (h *Handlers) compactionTask(run compactions.Compaction) task {
	progress := int64(0)
	if run.Total > 0 {
		progress = min(run.Done*100/run.Total, 100)
	}
	t := task{node: h.env.Node, pid: pidOf(uint32(run.Began.UnixMicro())), members: map[string]string{
		"type": `"database_compaction"`, "phase": `"document_copy"`, "database": string(ejson.AppendString(nil, run.Database)),
		"progress": strconv.FormatInt(progress, 10), "changes_done": strconv.FormatInt(run.Done, 10),
		"total_changes": strconv.FormatInt(run.Total, 10),
	}}
	t.setTimes(run.Began, run.Updated)
	return t
}

// pidOf is a process id in Erlang's form; a run keeps its own.
func pidOf(n uint32) string { return "<0." + strconv.Itoa(100+int(n%30000)) + ".0>" }
