package functions

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
)

// debuggerRows are the rows of the debugger: for server admins, but for those of DevTools, which cannot
// log in: who opens these has a ticket of the session.
func (h *Handlers) debuggerRows() []call.Route {
	one, ticket := base+"/functions/{name}/debugger", Mount+"/debugger/{ticket}"
	get := func(handler call.Handler) methods { return methods{http.MethodGet: handler} }
	rows := []call.Route{
		newRow(one, get(h.debugger(pathRef, showSession)), "GET: the debug session of a function."),
		newRow(one+"/effects", get(h.debugger(pathRef, session(showEffects))),
			"GET: what the handler of a debug session has done so far."),
		newRow(one+"/socket", get(h.debugger(pathRef, session(adminSocket))),
			"GET: the Chrome DevTools protocol of a debug session, over a WebSocket."),
		newRow(ticket, get(h.withTicket(ticketSocket)),
			"GET: the Chrome DevTools protocol of a debug session, over a WebSocket, for who has its ticket."),
	}
	for _, path := range []string{"/json", "/json/list", "/json/version"} {
		answer, doc := listTargets, "GET: the debug session as DevTools find it."
		if path == "/json/version" {
			answer, doc = showVersion, "GET: what speaks the Chrome DevTools protocol here."
		}
		rows = append(rows,
			newRow(one+path, get(h.debugger(pathRef, session(answer))), doc),
			newRow(ticket+path, get(h.withTicket(answer)), doc))
	}
	for _, row := range []struct {
		path, old string // behind the function's, and as Couchbase has it
		methods   []string
		answer    recordHandler
		doc       string
	}{
		{"/start", "startDebugger", []string{http.MethodPost}, (*Handlers).startDebugger,
			"POST: debug the handler of the next event."},
		{"/url", "getDebuggerUrl", []string{http.MethodGet, http.MethodPost}, session(showURL),
			"GET, POST: where DevTools connect to, empty until an event is caught."},
		{"/stop", "stopDebugger", []string{http.MethodPost}, session(stopDebugger),
			"POST: end a debug session; its event is handled as others are."},
	} {
		named, asked := methods{}, methods{}
		for _, m := range row.methods {
			named[m] = h.debugger(pathRef, row.answer)
			asked[m] = h.debugger(queryRef, row.answer)
		}
		rows = append(rows, newRow(one+row.path, named, row.doc))
		for _, prefix := range []string{Mount, base} {
			rows = append(rows, newRow(prefix+"/"+row.old, asked, row.doc))
		}
	}
	return rows
}

// recordHandler answers a request about a function.
type recordHandler func(h *Handlers, c *call.Call, r *registry.Record) error

// target is what a request about a debug session is answered from.
type target struct {
	*registry.Debugging
	local  *debug.Session // nil: another process has it, or no event is caught
	ticket string         // that the request has; empty: an admin asks
}

// sessionHandler answers a request about a debug session.
type sessionHandler func(h *Handlers, c *call.Call, t *target) error

// debugger makes a handler for a function that the request names, where the debugger is switched on.
func (h *Handlers) debugger(of func(*call.Call) (definition.Ref, error), answer recordHandler) call.Handler {
	return func(c *call.Call) error {
		if err := requireAdmin(c); err != nil {
			return err
		}
		config, err := h.registry.Config(c.Context())
		if err != nil {
			return err
		}
		if !config.EnableDebugger {
			return definition.Errorf(definition.CodeDebuggerDisabled,
				`The debugger is switched off: POST /config with {"enable_debugger":true} switches it on`)
		}
		ref, err := of(c)
		if err != nil {
			return err
		}
		r, err := h.managed(c, ref, definition.CodeNotFound)
		if err != nil {
			return err
		}
		return answer(h, c, r)
	}
}

// startDebugger: POST /functions/{name}/debugger/start.
func (h *Handlers) startDebugger(c *call.Call, r *registry.Record) error {
	request, err := body(c)
	if err != nil {
		return err
	}
	if failed := h.engine.StartDebugger(c.Context(), r, request); failed != nil {
		return failed
	}
	return done(c, "Function: "+r.Ref().String()+" Started Debugger")
}

