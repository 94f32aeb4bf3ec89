package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckDrawsNoProgressIntoFiles: who keeps the output of a nightly check does not want
// thousands of frames of a progress bar.
func TestCheckDrawsNoProgressIntoFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, openSmall(t, dir).Close())
	var out, progress bytes.Buffer
	require.NoError(t, check(context.Background(), appOptions{engine: "pebble", dataDir: dir}, 0, &out, &progress))
	require.Equal(t, "no violations\n", out.String())
	require.Empty(t, progress.String())

	file, err := os.Create(filepath.Join(t.TempDir(), "progress"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, check(context.Background(), appOptions{engine: "pebble", dataDir: dir}, 0, &out, file))
	info, err := file.Stat()
	require.NoError(t, err)
	require.Zero(t, info.Size())
}
