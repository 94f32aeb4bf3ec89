package functions

import (
	"context"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
)

// debuggerRows are the rows of the debugger: for server admins, but for the connection of DevTools, which
// cannot log in. Whoever opens that knows the token of the session.
func (h *Handlers) debuggerRows() []call.Route {
	one := base + "/functions/{name}/debugger"
	rows := []call.Route{
		newRow(one, methods{http.MethodGet: h.debugger(pathRef, showSession)}, "GET: the debug session of a function."),
		newRow(Mount+"/debugger/{token}", methods{http.MethodGet: h.debugClient},
			"GET: the Chrome DevTools protocol of a debug session, over a WebSocket."),
	}
	for _, row := range []struct {
		path, old string // behind the function's, and as Couchbase has it
		methods   []string
		answer    func(h *Handlers, c *call.Call, r *registry.Record) error
		doc       string
	}{
		{"/start", "startDebugger", []string{http.MethodPost}, (*Handlers).startDebugger,
			"POST: debug the handler of the next event."},
		{"/url", "getDebuggerUrl", []string{http.MethodGet, http.MethodPost}, showURL,
			"GET, POST: where DevTools connect to, empty until an event is caught."},
		{"/stop", "stopDebugger", []string{http.MethodPost}, stopDebugger,
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

// debugger makes a handler for a function that the request names, where the debugger is switched on.
func (h *Handlers) debugger(
	of func(*call.Call) (definition.Ref, error),
	answer func(*Handlers, *call.Call, *registry.Record) error,
) call.Handler {
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
	if failed := h.engine.StartDebugger(r, request); failed != nil {
		return failed
	}
	return done(c, "Function: "+r.Ref().String()+" Started Debugger")
}

// session is the debug session of a function.
func (h *Handlers) session(r *registry.Record) (*debug.Session, error) {
	if s := h.engine.Debugging().Of(r.Ref()); s != nil {
		return s, nil
	}
	return nil, definition.Errorf(definition.CodeInvalidRequest, "Function: %s is not being debugged here", r.Ref())
}

// stopDebugger: POST /functions/{name}/debugger/stop. With drop=true the event is thrown away.
func stopDebugger(h *Handlers, c *call.Call, r *registry.Record) error {
	s, err := h.session(r)
	if err != nil {
		return err
	}
	s.Stop(c.Query.Is("drop", "true"))
	return done(c, "Function: "+r.Ref().String()+" Stopped Debugger")
}

// socket is where the protocol of a session is: behind the scheme.
func socket(c *call.Call, s *debug.Session) (scheme, address string) {
	scheme = "ws"
	if c.Request.TLS != nil {
		scheme = "wss"
	}
	return scheme, c.Request.Host + Mount + "/debugger/" + s.Token
}

// devTools is the address of the front end that Chromium has, for a session.
func devTools(c *call.Call, s *debug.Session) string {
	scheme, address := socket(c, s)
	return "devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&" + scheme + "=" + address
}

// showURL: GET /functions/{name}/debugger/url.
func showURL(h *Handlers, c *call.Call, r *registry.Record) error {
	s, err := h.session(r)
	if err != nil {
		return err
	}
	url := ""
	if s.Caught() != "" {
		url = devTools(c, s)
	}
	return text(c, "text/plain; charset=utf-8", []byte(url))
}

// showSession: GET /functions/{name}/debugger.
func showSession(h *Handlers, c *call.Call, r *registry.Record) error {
	s, err := h.session(r)
	if err != nil {
		return err
	}
	shown := struct {
		Event     string `json:"event"` // id of the document; empty until one is caught
		Ends      string `json:"ends"`
		URL       string `json:"url,omitempty"`
		WebSocket string `json:"websocket,omitempty"`
	}{Event: s.Caught(), Ends: s.Ends.UTC().Format(time.RFC3339)}
	if shown.Event != "" {
		scheme, address := socket(c, s)
		shown.URL, shown.WebSocket = devTools(c, s), scheme+"://"+address
	}
	return show(c, shown)
}

// tokenSegment is where the token is in paths: /_eventing/debugger/{token}.
const tokenSegment = 2

// debugClient joins a WebSocket with a session, until either ends. Pages of other sites are refused: of
// browsers only DevTools, and pages of this server, connect.
func (h *Handlers) debugClient(c *call.Call) error {
	s := h.engine.Debugging().ByToken(c.Segment(tokenSegment))
	if s == nil {
		return definition.Errorf(definition.CodeNotFound, "There is no such debug session")
	}
	c.Upgraded()
	conn, err := websocket.Accept(c.Writer, c.Request, &websocket.AcceptOptions{
		OriginPatterns: []string{"devtools://devtools"}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil // it has answered
	}
	conn.SetReadLimit(debug.MaxMessage)
	client := s.Connect()
	defer client.Close()
	ctx, cancel := context.WithCancel(s.Context())
	reading, stop := context.WithCancel(context.Background()) // its end breaks the connection
	defer stop()
	go func() {
		defer cancel()
		for {
			kind, message, err := conn.Read(reading)
			if err != nil || kind != websocket.MessageText || client.Send(ctx, message) != nil {
				return
			}
		}
	}()
	why := pump(ctx, conn, client)
	return conn.Close(websocket.StatusNormalClosure, why.Error()[:min(len(why.Error()), 100)])
}

// writeTime is how long a client may take to receive a message.
const writeTime = 30 * time.Second

// pump sends what a session says to its client, and gives the reason of its end.
func pump(ctx context.Context, conn *websocket.Conn, client *debug.Client) error {
	for {
		message, err := client.Receive(ctx)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
		err = conn.Write(limited, websocket.MessageText, message)
		cancel()
		if err != nil {
			return err
		}
	}
}
