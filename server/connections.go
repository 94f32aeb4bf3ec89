package server

import (
	"container/list"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/wire"
)

// The connections of clients have a bound together (chttpd/max_connections). When it is reached, a
// newcomer gets the place of a connection of the address that has most of them, if that has more
// than the newcomer's own: nobody can keep others out by holding all places. Else it gets the place
// of a connection of its own address that waits for its next request, or is refused.

const (
	// connectionMemory is what a connection may take in memory: 25 to 30 KB for a feed that waits,
	// 64 KB for a head that does not end.
	connectionMemory = 64 << 10
	// leastConnections is the bound by memory on the smallest machine.
	leastConnections = 256
	// otherDescriptors are left to the store (500 tables), JavaScript workers, replications and the
	// rest; on small limits a half is, and leastDescriptors, which is what a server has that does
	// nothing and runs a few functions.
	otherDescriptors = 1000
	leastDescriptors = 48
	// fewConnections is the least bound, however few descriptors the process may have.
	fewConnections = 4
	// freshFor is how long a connection that waits for a request is not taken for one that is not
	// needed.
	freshFor = time.Second
	// tellFor is how long a client that was refused may take to see it, and telling how many do so
	// at a time: others may see a connection that broke.
	tellFor = time.Second
	telling = 32
	// refusalsLogged is the time between two lines about a server that is full.
	refusalsLogged = time.Minute
)

var errTooManyConnections = compat.Busy("Too many connections, try again later.")

// fullAnswer answers a connection that is not let in, before it has said anything.
const fullAnswer = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Type: application/json\r\nContent-Length: 82\r\n\r\n" +
	`{"error":"service_unavailable","reason":"Too many connections, try again later."}` + "\n"

// connections are those of all clients. Requests of HTTP/2 count like connections, since one
// connection carries many. It is safe for concurrent use.
type connections struct {
	bound func() int // how many there may be now, 0 for any number
	log   *slog.Logger
	now   func() time.Time // replaced by tests

	refused, closed atomic.Int64

	told chan struct{} // of clients that are refused

	mu     sync.Mutex
	count  int
	peers  map[string]*peer // by network
	logged time.Time
}

// peer is an address with connections.
type peer struct {
	name    string
	count   int
	waiting list.List            // clients between requests, the longest waiting first
	busy    map[*client]struct{} // clients with a request
}

// client is a connection, or a request of HTTP/2.
type client struct {
	from  *connections
	peer  *peer
	end   func()
	moved atomic.Int64 // when bytes last came or went, in Unix nanoseconds

	// guarded by from.mu
	place *list.Element // in peer.waiting, nil while busy
	since time.Time     // when it began to wait
	gone  bool
}

// maxConnections is the bound that follows from a setting (0 or less: none), the memory of the
// process and the files it may have open (0: unknown).
func maxConnections(setting, memory, descriptors int64) int {
	n := setting
	if n <= 0 && memory > 0 {
		n = max(memory/4/connectionMemory, leastConnections)
	}
	if descriptors > 0 {
		most := max(descriptors-min(otherDescriptors, max(descriptors/2, leastDescriptors)), fewConnections)
		if n <= 0 || n > most {
			n = most
		}
	}
	return int(max(n, 0))
}

// newConnections counts connections up to a bound that may change at any time.
func newConnections(bound func() int, log *slog.Logger) *connections {
	return &connections{bound: bound, log: log, now: time.Now, peers: make(map[string]*peer),
		told: make(chan struct{}, telling)}
}

// enter gives a place to a client of an address, busy or waiting for a request; nil if there is
// none. end is called, once at most and in a goroutine of its own, when another one gets the place.
func (s *connections) enter(name string, end func(), busy bool) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bound := s.bound(); bound > 0 && s.count >= bound && !s.makeRoom(name) {
		s.refused.Add(1)
		return nil
	}
	p := s.peers[name]
	if p == nil {
		p = &peer{name: name}
		s.peers[name] = p
	}
	c := &client{from: s, peer: p, end: end}
	c.moved.Store(s.now().UnixNano())
	s.count++
	p.count++
	c.put(busy)
	return c
}

// put files a client under those that wait, or that are busy.
func (c *client) put(busy bool) {
	if busy {
		if c.peer.busy == nil {
			c.peer.busy = make(map[*client]struct{})
		}
		c.peer.busy[c] = struct{}{}
		return
	}
	c.since = c.from.now()
	c.place = c.peer.waiting.PushBack(c)
}

