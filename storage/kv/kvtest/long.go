package kvtest

import "testing"

// Long skips the test under -short, as which make test-race runs it. It is for tests that are slow
// under the race detector and can show it nothing: those of a single goroutine, or whose goroutines
// other tests run, too. make test runs it.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long, and the race detector finds nothing here that it does not find elsewhere")
	}
}
