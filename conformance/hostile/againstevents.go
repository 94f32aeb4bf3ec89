package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"
)

// eventAttacks are event functions, and the servers that they ask.
var eventAttacks = []attack{
	{
		name:  "answers that inflate",
		shows: "answers to curl of 1.5 MB that become 1.5 GB, four at once, in a function that is tried again and again",
		short: 0.1,
		own:   true,
		run:   inflatingAnswers,
	},
	{
		name:  "answers that are kept",
		shows: "a handler that keeps sixty answers of 8 MB",
		short: 0.2,
		own:   true,
		run:   keptAnswers,
	},
	{
		name:  "answers that lead elsewhere",
		shows: "redirects of curl with credentials to another port, which must not see them",
		short: 1,
		own:   true,
		run:   strayingAnswers,
	},
	{
		name:  "patterns in functions",
		shows: "regular expressions of a handler that backtrack, and ones with large programs in its queries, four at once",
		short: 0.2,
		own:   true,
		limit: 5 * time.Minute,
		run:   patternsInFunctions,
	},
	{
		name:  "joins in masses",
		shows: "joins and arrays of a handler that make a billion rows of a thousand documents, four at once",
		short: 0.005,
		own:   true,
		limit: 5 * time.Minute,
		run:   joinMasses,
	},
	{
		name:  "debug sessions in masses",
		shows: "sessions of six functions, never let go, and 20,000 tickets for them, 16 at once",
		short: 0.01,
		own:   true,
		limit: 5 * time.Minute,
		run:   debugMasses,
	},
	{
		name:  "rights that go",
		shows: "functions whose owners are removed from _security, lose a role or are deleted read and write on",
		short: 1,
		own:   true,
		limit: 5 * time.Minute,
		run:   rightsThatGo,
	},
}

// inflatingAnswers has zeros that gzip makes a thousand times smaller.
func inflatingAnswers(ctx context.Context, a *assault) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	zeros := make([]byte, 1<<20)
	for range a.n(1500) {
		if _, err := w.Write(zeros); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return a.handle(ctx, 4, `
		for (var i = 0; i < 5; i++) {
			try { curl('GET', peer, {path: '/'}); } catch (e) { log(e); }
		}`, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes()) // the handler is meant to stop reading
	})
}

// keptAnswers has bytes that nothing makes smaller.
func keptAnswers(ctx context.Context, a *assault) error {
	large := make([]byte, a.n(8<<20))
	if _, err := rand.Read(large); err != nil {
		return err
	}
	return a.handle(ctx, 1, `
		var kept = [];
		for (var i = 0; i < 60; i++) {
			try { kept.push(curl('GET', peer, {path: '/'})); } catch (e) { log(e); }
		}`, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(large)
	})
}

// strayingAnswers has a function call a peer that redirects it to another site. Credentials of the
// binding, the function's own headers and the peer's cookies must not go there.
func strayingAnswers(ctx context.Context, a *assault) error {
	var stray atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Key") != "" || r.Header.Get("Cookie") != "" {
			stray.Add(1)
		}
	}))
	defer other.Close()
	err := a.handle(ctx, 1, `
		try { curl('GET', peer, {path: '/', headers: {'X-Key': 'secret'}}); } catch (e) { log(e); }`,
		func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "secret"})
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		})
	if n := stray.Load(); n > 0 {
		a.fault("%d redirected requests had credentials", n)
	}
	return err
}

// patternsInFunctions has a handler try each pattern on documents, by itself and in a query. A
// pattern that takes too long must fail.
func patternsInFunctions(ctx context.Context, a *assault) error {
	return a.handle(ctx, 4, fmt.Sprintf(`
		var n = %d, many = "a".repeat(1000 * n), patterns = ["a{1000}".repeat(3000), "(a|b)?".repeat(n * 100),
			"((((a{1000}){1000}){1000}){1000})", "\\pL".repeat(n * 30), "(a*)*".repeat(n) + "b", "[ab]{0,1000}".repeat(n)];
		for (var p of patterns) {
			try {
				var rows = SELECT REGEXP_CONTAINS($many, $p) AS x, REGEXP_LIKE($many, $p) AS y,
					REGEXP_REPLACE($many, $p, "$0$0") AS z FROM dst;
				for (var row of rows) {}
			} catch (e) { log(e); }
			try { new RegExp(p).test("aaab"); } catch (e) { log(e); }
		}
		if (meta.id == "d0") { /^(a+)+(?!b)$/.test("a".repeat(40)); }`, a.n(1000)),
		func(http.ResponseWriter, *http.Request) {})
}

