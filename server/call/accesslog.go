package call

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/settee-db/settee/server/logging"
)

// logAccess writes one line about the request: as slog's key=value pairs, or as CouchDB's own line
// when log/format says couchdb.
func (c *Call) logAccess(took time.Duration) {
	log := c.Env.Log
	if !log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	user := c.User.Name
	peer := c.Peer()
	if c.Settings.couchLog {
		if user == "" {
			user = "undefined"
		}
		cut := func(text string) string { return logging.Cut(text, logging.MaxText) }
		line := fmt.Sprintf("%s %s %s %s %s %d ok %d", cut(c.Request.Host), peer, cut(user), c.Request.Method,
			cut(c.Request.RequestURI), c.status, took.Milliseconds())
		log.LogAttrs(context.Background(), slog.LevelInfo, line, slog.String(logging.RequestKey, c.ID))
		return
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, "request",
		slog.String("id", c.ID),
		slog.String("peer", peer),
		slog.String("user", user),
		slog.String("method", c.Request.Method),
		slog.String("path", c.Request.RequestURI),
		slog.Int("status", c.status),
		slog.Int64("bytes", c.sent),
		slog.Duration("took", took))
}
