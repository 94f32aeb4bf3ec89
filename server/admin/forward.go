package admin

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/nodes"
)

const (
	// headerForwardedBy names the node that forwards a request, which is not forwarded again.
	headerForwardedBy = "X-Settee-Forwarded-By"
	dialNodeTime      = 5 * time.Second
	// nodeAnswerTime bounds the wait for the head of an answer; profiles take a minute.
	nodeAnswerTime = longestProfile + 15*time.Second
)

// nodeClient asks other nodes. What they answer goes to the client as it is, redirects too.
var nodeClient = &http.Client{
	Transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialNodeTime}).DialContext,
		ResponseHeaderTimeout: nodeAnswerTime, IdleConnTimeout: time.Minute,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// live are the nodes that are there and listen, this one among them, by name.
func (h *Handlers) live() map[string]nodes.Member {
	byName := make(map[string]nodes.Member)
	if h.nodes != nil {
		for _, m := range h.nodes.Known() {
			// This one may have no name where it is alone; who has no address does not listen yet.
			if m.ID != h.nodes.Self() && m.Address != "" {
				byName[m.Name] = m
			}
		}
	}
	byName[h.env.Node] = nodes.Member{}
	return byName
}

// atNode has requests that name another node answered by that node, which identifies the user and asks for the rights
// again.
func (h *Handlers) atNode(route call.Route) call.Route {
	if !strings.HasPrefix(route.Pattern, "/_node/{node}") {
		return route
	}
	here := route.Handle
	route.Handle = func(c *call.Call) error {
		name := c.Segment(1)
		if name == "_local" || name == c.Env.Node || c.HasHeader(headerForwardedBy) {
			return here(c)
		}
		m, ok := h.live()[name]
		if !ok {
			return here(c) // which says that there is no such node
		}
		return forward(c, m)
	}
	return route
}

// passed are the headers of answers that come from the node that gave them.
var passed = []string{"Content-Type", "Cache-Control", "Etag", "Location"}

// forward asks another node and answers what it says.
func forward(c *call.Call, m nodes.Member) error {
	body, _, err := c.RawBody()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(c.Context(), c.Request.Method, m.Address+c.Request.URL.RequestURI(),
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = c.Request.Header.Clone()
	for _, name := range []string{"Connection", "Content-Length", "Transfer-Encoding", "Accept-Encoding", "Expect"} {
		r.Header.Del(name)
	}
	r.Header.Set(headerForwardedBy, c.Env.Node)
	w, err := nodeClient.Do(r)
	if err != nil {
		c.Env.Log.Warn("a node that was asked for does not answer", "node", m.Name, "address", m.Address, "error", err)
		return compat.Busy("The node " + m.Name + " does not answer.")
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
