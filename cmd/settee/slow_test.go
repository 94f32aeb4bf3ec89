package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// TestSlowLog: of slow transactions the log has the read that took longest, in words, and no more
// lines than one a second.
func TestSlowLog(t *testing.T) {
	var out bytes.Buffer
	l := slowLog{log: slog.New(slog.NewTextHandler(&out, nil))}
	w := wrapkv.SlowTransaction{Update: true, Waited: 3 * time.Second, Runs: 2, Longest: keyspace.JobsPrefix()}
	now := time.Now()
	for range 5 {
		l.tell(w, now)
	}
	l.tell(w, now.Add(slowEvery))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], "waited=3s")
	require.Contains(t, lines[0], "runs=2")
	require.Contains(t, lines[0], "longest=jobs")
	require.Contains(t, lines[0], "untold=0")
	require.Contains(t, lines[1], "untold=4")
}
