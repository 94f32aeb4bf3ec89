package eventing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// request has f answer a request whose body is a JSON text, as soon as the process runs it.
func (n *node) request(body string, readsOnly bool) (*js.EventResult, error) {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
		require.NoError(n.t, err)
		result, err := n.engine.Request(context.Background(), r, fmt.Appendf(nil, `{"body":%q}`, body), readsOnly)
		if !errors.Is(err, ErrNotServing) || time.Now().After(end) {
			return result, err
		}
	}
}

const endpointCode = `
function Later(context) { dst["later"] = context; }
function OnRequest(request) {
	const {how, id} = JSON.parse(request.body);
	if (how === "read") return {body: dst[id] || null};
	if (how === "nothing") return;
	if (how === "large") return {body: "x".repeat(2 << 20)};
	if (how === "bad") return {status: 1000};
	if (how === "slow") for (;;) {}
	dst[id] = {n: (dst[id] ? dst[id].n : 0) + 1};
	if (how === "fail") throw new Error("no");
	if (how === "timer") createTimer(Later, new Date(), "t", {id});
	return {status: 201, headers: {"X-A": "b"}, body: {n: dst[id].n}};
}`

// TestRequests: OnRequest answers with the status, headers and body that it returns. What it writes is stored
// once, before the answer; nothing where it fails, or where the request may only read.
func TestRequests(t *testing.T) {
	n := newAlone(t, "src", "dst", "dead")
	n.define("f", endpointCode, `{"execution_timeout":1,"max_retries":5,"dead_letter_database":"dead"}`, "+dst=dst")
	n.deploy("f")
	r, err := n.request(`{"how":"write","id":"a"}`, false)
	require.NoError(t, err)
	require.JSONEq(t, `{"status":201,"headers":[["X-A","b"]],"type":"application/json","text":"{\"n\":1}","base64":""}`,
		string(r.Answer))
	require.Equal(t, `{"n":1}`, n.get("dst", "a"))
	r, err = n.request(`{"how":"read","id":"a"}`, true)
	require.NoError(t, err)
	require.Contains(t, string(r.Answer), `{\"n\":1}`)
	r, err = n.request(`{"how":"nothing"}`, true)
	require.NoError(t, err)
	require.Contains(t, string(r.Answer), `"status":204`)
	_, err = n.request(`{"how":"write","id":"get"}`, true)
	require.ErrorIs(t, err, ErrReadsOnly)
	failures := int64(1) // of the slow one
	for how, want := range map[string]string{
		"fail": "no", "large": "more than 2 MB", "bad": "status must be from 200 to 599",
	} {
		if how == "large" && testing.Short() {
			continue // the race detector makes it take seconds
		}
		failures++
		r, err = n.request(`{"how":"`+how+`","id":"none"}`, false)
		require.NoError(t, err)
		require.Equal(t, js.EventFailed, r.Outcome, how)
		require.Contains(t, r.Failure.Message, want)
		require.Empty(t, r.Answer)
	}
	r, err = n.request(`{"how":"slow"}`, false)
	require.NoError(t, err)
	require.Equal(t, js.EventTimedOut, r.Outcome)
	_, err = n.request(`{"how":"timer","id":"x"}`, false)
	require.NoError(t, err)
	n.becomes("dst", "later", `{"id":"x"}`)
	require.Empty(t, n.get("dst", "none"))
	require.Empty(t, n.get("dst", "get"))
	require.Zero(t, n.count("dead"), "the client is told")
	n.eventually(func() bool { return n.stat("f", "on_request_failure") == failures }, "failures are counted")
	require.Equal(t, definition.Paused, n.pause("f"))
	rec, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	_, err = n.engine.Request(t.Context(), rec, []byte(`{}`), false)
	require.ErrorIs(t, err, ErrNotServing)
}

// TestRequestsAreExact: many clients count in one document while the function is paused, and partitions move;
// each request that is answered has counted once, and no other one has.
func TestRequestsAreExact(t *testing.T) {
	const lease = 300 * time.Millisecond
	store := memkv.New()
	n := newNode(t, store, lease)
	n.create("src", "dst")
	n.define("f", endpointCode, "", "+dst=dst")
	n.deploy("f")
	_, err := n.request(`{"how":"read"}`, true)
	require.NoError(t, err)
	var mu sync.Mutex
	answered, busy := 0, 0
	var all sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), shorter(2*time.Second, time.Second))
	defer stop()
	for range 2 * mostRequests {
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := n.request(`{"how":"write","id":"count"}`, false)
				mu.Lock()
				switch {
				case errors.Is(err, ErrBusy):
					busy++
				case err == nil && r.Outcome == js.EventDone:
					answered++
				case err == nil || !strings.Contains(err.Error(), "another process"):
					t.Errorf("%v %v", r.Failure, err)
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
			}
		})
	}
	other := newNode(t, store, lease)
	time.Sleep(lease)
	other.close()
	n.pause("f")
	n.deploy("f")
	all.Wait()
	require.Positive(t, busy)
	require.Equal(t, fmt.Sprintf(`{"n":%d}`, answered), n.get("dst", "count"))
	require.Empty(t, n.checked())
}

// TestRequestsWakeAFunction: a function that has had no events rests, and answers requests all the same; while
// they come it does not rest.
func TestRequestsWakeAFunction(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.engine.restAfter = 5 * time.Millisecond
	n.define("f", endpointCode, "", "+dst=dst")
	n.deploy("f")
	record, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	write := func() {
		r, err := n.engine.Request(t.Context(), record, []byte(`{"body":"{\"how\":\"write\",\"id\":\"a\"}"}`), false)
		if err != nil || r.Outcome != js.EventDone {
			t.Errorf("%v %v", r, err)
		}
	}
	const rounds, clients, each = 5, 4, 10
	for range rounds {
		n.eventually(func() bool { return n.engine.resting.Load() == 1 }, "it does not rest")
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				for k := range each {
					write()
					time.Sleep(time.Duration(i*k) * time.Millisecond / 4) // which it begins to rest in, or does not
				}
			})
		}
		all.Wait()
	}
	require.Equal(t, fmt.Sprintf(`{"n":%d}`, rounds*clients*each), n.get("dst", "a"))
	require.Empty(t, n.checked())
}
