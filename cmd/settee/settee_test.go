package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/principal"
)

func TestFirstStartMakesAnAdministrator(t *testing.T) {
	t.Setenv("COUCHDB_USER", "")
	t.Setenv("COUCHDB_PASSWORD", "")
	dir := t.TempDir()
	c, err := loadConfig(&appOptions{dataDir: dir, dataChosen: true})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, prepareAdmin(c, &out))
	password := regexp.MustCompile(`the password (\S+)`).FindStringSubmatch(out.String())[1]
	text, err := os.ReadFile(filepath.Join(dir, localFile))
	require.NoError(t, err)
	require.NotContains(t, string(text), password)

	again, err := loadConfig(&appOptions{dataDir: dir, dataChosen: true})
	require.NoError(t, err)
	out.Reset()
	require.NoError(t, prepareAdmin(again, &out))
	require.Empty(t, out.String(), "shown once")
	stored, _ := again.Get("admins", "admin")
	require.True(t, principal.CheckAdmin(password, stored))
}

func TestEnvironmentAndClearPasswords(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "my.ini")
	require.NoError(
		t,
		os.WriteFile(file, []byte("; mine\n[chttpd_auth]\niterations = 10\n[admins]\nanna = clear\n"), 0o600),
	)
	t.Setenv("COUCHDB_USER", "root")
	t.Setenv("COUCHDB_PASSWORD", "pass word")
	t.Setenv("COUCHDB_SECRET", "s")
	c, err := loadConfig(&appOptions{dataDir: dir, dataChosen: true, configFiles: []string{file}})
	require.NoError(t, err)
	require.NoError(t, prepareAdmin(c, io.Discard))
	require.Equal(t, "s", c.String("chttpd_auth", "secret"))
	t.Setenv("COUCHDB_SECRET", "other") // the one that there is counts, as in CouchDB's image
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "; mine\n")
	require.NotContains(t, string(text), "clear")
	require.NotContains(t, string(text), "pass word")
	again, err := loadConfig(&appOptions{dataDir: dir, dataChosen: true, configFiles: []string{file}})
	require.NoError(t, err)
	require.NoError(t, prepareAdmin(again, io.Discard))
	require.Equal(t, "s", again.String("chttpd_auth", "secret"))
	for name, password := range map[string]string{"anna": "clear", "root": "pass word"} {
		stored, _ := again.Get("admins", name)
		require.True(t, principal.CheckAdmin(password, stored), name)
	}
}

func TestUnknownEngineAndLimits(t *testing.T) {
	_, err := openEngine(appOptions{engine: "nosuch"}, nil)
	require.ErrorContains(t, err, "pebble")
	_, err = openEngine(appOptions{engine: "memory", limits: "nosuch"}, nil)
	require.Error(t, err)
}

// TestServeEndsFeedsAndKeepsData: an open feed ends at the stop, and what was acknowledged is there
// after a restart.
func TestServeEndsFeedsAndKeepsData(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	dir := t.TempDir()
	require.NoError(
		t,
		os.WriteFile(
			filepath.Join(dir, localFile),
			[]byte("[chttpd_auth]\niterations = 10\n[log]\nlevel = none\n"),
			0o600,
		),
	)
	base, stop := startServe(t, dir)
	require.Equal(t, 201, request(t, "PUT", base+"/db", ""))
	require.Equal(t, 201, request(t, "PUT", base+"/db/a", "{}"))
	feed := make(chan int, 1)
	go func() { feed <- request(t, "GET", base+"/db/_changes?feed=longpoll&since=now", "") }()
	time.Sleep(200 * time.Millisecond)
	stop()
	require.Equal(t, 200, <-feed)

	base, stop = startServe(t, dir)
	require.Equal(t, 200, request(t, "GET", base+"/db/a", ""))
	stop()
	var out bytes.Buffer
	require.NoError(t, check(context.Background(), appOptions{engine: "pebble", dataDir: dir}, 0, &out, io.Discard))
	require.Equal(t, "no violations\n", out.String())
}

// TestDrain: a server answers for a while after the signal to stop.
func TestDrain(t *testing.T) {
	o := serveOptions{appOptions: appOptions{engine: "pebble", dataDir: t.TempDir()}, listen: freeAddress(t)}
	o.drain = 2 * time.Second
	end, err := tryServe(t, o, io.Discard)
	require.NoError(t, err)
	begin := time.Now()
	require.NoError(t, end())
	require.GreaterOrEqual(t, time.Since(begin), o.drain)
}

// TestShownAddress: the configuration says where the server listens also if a flag has chosen that,
// and keeps what its file says.
func TestShownAddress(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	file := filepath.Join(dir, localFile)
	require.NoError(t, os.WriteFile(file, []byte("[chttpd]\nport = 5999\n"), 0o600))
	base, stop := startServe(t, dir)
	status, shown, _ := ask(t, "admin:secret", "GET", base+"/_node/_local/_config/chttpd", "")
	require.Equal(t, 200, status)
	host, port, _ := strings.Cut(strings.TrimPrefix(base, "http://"), ":")
	require.Equal(t, map[string]any{"bind_address": host, "port": port}, shown)
	stop()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "port = 5999\n")
}

// startServe runs serve on a free port until stop is called.
func startServe(t *testing.T, dir string) (base string, stop func()) {
	t.Helper()
	o := serveOptions{appOptions: appOptions{engine: "pebble", dataDir: dir}, listen: freeAddress(t)}
	end, err := tryServe(t, o, failedLog(t))
	require.NoError(t, err)
	return "http://" + o.listen, func() { require.NoError(t, end()) }
}

// failedLog is where a server logs: it is printed if the test fails, since the requests of all
// tests hide the one that does.
func failedLog(t *testing.T) io.Writer {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the server's log:\n%s", text)
		}
		log.Close()
	})
	return log
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// tryServe runs serve until it answers on o.listen, or ends and says why.
func tryServe(t *testing.T, o serveOptions, log io.Writer) (stop func() error, err error) {
	t.Helper()
	return tryServeAt(t, o, o.listen, log)
}

// tryServeAt is tryServe where settings say where it listens.
func tryServeAt(t *testing.T, o serveOptions, address string, log io.Writer) (stop func() error, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, o, newLogs(log, "")) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	client := http.Client{Timeout: 5 * time.Second}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		select {
		case err := <-ended:
			cancel()
			require.Error(t, err, "the server ended by itself")
			return nil, err
		case <-time.After(20 * time.Millisecond):
			if r, err := client.Get("http://" + address + "/_up"); err == nil {
				r.Body.Close()
				return stop, nil
			}
		}
	}
	t.Fatal("the server neither answers nor ends: ", stop())
	return nil, nil
}

// request sends a request of the admin and returns the status.
func request(t *testing.T, method, url, body string) int {
	r, err := http.NewRequest(method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth("admin", "secret")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(fmt.Errorf("%s %s: %w", method, url, err))
		return 0
	}
	defer w.Body.Close()
	_, err = io.Copy(io.Discard, w.Body)
	if err != nil {
		t.Error(err)
	}
	return w.StatusCode
}

// TestMain lets this binary be a worker of the servers it tests.
func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}
