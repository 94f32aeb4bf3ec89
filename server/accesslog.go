package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// logAccess writes one line about the request: as slog's key=value pairs, or as CouchDB's own line when log/format says couchdb.
func (c *Call) logAccess(took time.Duration) {
	log := c.srv.log
	if !log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	user := c.user.Name
	peer, _, _ := net.SplitHostPort(c.r.RemoteAddr)
	if c.set.couchLog {
		if user == "" {
			user = "undefined"
		}
		log.LogAttrs(context.Background(), slog.LevelInfo, fmt.Sprintf("%s %s %s %s %s %d ok %d", cut(c.r.Host, loggedText), peer, cut(user, loggedText), c.r.Method, cut(c.r.RequestURI, loggedText),
			c.status, took.Milliseconds()), slog.String(requestKey, c.id))
		return
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, "request", slog.String("id", c.id), slog.String("peer", peer), slog.String("user", user),
		slog.String("method", c.r.Method), slog.String("path", c.r.RequestURI), slog.Int("status", c.status), slog.Int64("bytes", c.sent), slog.Duration("took", took))
}
