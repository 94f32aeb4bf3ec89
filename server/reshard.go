package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Databases have no shards here: the number that clients see is a property, and splitting changes the property. A job
// therefore completes at once, and jobs live in memory only.

// reshardState is the state of resharding and its jobs.
type reshardState struct {
	mu      sync.Mutex
	stopped bool
	reason  string
	jobs    []*reshardJob // sorted by id
}

// reshardJob is one split of one shard.
type reshardJob struct {
	id, source, state string
	targets           [2]string
	started, updated  time.Time
}

// find returns the index of a job, -1 if there is none.
func (r *reshardState) find(id string) int {
	return slices.IndexFunc(r.jobs, func(j *reshardJob) bool { return j.id == id })
}

// count returns the number of jobs in a state.
func (r *reshardState) count(state string) (n int) {
	for _, j := range r.jobs {
		if j.state == state {
			n++
		}
	}
	return n
}

func (r *reshardState) appendState(b []byte, reasonName string) []byte {
	state := "running"
	if r.stopped {
		state = "stopped"
	}
	b = append(b, `{"state":"`+state+`","`+reasonName+`":`...)
	if !r.stopped {
		return append(b, "null"...)
	}
	return ejson.AppendString(b, r.reason)
}

func getReshard(c *Call) error {
	r := &c.srv.reshard
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.appendState(nil, "state_reason")
	return c.JSON(http.StatusOK, fmt.Appendf(b, `,"completed":%d,"failed":%d,"running":%d,"stopped":%d,"total":%d}`,
		r.count("completed"), r.count("failed"), r.count("running"), r.count("stopped"), len(r.jobs)))
}

func getReshardState(c *Call) error {
	r := &c.srv.reshard
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.JSON(http.StatusOK, append(r.appendState(nil, "reason"), '}'))
}

// stateBody reads {"state","reason"}.
func (c *Call) stateBody(defaultReason string) (stop bool, reason string, err error) {
	v, err := c.JSONRequest()
	if err != nil {
		return false, "", err
	}
	state, ok := v.Get("state")
	switch {
	case !ok:
		return false, "", compat.NewError(compat.KindBadRequest, "Expected a `state` field")
	case state.TextIs("running"):
		return false, "", nil
	case state.TextIs("stopped"):
		reason = defaultReason
		if given, ok := v.Get("reason"); ok {
			reason = given.Text()
		}
		return true, reason, nil
	}
	return false, "", compat.NewError(compat.KindBadRequest, "State field not `running` or `stopped`")
}

func putReshardState(c *Call) error {
	stop, reason, err := c.stateBody("Cluster-wide resharding stopped by the user")
	if err != nil {
		return err
	}
	r := &c.srv.reshard
	r.mu.Lock()
	if stop && !r.stopped {
		r.reason = reason
	}
	r.stopped = stop
	r.mu.Unlock()
	return c.OK(http.StatusOK)
}

func getReshardJobs(c *Call) error {
	r := &c.srv.reshard
	r.mu.Lock()
	defer r.mu.Unlock()
	b := fmt.Appendf(nil, `{"total_rows":%d,"offset":0,"jobs":[`, len(r.jobs))
	for i, j := range r.jobs {
		if i > 0 {
			b = append(b, ',')
		}
		b = j.appendJSON(b, c.srv.node)
	}
	return c.JSON(http.StatusOK, append(b, "]}"...))
}

func (j *reshardJob) appendJSON(b []byte, node string) []byte {
	const layout = "2006-01-02T15:04:05Z"
	b = ejson.AppendString(append(b, `{"id":`...), j.id)
	b = ejson.AppendString(append(b, `,"type":"split","source":`...), j.source)
	b = ejson.AppendString(append(b, `,"target":[`...), j.targets[0])
	b = ejson.AppendString(append(b, ','), j.targets[1])
	started, updated := j.started.UTC().Format(layout), j.updated.UTC().Format(layout)
	return append(b, `],"job_state":"`+j.state+`","split_state":"`+j.state+`","state_info":{},"node":"`+node+
		`","start_time":"`+started+`","update_time":"`+updated+`","history":[{"ts":"`+started+`","type":"new","detail":null},{"ts":"`+
		updated+`","type":"`+j.state+`","detail":null}]}`...)
}

// splitRequest is what POST /_reshard/jobs asks for; empty members match everything.
type splitRequest struct {
	db, first string
	shard     bool
}

func postReshardJobs(c *Call) error {
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	request, err := c.splitRequest(v)
	if err != nil {
		return err
	}
	jobs, err := c.splitShards(request)
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return compat.ErrMissing
	}
	b := []byte{'['}
	for i, j := range jobs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"ok":true,"id":"`+j.id+`","node":"`+c.srv.node+`","shard":`...)
		b = append(ejson.AppendString(b, j.source), '}')
	}
	return c.JSON(http.StatusCreated, append(b, ']'))
}

// splitRequest checks node, shard, db, range, type, in this order (mem3_reshard_httpd:validate_*).
func (c *Call) splitRequest(v ejson.Value) (splitRequest, error) {
	var r splitRequest
	refuse := func(reason string) (splitRequest, error) { return r, compat.NewError(compat.KindBadRequest, reason) }
	if node, ok := v.Get("node"); ok && !node.IsNull() {
		if node.Kind() != ejson.String {
			return refuse("Invalid `node`")
		}
		if node.Text() != c.srv.node {
			return refuse("`node` is not a valid node name")
		}
	}
	if shard, ok := v.Get("shard"); ok && !shard.IsNull() {
		if shard.Kind() != ejson.String {
			return refuse("Invalid `shard`")
		}
		if r.db, r.first, ok = parseShard(shard.Text()); !ok {
			return refuse("`shard` is invalid")
		}
		r.shard = true
	}
	if db, ok := v.Get("db"); ok && !db.IsNull() {
		exists := false
		if db.Kind() == ejson.String {
			var err error
			if exists, err = c.srv.store.DB(db.Text()).Exists(c.Context()); err != nil {
				return r, err
			}
		}
		if !exists {
			return refuse("Invalid `db`")
		}
		r.db = db.Text()
	}
	if hashRange, ok := v.Get("range"); ok && !hashRange.IsNull() {
		if r.first, ok = parseHashRange(hashRange.Text()); !ok {
			return refuse("Invalid `range`")
		}
		r.first = hashRange.Text()
	}
	if kind, _ := v.Get("type"); !kind.TextIs("split") {
		return refuse("`job type must be `split`")
	}
	return r, nil
}

