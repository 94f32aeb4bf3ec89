package admin

import (
	"errors"
	"strings"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
)

// nodeAnswerTime bounds the wait for the head of another node's answer; profiles take a minute.
const nodeAnswerTime = longestProfile + 15*time.Second

// live returns the nodes that are running and listening, by name, with this one among them.
func (h *Handlers) live() map[string]nodes.Member {
	byName := make(map[string]nodes.Member)
	for _, m := range h.nodes.Others() {
		byName[m.Name] = m
	}
	byName[h.env.Node] = nodes.Member{} // a single node may have no name
	return byName
}

// atNode passes a request that names another node on to that node, which identifies the user and
// checks the rights again.
func (h *Handlers) atNode(route call.Route) call.Route {
	if !strings.HasPrefix(route.Pattern, "/_node/{node}") {
		return route
	}
	here := route.Handle
	route.Handle = func(c *call.Call) error {
		name := c.Segment(1)
		m, ok := h.live()[name]
		if !ok || name == c.Env.Node || forward.Passed(c) {
			return here(c) // which says so if there is no such node
		}
		body, _, err := c.RawBody()
		if err != nil {
			return err
		}
		if err = h.nodes.To(c, m, body, nodeAnswerTime); errors.Is(err, forward.ErrNoAnswer) {
			return forward.Unanswered(m)
		}
		return err
	}
	return route
}
