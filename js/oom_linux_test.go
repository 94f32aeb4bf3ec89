package js

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
)

// Before it ends the server, the kernel ends every worker. Raising the mark needs no privileges;
// lowering does, so that this is another process.
func TestWorkersEndFirst(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	_, err := p.Map(
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

// A call whose worker the system ends is made once more, with nothing of the first time left in its
// result; who uses workers is not blamed for it. A second time it is 503, and blamed.
func TestCallsOfEndedWorkersAreRepeated(t *testing.T) {
	var times atomic.Int32 // how many workers are to be ended, when they say something
	p := newTestPool(t, Options{Workers: 1, Log: func(_, text string) {
		if text == "now" && times.Add(-1) >= 0 {
			killChild(t)
		}
	}})
	program := NewMapProgram("a", []string{
		// What the first document gives comes apart, for it takes time.
		fmt.Sprintf(`function(doc) {
			emit(doc._id, 1);
			if (doc.last) { log('now'); for (;;); }
			for (var begin = Date.now(); Date.now() - begin < %d;);
		}`, slack.Milliseconds()),
	}, nil)
	docs := [][]byte{[]byte(`{"_id":"a"}`), []byte(`{"_id":"b","last":true}`)}
	payload := func(docs [][]byte) []byte {
		e := encoder{b: append([]byte(nil), program.key[:]...)}
		e.string(program.Tenant)
		e.list(docs)
		return e.b
	}
	blamed := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, blamed := p.blamed["a"]
		return blamed
	}
	taken := 0
	r := &request{tenant: "a", command: commandMap, payload: payload(docs), program: program.key,
		source: func(digest) []byte { return program.encoded },
		chunk:  func([]byte) error { taken++; return nil }}
	r.again = func() { taken, r.payload = 0, payload(docs[:1]) } // which ends
	times.Store(1)
	if _, err := p.do(t.Context(), r); err != nil || taken != 1 || blamed() {
		t.Errorf("a worker ended: %v, %d results, blamed: %v", err, taken, blamed())
	}
	times.Store(2)
	_, err := p.Map(t.Context(), program, docs)
	var e *compat.Error
	if !errors.As(err, &e) || e.Status() != 503 || !blamed() {
		t.Errorf("two workers ended: %v, blamed: %v", err, blamed())
	}
	if s := p.Stats(); s.Repeated != 2 || s.Killed != 3 {
		t.Errorf("%+v", s)
	}
}

// killChild kills the children of this process that run. The list of them may leave one out while
// threads end.
func killChild(t *testing.T) {
	killed := false
	for end := time.Now().Add(10 * time.Second); !killed && time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range childrenOf(t, os.Getpid()) {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			n, _ := strconv.Atoi(pid)
			if err == nil && !bytes.Contains(stat, []byte(") Z ")) && syscall.Kill(n, syscall.SIGKILL) == nil {
				killed = true
			}
		}
	}
	if !killed {
		t.Error("no worker runs")
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
