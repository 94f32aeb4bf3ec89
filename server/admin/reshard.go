package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/databases"
	"github.com/settee-db/settee/storage"
)

// Databases have no shards here: the map that clients see is a property, and splitting changes the property. A job
// therefore completes at once. Jobs live in memory only, as long as their database.

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
	db                string
	created           time.Time // of db
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

// forgetDeleted drops the jobs of databases that are gone (mem3_reshard:db_monitor).
func (r *reshardState) forgetDeleted(ctx context.Context, store *storage.Store) error {
	r.mu.Lock()
	jobs := slices.Clone(r.jobs)
	r.mu.Unlock()
	created := make(map[string]time.Time)
	for _, j := range jobs {
		if _, known := created[j.db]; known {
			continue
		}
		info, err := store.DB(j.db).Info(ctx)
		switch {
		case errors.Is(err, compat.KindNoDatabase):
			created[j.db] = time.Time{}
		case err != nil:
			return err
		default:
			created[j.db] = info.Created
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = slices.DeleteFunc(r.jobs, func(j *reshardJob) bool {
		at, known := created[j.db]
		return known && !at.Equal(j.created)
	})
	return nil
}

func (h *Handlers) getReshard(c *call.Call) error {
	r := &h.reshard
	if err := r.forgetDeleted(c.Context(), c.Env.Store); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.appendState(nil, "state_reason")
	return c.JSON(http.StatusOK, fmt.Appendf(b, `,"completed":%d,"failed":%d,"running":%d,"stopped":%d,"total":%d}`,
		r.count("completed"), r.count("failed"), r.count("running"), r.count("stopped"), len(r.jobs)))
}

func (h *Handlers) getReshardState(c *call.Call) error {
	r := &h.reshard
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.JSON(http.StatusOK, append(r.appendState(nil, "reason"), '}'))
}

// stateBody reads {"state","reason"}.
func stateBody(c *call.Call, defaultReason string) (stop bool, reason string, err error) {
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

func (h *Handlers) putReshardState(c *call.Call) error {
	stop, reason, err := stateBody(c, "Cluster-wide resharding stopped by the user")
	if err != nil {
		return err
	}
	r := &h.reshard
	r.mu.Lock()
	if stop && !r.stopped {
		r.reason = reason
	}
	r.stopped = stop
	r.mu.Unlock()
	return c.OK(http.StatusOK)
}

func (h *Handlers) getReshardJobs(c *call.Call) error {
	r := &h.reshard
	if err := r.forgetDeleted(c.Context(), c.Env.Store); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := fmt.Appendf(nil, `{"total_rows":%d,"offset":0,"jobs":[`, len(r.jobs))
	for i, j := range r.jobs {
		if i > 0 {
			b = append(b, ',')
		}
		b = j.appendJSON(b, c.Env.Node)
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
	b = append(b, `],"job_state":"`+j.state+`","split_state":"`+j.state+`","state_info":{},"node":"`+node+
		`","start_time":"`+started+`","update_time":"`+updated+`","history":[{"timestamp":"`+started+`","type":"new","detail":null}`...)
	for _, step := range splitSteps {
		b = append(b, `,{"timestamp":"`+started+`","type":"running","detail":"`+step+`"}`...)
	}
	return append(b, `,{"timestamp":"`+updated+`","type":"`+j.state+`","detail":null}]}`...)
}

// splitSteps are what a job in CouchDB goes through.
var splitSteps = []string{
	"initial_copy", "topoff1", "build_indices", "topoff2", "copy_local_docs", "update_shardmap", "wait_source_close", "topoff3", "source_delete",
}

// splitRequest is what POST /_reshard/jobs asks for: the shards of a database, or of them the one of a range or a name.
type splitRequest struct {
	db, hashRange, shard string
}

func (h *Handlers) postReshardJobs(c *call.Call) error {
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	request, err := readSplit(c, v)
	if err != nil {
		return err
	}
	jobs, err := h.splitShards(c, request)
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
		b = append(b, `{"ok":true,"id":"`+j.id+`","node":"`+c.Env.Node+`","shard":`...)
		b = append(ejson.AppendString(b, j.source), '}')
	}
	return c.JSON(http.StatusCreated, append(b, ']'))
}

// readSplit checks node, shard, db, range, type, in this order (mem3_reshard_httpd:validate_*), and which of them go
// together (mem3_reshard_api:pick_shards).
func readSplit(c *call.Call, v ejson.Value) (splitRequest, error) {
	var r splitRequest
	refuse := func(reason string) (splitRequest, error) { return r, compat.NewError(compat.KindBadRequest, reason) }
	if node, ok := v.Get("node"); ok {
		if node.Kind() != ejson.String {
			return refuse("Invalid `node`")
		}
		if node.Text() != c.Env.Node {
			return refuse("`node` is not a valid node name")
		}
	}
	shard, byShard := v.Get("shard")
	if byShard {
		if shard.Kind() != ejson.String {
			return refuse("Invalid `shard`")
		}
		if r.shard = shard.Text(); !shardName.MatchString(r.shard) {
			return refuse("`shard` is invalid")
		}
	}
	db, byName := v.Get("db")
	if byName {
		exists := false
		if db.Kind() == ejson.String {
			var err error
			if exists, err = c.Env.Store.DB(db.Text()).Exists(c.Context()); err != nil {
				return r, err
			}
		}
		if !exists {
			return refuse("Invalid `db`")
		}
		r.db = db.Text()
	}
	hashRange, byRange := v.Get("range")
	if byRange {
		var ok bool
		if r.hashRange, ok = parseHashRange(hashRange.Text()); !ok {
			return refuse("Invalid `range`")
		}
	}
	if kind, _ := v.Get("type"); !kind.TextIs("split") {
		return refuse("`job type must be `split`")
	}
	switch {
	case byShard && byName:
		return refuse("`db` and `shard` are mutually exclusive")
	case byShard && byRange:
		return refuse("`range` and `shard` are mutually exclusive")
	case byShard:
		r.db = shardName.FindStringSubmatch(r.shard)[1]
	case !byName:
		return refuse("Must specify at least `db` or `shard`")
	}
	return r, nil
}

// shardName is shards/RANGE/NAME.TIME.
var shardName = regexp.MustCompile(`(?s)^shards/.{8}-.{8}/(.*?)(?:\.\d+)?$`)

// parseHashRange accepts two ascending 32-bit numbers of 8 hex digits, and writes them as shards are named.
func parseHashRange(text string) (string, bool) {
	a, b, ok := strings.Cut(text, "-")
	first, err1 := strconv.ParseUint(a, 16, 32)
	last, err2 := strconv.ParseUint(b, 16, 32)
	return fmt.Sprintf("%08x-%08x", first, last), ok && len(a) == 8 && len(b) == 8 && err1 == nil && err2 == nil &&
		first < last
}

// maxShards is how many ranges a database is split into at most: the map is a part of its record.
const maxShards = 4096

var errTooManyShards = compat.NewError(compat.KindBadRequest, "The database has too many shards.")

// splitShards splits the ranges asked for in the map of the database and makes the finished jobs.
func (h *Handlers) splitShards(c *call.Call, r splitRequest) ([]*reshardJob, error) {
	db := c.Env.Store.DB(r.db)
	info, err := db.Info(c.Context())
	if err != nil {
		return nil, err
	}
	var jobs []*reshardJob
	tooMany := false
	err = db.SplitShards(c.Context(), func(starts []uint32) []uint32 {
		var split []uint32
		split, jobs = h.splitStarts(r, info, starts)
		if tooMany = len(split) > maxShards; tooMany || len(jobs) == 0 {
			return nil
		}
		return split
	})
	if err != nil {
		return nil, err
	}
	if tooMany {
		return nil, errTooManyShards
	}
	state := &h.reshard
	state.mu.Lock()
	defer state.mu.Unlock()
	state.jobs = append(state.jobs, jobs...)
	slices.SortFunc(state.jobs, func(a, b *reshardJob) int { return strings.Compare(a.id, b.id) })
	return jobs, nil
}

// splitStarts halves the ranges of a map that are asked for (mem3_reshard:target_ranges) and makes a job for each.
func (h *Handlers) splitStarts(
	r splitRequest,
	info *storage.Info,
	starts []uint32,
) (split []uint32, jobs []*reshardJob) {
	now := time.Now()
	suffix := "/" + info.Name + "." + strconv.FormatInt(info.Created.Unix(), 10)
	for i, first := range starts {
		split = append(split, first)
		end := uint64(1 << 32)
		if i+1 < len(starts) {
			end = uint64(starts[i+1])
		}
		hashRange := databases.ShardRange(starts, i)
		source := "shards/" + hashRange + suffix
		if r.hashRange != "" && r.hashRange != hashRange || r.shard != "" && r.shard != source ||
			end-uint64(first) < 2 {
			continue
		}
		split = append(split, first+uint32((end-uint64(first))/2))
		j := &reshardJob{
			source:  source,
			state:   "completed",
			started: now,
			updated: now,
			db:      info.Name,
			created: info.Created,
		}
		halves := []uint32{first, split[len(split)-1]}
		j.targets = [2]string{
			"shards/" + databases.ShardRange(halves, 0) + suffix,
			fmt.Sprintf("shards/%08x-%08x%s", halves[1], end-1, suffix),
		}
		sum := sha256.Sum256([]byte(j.source + h.env.Node))
		j.id = "001-" + hex.EncodeToString(sum[:])
		jobs = append(jobs, j)
	}
	return split, jobs
}

// withJob runs f on the job the path names, under the lock.
func (h *Handlers) withJob(c *call.Call, f func(r *reshardState, i int) error) error {
	r := &h.reshard
	if err := r.forgetDeleted(c.Context(), c.Env.Store); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(c.Segment(2))
	if i < 0 {
		return compat.ErrMissing
	}
	return f(r, i)
}

func (h *Handlers) getReshardJob(c *call.Call) error {
	return h.withJob(c, func(r *reshardState, i int) error {
		return c.JSON(http.StatusOK, r.jobs[i].appendJSON(nil, c.Env.Node))
	})
}

func (h *Handlers) deleteReshardJob(c *call.Call) error {
	return h.withJob(c, func(r *reshardState, i int) error {
		r.jobs = slices.Delete(r.jobs, i, i+1)
		return c.OK(http.StatusOK)
	})
}

func (h *Handlers) getReshardJobState(c *call.Call) error {
	return h.withJob(c, func(r *reshardState, i int) error {
		return c.JSON(http.StatusOK, []byte(`{"state":"`+r.jobs[i].state+`","reason":null}`))
	})
}

// putReshardJobState accepts any change: what has completed stays completed.
func (h *Handlers) putReshardJobState(c *call.Call) error {
	if _, _, err := stateBody(c, "Stopped by user"); err != nil {
		return err
	}
	return h.withJob(c, func(*reshardState, int) error { return c.OK(http.StatusOK) })
}