// take undoes put.
func (c *client) take() {
	if c.place != nil {
		c.peer.waiting.Remove(c.place)
		c.place = nil
		return
	}
	delete(c.peer.busy, c)
}

// most is the address that has most clients, nil where there are none; of several the one whose
// least needed client has moved nothing for the longest time, since feeds that were left standing
// must not cost somebody else a request.
func (s *connections) most() *peer {
	var most *peer
	for _, p := range s.peers {
		if most == nil || p.count > most.count ||
			p.count == most.count && p.leastNeeded().moved.Load() < most.leastNeeded().moved.Load() {
			most = p
		}
	}
	return most
}

// makeRoom takes the place of another client for one of an address.
func (s *connections) makeRoom(name string) bool {
	most, own := s.most(), s.peers[name]
	s.logFull(most)
	var victim *client
	switch {
	case own == nil && most.count > 1, own != nil && most.count > own.count+1:
		victim = most.leastNeeded()
	case own != nil:
		victim = own.unused()
	}
	if victim == nil {
		return false
	}
	s.evict(victim)
	return true
}

// evict ends a client to make room. Its end may wait for the network, so that it does not happen
// under the lock.
func (s *connections) evict(victim *client) {
	s.closed.Add(1)
	victim.leaveLocked()
	go victim.end()
}

// shed closes the least needed connection of the address that has most, if it has several. It is
// called when the process may open no more files: without it the next newcomer, whoever it is,
// could not be let in.
func (s *connections) shed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if most := s.most(); most != nil && most.count > 1 {
		s.logFull(most)
		s.evict(most.leastNeeded())
	}
}

// logFull says, now and then, that there are too many connections, and whose.
func (s *connections) logFull(most *peer) {
	if now := s.now(); now.Sub(s.logged) >= refusalsLogged {
		s.logged = now
		s.log.Warn("too many connections", "connections", s.count, "most_from", most.name, "has", most.count)
	}
}

// unused is the client that has been waiting for a request longest; nil if none has for some time.
func (p *peer) unused() *client {
	if first := p.waiting.Front(); first != nil {
		if c := first.Value.(*client); c.from.now().Sub(c.since) >= freshFor {
			return c
		}
	}
	return nil
}

// leastNeeded is an unused client, else the one that has moved nothing for the longest time, whether
// it has a request or waits for one: where a client has closed a connection that the server still
// counts, its new one is the younger.
func (p *peer) leastNeeded() *client {
	worst := p.unused()
	if worst != nil {
		return worst
	}
	for c := range p.busy {
		if worst == nil || c.moved.Load() < worst.moved.Load() {
			worst = c
		}
	}
	if first := p.waiting.Front(); first != nil {
		if c := first.Value.(*client); worst == nil || c.moved.Load() < worst.moved.Load() {
			worst = c
		}
	}
	return worst
}

// turn notes that a request has begun, or has ended.
func (c *client) turn(busy bool) {
	c.from.mu.Lock()
	defer c.from.mu.Unlock()
	if !c.gone && busy == (c.place != nil) {
		c.take()
		c.put(busy)
	}
}

// leave gives the place back; a second time it does nothing.
func (c *client) leave() {
	c.from.mu.Lock()
	defer c.from.mu.Unlock()
	c.leaveLocked()
}

// leaveLocked takes a client off all lists; more than one call does nothing.
func (c *client) leaveLocked() {
	if c.gone {
		return
	}
	c.gone = true
	c.take()
	c.from.count--
	if c.peer.count--; c.peer.count == 0 {
		delete(c.from.peers, c.peer.name)
	}
}

// listen lets only as many connections of l in as there may be. Those that find no place are
// closed, with an answer if it is not "".
func (s *connections) listen(l net.Listener, answer string) net.Listener {
	return &boundListener{l, s, answer}
}

type boundListener struct {
	net.Listener
	connections *connections
	answer      string
}

// Accept implements net.Listener.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.connections.shed() // and net/http tries it again
		}
		if err != nil {
			return nil, err
		}
		c := &clientConn{Conn: inner}
		end := func() { _ = inner.Close() }
		if c.client = l.connections.enter(peerName(inner.RemoteAddr().String()), end, false); c.client != nil {
			return c, nil
		}
		if l.answer == "" || !l.refuse(inner) {
			_ = inner.Close()
		}
	}
}

