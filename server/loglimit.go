package server

import (
	"context"
	"log/slog"
	"unicode/utf8"
)

const (
	// loggedText is the most bytes of a text in the log: names, paths and addresses come from clients.
	loggedText = 256
	// loggedError bounds errors, which quote such texts.
	loggedError = 1024
	// loggedStack bounds the stack of a panic.
	loggedStack = 16 << 10
)

// limitedLog is a slog.Handler that cuts every text short, so that no client fills the log.
type limitedLog struct{ slog.Handler }

// Handle implements slog.Handler.
func (l limitedLog) Handle(ctx context.Context, r slog.Record) error {
	short := slog.NewRecord(r.Time, r.Level, cut(r.Message, loggedError), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		short.AddAttrs(shortAttr(a))
		return true
	})
	return l.Handler.Handle(ctx, short)
}

// WithAttrs implements slog.Handler.
func (l limitedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	short := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		short[i] = shortAttr(a)
	}
	return limitedLog{l.Handler.WithAttrs(short)}
}

// WithGroup implements slog.Handler.
func (l limitedLog) WithGroup(name string) slog.Handler { return limitedLog{l.Handler.WithGroup(name)} }

func shortAttr(a slog.Attr) slog.Attr {
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		limit := loggedText
		if a.Key == "stack" {
			limit = loggedStack
		}
		a.Value = slog.StringValue(cut(v.String(), limit))
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			a.Value = slog.StringValue(cut(err.Error(), loggedError))
		}
	}
	return a
}

// cut returns the text, or its beginning and a mark if it is longer than limit; characters stay whole.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
