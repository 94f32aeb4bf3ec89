package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// peerAttacks use the replicator, or are the server that it reads from.
var peerAttacks = []attack{
	{
		name:  "hostile peers",
		shows: "sources of endless or huge feeds, rows, documents, attachments, checkpoints and heads, 16 at once",
		short: 0.02,
		run:   hostilePeers,
		limit: 4 * time.Minute,
	},
	{
		name:  "replications in masses",
		shows: "5,000 documents that ask for replications, broken ones among them, and lists of them",
		short: 0.01,
		run:   manyReplications,
		limit: 4 * time.Minute,
	},
	{
		name:  "replications of a million ids",
		shows: "doc_ids by the million, selectors of 10,000, eight at once",
		short: 0.01,
		run:   wideReplications,
	},
}

// peer is a server that answers one replication wrongly. Its sizes are in megabytes.
type peer struct {
	name   string
	answer func(p *peerCall) bool // false: as a source without fault
}

// peerCall is a request to a peer.
type peerCall struct {
	w    http.ResponseWriter
	r    *http.Request
	path string // below the database
	mb   int
}

func (p *peerCall) write(s string) bool {
	_, err := io.WriteString(p.w, s)
	return err == nil
}

// fill writes so many megabytes, fewer where nobody reads.
func (p *peerCall) fill(mb int, unit string) bool {
	block := strings.Repeat(unit, (1<<20)/len(unit))
	for range mb {
		if !p.write(block) {
			return false
		}
	}
	return true
}

const endless = 1 << 20 // megabytes

const peerRow = `{"seq":"%d-x","id":"doc%d","changes":[{"rev":"1-%032x"}]}`