// refuse tells a client that there is no place, and closes the connection once the client has seen
// it; false where too many are being told.
func (l *boundListener) refuse(inner net.Conn) bool {
	select {
	case l.connections.told <- struct{}{}:
	default:
		return false
	}
	go func() {
		defer func() { <-l.connections.told }()
		defer func() { _ = inner.Close() }()
		_ = inner.SetWriteDeadline(time.Now().Add(tellFor))
		if _, err := io.WriteString(inner, l.answer); err == nil {
			_ = wire.Linger(inner, tellFor, tellFor)
		}
	}()
	return true
}

// peerName is what an address and its port count as.
func peerName(address string) string {
	if addr, err := netip.ParseAddrPort(address); err == nil {
		return call.Network(addr.Addr().Unmap())
	}
	return address
}

// clientConn is a connection that has a place.
type clientConn struct {
	net.Conn
	client *client
}

// Read and Write note when bytes moved, by which idle clients are found.
func (c *clientConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.client.moved.Store(time.Now().UnixNano())
	return n, err
}

func (c *clientConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.client.moved.Store(time.Now().UnixNano())
	return n, err
}

// CloseWrite ends what is sent.
func (c *clientConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	return half.CloseWrite()
}

// Close implements net.Conn.
func (c *clientConn) Close() error {
	c.client.leave()
	return c.Conn.Close()
}

// follow lets a server tell when requests begin and end, after what it tells already.
func (s *connections) follow(server *http.Server) {
	before := server.ConnState
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		if before != nil {
			before(conn, state)
		}
		if c := clientOf(conn); c != nil && (state == http.StateActive || state == http.StateIdle) {
			c.turn(state == http.StateActive)
		}
	}
}

// clientOf finds the client of a connection inside its wrappers; nil for a connection that was not
// counted.
func clientOf(conn net.Conn) *client {
	for {
		switch outer := conn.(type) {
		case *clientConn:
			return outer.client
		case interface{ NetConn() net.Conn }: // of TLS, and of wire
			conn = outer.NetConn()
		default:
			return nil
		}
	}
}

// enterRequest lets a request in. One of HTTP/2 takes a place of its own: a connection has up to
// 250 of them at a time.
func (s *connections) enterRequest(c *call.Call, next call.Handler) error {
	if c.Request.ProtoMajor < 2 {
		return next(c)
	}
	return s.enterStream(c, next)
}

// enterStream counts a request over HTTP/2 as a connection of its own: one connection could carry
// any number of them.
func (s *connections) enterStream(c *call.Call, next call.Handler) error {
	var ended atomic.Bool
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	place := s.enter(peerName(c.Request.RemoteAddr), func() { ended.Store(true); cancel() }, true)
	if place == nil {
		return errTooManyConnections
	}
	defer place.leave()
	c.Request = c.Request.WithContext(ctx)
	err := next(c)
	if ended.Load() {
		// the client must not take the part that was sent for the whole answer
		panic(http.ErrAbortHandler)
	}
	return err
}

var (
	connectionsDesc = prometheus.NewDesc("settee_http_connections", "connections of clients, and requests of HTTP/2",
		nil, nil)
	boundDesc   = prometheus.NewDesc("settee_http_connections_max", "how many there may be, 0 for any number", nil, nil)
	refusedDesc = prometheus.NewDesc("settee_http_connections_refused_total",
		"connections refused, since there were too many", nil, nil)
	closedDesc = prometheus.NewDesc("settee_http_connections_closed_total",
		"connections closed to make room for another client", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *connections) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, out) }

// Collect implements prometheus.Collector.
func (s *connections) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	count := s.count
	s.mu.Unlock()
	out <- prometheus.MustNewConstMetric(connectionsDesc, prometheus.GaugeValue, float64(count))
	out <- prometheus.MustNewConstMetric(boundDesc, prometheus.GaugeValue, float64(s.bound()))
	out <- prometheus.MustNewConstMetric(refusedDesc, prometheus.CounterValue, float64(s.refused.Load()))
	out <- prometheus.MustNewConstMetric(closedDesc, prometheus.CounterValue, float64(s.closed.Load()))
}
