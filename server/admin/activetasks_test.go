package admin_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/jobs/jobstest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestPausedJob: a job that ran at three ends of the server is shown, with the reason.
func TestPausedJob(t *testing.T) {
	kv := memkv.New()
	jobstest.EndsWhile(t, kv, keyspace.JobsPrefix(), "fieldindex", false, jobs.Spec{Type: "fieldindex", ID: "db"})
	q, err := jobs.Open(t.Context(), jobs.Options{KV: kv, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	defer q.Close()
	run := func(context.Context, *jobs.Run) ([]byte, error) { return nil, nil }
	require.NoError(t, q.Handle(jobs.Type{Name: "fieldindex", Run: run, Pauses: true}))
	s := servertest.Start(t, server.Options{Jobs: q})
	shown := func() string { return s.Do("GET", "/_active_tasks", "").Body.String() }
	require.Eventually(t, func() bool { return shown() != "[]\n" }, 20e9, 1e8)
	require.Regexp(t, `"database":"db","job":"fieldindex","reason":"the server ended without a shutdown three times in a row `+
		`while it ran","started_on":\d+,"state":"paused","type":"indexer"`, shown())
}

// TestActiveTasks: a job shows what its handler tells, in CouchDB's order; one that tells nothing
// is not shown.
func TestActiveTasks(t *testing.T) {
	kv := memkv.New()
	q, err := jobs.Open(t.Context(), jobs.Options{KV: kv, Prefix: keyspace.JobsPrefix(), Exclusive: true, Owner: "n@h"})
	require.NoError(t, err)
	t.Cleanup(func() { q.Close() })
	s := servertest.Start(t, server.Options{Jobs: q})
	require.Equal(t, "[]\n", s.Do("GET", "/_active_tasks", "").Body.String())
	told := make(chan struct{})
	run := func(ctx context.Context, r *jobs.Run) ([]byte, error) {
		if r.ID == "a" {
			r.Progress(
				[]byte(
					`{"type":"indexer","database":"db","design_document":"_design/d","progress":50,"changes_done":1,"total_changes":2}`,
				),
			)
		}
		close(told)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	require.NoError(t, q.Handle(jobs.Type{Name: "index", Run: run}))
	_, err = q.Add(t.Context(), jobs.Spec{Type: "index", ID: "a"})
	require.NoError(t, err)
	<-told
	told = make(chan struct{})
	_, err = q.Add(t.Context(), jobs.Spec{Type: "index", ID: "b"})
	require.NoError(t, err)
	pattern := `^\[{"node":"n@h","pid":"<0\.\d+\.0>","process_status":"waiting","changes_done":1,"database":"db","design_document":"_design/d",` +
		`"progress":50,"started_on":\d+,"total_changes":2,"type":"indexer","updated_on":\d+}\]\n$`
	require.Eventually(t, func() bool { return len(s.Do("GET", "/_active_tasks", "").Body.String()) > 10 }, 5e9, 1e7)
	require.Regexp(t, pattern, s.Do("GET", "/_active_tasks", "").Body.String())
}

// TestManyJobs: a job is shown however many others run that come before it.
func TestManyJobs(t *testing.T) {
	const others = 1001
	q, err := jobs.Open(t.Context(), jobs.Options{KV: memkv.New(), Prefix: keyspace.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	t.Cleanup(func() { q.Close() })
	var running sync.WaitGroup
	running.Add(others + 1)
	run := func(ctx context.Context, r *jobs.Run) ([]byte, error) {
		if r.ID == "shown" {
			r.Progress([]byte(`{"type":"indexer"}`))
		}
		running.Done()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	require.NoError(t, q.Handle(jobs.Type{Name: "a", Workers: others, Run: run}))
	require.NoError(t, q.Handle(jobs.Type{Name: "z", Run: run}))
	for i := range others {
		_, err := q.Add(t.Context(), jobs.Spec{Type: "a", ID: strconv.Itoa(i)})
		require.NoError(t, err)
	}
	_, err = q.Add(t.Context(), jobs.Spec{Type: "z", ID: "shown"})
	require.NoError(t, err)
	running.Wait()
	s := servertest.Start(t, server.Options{Jobs: q})
	require.Eventually(t, func() bool {
		return strings.Contains(s.Do("GET", "/_active_tasks", "").Body.String(), `"type":"indexer"`)
	}, time.Minute, 50*time.Millisecond)
}