// joinMasses has a handler join documents that are all equal.
func joinMasses(ctx context.Context, a *assault) error {
	return a.handle(ctx, 4, fmt.Sprintf(`
		var n = %d;
		for (var i = 0; i < n; i++) dst[meta.id + "-" + i] = {x: 1, l: Array(n).fill(i), s: "s".repeat(100)};
		try {
			var rows = SELECT a.x, b.s, c.s AS t FROM dst AS a JOIN dst AS b ON a.x = b.x JOIN dst AS c ON b.x = c.x;
			for (var row of rows) {}
		} catch (e) { log(e); }
		try {
			var all = SELECT a.x, ARRAY_AGG(b) AS bs, ARRAY_AGG(c.l) AS ls FROM dst AS a JOIN dst AS b ON a.x = b.x
				JOIN dst AS c ON b.x = c.x GROUP BY a.x;
			for (var row of all) {}
		} catch (e) { log(e); }
		try {
			var flat = SELECT u, v, w FROM dst AS a UNNEST a.l AS u UNNEST a.l AS v UNNEST a.l AS w ORDER BY u, v DESC;
			for (var row of flat) {}
		} catch (e) { log(e); }`, a.n(1000)),
		func(http.ResponseWriter, *http.Request) {})
}

// debugMasses begins more debug sessions than are allowed, and never resumes the events that they
// stop.
func debugMasses(ctx context.Context, a *assault) error {
	const functions = 6
	config := func(enable bool) error {
		b := text(fmt.Sprintf(`{"enable_debugger":%t}`, enable))
		return a.prepare(ctx, request{method: "POST", path: "/_eventing/api/v1/config", as: admin, body: b})
	}
	if err := config(true); err != nil {
		return err
	}
	defer func() {
		ctx = context.WithoutCancel(ctx)
		if err := config(false); err != nil {
			a.fault("%v", err)
		}
	}()
	var requests []request
	for i := range functions {
		b := newAssault(a.target, "", 0, a.scale)
		b.db = fmt.Sprintf("%s-%d", a.db, i)
		remove, err := b.database(ctx)
		if err != nil {
			return err
		}
		defer remove()
		f, err := b.deploy(ctx, admin, `function OnUpdate(doc, meta) { var kept = "x".repeat(1e7); log(kept.length); }`,
			"http://127.0.0.1")
		if err != nil {
			return err
		}
		defer f.remove()
		debugger := f.path + "/debugger"
		a.send(ctx, request{method: "POST", path: debugger + "/start", as: admin, body: text(`{}`)}, 200, 400, 409, 503)
		for n := range a.n(200) {
			b.put(ctx, fmt.Sprintf("d%d", n), text(`{"n":1}`), nil, http.StatusCreated)
		}
		for range a.n(3000) {
			requests = append(requests, request{method: "POST", path: debugger + "/url", as: admin, body: text(`{}`)},
				request{method: "GET", path: debugger, as: admin})
		}
	}
	a.each(ctx, 16, requests, 200, 400, 404, 409, 503)
	return nil
}