// parseHashRange accepts two ascending 32-bit numbers of 8 hex digits.
func parseHashRange(text string) (string, bool) {
	a, b, ok := strings.Cut(text, "-")
	first, err1 := strconv.ParseUint(a, 16, 32)
	last, err2 := strconv.ParseUint(b, 16, 32)
	return text, ok && len(a) == 8 && len(b) == 8 && err1 == nil && err2 == nil && first <= last
}

// parseShard takes shards/RANGE/NAME.TIME apart.
func parseShard(text string) (db, hashRange string, ok bool) {
	rest, ok := strings.CutPrefix(text, "shards/")
	if !ok {
		return "", "", false
	}
	hashRange, name, ok := strings.Cut(rest, "/")
	dot := strings.LastIndexByte(name, '.')
	if !ok || dot < 1 {
		return "", "", false
	}
	_, ok = parseHashRange(hashRange)
	return name[:dot], hashRange, ok
}

// splitShards doubles the number of shards of each database asked for and makes the finished jobs.
func (c *Call) splitShards(r splitRequest) ([]*reshardJob, error) {
	names := []string{r.db}
	if r.db == "" {
		names = names[:0]
		if err := c.srv.eachDB(c.Context(), func(name string) { names = append(names, name) }); err != nil {
			return nil, err
		}
	}
	var jobs []*reshardJob
	for _, name := range names {
		made, err := c.splitDatabase(name, r)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, made...)
	}
	state := &c.srv.reshard
	state.mu.Lock()
	defer state.mu.Unlock()
	state.jobs = append(state.jobs, jobs...)
	slices.SortFunc(state.jobs, func(a, b *reshardJob) int { return strings.Compare(a.id, b.id) })
	return jobs, nil
}

// errPartialSplit: shown ranges are always equal, so one of several cannot be split alone.
var errPartialSplit = compat.NewError(compat.KindNotImplemented, "A database is split as a whole: leave `shard` and `range` out.")

func (c *Call) splitDatabase(name string, r splitRequest) ([]*reshardJob, error) {
	db := c.srv.store.DB(name)
	info, err := db.Info(c.Context())
	if errors.Is(err, compat.KindNoDatabase) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	suffix := "/" + name + "." + strconv.FormatInt(info.Created.Unix(), 10)
	var jobs []*reshardJob
	for i := range info.Q {
		first, last := shardRange(i, info.Q)
		hashRange := fmt.Sprintf("%08x-%08x", first, last)
		if r.first != "" && r.first != hashRange {
			continue
		}
		middle := first + (last-first)/2
		j := &reshardJob{source: "shards/" + hashRange + suffix, state: "completed", started: now, updated: now}
		j.targets = [2]string{
			fmt.Sprintf("shards/%08x-%08x%s", first, middle, suffix),
			fmt.Sprintf("shards/%08x-%08x%s", middle+1, last, suffix),
		}
		sum := sha256.Sum256([]byte(j.source + now.String()))
		j.id = "001-" + hex.EncodeToString(sum[:])
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	if len(jobs) < info.Q {
		return nil, errPartialSplit
	}
	return jobs, db.SetQ(c.Context(), 2*info.Q)
}

// withJob runs f on the job the path names, under the lock.
func (c *Call) withJob(f func(r *reshardState, i int) error) error {
	r := &c.srv.reshard
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(c.Segment(2))
	if i < 0 {
		return compat.ErrMissing
	}
	return f(r, i)
}

func getReshardJob(c *Call) error {
	return c.withJob(func(r *reshardState, i int) error {
		return c.JSON(http.StatusOK, r.jobs[i].appendJSON(nil, c.srv.node))
	})
}

func deleteReshardJob(c *Call) error {
	return c.withJob(func(r *reshardState, i int) error {
		r.jobs = slices.Delete(r.jobs, i, i+1)
		return c.OK(http.StatusOK)
	})
}

func getReshardJobState(c *Call) error {
	return c.withJob(func(r *reshardState, i int) error {
		return c.JSON(http.StatusOK, []byte(`{"state":"`+r.jobs[i].state+`","reason":null}`))
	})
}

// putReshardJobState accepts any change: what has completed stays completed.
func putReshardJobState(c *Call) error {
	if _, _, err := c.stateBody("Stopped by user"); err != nil {
		return err
	}
	return c.withJob(func(*reshardState, int) error { return c.OK(http.StatusOK) })
}

// eachDB calls f for every database.
func (s *Server) eachDB(ctx context.Context, f func(name string)) error {
	return s.store.AllDBs(ctx, allNames, func(name string) error {
		f(name)
		return nil
	})
}
