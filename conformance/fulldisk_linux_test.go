package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallVolume mounts a file system of so many megabytes for the test, where that is allowed: it
// takes root.
func smallVolume(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	switch err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOSYS):
		t.Skipf("a volume cannot be mounted here: %v (storage/kv/pebblekv has the same on a disk in memory)", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// occupy writes files that take what is left of a volume, until the server gives up no more of it.
func occupy(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, fmt.Sprint("others", time.Now().UnixNano())))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, 4<<10)
	for {
		switch _, err := file.Write(block); {
		case errors.Is(err, syscall.ENOSPC):
			return
		case err != nil:
			t.Fatal(err)
		}
	}
}

// vacate removes what occupy wrote.
func vacate(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "others*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullVolume fills a small volume with documents, makes room and goes on; then others fill it
// to the last byte, the server is killed, starts and reads, and writes when there is space. Nothing
// that was acknowledged is lost.
func TestFullVolume(t *testing.T) {
	volume := smallVolume(t, 16)
	dir := filepath.Join(volume, "data")
	s, err := Engines[0].Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Kill() }()
	c := clientFor(t, s.Addr)
	c.want(http.StatusCreated, c.do("PUT", "/db", ""))
	c.want(http.StatusCreated, c.do("PUT", "/kept", ""))
	c.want(http.StatusCreated, c.do("PUT", "/kept/doc", `{"x":1}`))
	stored := 0
	for {
		docs := make([]string, 20)
		for i := range docs {
			docs[i] = fmt.Sprintf(`{"x":%q}`, noise(20_000))
		}
		r := c.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
		if r.Status == http.StatusInsufficientStorage {
			break
		}
		c.want(http.StatusCreated, r)
		stored += len(docs)
	}
	t.Logf("%d documents of 20 KB on 16 MB", stored)
	if stored < 150 {
		t.Error("a volume of 16 MB takes less than 3 MB of documents")
	}
	c.want(http.StatusOK, c.do("GET", "/kept/doc", ""))
	c.want(http.StatusOK, c.do("DELETE", "/db", ""))
	await(t, "the space of the database comes back", func() bool {
		return c.do("PUT", "/again", "").Status == http.StatusCreated && c.do("GET", "/_up", "").Status == http.StatusOK
	})

	occupy(t, volume)
	await(t, "the ballast makes room", func() bool {
		return c.do("DELETE", "/again", "").Status == http.StatusOK
	})
	c.want(http.StatusInsufficientStorage, c.do("PUT", "/kept/more", `{}`))
	occupy(t, volume)
	settings := filepath.Join(dir, "local.ini")
	before, _ := os.ReadFile(settings)
	c.want(
		http.StatusInsufficientStorage,
		c.do("PUT", "/_node/_local/_config/some/setting", fmt.Sprintf("%q", strings.Repeat("x", 10_000))),
	)
	if after, _ := os.ReadFile(settings); string(after) != string(before) {
		t.Errorf("a setting that was refused has left %d bytes of %d in the file", len(after), len(before))
	}

	s.Kill()
	occupy(t, volume)
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.want(http.StatusServiceUnavailable, c.do("GET", "/_up", ""))
	c.want(http.StatusOK, c.do("GET", "/kept/doc", ""))
	c.want(http.StatusInsufficientStorage, c.do("PUT", "/kept/more", `{}`))
	vacate(t, volume)
	await(
		t,
		"writes are taken again",
		func() bool { return c.do("PUT", "/kept/more", `{}`).Status == http.StatusCreated },
	)
	c.want(http.StatusOK, c.do("GET", "/kept/doc", ""))
	c.want(http.StatusOK, c.do("GET", "/_up", ""))
	s.Kill()
	checkData(t, dir)
}

// await waits for a condition.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// noise is text that cannot be compressed to less than three quarters.
func noise(n int) string {
	text := make([]byte, n)
	seed := uint64(time.Now().UnixNano())
	for i := range text {
		seed = seed*6364136223846793005 + 1442695040888963407
		text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[seed>>58]
	}
	return string(text)
}
