package js

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Before it ends the server, the kernel ends every worker. Raising the mark needs no privileges; lowering does, so that
// this is another process.
func TestWorkersEndFirst(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	_, _, err := p.Map(
		t.Context(),
		NewMapProgram("a", []string{"function(doc) {}"}, nil),
		[][]byte{[]byte(`{"_id":"a"}`)},
	)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, pid := range childrenOf(t, os.Getpid()) {
		mark, err := os.ReadFile("/proc/" + pid + "/oom_score_adj")
		if err == nil && string(mark) == "1000\n" {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d workers have the mark", found)
	}
}

func childrenOf(t *testing.T, pid int) (pids []string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // else a thread that has ended
			pids = append(pids, strings.Fields(string(text))...)
		}
	}
	return pids
}
