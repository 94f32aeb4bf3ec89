package logging

import (
	"bytes"
	"context"
	"log/slog"
	"unicode/utf8"
)

const (
	// MaxText is the most bytes of a text in the log: names, paths and addresses come from clients.
	MaxText = 256
	// loggedError bounds errors, which quote such texts.
	loggedError = 1024
	// loggedStack bounds the stack of a panic.
	loggedStack = 16 << 10
)

// Limited is a slog.Handler that cuts every text short, so that no client fills the log.
type Limited struct{ slog.Handler }

// Handle implements slog.Handler.
func (l Limited) Handle(ctx context.Context, r slog.Record) error {
	short := slog.NewRecord(r.Time, r.Level, Cut(r.Message, loggedError), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		short.AddAttrs(shortAttr(a))
		return true
	})
	return l.Handler.Handle(ctx, short)
}

// WithAttrs implements slog.Handler.
func (l Limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	short := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		short[i] = shortAttr(a)
	}
	return Limited{l.Handler.WithAttrs(short)}
}

// WithGroup implements slog.Handler.
func (l Limited) WithGroup(name string) slog.Handler { return Limited{l.Handler.WithGroup(name)} }

// Counted is a slog.Handler that counts what is logged, by CouchDB's names of the levels.
type Counted struct {
	slog.Handler
	Count func(level string)
}

// Handle implements slog.Handler.
func (c Counted) Handle(ctx context.Context, r slog.Record) error {
	c.Count(couchLevels[r.Level])
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (c Counted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return Counted{c.Handler.WithAttrs(attrs), c.Count}
}

// WithGroup implements slog.Handler.
func (c Counted) WithGroup(name string) slog.Handler {
	return Counted{c.Handler.WithGroup(name), c.Count}
}

// shortAttr cuts long values, so that one line cannot fill the log; stacks may be longer than
// others.
func shortAttr(a slog.Attr) slog.Attr {
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		limit := MaxText
		if a.Key == "stack" {
			limit = loggedStack
		}
		a.Value = slog.StringValue(Cut(v.String(), limit))
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			a.Value = slog.StringValue(Cut(err.Error(), loggedError))
		}
	}
	return a
}

// Cut returns the text, or its beginning and a mark if it is longer than limit; characters stay
// whole.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// ConnectionLog takes what net/http says of connections. That a handshake of TLS failed is for
// debugging only: everybody can make any number of them fail, without a name or a request.
type ConnectionLog struct{ Log *slog.Logger }

// Write implements io.Writer for a log.Logger, which calls it once for each line.
func (c ConnectionLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug
	}
	c.Log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