// peers are all misbehaving servers. "feed" and the like name the request of a replication that
// they answer wrongly.
var peers = []peer{
	{"endless rows", feed(func(p *peerCall) bool {
		for i := 0; p.write(fmt.Sprintf(peerRow+",\n", i, i, i)); i++ {
		}
		return true
	})},
	{
		"a row without end",
		feed(func(p *peerCall) bool { return p.write(`{"seq":"1-x","id":"`) && p.fill(endless, "i") }),
	},
	{"a seq without end", feed(func(p *peerCall) bool { return p.write(`{"id":"a","seq":"`) && p.fill(endless, "1") })},
	{"rows of 60 MB", feed(func(p *peerCall) bool {
		for p.write(`{"seq":1,"id":"a","changes":[{"rev":"1-a"}],"x":"`) && p.fill(p.mb*60/100, "x") && p.write(`"},`) {
		}
		return true
	})},
	{"revisions by the million", feed(func(p *peerCall) bool {
		return p.write(`{"seq":1,"id":"a","changes":[`) && p.fill(p.mb*60/100, fmt.Sprintf(`{"rev":"1-%032x"},`, 7)) &&
			p.write(`{"rev":"1-a"}]}`)
	})},
	{"ids and seqs of megabytes", feed(func(p *peerCall) bool {
		for i := 0; p.write(fmt.Sprintf(`{"seq":"%d-`, i)) && p.fill(p.mb/5, "s") && p.write(fmt.Sprintf(`","id":"%d`, i)) && p.fill(p.mb/5, "i") && p.write(`","changes":[{"rev":"1-a"}]},`); i++ {
		}
		return true
	})},
	{"wrong seqs", feed(func(p *peerCall) bool {
		return p.write(
			`{"seq":{"a":[1e999]},"id":"a","changes":[{"rev":"1-a"}]},{"seq":null,"id":"b","changes":7},{"id":"c"}]}`,
		)
	})},
	{"slow bytes", feed(func(p *peerCall) bool {
		for p.write(" ") && p.r.Context().Err() == nil {
			_ = http.NewResponseController(p.w).Flush()
			time.Sleep(time.Second)
		}
		return true
	})},
	{"a feed that ends at once", feed(func(p *peerCall) bool { return p.write(`],"last_seq":"1-x","pending":0}`) })},
	{"documents of 500 MB", documents(func(p *peerCall) bool {
		return p.write(`{"_id":"doc0","_rev":"1-a","a":"`) && p.fill(5*p.mb, "x") && p.write(`"}`)
	})},
	{"documents of 60 MB of lists", documents(func(p *peerCall) bool {
		return p.write(`{"_id":"doc0","_rev":"1-a","a":[`) && p.fill(p.mb*60/100, "[],") && p.write(`1]}`)
	})},
	{
		"documents without end",
		documents(
			func(p *peerCall) bool { return p.write(`{"_id":"doc0","_rev":"1-a","a":"`) && p.fill(endless, "x") },
		),
	},
	{"_bulk_get without end", bulkGet(func(p *peerCall) bool {
		for p.write(`{"id":"doc0","docs":[{"ok":{"_id":"doc0","_rev":"1-a"}}]},`) {
		}
		return true
	})},
	{"attachments without end", attachments(func(p *peerCall) bool {
		p.w.Header().Set("Content-Type", `multipart/mixed; boundary="x"`)
		return p.write(
			"--x\r\nContent-Type: multipart/related; boundary=\"y\"\r\n\r\n--y\r\nContent-Type: application/json\r\n\r\n"+
				`{"_id":"doc0","_rev":"1-a","_attachments":{"a":{"follows":true,"length":1000000000000,"revpos":1,"digest":"md5-a","content_type":"a/b"}}}`+"\r\n--y\r\n\r\n",
		) &&
			p.fill(endless, "x")
	})},
	{"parts without end", attachments(func(p *peerCall) bool {
		p.w.Header().Set("Content-Type", `multipart/mixed; boundary="x"`)
		for p.write("--x\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"doc0\",\"_rev\":\"1-a\"}\r\n") {
		}
		return true
	})},
	{"a part's head without end", attachments(func(p *peerCall) bool {
		p.w.Header().Set("Content-Type", `multipart/mixed; boundary="x"`)
		return p.write("--x\r\nContent-Type: ") && p.fill(endless, "x")
	})},
	{"checkpoints of 100 MB", checkpoint(func(p *peerCall) bool {
		return p.write(`{"_id":"_local/a","_rev":"0-1","history":[`) && p.fill(p.mb, "1,") && p.write("1]}")
	})},
	{"checkpoints of 60 MB", checkpoint(func(p *peerCall) bool {
		return p.write(`{"_id":"_local/a","_rev":"0-1","history":[`) && p.fill(p.mb*60/100, `{},`) && p.write("1]}")
	})},
	{"gzip bombs", everything(func(p *peerCall) bool {
		p.w.Header().Set("Content-Encoding", "gzip")
		_, err := io.Copy(p.w, repeat(`{"a":"`, "x", p.mb<<20, `"}`).packed().open())
		return err == nil
	})},
	{"redirects in a circle", everything(func(p *peerCall) bool {
		http.Redirect(p.w, p.r, p.r.URL.Path+"?"+p.r.URL.RawQuery, http.StatusFound)
		return true
	})},
	{"heads of 100 MB", everything(func(p *peerCall) bool {
		conn, _, err := http.NewResponseController(p.w).Hijack()
		if err != nil {
			return true
		}
		defer conn.Close()
		raw := &peerCall{w: rawWriter{conn}}
		_ = raw.write("HTTP/1.1 200 OK\r\nX: ") && raw.fill(p.mb, "h")
		return true
	})},
	{"cookies by the million", everything(func(p *peerCall) bool {
		conn, _, err := http.NewResponseController(p.w).Hijack()
		if err != nil {
			return true
		}
		defer conn.Close()
		raw := &peerCall{w: rawWriter{conn}}
		_ = raw.write("HTTP/1.1 200 OK\r\n") && raw.fill(p.mb, "Set-Cookie: AuthSession=a\r\n")
		return true
	})},
	{"errors of 100 MB", everything(func(p *peerCall) bool {
		p.w.WriteHeader(http.StatusBadRequest)
		return p.write(`{"error":"`) && p.fill(p.mb, "e") && p.write(`","reason":"x"}`)
	})},
	{"429 for ever", everything(func(p *peerCall) bool {
		p.w.Header().Set("Retry-After", "1")
		p.w.WriteHeader(http.StatusTooManyRequests)
		return true
	})},
}

// rawWriter lets peerCall write to a connection.
type rawWriter struct{ net.Conn }

func (rawWriter) Header() http.Header { return nil }
func (rawWriter) WriteHeader(int)     {}

func everything(answer func(p *peerCall) bool) func(p *peerCall) bool { return answer }

func feed(answer func(p *peerCall) bool) func(p *peerCall) bool {
	return func(p *peerCall) bool { return p.path == "_changes" && p.write(`{"results":[`) && answer(p) }
}

