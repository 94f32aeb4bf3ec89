package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// requestKey names the attribute that carries a request's id in the log.
const requestKey = "request"

// couchLevels are CouchDB's names of slog's levels; what a request is logged at is its notice.
var couchLevels = map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "notice", slog.LevelWarn: "warning", slog.LevelError: "error"}

// CouchLog writes log lines as CouchDB does (couch_log_writer_stderr, couch_log_writer_file):
// [level] time node <pid> request message. There are no Erlang processes: the pid is always the same.
type CouchLog struct {
	out   io.Writer
	mu    *sync.Mutex
	level slog.Leveler
	node  string
	attrs []slog.Attr
}

// NewCouchLog makes a handler for lines of at least the level.
func NewCouchLog(out io.Writer, level slog.Leveler, node string) *CouchLog {
	if node == "" {
		node = NodeName
	}
	return &CouchLog{out: out, mu: new(sync.Mutex), level: level, node: node}
}

// Enabled implements slog.Handler.
func (l *CouchLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level.Level() }

// Handle implements slog.Handler.
func (l *CouchLog) Handle(_ context.Context, r slog.Record) error {
	request := "--------"
	var b strings.Builder
	add := func(a slog.Attr) bool {
		if a.Key == requestKey {
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
	line := fmt.Sprintf("[%s] %s %s <0.1.0> %s %s%s", couchLevels[r.Level], r.Time.UTC().Format("2006-01-02T15:04:05.000000Z"), l.node, request,
		r.Message, b.String())
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.out, strings.ReplaceAll(line, "\n", "\\n")+"\n")
	return err
}

// WithAttrs implements slog.Handler.
func (l *CouchLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *l
	c.attrs = append(append([]slog.Attr(nil), l.attrs...), attrs...)
	return &c
}

// WithGroup implements slog.Handler; the lines have no groups.
func (l *CouchLog) WithGroup(string) slog.Handler { return l }

// FormatLog chooses between two handlers for each line, so that log/format takes effect at once.
type FormatLog struct {
	Couch, Plain slog.Handler
	UseCouch     func() bool
}

func (f FormatLog) current() slog.Handler {
	if f.UseCouch() {
		return f.Couch
	}
	return f.Plain
}

// Enabled implements slog.Handler.
func (f FormatLog) Enabled(ctx context.Context, level slog.Level) bool {
	return f.current().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (f FormatLog) Handle(ctx context.Context, r slog.Record) error {
	return f.current().Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (f FormatLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return FormatLog{f.Couch.WithAttrs(attrs), f.Plain.WithAttrs(attrs), f.UseCouch}
}

// WithGroup implements slog.Handler.
func (f FormatLog) WithGroup(name string) slog.Handler {
	return FormatLog{f.Couch.WithGroup(name), f.Plain.WithGroup(name), f.UseCouch}
}
