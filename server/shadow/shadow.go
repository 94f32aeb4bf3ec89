package shadow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	workers   = 8
	maxQueued = 512      // requests of each worker
	maxHeld   = 64 << 20 // bytes of requests and answers
	maxBody   = 8 << 20  // of one of them
	// A view that the shadow has to build first holds a worker for so long.
	patience  = 30 * time.Second
	lastWords = 5 * time.Second // for what is queued when the server stops
	logged    = 100             // differences a minute
)

// Shadow mirrors requests to another server. Its methods are safe for concurrent use.
//
// Each database has one of the workers, by the hash of its name, so that the shadow gets the
// writes to it one after the other.
type Shadow struct {
	base    *url.URL
	log     *slog.Logger
	client  *http.Client
	queues  [workers]chan *exchange
	places  [1024]place
	seed    maphash.Seed
	held    atomic.Int64
	counts  *prometheus.CounterVec
	waiting prometheus.Gauge
	running sync.WaitGroup
	stop    context.CancelFunc
	ctx     context.Context // of all requests to the shadow

	mu     sync.Mutex
	closed bool
	lines  int // logged since
	since  time.Time
}

// place counts the writes of the databases that have the same hash. Names that share one only cost
// comparisons.
type place struct {
	running, ended atomic.Int64
	// The shadow has not got all writes: from then on answers may differ for that alone.
	lost atomic.Bool
}

// Parse reads the URL of a shadow. It has no name and password: each request carries its client's.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil: // its text has the URL
		return nil, errors.New("the shadow's URL cannot be parsed")
	case u.User != nil:
		return nil, errors.New("the shadow's URL has a name or password: each request has its client's")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "",
		u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("the shadow's URL is not that of a server")
	}
	return u, nil
}

// New begins to mirror to the server at a URL of [Parse]. It does not ask whether that is there: a
// server has to start without its shadow.
func New(base *url.URL, log *slog.Logger) *Shadow {
	s := &Shadow{
		base: base, log: log, seed: maphash.MakeSeed(), since: time.Now(),
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "settee_shadow_requests_total",
			Help: "Requests by what became of their comparison with the shadow's answer.",
		}, []string{"outcome"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "settee_shadow_waiting_requests",
			Help: "Requests that the shadow has not answered yet.",
		}),
		client: &http.Client{
			Transport: &http.Transport{
				MaxIdleConnsPerHost: workers, DisableCompression: true, MaxResponseHeaderBytes: 256 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       patience,
		},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for i := range s.queues {
		s.queues[i] = make(chan *exchange, maxQueued)
		s.running.Go(func() {
			for x := range s.queues[i] {
				s.count(s.mirror(x))
				s.held.Add(-x.held())
				s.waiting.Dec()
			}
		})
	}
	return s
}

// Close ends mirroring; what is queued has a few seconds. It is called when no request is under
// way any more; those that end after it are counted as dropped.
func (s *Shadow) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		for _, q := range s.queues {
			close(q)
		}
	}
	s.mu.Unlock()
	defer time.AfterFunc(lastWords, s.stop).Stop()
	s.running.Wait()
	s.client.CloseIdleConnections()
}

// Describe implements prometheus.Collector.
func (s *Shadow) Describe(c chan<- *prometheus.Desc) {
	s.counts.Describe(c)
	s.waiting.Describe(c)
}

// Collect implements prometheus.Collector.
func (s *Shadow) Collect(c chan<- prometheus.Metric) {
	s.counts.Collect(c)
	s.waiting.Collect(c)
}

func (s *Shadow) count(outcome string) { s.counts.WithLabelValues(outcome).Inc() }

// Around is the middleware. It keeps what passes, and queues it when the answer is complete.
func (s *Shadow) Around(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, w := c.Request(), c.Response()
		x := &exchange{
			shadow: s, method: r.Method, target: r.RequestURI, header: r.Header.Clone(),
			length: r.ContentLength,
		}
		x.classify(r)
		p := &s.places[maphash.String(s.seed, x.db)%uint64(len(s.places))]
		if x.place = p; x.never {
			s.count(x.uncompared)
			if x.writes && x.db != "" {
				p.lost.Store(true)
			}
			return next(c)
		}
		begun := p.begin(x.writes)
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &requestBody{r.Body, x}
		}
		x.ResponseWriter = w.Writer
		w.Writer = x
		broken := true // until it is known that no panic broke it off
		defer func() {
			w.Writer = x.ResponseWriter
			x.ResponseWriter = nil // it is net/http's again
			s.end(x, p, begun, broken || r.Context().Err() != nil)
		}()
		err := next(c)
		broken = err != nil
		return err
	}
}