func documents(answer func(p *peerCall) bool) func(p *peerCall) bool {
	return func(p *peerCall) bool {
		switch {
		case p.path == "_bulk_get":
			return p.write(`{"results":[{"id":"doc0","docs":[{"ok":`) && answer(p) && p.write(`}]}]}`)
		case strings.HasPrefix(p.path, "doc"):
			p.w.Header().Set("Content-Type", `multipart/mixed; boundary="x"`)
			return p.write("--x\r\nContent-Type: application/json\r\n\r\n") && answer(p) && p.write("\r\n--x--")
		}
		return false
	}
}

func bulkGet(answer func(p *peerCall) bool) func(p *peerCall) bool {
	return func(p *peerCall) bool { return p.path == "_bulk_get" && p.write(`{"results":[`) && answer(p) }
}

// attachments has documents fetched one by one.
func attachments(answer func(p *peerCall) bool) func(p *peerCall) bool {
	return func(p *peerCall) bool {
		if p.path == "_bulk_get" {
			p.w.WriteHeader(http.StatusNotFound)
			return p.write(`{"error":"not_found","reason":"missing"}`)
		}
		return strings.HasPrefix(p.path, "doc") && answer(p)
	}
}

func checkpoint(answer func(p *peerCall) bool) func(p *peerCall) bool {
	return func(p *peerCall) bool { return strings.HasPrefix(p.path, "_local/") && answer(p) }
}

// good answers as a source with twenty documents.
func (p *peerCall) good() {
	const rows = 20
	switch {
	case p.path == "":
		p.write(`{"db_name":"x","instance_start_time":"0","update_seq":"20-x"}`)
	case p.path == "_changes":
		_, _ = io.Copy(
			p.w,
			list(`{"results":[`, `],"last_seq":"20-x","pending":0}`, rows,
				func(i int) string { return fmt.Sprintf(peerRow, i, i, i) }).open(),
		)
	case p.r.Method == http.MethodPut:
		p.w.WriteHeader(http.StatusCreated)
		p.write(`{"ok":true,"id":"a","rev":"0-1"}`)
	default:
		p.w.WriteHeader(http.StatusNotFound)
		p.write(`{"error":"not_found","reason":"missing"}`)
	}
}

// startPeers listens on loopback; the first part of a path is the number of a peer.
func startPeers(mb int) (url string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			var number int
			first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			if _, err := fmt.Sscan(first, &number); err != nil || number >= len(peers) {
				w.WriteHeader(http.StatusNotFound) // as _session of a server without cookies
				return
			}
			p := &peerCall{w: w, r: r, path: rest, mb: mb}
			if !peers[number].answer(p) && r.Context().Err() == nil {
				p.good()
			}
		}),
	}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// hostilePeers replicates from servers that misbehave, each in one way of the list peers, every way
// twice. A peer may keep a replication for ever, so each request has a time bound and is cancelled
// by name afterwards; being late is no fault of the server.
func hostilePeers(ctx context.Context, a *assault) error {
	url, stop, err := startPeers(a.n(100))
	if err != nil {
		return err
	}
	defer stop()
	remove, err := a.database(ctx, `{"_id":"a"}`)
	if err != nil {
		return err
	}
	defer remove()
	bound := time.Duration(max(a.scale, 0.02) * float64(20*time.Second))
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range 2 * len(peers) {
			next <- i % len(peers)
		}
	}()
	together(16, func(int) {
		for i := range next {
			within, cancel := context.WithTimeout(ctx, bound)
			spec := fmt.Sprintf(`{"source":"%s/%d/","target":%q,"connection_timeout":5000,"retries_per_request":2}`,
				url, i, a.db)
			r := request{method: "POST", path: "/_replicate", body: text(spec)}
			if got, err := a.ask(within, r); err == nil {
				a.saw(fmt.Sprint(got.status))
			} else {
				a.saw("late")
			}
			cancel()
			r.body = text(strings.TrimSuffix(spec, "}") + `,"cancel":true}`)
			a.send(context.WithoutCancel(ctx), r, 200, 404, 503)
		}
	})
	return nil
}

