package logging

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// RequestKey names the attribute that carries a request's id in the log.
const RequestKey = "request"

// couchLevels are CouchDB's names of slog's levels; what a request is logged at is its notice.
var couchLevels = map[slog.Level]string{
	slog.LevelDebug: "debug",
	slog.LevelInfo:  "notice",
	slog.LevelWarn:  "warning",
	slog.LevelError: "error",
}

// Lines writes log lines in the form that the output's writer has in CouchDB.
type Lines struct {
	out   *Output
	level slog.Leveler
	node  string
	attrs []slog.Attr
}

// NewLines makes a handler for lines of at least the level, of a node.
func NewLines(out *Output, level slog.Leveler, node string) *Lines {
	return &Lines{out: out, level: level, node: node}
}

// Enabled implements slog.Handler.
func (l *Lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level.Level() }

// Handle implements slog.Handler.
func (l *Lines) Handle(_ context.Context, r slog.Record) error {
	request := "--------"
	var b strings.Builder
	add := func(a slog.Attr) bool {
		if a.Key == RequestKey {
			request = a.Value.String()
		} else {
			fmt.Fprintf(&b, " %s=%s", a.Key, a.Value)
		}
		return true
	}
	for _, a := range l.attrs {
		add(a)
	}
	r.Attrs(add)
	text := strings.ReplaceAll(r.Message+b.String(), "\n", "\\n")
	return l.out.line(&logLine{level: r.Level, time: r.Time, node: l.node, request: request, text: text})
}

// WithAttrs implements slog.Handler.
func (l *Lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *l
	c.attrs = append(append([]slog.Attr(nil), l.attrs...), attrs...)
	return &c
}

// WithGroup implements slog.Handler; the lines have no groups.
func (l *Lines) WithGroup(string) slog.Handler { return l }

// Format chooses between two handlers for each line, so that log/format takes effect at once.
type Format struct {
	Couch, Plain slog.Handler
	UseCouch     func() bool
}

// current is the handler for the form that is set now.
func (f Format) current() slog.Handler {
	if f.UseCouch() {
		return f.Couch
	}
	return f.Plain
}

// Enabled implements slog.Handler.
func (f Format) Enabled(ctx context.Context, level slog.Level) bool {
	return f.current().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (f Format) Handle(ctx context.Context, r slog.Record) error {
	return f.current().Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (f Format) WithAttrs(attrs []slog.Attr) slog.Handler {
	return Format{f.Couch.WithAttrs(attrs), f.Plain.WithAttrs(attrs), f.UseCouch}
}

// WithGroup implements slog.Handler.
func (f Format) WithGroup(name string) slog.Handler {
	return Format{f.Couch.WithGroup(name), f.Plain.WithGroup(name), f.UseCouch}
}
