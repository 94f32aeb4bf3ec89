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
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/databases"
	"github.com/settee-db/settee/server/reshard"
	"github.com/settee-db/settee/storage"
)

// Databases have no shards here: the map that clients see is a property, and splitting changes the property. A job
// therefore completes at once (package reshard), and is kept as long as its database.

// reshardJobs reads the jobs, those of databases that are gone (mem3_reshard:db_monitor) removed.
func (h *Handlers) reshardJobs(ctx context.Context) (jobs []reshard.Job, err error) {
	if jobs, err = h.reshard.List(ctx); err != nil {
		return nil, err
	}
	created := make(map[string]time.Time)
	var gone []string
	jobs = slices.DeleteFunc(jobs, func(j reshard.Job) bool {
		at, known := created[j.DB]
		if !known && err == nil {
			at, err = h.createdAt(ctx, j.DB)
			created[j.DB] = at
		}
		if at.Equal(j.Created) {
			return false
		}
		gone = append(gone, j.ID)
		return true
	})
	if err == nil && len(gone) > 0 {
		err = h.reshard.Remove(ctx, gone...)
	}
	return jobs, err
}

// createdAt is when a database was made, the zero time if there is none.
func (h *Handlers) createdAt(ctx context.Context, db string) (time.Time, error) {
	info, err := h.env.Store.DB(db).Info(ctx)
	if errors.Is(err, compat.KindNoDatabase) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return info.Created, nil
}

// reshardJob reads the job that the path names.
func (h *Handlers) reshardJob(c *call.Call) (reshard.Job, error) {
	j, found, err := h.reshard.Get(c.Context(), c.Segment(2))
	if err != nil {
		return j, err
	}
	if found {
		var at time.Time
		at, err = h.createdAt(c.Context(), j.DB)
		found = at.Equal(j.Created)
	}
	if err == nil && !found {
		err = compat.ErrMissing
	}
	return j, err
}

// appendReshardState begins an object with the state and its reason.
func (h *Handlers) appendReshardState(ctx context.Context, b []byte, reasonName string) ([]byte, error) {
	stopped, reason, err := h.reshard.Stopped(ctx)
	if !stopped {
		return append(b, `{"state":"running","`+reasonName+`":null`...), err
	}
	return ejson.AppendString(append(b, `{"state":"stopped","`+reasonName+`":`...), reason), err
}

func (h *Handlers) getReshard(c *call.Call) error {
	jobs, err := h.reshardJobs(c.Context())
	if err != nil {
		return err
	}
	b, err := h.appendReshardState(c.Context(), nil, "state_reason")
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, fmt.Appendf(b, `,"completed":%d,"failed":0,"running":0,"stopped":0,"total":%d}`,
		len(jobs), len(jobs)))
}

func (h *Handlers) getReshardState(c *call.Call) error {
	b, err := h.appendReshardState(c.Context(), nil, "reason")
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, append(b, '}'))
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
		if len(reason) > reshard.MaxReason {
			return false, "", compat.NewError(compat.KindBadRequest, "The reason is too long")
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
	if stop {
		err = h.reshard.Stop(c.Context(), reason)
	} else {
		err = h.reshard.Start(c.Context())
	}
	if err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

func (h *Handlers) getReshardJobs(c *call.Call) error {
	jobs, err := h.reshardJobs(c.Context())
	if err != nil {
		return err
	}
	b := fmt.Appendf(nil, `{"total_rows":%d,"offset":0,"jobs":[`, len(jobs))
	for i, j := range jobs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendReshardJob(b, j)
	}
	return c.JSON(http.StatusOK, append(b, "]}"...))
}

func appendReshardJob(b []byte, j reshard.Job) []byte {
	b = ejson.AppendString(append(b, `{"id":`...), j.ID)
	b = ejson.AppendString(append(b, `,"type":"split","source":`...), j.Source)
	b = ejson.AppendString(append(b, `,"target":[`...), j.Targets[0])
	b = ejson.AppendString(append(b, ','), j.Targets[1])
	b = append(b, `],"job_state":"completed","split_state":"completed","state_info":{},"node":`...)
	done := j.Done.UTC().Format("2006-01-02T15:04:05Z")
	b = append(ejson.AppendString(b, j.Node), `,"start_time":"`+done+`","update_time":"`+done+
		`","history":[{"timestamp":"`+done+`","type":"new","detail":null}`...)
	for _, step := range splitSteps {
		b = append(b, `,{"timestamp":"`+done+`","type":"running","detail":"`+step+`"}`...)
	}
	return append(b, `,{"timestamp":"`+done+`","type":"completed","detail":null}]}`...)
}

