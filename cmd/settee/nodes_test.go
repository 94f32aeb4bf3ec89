package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// kept is a store that stays open when one of the processes that have it open closes it.
type kept struct{ kv.Store }

func (kept) Close() error { return nil }

// shareStore registers an engine whose stores are all the same one, in memory, for the time of a
// test.
func shareStore(t *testing.T) (engine string, store kv.Store) {
	t.Helper()
	store = memkv.New()
	engines["shared"], sharedEngines["shared"] = func(appOptions, *slog.Logger) (kv.Store, error) {
		return kept{store}, nil
	}, true
	t.Cleanup(func() {
		delete(engines, "shared")
		delete(sharedEngines, "shared")
		require.NoError(t, store.Close())
	})
	return "shared", store
}

// startNodes starts servers on one store at the same time, and returns their URLs. file is the
// override of the first.
func startNodes(t *testing.T, override string, names ...string) (urls []string) {
	t.Helper()
	urls, _ = startStoppable(t, override, names...)
	return urls
}

// startStoppable is startNodes with a function for each server that ends it before the test does.
func startStoppable(t *testing.T, override string, names ...string) (urls []string, stops []func() error) {
	t.Helper()
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	engine, store := shareStore(t)
	urls = make([]string, len(names))
	stops = make([]func() error, len(names))
	var starting sync.WaitGroup
	for i, name := range names {
		o := serveOptions{listen: freeAddress(t)}
		o.engine, o.dataDir, o.node = engine, t.TempDir(), name
		settings := []byte("[chttpd_auth]\niterations = 10\n") // the race detector makes hashing slow
		require.NoError(t, os.WriteFile(filepath.Join(o.dataDir, localFile), settings, 0o600))
		if i == 0 && override != "" {
			file := filepath.Join(o.dataDir, "override.ini")
			require.NoError(t, os.WriteFile(file, []byte(override), 0o600))
			o.overrideFiles = []string{file}
		}
		urls[i] = "http://" + o.listen
		starting.Go(func() {
			stop, err := tryServe(t, o, io.Discard)
			if err != nil {
				t.Error(err)
			}
			stops[i] = sync.OnceValue(stop)
		})
	}
	starting.Wait()
	require.False(t, t.Failed())
	t.Cleanup(func() {
		for _, stop := range stops {
			require.NoError(t, stop())
		}
		var out bytes.Buffer
		require.NoError(t, checkStore(context.Background(), store, &out, io.Discard), out.String())
	})
	return urls, stops
}

// ask sends a request with credentials, name:password or a cookie, and returns the status and the
// answer's JSON.
func ask(t *testing.T, credentials, method, url, body string) (status int, answer any, cookie string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	if name, password, ok := strings.Cut(credentials, ":"); ok {
		r.SetBasicAuth(name, password)
	} else if credentials != "" {
		r.Header.Set("Cookie", credentials)
	}
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer w.Body.Close()
	_ = json.NewDecoder(w.Body).Decode(&answer)
	for _, c := range w.Cookies() {
		cookie = c.Name + "=" + c.Value
	}
	return w.StatusCode, answer, cookie
}

