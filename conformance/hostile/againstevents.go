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
		_, _ = w.Write(packed.Bytes()) // who stops reading is what is asked for
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

// handle deploys a function whose handler runs a body in JavaScript, in which peer is a server that answers as given,
// lets it run for some documents, and waits until it says that it has come to its end for each.
func (a *assault) handle(ctx context.Context, docs int, body string, answer http.HandlerFunc) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	ends := newAssault(a.target, a.db+"-ends", 0, a.scale)
	removeEnds, err := ends.database(ctx)
	if err != nil {
		return err
	}
	defer removeEnds()
	peer := httptest.NewServer(answer)
	defer peer.Close()
	name := strings.NewReplacer("-", "_").Replace(a.db)
	function, err := json.Marshal(map[string]any{
		"appname":  name,
		"appcode":  "function OnUpdate(doc, meta) {" + body + "\n\tends[meta.id] = {ended: true};\n}",
		"settings": map[string]any{"dcp_stream_boundary": "everything"},
		"depcfg": map[string]any{
			"source_bucket": a.db,
			"buckets":       []map[string]string{{"alias": "ends", "bucket_name": ends.db, "access": "rw"}},
			"curl": []map[string]any{{"hostname": peer.URL, "value": "peer", "auth_type": "basic",
				"username": "u", "password": "secret", "allow_cookies": true}},
		},
	})
	if err != nil {
		return err
	}
	path := "/_eventing/api/v1/functions/" + name
	if err := a.prepare(ctx, request{method: "POST", path: path, as: admin, body: bodyOf(function)}); err != nil {
		return fmt.Errorf("storing the function: %w", err)
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		_, _ = a.ask(ctx, request{method: "POST", path: path + "/undeploy?wait=60s", as: admin})
		if err := a.prepare(ctx, request{method: "DELETE", path: path, as: admin}); err != nil {
			a.fault("deleting the function afterwards: %v", err)
		}
	}()
	if err := a.prepare(ctx, request{method: "POST", path: path + "/deploy?wait=60s", as: admin}); err != nil {
		return fmt.Errorf("deploying the function: %w", err)
	}
	for i := range docs {
		a.put(ctx, fmt.Sprintf("d%d", i), text(`{}`), nil, http.StatusCreated)
	}
	for i := range docs {
		if err := ends.await(ctx, fmt.Sprintf("d%d", i)); err != nil {
			return fmt.Errorf("the handler of d%d: %w", i, err)
		}
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
		select {
		case <-ctx.Done():
			return fmt.Errorf("did not come to its end: %d %.100s", got.status, got.start)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