// begin notes a request; what it returns tells end whether others have written meanwhile. The
// count of ended writes is read before that of running ones: a write that ends in between is taken
// for one that ran, never for none.
func (p *place) begin(writes bool) int64 {
	ended, running := p.ended.Load(), p.running.Load()
	if writes {
		p.running.Add(1)
	}
	if running > 0 {
		return -1
	}
	return ended
}

// end reports whether nobody else wrote while the request was under way.
func (p *place) end(writes bool, begun int64) (alone bool) {
	own := int64(0)
	if writes {
		own = 1
	}
	alone = begun >= 0 && p.ended.Load() == begun && p.running.Load() == own
	if writes {
		p.ended.Add(1)
		p.running.Add(-1)
	}
	return alone
}

// end passes an answered request to its worker, unless it has to be left out. Whether others have
// written meanwhile is found out, and the place in the queue taken, in one step: a read that was
// alone is asked of the shadow between the same writes as here.
func (s *Shadow) end(x *exchange, p *place, begun int64, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	alone := p.end(x.writes, begun)
	switch {
	case broken || x.status == 0 || x.status >= 500:
		x.drop("failed here")
		return
	case !x.wholeRequest():
		x.drop("request too large or not read")
		return
	case !alone && x.status >= 400 && x.writes:
		x.drop("concurrent") // which of them wins is decided by the order
		return
	case x.uncompared != "":
	case !alone:
		x.uncompared = "concurrent"
	case x.tooMuch:
		x.uncompared = "answer too large"
	}
	queue := s.queues[maphash.String(s.seed, x.db)%workers]
	if s.closed || len(queue) == cap(queue) {
		x.drop("dropped")
		return
	}
	s.waiting.Inc()
	queue <- x // never waits: only this sends, and holds the lock
}

// mirror asks the shadow and says what came of it. It is called for one request of a worker after
// the other; nobody waits for what it returns.
func (s *Shadow) mirror(x *exchange) (outcome string) {
	if x.uncompared == "" && x.bookmarked() {
		x.uncompared = "sequence"
	}
	theirs, err := s.ask(x)
	switch {
	case err != nil:
		x.lost()
		return "shadow away"
	case x.uncompared != "":
		return x.uncompared
	case theirs.status == http.StatusUnauthorized && x.status != theirs.status:
		x.lost()
		return "credentials" // a cookie that is signed with another secret, or a user who is not there
	}
	where := differ(x, theirs)
	switch {
	case where == "":
		return "same"
	case x.place.lost.Load():
		return "different after a lost write"
	}
	s.tell(x, theirs.status, where)
	if theirs.status >= http.StatusBadRequest {
		x.lost() // what the shadow has refused it lacks from now on
	}
	return "different"
}

// answer is what the shadow has answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request as the client has: with its credentials, conditions and encodings, but not
// with what belongs to its connection. Redirections are answers like others, and not followed.
func (s *Shadow) ask(x *exchange) (*answer, error) {
	body, err := x.withIDs()
	if err != nil {
		return nil, err
	}
	// The target goes out as it came in: a URL that is put together again could be escaped
	// otherwise.
	path, query, _ := strings.Cut(x.target, "?")
	r := (&http.Request{
		Method: x.method, Header: x.header, Host: s.base.Host, ContentLength: int64(len(body)),
		URL: &url.URL{
			Scheme: s.base.Scheme, Host: s.base.Host, RawQuery: query,
			Opaque: strings.TrimSuffix(s.base.EscapedPath(), "/") + path,
		},
		Body: io.NopCloser(bytes.NewReader(body)),
	}).WithContext(s.ctx)
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{status: resp.StatusCode, header: resp.Header}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(a.body) > maxBody {
		x.uncompared = "answer too large"
	}
	return a, err
}

// tell logs a difference, without what the client has sent but the target. There are at most
// logged lines a minute: a difference in what every request shows would fill the disk.
func (s *Shadow) tell(x *exchange, status int, where string) {
	s.mu.Lock()
	if time.Since(s.since) > time.Minute {
		s.since, s.lines = time.Now(), 0
	}
	s.lines++
	n := s.lines
	s.mu.Unlock()
	if n > logged {
		return
	}
	s.log.Warn("the shadow answers differently", "method", x.method, "target", shown(x.target),
		"status", x.status, "shadow", status, "where", where, "more", fmt.Sprint(n == logged))
}

// shown is a target for the log, in one piece and without members that may be secrets.
func shown(target string) string {
	path, query, asked := strings.Cut(target, "?")
	if asked {
		values, err := url.ParseQuery(query)
		if err != nil {
			return path + "?…"
		}
		for name := range values {
			if strings.Contains(name, "token") || strings.Contains(name, "password") {
				values.Set(name, "…")
			}
		}
		path += "?" + values.Encode()
	}
	return path[:min(len(path), 500)]
}
