package functions

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
)

// adminSocket: GET /functions/{name}/debugger/socket.
func adminSocket(h *Handlers, c *call.Call, t *target) error {
	if !t.caught() {
		return definition.Errorf(definition.CodeInvalidRequest, "No event is caught yet")
	}
	return connect(h, c, t)
}

// ticketSocket: GET /_eventing/debugger/{ticket}. The process that has the session uses the ticket up.
func ticketSocket(h *Handlers, c *call.Call, t *target) error {
	if t.local != nil && !foreign(c.Request) && !t.local.Redeem(t.ticket, time.Now()) {
		return definition.Errorf(definition.CodeNotFound,
			"This address of the debug session was used: ask for another one")
	}
	return connect(h, c, t)
}

// devToolsOrigin is the origin of Chromium's front end.
const devToolsOrigin = "devtools://devtools"

// foreign reports whether a page of another site asks, as websocket.Accept finds it.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	u, err := url.Parse(origin)
	return origin != "" && origin != devToolsOrigin && (err != nil || !strings.EqualFold(u.Host, r.Host))
}

// connect joins a WebSocket with a session, here or at another process, until either ends. Pages of other
// sites are refused: of browsers only DevTools, and pages of this server, connect.
func connect(h *Handlers, c *call.Call, t *target) error {
	m, elsewhere := h.other(t.Debugging)
	if t.local == nil && (!elsewhere || forward.Passed(c)) {
		return definition.Errorf(definition.CodeNotFound, "There is no such debug session, or not any more")
	}
	var far *websocket.Conn
	// Another process is asked before the client is told that it is connected, and never for a page of
	// another site: to join a session has effects, and a ticket is used up.
	if t.local == nil && !foreign(c.Request) {
		var err error
		if far, err = h.nodes.Dial(c, m); errors.Is(err, forward.ErrNoAnswer) {
			return forward.Unanswered(m)
		} else if err != nil {
			return definition.Errorf(definition.CodeNotFound, "There is no such debug session, or not any more")
		}
		defer func() { _ = far.CloseNow() }() // whatever it says, it is over
	}
	c.Upgraded()
	conn, err := websocket.Accept(c.Writer, c.Request, &websocket.AcceptOptions{
		OriginPatterns: []string{devToolsOrigin}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil // it has answered
	}
	if foreign(c.Request) { // whatever the package finds
		return conn.Close(websocket.StatusPolicyViolation, "a page of another site")
	}
	conn.SetReadLimit(debug.MaxMessage)
	if t.local != nil {
		client := t.local.Connect()
		defer client.Close()
		return join(t.local.Context(), conn, client)
	}
	return join(context.Background(), conn, remoteClient{far})
}

// client is one end of a conversation: a session, or the connection to one.
type client interface {
	Send(ctx context.Context, message []byte) error
	Receive(ctx context.Context) ([]byte, error)
}

// remoteClient is a session of another process.
type remoteClient struct{ conn *websocket.Conn }

// Send implements client.
func (r remoteClient) Send(ctx context.Context, message []byte) error {
	return r.conn.Write(ctx, websocket.MessageText, message)
}

// Receive implements client. The reason of the session's end is the error.
func (r remoteClient) Receive(ctx context.Context) ([]byte, error) {
	_, message, err := r.conn.Read(ctx)
	var end websocket.CloseError
	if errors.As(err, &end) && end.Reason != "" {
		err = errors.New(end.Reason)
	}
	return message, err
}

// join carries messages both ways until either ends, or ctx does.
func join(ctx context.Context, conn *websocket.Conn, client client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
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
func pump(ctx context.Context, conn *websocket.Conn, client client) error {
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