// session makes a handler of the debug session of a function.
func session(answer sessionHandler) recordHandler {
	return func(h *Handlers, c *call.Call, r *registry.Record) error {
		t, err := sessionOf(h, c, r)
		if err != nil {
			return err
		}
		if t == nil {
			return definition.Errorf(definition.CodeInvalidRequest, "Function: %s is not being debugged", r.Ref())
		}
		return answer(h, c, t)
	}
}

// sessionOf gives the debug session of a function, nil if there is none.
func sessionOf(h *Handlers, c *call.Call, r *registry.Record) (*target, error) {
	return h.find(c, func(d *registry.Debugging) bool { return d.Ref == r.Ref() && d.Instance == r.Instance })
}

// ticketSegment is where the ticket is in paths: /_eventing/debugger/{ticket}.
const ticketSegment = 2

// withTicket makes a handler of the session whose ticket is in the path.
func (h *Handlers) withTicket(answer sessionHandler) call.Handler {
	return func(c *call.Call) error {
		ticket, now := c.Segment(ticketSegment), time.Now()
		t, err := h.find(c, func(d *registry.Debugging) bool { return debug.Valid(d.Secret, ticket, now) })
		if err != nil {
			return err
		}
		if t == nil {
			return definition.Errorf(definition.CodeNotFound, "There is no such debug session, or not any more")
		}
		t.ticket = ticket
		return answer(h, c, t)
	}
}

// find gives the debug session of which is reports true, nil if there is none, or the process that had
// it has ended.
func (h *Handlers) find(c *call.Call, is func(*registry.Debugging) bool) (*target, error) {
	all, _, err := h.registry.Debugging(c.Context())
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if !is(d) {
			continue
		}
		t := &target{Debugging: d}
		if d.Node == (nodes.ID{}) {
			return t, nil
		}
		// One that another process has may wait here still, until this one has followed.
		if _, ok := h.other(d); ok {
			return t, nil
		}
		if s := h.engine.Debugging().Of(d.Ref); s != nil && s.ID == d.ID {
			t.local = s
			return t, nil
		}
	}
	return nil, nil
}

// other is the process that has a session, if that is not this one.
func (h *Handlers) other(d *registry.Debugging) (m nodes.Member, ok bool) {
	for _, m := range h.nodes.Others() {
		if m.ID == d.Node {
			return m, true
		}
	}
	return m, false
}

// caught reports whether the session has an event.
func (t *target) caught() bool { return t.Node != (nodes.ID{}) }

// there has the request answered by the process that has the session, if that is another one.
func (t *target) there(h *Handlers, c *call.Call) (answered bool, err error) {
	m, elsewhere := h.other(t.Debugging)
	if t.local != nil || !elsewhere || forward.Passed(c) {
		return false, nil
	}
	if err := h.nodes.To(c, m, nil, patience); errors.Is(err, forward.ErrNoAnswer) {
		return true, forward.Unanswered(m)
	} else if err != nil {
		return true, err
	}
	return true, nil
}

// patience is how long another process may take to answer for its session.
const patience = 10 * time.Second

// stopDebugger: POST /functions/{name}/debugger/stop. With drop=true the event is thrown away.
func stopDebugger(h *Handlers, c *call.Call, t *target) error {
	answered, err := t.there(h, c)
	if answered || err != nil {
		return err
	}
	if t.local != nil {
		t.local.Stop(c.Query.Is("drop", "true"))
	}
	// The function can be debugged again as soon as this is answered.
	err = h.registry.EndDebugging(c.Context(), t.Ref, t.ID, !t.caught())
	if errors.Is(err, registry.ErrChanged) {
		return definition.Errorf(definition.CodeInvalidRequest, "An event was caught just now. Try again")
	} else if err != nil {
		return err
	}
	return done(c, "Function: "+t.Ref.String()+" Stopped Debugger")
}