// TestNodesShareSettings: what is set at one node holds at all of them as soon as the request is
// answered.
func TestNodesShareSettings(t *testing.T) {
	urls := startNodes(t, "[couchdb]\nmax_document_size = 77777\n", "couchdb@a", "couchdb@b", "couchdb@c")
	get := func(node int, key string) any {
		t.Helper()
		status, value, _ := ask(t, "admin:secret", "GET", urls[node]+"/_node/_local/_config/"+key, "")
		if status != 200 {
			return status
		}
		return value
	}
	put := func(node int, key, value string) {
		t.Helper()
		status, answer, _ := ask(t, "admin:secret", "PUT", urls[node]+"/_node/_local/_config/"+key, `"`+value+`"`)
		require.Equal(t, 200, status, answer)
	}
	require.Equal(t, get(0, "admins/admin"), get(1, "admins/admin"), "hashed once, for all")
	for i, value := range []string{"1", "2", "3", "4", "5", "6"} {
		put(i%3, "section/key", value)
		for node := range urls {
			require.Equal(t, value, get(node, "section/key"))
		}
	}
	status, _, _ := ask(t, "admin:secret", "DELETE", urls[1]+"/_node/_local/_config/section/key", "")
	require.Equal(t, 200, status)
	for node := range urls {
		require.Equal(t, 404, get(node, "section/key"))
	}
	put(2, "couchdb/uuid", "0123456789abcdef0123456789abcdef")
	_, welcome, _ := ask(t, "", "GET", urls[1]+"/", "")
	require.Equal(t, "0123456789abcdef0123456789abcdef", welcome.(map[string]any)["uuid"], "a part of replication ids")
	put(2, "chttpd/port", "1234")
	require.Equal(t, "1234", get(2, "chttpd/port"))
	require.Equal(t, urls[1][strings.LastIndex(urls[1], ":")+1:], get(1, "chttpd/port"), "each node has its own")
	put(1, "couchdb/max_document_size", "88888")
	require.Equal(t, "88888", get(2, "couchdb/max_document_size"))
	require.Equal(t, "77777", get(0, "couchdb/max_document_size"), "its override goes before")
	status, _, _ = ask(t, "admin:secret", "PUT", urls[0]+"/_node/_local/_config/couchdb/max_document_size", `"99999"`)
	require.Equal(t, 403, status)
}

// TestNodesShareAdmins: an administrator who is made, changes the password or is deleted at one
// node is so at all nodes when the request is answered; a cookie of one is good at all.
func TestNodesShareAdmins(t *testing.T) {
	urls := startNodes(t, "", "couchdb@a", "couchdb@b", "couchdb@c")
	who := func(node int, credentials string) any {
		t.Helper()
		status, answer, _ := ask(t, credentials, "GET", urls[node]+"/_session", "")
		if status != 200 {
			return status
		}
		return answer.(map[string]any)["userCtx"].(map[string]any)["name"]
	}
	status, _, _ := ask(t, "admin:secret", "PUT", urls[0]+"/_node/_local/_config/admins/anna", `"one"`)
	require.Equal(t, 200, status)
	var cookies [3]string
	var loggingIn sync.WaitGroup // the first logins make the secret of all cookies
	for node := range urls {
		loggingIn.Go(func() {
			_, _, cookies[node] = ask(t, "", "POST", urls[node]+"/_session", `{"name":"anna","password":"one"}`)
		})
	}
	loggingIn.Wait()
	for node := range urls {
		require.Equal(t, "anna", who(node, "anna:one"))
		for _, cookie := range cookies {
			require.Equal(t, "anna", who(node, cookie))
		}
	}
	status, _, _ = ask(t, "admin:secret", "PUT", urls[1]+"/_node/_local/_config/admins/anna", `"two"`)
	require.Equal(t, 200, status)
	for node := range urls {
		require.Equal(t, "anna", who(node, "anna:two"))
		require.Equal(t, 401, who(node, "anna:one"))
		require.NotEqual(t, "anna", who(node, cookies[0]), "a new password ends sessions")
	}
	status, _, _ = ask(t, "admin:secret", "DELETE", urls[2]+"/_node/_local/_config/admins/anna", "")
	require.Equal(t, 200, status)
	for node := range urls {
		require.Equal(t, 401, who(node, "anna:two"))
	}
}