// manyReplications has documents of a replicator database of its own ask for replications that
// work, that fail, and that start others.
func manyReplications(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"a"}`)
	if err != nil {
		return err
	}
	defer remove()
	jobs := newAssault(a.target, a.db+"-jobs", 0, a.scale)
	jobs.db += "/_replicator"
	name := strings.ReplaceAll(jobs.db, "/", "%2F")
	if err := a.makeDatabase(ctx, name, attackerName); err != nil {
		return err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		a.send(ctx, request{method: "DELETE", path: "/" + name, as: admin}, 200)
		a.send(ctx, request{method: "GET", path: "/_scheduler/jobs", as: admin}, 200)
	}()
	here := func(db string) string { return a.endpoint(strings.ReplaceAll(db, "%2F", "%%2F")) }
	kinds := []string{
		`{"source":` + here(a.db) + `,"target":` + here(a.db+"-%[1]d") + `,"continuous":true}`,
		`{"source":` + here(name) + `,"target":` + here(name) + `,"continuous":true,"filter":"none/%[1]d"}`,
		`{"source":` + here(a.db) + `,"target":` + here(name) + `,"continuous":true,"doc_ids":["a","%[1]d"]}`,
		`{"source":"http://127.0.0.1:1/x%[1]d","target":` + here(a.db) + `}`,
		`{"source":"nowhere","target":7,"n":%[1]d}`,
		`{"source":` + here(a.db) + `,"target":` + here(a.db) + `,"selector":{"n":{"$gt":%[1]d}},"continuous":true}`,
		`{"source":` + here("none-%[1]d") + `,"target":` + here(a.db) + `,"create_target":true}`,
	}
	const batch = 100 // of one kind each, as one broken document has all refused
	for from := 0; from < a.n(5000); from += batch {
		docs := list(`{"docs":[`, `]}`, min(batch, a.n(5000)-from), func(i int) string {
			return strings.Replace(fmt.Sprintf(kinds[from/batch%len(kinds)], from+i), "{",
				fmt.Sprintf(`{"_id":"r%05d",`, from+i), 1)
		})
		// 403: the broken kind
		a.send(ctx, request{method: "POST", path: "/" + name + "/_bulk_docs", body: docs}, 201, 403, 503)
	}
	end := time.After(time.Duration(a.scale * float64(40*time.Second)))
	for n := 0; ; n++ {
		for _, path := range []string{"/_scheduler/jobs?limit=1000000", "/_scheduler/jobs?skip=300", "/_scheduler/docs/" + name + "?limit=1000000", "/_active_tasks", "/_scheduler/docs?skip=100"} {
			a.send(ctx, request{method: "GET", path: path, as: admin}, 200, 503)
		}
		select {
		case <-end:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// endpoint is a database of the server, with the attacker's credentials, as an end of a
// replication.
func (a *assault) endpoint(db string) string {
	return fmt.Sprintf(`{"url":"%s/%s","auth":{"basic":{"username":%q,"password":%q}}}`, a.url, db, attacker.name,
		attacker.password)
}

// wideReplications asks for replications whose definition is megabytes: lists of ids, selectors,
// headers, URLs. The definition is hashed to an id, kept while the replication runs, and shown in
// lists.
func wideReplications(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"a"}`)
	if err != nil {
		return err
	}
	defer remove()
	target, err := json.Marshal(a.db)
	if err != nil {
		return err
	}
	start := fmt.Sprintf(`{"source":%s,"target":%s,`, target, target)
	deep := a.n(10_000)
	var requests []request
	for i, b := range []body{
		numbers(start+`"doc_ids":[`, `"doc-%d"`, `]}`, a.n(1_000_000)),
		repeat(start+`"doc_ids":[`, `"a",`, a.n(1_000_000), `"a"]}`),
		numbers(start+`"selector":{"$or":[`, `{"n":%d}`, `]}}`, a.n(10_000)),
		text(start + `"selector":` + strings.Repeat(`{"$not":`, deep) + `{"n":1}` + strings.Repeat("}", deep) + `}`),
		repeat(start+`"filter":"a/b","query_params":{"a":"`, "x", a.n(10_000_000), `"}}`),
		text(fmt.Sprintf(`{"source":{"url":"%s/%s","headers":{"X":"%s"}},"target":%s}`, a.url, a.db, strings.Repeat("h", a.n(10_000_000)), target)),
		text(fmt.Sprintf(`{"source":"%s/%s","target":%s}`, a.url, strings.Repeat("u", a.n(10_000_000)), target)),
		repeat(start+`"since_seq":"`, "9", a.n(10_000_000), `"}`),
	} {
		requests = append(requests, request{method: "POST", path: "/_replicate", body: b})
		if i < 2 {
			requests = append(requests,
				request{method: "POST", path: "/" + a.db + "/_changes?filter=_doc_ids", body: b})
		}
	}
	a.each(ctx, 8, requests, append(refusals, 200, 202, 500)...)
	return nil
}
