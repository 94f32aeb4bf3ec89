package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// memoryLimit is what the attacked server may have: in a container of that size it would be killed beyond it.
const memoryLimit = 512 << 20

// Large bodies of many clients at once, packed and plain, of users and of nobody, do not end a server with little memory; what it cannot
// hold it refuses, and small requests go on.
func TestHostileMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the memory of another process from /proc")
	}
	dir := t.TempDir()
	settings := fmt.Sprintf("[settee]\nmemory = %d\n", memoryLimit*8/10)
	if err := os.WriteFile(filepath.Join(dir, "local.ini"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Engines[0].Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("alive: %v; what the server said besides answers:\n%s", s.Alive(), regexp.MustCompile("(?m)^.*msg=request .*status=[24].*\n").ReplaceAllString(s.log.buf.String(), ""))
		}
		s.Kill()
	})
	c := clientFor(t, s.Addr)
	c.want(201, c.do("PUT", "/abused", ""))
	c.want(201, c.do("PUT", "/abused/doc", "{}"))

	const packed = "Content-Encoding: gzip\r\n"
	bomb := gzipped(t, `{"name":"`, "x", 100_000_000, `"}`)
	document := `{"a":"` + strings.Repeat("x", 1000) + `"}`
	attacks := map[string]string{
		"a bomb":                     withBody("PUT", "/abused/bomb", packed, bomb),
		"a bomb of nobody's":         strings.Replace(withBody("POST", "/_session", packed, bomb), adminHeader, "", 1),
		"a large login of nobody's":  strings.Replace(withBody("POST", "/_session", "", `{"name":"`+strings.Repeat("x", 20_000_000)+`"}`), adminHeader, "", 1),
		"many documents":             withBody("POST", "/abused/_bulk_docs", "", `{"docs":[`+joined(20_000, func(int) string { return document })+`]}`),
		"a list of ten million ones": withBody("POST", "/abused/_all_docs", "", `{"keys":[`+strings.Repeat("1,", 10_000_000)+`1]}`),
		"deep nesting":               withBody("PUT", "/abused/deep", "", `{"a":`+strings.Repeat("[", 3_000_000)+strings.Repeat("]", 3_000_000)+`}`),
	}
	var attackers sync.WaitGroup
	for name, raw := range attacks {
		for range 3 {
			attackers.Go(func() {
				got, _, _ := strings.Cut(exchangeRaw(t, s.Addr, raw, false), "\r\n")
				switch got {
				case "HTTP/1.1 200 OK", "HTTP/1.1 201 Created", "HTTP/1.1 409 Conflict", "HTTP/1.1 413 Request Entity Too Large", "HTTP/1.1 503 Service Unavailable", "": // "": the connection ended while it was still written to
				default:
					t.Errorf("%s: %s", name, got)
				}
			})
		}
	}
	ended := make(chan struct{})
	go func() { attackers.Wait(); close(ended) }()
	var worst time.Duration
	for n, going := 0, true; going; n++ {
		begin := time.Now()
		c.want(200, c.do("GET", "/abused/doc", ""))
		c.want(201, c.do("PUT", fmt.Sprintf("/abused/innocent-%d", n), "{}"))
		worst = max(worst, time.Since(begin))
		select {
		case <-ended:
			going = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Logf("slowest GET and PUT of another client: %v; at most %d MB resident", worst.Round(time.Millisecond), peakResident(t, s)>>20)
	if peak := peakResident(t, s); peak > memoryLimit {
		t.Errorf("%d MB were resident", peak>>20)
	}
}

// peakResident is the most memory that the process has had, in bytes.
func peakResident(t *testing.T, s *Server) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes int64
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	t.Fatal("no peak in /proc")
	return 0
}