// TestNodesShareSecrets: cookies from before a secret was replaced, at any node and however fast,
// are good at all of them; new ones are signed with the new secret, and good at all as well.
func TestNodesShareSecrets(t *testing.T) {
	urls := startNodes(t, "", "couchdb@a", "couchdb@b", "couchdb@c")
	login := func(node int) string {
		t.Helper()
		status, _, cookie := ask(t, "", "POST", urls[node]+"/_session", `{"name":"admin","password":"secret"}`)
		require.Equal(t, 200, status)
		return cookie
	}
	cookies := []string{login(0)}
	for i := range 6 {
		secret := fmt.Sprintf(`"secret%d"`, i)
		status, _, _ := ask(t, "admin:secret", "PUT", urls[i%3]+"/_node/_local/_config/chttpd_auth/secret", secret)
		require.Equal(t, 200, status)
		cookies = append(cookies, login((i+1)%3))
	}
	for _, cookie := range cookies {
		for node := range urls {
			_, answer, _ := ask(t, cookie, "GET", urls[node]+"/_session", "")
			require.Equal(t, "admin", answer.(map[string]any)["userCtx"].(map[string]any)["name"])
		}
	}
}

// TestNodesShareLockout: failed logins at any nodes lock an account at all of them.
func TestNodesShareLockout(t *testing.T) {
	urls := startNodes(t, "", "couchdb@a", "couchdb@b", "couchdb@c")
	login := func(node int, name, password string) int {
		t.Helper()
		status, _, _ := ask(t, "", "POST", urls[node]+"/_session", `{"name":"`+name+`","password":"`+password+`"}`)
		return status
	}
	status, _, _ := ask(t, "admin:secret", "PUT", urls[0]+"/_node/_local/_config/admins/anna", `"one"`)
	require.Equal(t, 200, status)
	for i := range 4 { // below chttpd_auth_lockout/threshold
		require.Equal(t, 401, login(i%3, "anna", "guess"))
	}
	require.Equal(t, 200, login(1, "anna", "one"))
	require.Equal(t, 401, login(0, "anna", "guess"))
	for node := range urls {
		locked := func() bool { return login(node, "anna", "one") == 403 }
		require.Eventually(t, locked, time.Minute, 50*time.Millisecond)
		require.Equal(t, 200, login(node, "admin", "secret"), "another account")
	}
}

// TestNodesKnowEachOther: each names all, and answers for all below /_node.
func TestNodesKnowEachOther(t *testing.T) {
	urls := startNodes(t, "", "couchdb@a", "couchdb@b")
	for _, url := range urls {
		require.Eventually(t, func() bool {
			_, answer, _ := ask(t, "admin:secret", "GET", url+"/_membership", "")
			names := []any{"couchdb@a", "couchdb@b"}
			return assert.ObjectsAreEqual(map[string]any{"all_nodes": names, "cluster_nodes": names}, answer)
		}, 20*time.Second, 50*time.Millisecond)
	}
	for i, url := range urls {
		for _, name := range []string{"couchdb@a", "couchdb@b"} {
			status, _, _ := ask(t, "admin:secret", "PUT", url+"/_node/"+name+"/_config/settee/memory", `"`+name[8:]+`"`)
			require.Equal(t, 200, status)
			for _, other := range urls {
				_, answer, _ := ask(t, "admin:secret", "GET", other+"/_node/"+name+"/_config/settee/memory", "")
				require.Equal(t, name[8:], answer)
			}
			for path, want := range map[string]int{
				"/_stats": 200, "/_system": 200, "/_overview": 200, "/_settings": 200,
				"/_prometheus": 200, "/_versions": 200, "/_pprof/heap": 200, "": 200, "/x": 404,
			} {
				status, _, _ := ask(t, "admin:secret", "GET", url+"/_node/"+name+path, "")
				require.Equal(t, want, status, path)
			}
			status, answer, _ := ask(t, "admin:secret", "POST", url+"/_node/"+name+"/_restart", "")
			require.Equal(t, 403, status)
			require.Contains(t, answer.(map[string]any)["reason"], "service manager")
			status, _, _ = ask(t, "admin:wrong", "GET", url+"/_node/"+name+"/_system", "")
			require.Equal(t, 401, status)
		}
		_, answer, _ := ask(t, "admin:secret", "GET", url+"/_node/nonode@nohost/_config/settee/memory", "")
		require.Equal(t, []string{"a", "b"}[i], answer, "the node that is asked")
		status, _, _ := ask(t, "admin:secret", "GET", url+"/_node/couchdb@c/_stats", "")
		require.Equal(t, 404, status)
	}
}

