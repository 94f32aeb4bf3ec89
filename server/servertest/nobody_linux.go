package servertest

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// ReadOnlyINI is an ini file that AsNobody may read, but not write.
func ReadOnlyINI(t testing.TB, text string) (path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "local.ini")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o444))
	require.NoError(t, os.Chmod(dir, 0o555))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	return path
}

// AsNobody has f work on files as a user without rights of its own, whoever runs the test. What it
// starts in other goroutines works as before.
func AsNobody(t testing.TB, f func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		const nobody = 65534
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		require.NoError(t, syscall.Setfsuid(nobody))
		defer func() { require.NoError(t, syscall.Setfsuid(0)) }()
	}
	f()
}