// rightsThatGo takes rights away from owners of functions, and checks that their functions stop.
func rightsThatGo(ctx context.Context, a *assault) error {
	user := "/_users/org.couchdb.user:"
	for how, take := range map[string]func(name, rev string) request{
		"deleted": func(name, rev string) request {
			return request{method: "DELETE", path: user + name + "?rev=" + rev}
		},
		"role": func(name, rev string) request {
			return request{method: "PUT", path: user + name + "?rev=" + rev,
				body: text(fmt.Sprintf(`{"name":%q,"password":"x","roles":[],"type":"user"}`, name))}
		},
		"security": func(string, string) request {
			return request{method: "PUT", path: "/" + a.db + "-security/_security",
				body: text(`{"admins":{"names":["x"]},"members":{"names":["x"]}}`)}
		},
	} {
		name := a.db + "-" + how
		b := newAssault(a.target, "", 0, a.scale)
		b.db = name
		err := b.ownerGoes(ctx, account{name, "x"}, func(rev string) request { return take(name, rev) })
		if err != nil {
			return fmt.Errorf("%s: %w", how, err)
		}
		a.saw(how)
	}
	return nil
}

// ownerGoes lets a function of a user of its own run until it is seen to work, takes the user's
// rights by a request, and waits until the function is paused. What is written after that it must
// not copy.
func (a *assault) ownerGoes(ctx context.Context, owner account, take func(rev string) request) error {
	user := request{method: "PUT", path: "/_users/org.couchdb.user:" + owner.name, as: admin,
		body: text(fmt.Sprintf(`{"name":%q,"password":%q,"roles":["boss"],"type":"user"}`, owner.name, owner.password))}
	got, err := a.ask(ctx, user)
	if err := unless(got, err, http.StatusCreated); err != nil {
		return fmt.Errorf("making the owner: %w", err)
	}
	rev, _ := acknowledgedRev(got)
	defer func() {
		ctx := context.WithoutCancel(ctx)
		if got, err := a.ask(ctx, request{method: "GET", path: user.path, as: admin, whole: true}); err == nil {
			_, rev, _ := strings.Cut(got.start, `"_rev":"`)
			rev, _, _ = strings.Cut(rev, `"`)
			_, _ = a.ask(ctx, request{method: "DELETE", path: user.path + "?rev=" + rev, as: admin})
		}
	}()
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	security := request{method: "PUT", path: "/" + a.db + "/_security", as: admin,
		body: text(fmt.Sprintf(`{"admins":{"names":[],"roles":["boss"]},"members":{"names":[%q],"roles":["boss"]}}`,
			attackerName))}
	if err := a.prepare(ctx, security); err != nil {
		return err
	}
	f, err := a.deploy(ctx, owner, `function OnUpdate(doc, meta) { if (doc.copy) dst["copy-" + meta.id] = {}; }`,
		"http://127.0.0.1")
	if err != nil {
		return err
	}
	defer f.remove()
	write := func(id string) error {
		r := request{method: "PUT", path: "/" + a.db + "/" + id, as: admin, body: text(`{"copy":true}`)}
		return a.prepare(ctx, r)
	}
	if err := write("before"); err != nil {
		return err
	}
	if err := a.await(ctx, "copy-before"); err != nil {
		return err
	}
	r := take(rev)
	r.as = admin
	if err := a.prepare(ctx, r); err != nil {
		return fmt.Errorf("taking the rights: %w", err)
	}
	if _, err := f.paused(ctx, time.Minute); err != nil { // two seconds, on a machine that has nothing else to do
		return err
	}
	if err := write("after"); err != nil {
		return err
	}
	pause(ctx, 2*time.Second)
	if got, err := a.ask(ctx, request{method: "GET", path: "/" + a.db + "/copy-after", as: admin}); err != nil ||
		got.status != http.StatusNotFound {
		return fmt.Errorf("the function has copied what it may not read: %d %.100s %v", got.status, got.start, err)
	}
	return nil
}

// await waits until a document is there.
func (a *assault) await(ctx context.Context, id string) error {
	for {
		got, err := a.ask(ctx, request{method: "GET", path: "/" + a.db + "/" + id, as: admin})
		if err == nil && got.status == http.StatusOK {
			return nil
		}
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("%s did not come: %d %.100s", id, got.status, got.start)
		}
	}
}