// socket is where the protocol of a session is spoken with who has a ticket: behind the scheme.
func (t *target) socket(c *call.Call) (scheme, address string) {
	ticket := t.ticket
	if ticket == "" {
		ticket = debug.NewTicket(t.Secret, time.Now())
	}
	scheme, address, _ = strings.Cut(c.BaseURL(), "://")
	return strings.Replace(scheme, "http", "ws", 1), address + Mount + "/debugger/" + ticket
}

// adminSocketOf is where an admin connects, with name and password or a cookie.
func (t *target) adminSocketOf(c *call.Call) string {
	query := ""
	if t.Ref.Scope != definition.Global {
		query = "?" + url.Values{"bucket": {t.Ref.Scope.Bucket}, "scope": {t.Ref.Scope.Scope}}.Encode()
	}
	scheme, address, _ := strings.Cut(c.BaseURL(), "://")
	return strings.Replace(scheme, "http", "ws", 1) + "://" + address + base + "/functions/" +
		url.PathEscape(t.Ref.Name) + "/debugger/socket" + query
}

// devTools is the address of the front end that Chromium has.
func devTools(scheme, address string) string {
	return "devtools://devtools/bundled/js_app.html?v8only=true&" + scheme + "=" + address
}

// showURL: GET /functions/{name}/debugger/url.
func showURL(_ *Handlers, c *call.Call, t *target) error {
	address := ""
	if t.caught() {
		address = devTools(t.socket(c))
	}
	return text(c, "text/plain; charset=utf-8", []byte(address))
}

// showSession: GET /functions/{name}/debugger.
func showSession(h *Handlers, c *call.Call, r *registry.Record) error {
	shown := struct {
		Debugging bool   `json:"debugging"` // whether there is a session
		Caught    bool   `json:"caught"`
		Event     string `json:"event"` // id of the document or reference of the timer
		Ends      string `json:"ends,omitempty"`
		URL       string `json:"url,omitempty"`
		WebSocket string `json:"websocket,omitempty"`
	}{}
	t, err := sessionOf(h, c, r)
	if err != nil {
		return err
	}
	if t != nil {
		shown.Debugging, shown.Caught, shown.Event = true, t.caught(), t.Event
		shown.Ends = t.Ends.UTC().Format(time.RFC3339)
	}
	if shown.Caught {
		shown.URL, shown.WebSocket = devTools(t.socket(c)), t.adminSocketOf(c)
	}
	return show(c, shown)
}

// showEffects: GET /functions/{name}/debugger/effects.
func showEffects(h *Handlers, c *call.Call, t *target) error {
	answered, err := t.there(h, c)
	switch {
	case answered || err != nil:
		return err
	case t.local == nil:
		return definition.Errorf(definition.CodeInvalidRequest, "No event is caught yet")
	}
	effects, err := t.local.Effects()
	if err != nil {
		return err
	}
	return show(c, json.RawMessage(effects))
}

// listTargets: GET /json and /json/list, as Node's inspector answers them. There is nothing to connect to
// before an event is caught.
func listTargets(_ *Handlers, c *call.Call, t *target) error {
	list := []any{}
	if t.caught() {
		scheme, address := t.socket(c)
		list = append(list, map[string]string{
			"id": t.ID, "type": "node", "title": t.Ref.String() + ": " + t.Event, "url": "handler.js",
			"description": "event function of settee", "webSocketDebuggerUrl": scheme + "://" + address,
			"devtoolsFrontendUrl": devTools(scheme, address),
		})
	}
	return show(c, list)
}

// showVersion: GET /json/version.
func showVersion(_ *Handlers, c *call.Call, t *target) error {
	shown := map[string]string{"Browser": "settee", "Protocol-Version": "1.3"}
	if t.caught() {
		scheme, address := t.socket(c)
		shown["webSocketDebuggerUrl"] = scheme + "://" + address
	}
	return show(c, shown)
}
