//go:build fdb

package fdbkv

import (
	"strings"
	"testing"
)

// TestStatus: the cluster's state is told, also while it is away.
func TestStatus(t *testing.T) {
	needCluster(t)
	s, err := Open(Options{Prefix: "test-settee/status"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, err := s.Status()
	if err != nil || !strings.Contains(string(text), `"latency_probe"`) {
		t.Errorf("%.200s, %v", text, err)
	}
	text, err = (&Store{db: away(t)}).Status()
	if err == nil && strings.Contains(string(text), `"available":true`) {
		t.Errorf("of a cluster that is away: %.200s", text)
	}
}
