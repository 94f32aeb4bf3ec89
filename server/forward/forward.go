package forward

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
)

const (
	// header names the node that passes a request on.
	header   = "X-Settee-Forwarded-By"
	dialTime = 5 * time.Second
	// allTime bounds the wait for what all nodes know together.
	allTime = 5 * time.Second
	// maxAnswer bounds what a node may answer to that.
	maxAnswer = 64 << 20
)

// client asks other nodes. What they answer goes to the client as it is, redirects too.
var client = &http.Client{
	Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, IdleConnTimeout: time.Minute,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Nodes are those on the store as one of them sees them.
type Nodes struct {
	members *nodes.Members // nil: there is no other one
}

// New makes the Nodes of a process; members is nil where there is no other one.
func New(members *nodes.Members) *Nodes { return &Nodes{members} }

// Others are the other nodes that are there and listen.
func (n *Nodes) Others() (others []nodes.Member) {
	if n.members == nil {
		return nil
	}
	for _, m := range n.members.Known() {
		if m.ID != n.members.Self() && m.Address != "" {
			others = append(others, m)
		}
	}
	return others
}

// Passed reports whether another node has passed the request on.
func Passed(c *call.Call) bool { return c.HasHeader(header) }

// request is the client's request for another node, with a body and a path of the caller's.
func request(ctx context.Context, c *call.Call, m nodes.Member, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, c.Request.Method, m.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = c.Request.Header.Clone()
	for _, name := range []string{"Connection", "Content-Length", "Transfer-Encoding", "Accept-Encoding", "Expect"} {
		r.Header.Del(name)
	}
	r.Header.Set(header, c.Env.Node)
	// So that it knows pages of the site that the client has asked as its own.
	if name, host := c.ClientHost(); name != "" {
		r.Header.Set(name, host)
	}
	return r, nil
}

// passed are the headers of answers that come from the node that gave them.
var passed = []string{
	"Cache-Control", "Content-Disposition", "Content-Language", "Content-Security-Policy", "Content-Type", "Etag",
	"Expires", "Last-Modified", "Link", "Location", "Retry-After", "Status", "Vary", "X-Content-Type-Options",
}

// ErrNoAnswer is what To fails with before anything was answered.
var ErrNoAnswer = errors.New("forward: the node does not answer")

// To has another node answer. Where that has not answered within patience, or is gone, the error is
// ErrNoAnswer; patience 0 waits as long as the node is there.
func (n *Nodes) To(c *call.Call, m nodes.Member, body []byte, patience time.Duration) error {
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	answers := make(chan struct{})
	go n.guard(ctx, cancel, m, patience, answers)
	r, err := request(ctx, c, m, c.Request.URL.RequestURI(), body)
	if err != nil {
		return err
	}
	w, err := client.Do(r)
	close(answers)
	if err != nil {
		if c.Context().Err() != nil {
			return call.ErrClientGone
		}
		c.Env.Log.Warn("a node that was asked for does not answer", "node", m.Name, "address", m.Address, "error", err)
		return ErrNoAnswer
	}
	defer w.Body.Close()
	for name, values := range w.Header {
		if slices.Contains(passed, name) {
			c.SetHeader(name, values[0])
		}
	}
	s := c.RawStream(w.StatusCode)
	if _, err := io.Copy(s, w.Body); err != nil {
		return err
	}
	return s.Close()
}

// dialing are headers that belong to a connection of a WebSocket and to the page that opens it.
var dialing = []string{"Upgrade", "Origin", "Sec-Websocket-Key", "Sec-Websocket-Version",
	"Sec-Websocket-Extensions", "Sec-Websocket-Protocol"}

// Dial opens the WebSocket at another node that the client has asked for here. The node decides anew
// who asks and what that may; where it refuses, the error is another one than ErrNoAnswer. The caller closes
// the connection.
func (n *Nodes) Dial(c *call.Call, m nodes.Member) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(c.Context(), dialTime)
	defer cancel()
	r, err := request(ctx, c, m, c.Request.URL.RequestURI(), nil)
	if err != nil {
		return nil, err
	}
	for _, name := range dialing {
		r.Header.Del(name)
	}
	//nolint:bodyclose // the package closes it, or the connection is it
	conn, w, err := websocket.Dial(ctx, r.URL.String(), &websocket.DialOptions{HTTPHeader: r.Header})
	switch {
	case err != nil && w == nil:
		c.Env.Log.Warn("a node that was asked for does not answer", "node", m.Name, "address", m.Address, "error", err)
		return nil, ErrNoAnswer
	case err != nil:
		return nil, err
	}
	conn.SetReadLimit(-1) // a node of this store bounds what it says
	return conn, nil
}

// guard ends a request to a node that does not answer in time, or is gone: a machine that has lost
// its power closes no connections.
func (n *Nodes) guard(
	ctx context.Context,
	cancel context.CancelCauseFunc,
	m nodes.Member,
	patience time.Duration,
	answers <-chan struct{},
) {
	var late <-chan time.Time
	if patience > 0 {
		late = time.After(patience)
	}
	for {
		live, changed, err := n.members.Live(ctx)
		if err == nil && !slices.ContainsFunc(live, func(other nodes.Member) bool { return other.ID == m.ID }) {
			cancel(ErrNoAnswer)
		}
		select {
		case <-changed:
		case <-answers:
			late, answers = nil, nil
		case <-late:
			cancel(ErrNoAnswer)
		case <-ctx.Done():
			return
		}
	}
}

// Unanswered is the error for the client of a node that does not answer.
func Unanswered(m nodes.Member) error { return compat.Busy("The node " + m.Name + " does not answer.") }

// Answer is what a node has answered.
type Answer struct {
	Status int
	Body   []byte // without white space around it
}

// All asks all other nodes, with a path and a body of the caller's, and gives the answers of those
// that answer. A request that was passed on asks nobody.
func (n *Nodes) All(c *call.Call, path string, body []byte) []Answer {
	if Passed(c) {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Context(), allTime)
	defer cancel()
	others := n.Others()
	answers := make([]Answer, len(others))
	var asking sync.WaitGroup
	for i, m := range others {
		asking.Go(func() {
			var err error
			if answers[i], err = ask(ctx, c, m, path, body); err != nil && c.Context().Err() == nil {
				c.Env.Log.Warn("a node is left out that does not answer", "node", m.Name, "address", m.Address,
					"error", err)
			}
		})
	}
	asking.Wait()
	return slices.DeleteFunc(answers, func(a Answer) bool { return a.Status == 0 })
}

// ask sends a request to one other node and reads its answer, up to maxAnswer bytes.
func ask(ctx context.Context, c *call.Call, m nodes.Member, path string, body []byte) (Answer, error) {
	r, err := request(ctx, c, m, path, body)
	if err != nil {
		return Answer{}, err
	}
	w, err := client.Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(io.LimitReader(w.Body, maxAnswer))
	if err != nil {
		return Answer{}, err
	}
	return Answer{w.StatusCode, bytes.TrimSpace(text)}, nil
}