// splitSteps are what a job in CouchDB goes through.
var splitSteps = []string{
	"initial_copy", "topoff1", "build_indices", "topoff2", "copy_local_docs", "update_shardmap", "wait_source_close", "topoff3", "source_delete",
}

// splitRequest is what POST /_reshard/jobs asks for: the shards of a database, or of them the one of a range or a name.
type splitRequest struct {
	node, db, hashRange, shard string
}

func (h *Handlers) postReshardJobs(c *call.Call) error {
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	request, err := h.readSplit(c, v)
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
		b = ejson.AppendString(append(b, `{"ok":true,"id":"`+j.ID+`","node":`...), j.Node)
		b = append(ejson.AppendString(append(b, `,"shard":`...), j.Source), '}')
	}
	return c.JSON(http.StatusCreated, append(b, ']'))
}

// readSplit checks node, shard, db, range, type, in this order (mem3_reshard_httpd:validate_*), and which of them go
// together (mem3_reshard_api:pick_shards).
func (h *Handlers) readSplit(c *call.Call, v ejson.Value) (splitRequest, error) {
	r := splitRequest{node: c.Env.Node}
	refuse := func(reason string) (splitRequest, error) { return r, compat.NewError(compat.KindBadRequest, reason) }
	if node, ok := v.Get("node"); ok {
		if node.Kind() != ejson.String {
			return refuse("Invalid `node`")
		}
		if _, ok := h.live()[node.Text()]; ok {
			r.node = node.Text()
		} else if !namesThis(h.env, node.Text()) {
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
func (h *Handlers) splitShards(c *call.Call, r splitRequest) ([]reshard.Job, error) {
	db := c.Env.Store.DB(r.db)
	info, err := db.Info(c.Context())
	if err != nil {
		return nil, err
	}
	var jobs []reshard.Job
	tooMany := false
	err = db.SplitShards(c.Context(), func(starts []uint32) []uint32 {
		var split []uint32
		split, jobs = splitStarts(r, info, starts)
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
	return jobs, h.reshard.Add(c.Context(), jobs)
}

// splitStarts halves the ranges of a map that are asked for (mem3_reshard:target_ranges) and makes a job for each.
func splitStarts(
	r splitRequest,
	info *storage.Info,
	starts []uint32,
) (split []uint32, jobs []reshard.Job) {
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
		halves := []uint32{first, split[len(split)-1]}
		id := sha256.Sum256([]byte(source + r.node))
		j := reshard.Job{
			ID: "001-" + hex.EncodeToString(id[:]), Node: r.node, DB: info.Name, Created: info.Created, Source: source,
			Targets: [2]string{
				"shards/" + databases.ShardRange(halves, 0) + suffix,
				fmt.Sprintf("shards/%08x-%08x%s", halves[1], end-1, suffix),
			},
			Done: now,
		}
		jobs = append(jobs, j)
	}
	return split, jobs
}

func (h *Handlers) getReshardJob(c *call.Call) error {
	j, err := h.reshardJob(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, appendReshardJob(nil, j))
}

func (h *Handlers) deleteReshardJob(c *call.Call) error {
	j, err := h.reshardJob(c)
	if err == nil {
		err = h.reshard.Remove(c.Context(), j.ID)
	}
	if err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

func (h *Handlers) getReshardJobState(c *call.Call) error {
	if _, err := h.reshardJob(c); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, []byte(`{"state":"completed","reason":null}`))
}

// putReshardJobState accepts any change: what has completed stays completed.
func (h *Handlers) putReshardJobState(c *call.Call) error {
	if _, _, err := stateBody(c, "Stopped by user"); err != nil {
		return err
	}
	if _, err := h.reshardJob(c); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}
