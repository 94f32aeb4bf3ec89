package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/jobs/jobstest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// overview is what tests read of the answer.
type overview struct {
	Node     string
	Started  int64
	Now      int64
	Interval int64
	Capacity int
	Limits   map[string]float64
	Times    []int64
	Series   map[string][]*float64
	Warnings []struct{ ID, Severity, Subject, Text, Do, Doc string }
}

func askOverview(t *testing.T, s *servertest.Server, query string, headers ...string) (o overview) {
	t.Helper()
	w := s.Do("GET", "/_node/_local/_overview"+query, "", headers...)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &o))
	return o
}

// TestOverview: what was asked of the server shows in the samples, and a feed in no latency.
func TestOverview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := servertest.New(t)
		require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
		for range 7 {
			require.Equal(t, 201, s.Do("POST", "/db", `{"a":1}`).Code)
		}
		require.Equal(t, 404, s.Do("GET", "/db/none", "").Code)
		require.Equal(t, 200, s.Do("GET", "/db/_changes?feed=longpoll&since=now&timeout=8000", "").Code)
		time.Sleep(5 * time.Second)
		o := askOverview(t, s, "")
		require.Equal(t, "couchdb@127.0.0.1", o.Node)
		require.Len(t, o.Times, 1)
		for name, want := range map[string]float64{
			"requests_per_second": 1, "answers_2xx_per_second": .9, "answers_4xx_per_second": .1,
			"documents_written_per_second": .7, "feeds": 0,
		} {
			require.InDelta(t, want, *o.Series[name][0], 1e-9, name)
		}
		require.Less(t, *o.Series["latency_p99_ms"][0], 8000.0, "the feed is not an answer that took eight seconds")
		require.NotContains(t, o.Series, "store_disk_bytes", "this engine has none")

		time.Sleep(10 * time.Second)
		later := askOverview(t, s, "")
		require.Len(t, later.Times, 2)
		require.Equal(t, later.Times[1]-later.Times[0], o.Interval)
		require.InDelta(t, .1, *later.Series["requests_per_second"][1], 1e-9, "the look before")
		require.Empty(t, askOverview(t, s, "?since=9999999999").Times)
		require.Equal(t, 400, s.Do("GET", "/_node/_local/_overview?since=x", "").Code)
		require.Equal(t, 404, s.Do("GET", "/_node/other@host/_overview", "").Code)
	})
}

// TestOverviewOfOthers: who may read metrics sees numbers only, everybody else nothing.
func TestOverviewOfOthers(t *testing.T) {
	s := servertest.New(t)
	s.Set("couchdb", "max_dbs_open", "1")
	require.Len(t, askOverview(t, s, "").Warnings, 1)
	s.Set("chttpd", "authentication_handlers", "{chttpd_auth, proxy_authentication_handler}")
	as := func(roles string) []string {
		return []string{"Authorization", "", "X-Auth-CouchDB-UserName", "m", "X-Auth-CouchDB-Roles", roles}
	}
	require.Empty(t, askOverview(t, s, "", as("_metrics")...).Warnings)
	require.Equal(t, 401, s.Do("GET", "/_node/_local/_overview", "", as("other")...).Code)
	require.Equal(t, 401, s.Anyone("GET", "/_node/_local/_overview", "").Code)
}

// TestWarningsOfIndexes: a job that fails, and one that is not tried any more, are told with the
// reason; those that went well are not.
func TestWarningsOfIndexes(t *testing.T) {
	kv := memkv.New()
	jobstest.EndsWhile(t, kv, keyspace.JobsPrefix(), "fieldindex", false, jobs.Spec{Type: "fieldindex", ID: "paused"})
	q, err := jobs.Open(t.Context(), jobs.Options{KV: kv, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	defer q.Close()
	run := func(_ context.Context, r *jobs.Run) ([]byte, error) {
		if r.ID == "good" {
			return nil, nil
		}
		return nil, jobs.Permanent(errors.New("a document cannot be read"))
	}
	require.NoError(t, q.Handle(jobs.Type{Name: "fieldindex", Run: run, Pauses: true}))
	for _, id := range []string{"good", "bad"} {
		ticket, err := q.Add(t.Context(), jobs.Spec{Type: "fieldindex", ID: id})
		require.NoError(t, err)
		_, err = q.Wait(t.Context(), ticket)
		require.NoError(t, err)
	}
	s := servertest.Start(t, server.Options{Jobs: q})
	require.Eventually(t, func() bool { return len(askOverview(t, s, "").Warnings) == 2 }, 20e9, 1e8)
	found := askOverview(t, s, "").Warnings
	require.Equal(t, "job_paused", found[0].ID)
	require.Equal(t, "paused", found[0].Subject)
	require.Equal(t, "index_failing", found[1].ID)
	require.Equal(t, "bad", found[1].Subject)
	require.Contains(t, found[1].Text, "a document cannot be read")
}
