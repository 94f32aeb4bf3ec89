package measure

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	line := "42 (a) strange (name) S 7 42 42 0 -1 4194560 1 2 3 4 100 50 25 5 20 0 9 0 1234 999999 300 18446744073709551615 1"
	got, err := parseStat([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	want := processStat{parent: 7, cpu: 1800 * time.Millisecond, rss: 300 * int64(os.Getpagesize())}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"", "42 (a) S 1", "42 (a) S x 42 42 0 -1 0 1 2 3 4 1 1 1 1 20 0 9 0 1 2 3 4"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("42 (a) S 7 42 42 0 -1 4194560 1 2 3 4 100 50 25 5 20 0 9 0 1234 999999 300 1 1"))
	f.Fuzz(func(_ *testing.T, line []byte) {
		_, _ = parseStat(line)
		_ = listeners(line, 5984)
	})
}

func TestListeners(t *testing.T) {
	table := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1760 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100007F:1760 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 20 4 30 10 -1
   2: 00000000:1761 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0`
	if got := listeners([]byte(table), 0x1760); len(got) != 1 || got[0] != "111" {
		t.Errorf("got %v", got)
	}
}

func TestOwnProcessIsFoundByItsPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	target, err := ParseTarget("A", "http://u:p@"+l.Addr().String()+"/")
	if err != nil {
		t.Fatal(err)
	}
	if target.PID != os.Getpid() || target.Auth != "Basic dTpw" || target.Addr != l.Addr().String() {
		t.Errorf("got %+v in process %d", target, os.Getpid())
	}
	u, err := usageOf(target.PID)
	if err != nil || u.rss < 1<<20 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

func TestMemoryOfDescendants(t *testing.T) {
	own, err := parsePrivate([]byte("7ffc-7ffd ---p 00000000 00:00 0 [rollup]\nRss:  9000 kB\nShared_Clean: 5000 kB\n" +
		"Private_Clean:      24 kB\nPrivate_Dirty:    1000 kB\nPrivate_Hugetlb: 8 kB\n"))
	if err != nil || own != 1024<<10 {
		t.Errorf("%d bytes, %v", own, err)
	}
	all, own := residentOf(os.Getpid(), []int{os.Getpid()}), residentOf(1, []int{os.Getpid()})
	if own < 1<<20 || own > all+1<<20 {
		t.Errorf("of %d bytes %d are its own", all, own)
	}
	if _, err := parsePrivate([]byte("Private_Clean: x kB\n")); err == nil {
		t.Error("what is no number was taken for one")
	}
}

func TestTargets(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:5984", "https://localhost", "http://localhost/db", "http://%zz"} {
		if target, err := ParseTarget("A", bad); err == nil {
			t.Errorf("%q is %+v", bad, target)
		}
	}
	target, err := ParseTarget("A", "http://couch.invalid")
	if err != nil || target.Addr != "couch.invalid:5984" || target.PID != 0 || target.Auth != "" {
		t.Errorf("got %+v, %v", target, err)
	}
}

func TestDiskUsageCountsBlocksOfAllFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b/c"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 100<<10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := diskUsage(dir)
	if err != nil || got < 200<<10 || got > 260<<10 {
		t.Errorf("%d bytes, %v", got, err)
	}
}
