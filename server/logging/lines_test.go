package logging

import (
	"bytes"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLines(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	couch := true
	log := slog.New(
		Format{
			NewLines(NewOutput(&out), level, "couchdb@127.0.0.1"),
			slog.NewTextHandler(&out, nil),
			func() bool { return couch },
		},
	)
	log.Info("127.0.0.1:5984 127.0.0.1 admin GET / 200 ok 1", RequestKey, "0123456789")
	require.Regexp(
		t,
		`^\[notice\] \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z couchdb@127\.0\.0\.1 <0\.1\.0> 0123456789 127\.0\.0\.1:5984 127\.0\.0\.1 admin GET / 200 ok 1\n$`,
		out.String(),
	)
	out.Reset()
	log.With("engine", "pebble").Error("bad\nline")
	require.Regexp(t, `^\[error\] \S+ \S+ <0\.1\.0> -------- bad\\nline engine=pebble\n$`, out.String())
	out.Reset()
	log.Debug("unseen")
	require.Empty(t, out.String())
	couch = false
	log.Info("plain")
	require.Contains(t, out.String(), "msg=plain")
}

// Lines are counted by CouchDB's names of their levels, those below the level are not.
func TestCounted(t *testing.T) {
	counts := make(map[string]int)
	text := slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo})
	log := slog.New(Counted{Handler: text, Count: func(level string) { counts[level]++ }})
	log.Debug("below")
	log.Info("x")
	log.With("a", 1).Warn("x")
	log.WithGroup("g").Error("x")
	require.Equal(t, map[string]int{"notice": 1, "warning": 1, "error": 1}, counts)
}