// TestNodesCommand: it lists the nodes of a store, with the requests that they answer.
func TestNodesCommand(t *testing.T) {
	urls := startNodes(t, "", "couchdb@a", "couchdb@b")
	feed, err := http.NewRequestWithContext(t.Context(), "GET", urls[1]+"/_db_updates?feed=continuous", nil)
	require.NoError(t, err)
	feed.SetBasicAuth("admin", "secret")
	w, err := http.DefaultClient.Do(feed)
	require.NoError(t, err)
	defer w.Body.Close()
	require.Eventually(t, func() bool {
		var out bytes.Buffer
		require.NoError(t, listNodes(t.Context(), appOptions{engine: "shared"}, &out, io.Discard))
		nodes := make(map[string][]string)
		for line := range strings.Lines(out.String()) {
			fields := strings.Fields(line)
			nodes[fields[0]] = fields
		}
		require.Len(t, nodes, 3, out.String())
		return nodes["couchdb@a"][1] == urls[0] && nodes["couchdb@a"][4] == "0" && nodes["couchdb@b"][4] == "1"
	}, time.Minute, 100*time.Millisecond)
	require.ErrorContains(t, listNodes(t.Context(), appOptions{engine: "memory"}, io.Discard, io.Discard), "no nodes")
}

// TestNodesShareReplications: replications of documents run on all nodes, each on one of them, and
// go on elsewhere when their node ends; each node shows all of them, ends those of others, and
// joins what another one runs already.
func TestNodesShareReplications(t *testing.T) {
	const admin, documents = "admin:secret", 16
	urls, stops := startStoppable(t, "[replicator]\nstartup_jitter = 0\n", "couchdb@a", "couchdb@b", "couchdb@c")
	get := func(node int, path string) map[string]any {
		t.Helper()
		status, answer, _ := ask(t, admin, "GET", urls[node]+path, "")
		require.Equal(t, 200, status, answer)
		return answer.(map[string]any)
	}
	put := func(node int, path, body string) {
		t.Helper()
		status, answer, _ := ask(t, admin, "PUT", urls[node]+path, body)
		require.Equal(t, 201, status, answer)
	}
	put(0, "/source", "")
	endpoint := func(name string) string { // of the last node, which stays
		return `"` + strings.Replace(urls[2], "http://", "http://"+admin+"@", 1) + "/" + name + `"`
	}
	for i := range documents {
		put(i%3, fmt.Sprintf("/_replicator/r%02d", i), fmt.Sprintf(
			`{"source":%s,"target":%s,"create_target":true,"continuous":true}`, endpoint("source"),
			endpoint(fmt.Sprint("target", i))))
	}
	nodesOf := func(node int, path, list, key, where string) map[string]string {
		t.Helper()
		byKey := make(map[string]string)
		for _, entry := range get(node, path)[list].([]any) {
			e := entry.(map[string]any)
			if where == "" || e["state"] == where {
				byKey[e[key].(string)], _ = e["node"].(string)
			}
		}
		return byKey
	}
	running := func(node, want int) func() bool {
		return func() bool {
			return len(nodesOf(node, "/_scheduler/docs", "docs", "doc_id", "running")) == want
		}
	}
	for node := range urls {
		require.Eventually(t, running(node, documents), time.Minute, 50*time.Millisecond)
	}
	placed := nodesOf(0, "/_scheduler/docs", "docs", "doc_id", "running")
	count := make(map[string]int)
	for _, node := range placed {
		count[node]++
	}
	require.Greater(t, len(count), 1, "all on one node: %v", placed)
	for node := range urls {
		require.Equal(t, placed, nodesOf(node, "/_scheduler/docs", "docs", "doc_id", ""))
		require.Equal(t, placed, nodesOf(node, "/_scheduler/jobs", "jobs", "doc_id", ""))
		page := get(node, "/_scheduler/jobs?limit=3&skip=2")
		require.EqualValues(t, documents, page["total_rows"])
		require.Len(t, page["jobs"], 3)
		for id, at := range placed {
			require.Equal(t, at, get(node, "/_scheduler/docs/_replicator/"+id)["node"])
		}
		for _, job := range get(node, "/_scheduler/jobs")["jobs"].([]any) {
			id := job.(map[string]any)["id"].(string)
			require.Equal(t, id, get(node, "/_scheduler/jobs/"+id)["id"])
		}
		require.Eventually(t, func() bool {
			_, tasks, _ := ask(t, admin, "GET", urls[node]+"/_active_tasks", "")
			byDocument := make(map[string]string)
			for _, task := range tasks.([]any) {
				if e := task.(map[string]any); e["type"] == "replication" {
					byDocument[e["doc_id"].(string)] = e["node"].(string)
				}
			}
			return assert.ObjectsAreEqual(placed, byDocument)
		}, time.Minute, 50*time.Millisecond)
	}

	// one of nobody's documents: asked for twice, it runs once; whoever is asked cancels it
	body := `{"source":"source","target":"copy","create_target":true,"continuous":true}`
	status, first, _ := ask(t, admin, "POST", urls[0]+"/_replicate", body)
	require.Equal(t, 202, status, first)
	id := first.(map[string]any)["_local_id"].(string)
	require.Eventually(t, func() bool {
		job := get(1, "/_scheduler/jobs/"+url.PathEscape(id))
		return job["info"] != nil // it copies, so it has its claim
	}, time.Minute, 50*time.Millisecond)
	_, second, _ := ask(t, admin, "POST", urls[1]+"/_replicate", body)
	require.Equal(t, first, second)
	require.Len(t, get(2, "/_scheduler/jobs")["jobs"], documents+1)
	status, answer, _ := ask(t, admin, "POST", urls[2]+"/_replicate", `{"cancel":true,"replication_id":"`+id+`"}`)
	require.Equal(t, 200, status, answer)
	require.Len(t, get(1, "/_scheduler/jobs")["jobs"], documents)
	status, _, _ = ask(t, admin, "POST", urls[2]+"/_replicate", `{"cancel":true,"replication_id":"`+id+`"}`)
	require.Equal(t, 404, status)
	status, first, _ = ask(t, admin, "POST", urls[0]+"/_replicate", body)
	require.Equal(t, 202, status, first)
	cancel := strings.Replace(body, "{", `{"cancel":true,`, 1)
	status, answer, _ = ask(t, admin, "POST", urls[1]+"/_replicate", cancel)
	require.Equal(t, 200, status, answer)

	// asked for twice before it has its claim, and cancelled once
	var asking sync.WaitGroup
	for node := range 2 {
		asking.Go(func() {
			status, answer, _ := ask(t, admin, "POST", urls[node]+"/_replicate", body)
			assert.Equal(t, 202, status, answer)
		})
	}
	asking.Wait()
	status, answer, _ = ask(t, admin, "POST", urls[0]+"/_replicate", cancel)
	require.Equal(t, 200, status, answer)
	status, answer, _ = ask(t, admin, "POST", urls[1]+"/_replicate", cancel)
	require.Equal(t, 404, status, answer)

	// what a node ran that ends goes on elsewhere, and copies what comes
	for node := range 2 {
		require.NoError(t, stops[node]())
		require.Eventually(t, running(2, documents), time.Minute, 50*time.Millisecond)
	}
	for id, at := range nodesOf(2, "/_scheduler/docs", "docs", "doc_id", "") {
		require.Equal(t, "couchdb@c", at, id)
	}
	put(2, "/source/doc", "{}")
	for i := range documents {
		require.Eventually(t, func() bool {
			status, _, _ := ask(t, admin, "GET", fmt.Sprintf("%s/target%d/doc", urls[2], i), "")
			return status == 200
		}, time.Minute, 50*time.Millisecond)
	}
}