// handle deploys a function whose handler runs a body in JavaScript, in which peer is a server that
// answers as given, lets it run for some documents, and waits until each event is done or has
// failed. An event fails, for example, when its worker took too much memory.
func (a *assault) handle(ctx context.Context, docs int, body string, answer http.HandlerFunc) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	peer := httptest.NewServer(answer)
	defer peer.Close()
	f, err := a.deploy(ctx, admin, "function OnUpdate(doc, meta) {"+body+"}", peer.URL)
	if err != nil {
		return err
	}
	defer f.remove()
	for i := range docs {
		a.put(ctx, fmt.Sprintf("d%d", i), text(`{}`), nil, http.StatusCreated)
	}
	for {
		done, failed, err := f.ended(ctx)
		if err == nil && done+failed >= docs {
			a.saw(fmt.Sprintf("done %d, failed %d", done, failed))
			return nil
		}
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("of %d events %d are done, %d failed: %w", docs, done, failed, err)
		}
	}
}

// function is one that an assault has deployed.
type function struct {
	a    *assault
	path string
}

// deploy stores and deploys a function over the assault's database, dst in its code, as somebody;
// peer is a URL that it may ask.
func (a *assault) deploy(ctx context.Context, owner account, code, peer string) (*function, error) {
	name := strings.NewReplacer("-", "_").Replace(a.db)
	definition, err := json.Marshal(map[string]any{
		"appname": name, "appcode": code,
		"settings": map[string]any{"dcp_stream_boundary": "everything"},
		"depcfg": map[string]any{
			"source_bucket": a.db,
			"buckets":       []map[string]string{{"alias": "dst", "bucket_name": a.db, "access": "rw"}},
			"curl": []map[string]any{{"hostname": peer, "value": "peer", "auth_type": "basic",
				"username": "u", "password": "secret", "allow_cookies": true}},
		},
	})
	if err != nil {
		return nil, err
	}
	f := &function{a, "/_eventing/api/v1/functions/" + name}
	if err := a.prepare(ctx, request{method: "POST", path: f.path, as: owner, body: bodyOf(definition)}); err != nil {
		return nil, fmt.Errorf("storing the function: %w", err)
	}
	if err := a.prepare(ctx, request{method: "POST", path: f.path + "/deploy?wait=60s", as: owner}); err != nil {
		f.remove()
		return nil, fmt.Errorf("deploying the function: %w", err)
	}
	return f, nil
}

// remove undeploys and deletes the function.
func (f *function) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, _ = f.a.ask(ctx, request{method: "POST", path: f.path + "/undeploy?wait=60s", as: admin})
	if err := f.a.prepare(ctx, request{method: "DELETE", path: f.path, as: admin}); err != nil {
		f.a.fault("deleting the function afterwards: %v", err)
	}
}

// of reads what the server knows of the function: its status, stats.
func (f *function) of(ctx context.Context, what string, into any) error {
	path := strings.Replace(f.path, "/functions/", "/"+what+"/", 1)
	got, err := f.a.ask(ctx, request{method: "GET", path: path, as: admin, whole: true})
	if err = unless(got, err, http.StatusOK); err != nil {
		return err
	}
	return json.Unmarshal([]byte(got.start), into)
}

// ended is how many events the function is done with, and how many of them have failed.
func (f *function) ended(ctx context.Context) (done, failed int, err error) {
	var stats struct {
		Events struct {
			Done   int `json:"on_update_success"`
			Failed int `json:"on_update_failure"`
		} `json:"execution_stats"`
	}
	err = f.of(ctx, "stats", &stats)
	return stats.Events.Done, stats.Events.Failed, err
}

// paused waits until the server has paused the function for a reason of its own, and returns it.
func (f *function) paused(ctx context.Context, limit time.Duration) (reason string, err error) {
	for deadline := time.Now().Add(limit); ; pause(ctx, 100*time.Millisecond) {
		var status struct {
			App struct {
				Status string `json:"composite_status"`
				Reason string `json:"reason"`
			} `json:"app"`
		}
		err := f.of(ctx, "status", &status)
		switch {
		case err == nil && status.App.Status == "paused" && status.App.Reason != "":
			return status.App.Reason, nil
		case ctx.Err() != nil || time.Now().After(deadline):
			return "", fmt.Errorf("the function is %s after %s: %v", status.App.Status, limit, err)
		}
	}
}
