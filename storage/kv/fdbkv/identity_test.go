//go:build fdb

package fdbkv

import (
	"bytes"
	"testing"
)

// TestIdentity: a cluster is called the same whoever asks; one that does not answer has no name.
func TestIdentity(t *testing.T) {
	needCluster(t)
	var ids [][]byte
	for _, prefix := range []string{"test-settee/identity-a", "test-settee/identity-b"} {
		s, err := Open(Options{Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		id, err := s.Identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if len(ids[0]) == 0 || !bytes.Equal(ids[0], ids[1]) {
		t.Errorf("%q and %q", ids[0], ids[1])
	}
	if id, err := (&Store{db: away(t)}).Identity(t.Context()); err == nil {
		t.Errorf("a cluster that is away: %q", id)
	}
}
