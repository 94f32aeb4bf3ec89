package kvtest

import "testing"

// Long leaves a test out of the short forms that make test-race runs: one of a single goroutine, or
// whose goroutines other tests run too, that takes more time there than it can find. make test runs
// it.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long, and the race detector finds nothing here that it does not find elsewhere")
	}
}
