//go:build fdb

package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nextVersion builds the server as a later version of it may be: with one more format of stores.
func nextVersion(t *testing.T) (path string) {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs("../cluster/format/head.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(var This = Program\{Oldest: \d+, Newest: \d+)\}`)
	later := newest.ReplaceAll(text, []byte("$1 + 1}"))
	if string(later) == string(text) {
		t.Fatalf("%s does not say which formats this program knows, as this test has it", source)
	}
	changed, overlay := filepath.Join(dir, "head.go"), filepath.Join(dir, "overlay.json")
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err == nil {
		err = os.WriteFile(changed, later, 0o600)
	}
	if err == nil {
		err = os.WriteFile(overlay, files, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "settee")
	build := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-overlay", overlay, "-o", path},
		buildArgs, []string{"github.com/settee-db/settee/cmd/settee"})...)
	build.Env = append(os.Environ(), buildEnv)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestUpgrade: two builds of the server, of which one knows a later format, serve a store side by
// side, and a node may go back. Once the format is raised, a node of the older build that was
// forgotten, and stood still meanwhile, answers nothing and writes nothing.
func TestUpgrade(t *testing.T) {
	servers := fdbNodes(t, 2)
	older, newer := servers[0], servers[1]
	next := nextVersion(t)
	change := func(s *Server, binary string) {
		t.Helper()
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		s.options.Binary = binary
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	upgrade := func(flags ...string) (string, error) {
		command := exec.CommandContext(t.Context(), next, slices.Concat(
			[]string{"upgrade", "--engine=fdb", "--data=" + newer.dir}, flags)...)
		command.Env = append(os.Environ(), newer.options.Env...)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	written := 0
	both := func() {
		t.Helper()
		for n, s := range servers {
			other := clientFor(t, servers[1-n].Addr)
			path := fmt.Sprint("/db/", written)
			clientFor(t, s.Addr).want(201, clientFor(t, s.Addr).do("PUT", path, `{"n":1}`))
			other.want(200, other.do("GET", path, ""))
			written++
			rows := other.want(200, other.do("GET", "/db/_design/d/_view/n", ""))
			if want := fmt.Sprintf(`"value":%d}`, written); !strings.Contains(rows.Body, want) {
				t.Errorf("%s instead of %s", rows.Body, want)
			}
		}
	}
	c := clientFor(t, older.Addr)
	c.want(201, c.do("PUT", "/db", ""))
	c.want(201, c.do("PUT", "/db/_design/d",
		`{"views":{"n":{"map":"function (doc) { emit(null, doc.n); }","reduce":"_sum"}}}`))
	change(newer, next)
	both()
	change(newer, "") // back
	both()
	change(newer, next)
	both()

	out, err := upgrade("--finalise")
	if err == nil || !strings.Contains(out, "do not know format") {
		t.Fatalf("beside a node of the older version: %v %s", err, out)
	}
	both()
	if err := older.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if out, err := upgrade("--finalise", "--force"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := older.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, request := range [][3]string{
		{"GET", "/db/0", ""}, {"PUT", "/db/late", "{}"}, {"POST", "/db/_bulk_docs", `{"docs":[{"_id":"late"}]}`},
		{"GET", "/db/_design/d/_view/n", ""},
	} {
		c.want(503, c.do(request[0], request[1], request[2]))
	}
	for begin := time.Now(); c.do("GET", "/_up", "").Status != 503; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("the older node says that it is up")
		}
	}
	c = clientFor(t, newer.Addr)
	c.want(404, c.do("GET", "/db/late", ""))
	c.want(200, c.do("GET", "/_up", ""))
	c.want(201, c.do("PUT", "/db/late", "{}"))
	older.Kill()
	if err := older.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "format") {
		t.Errorf("the older version starts: %v", err)
	}
}
