package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPortsFollowSettings: what is set over HTTP of the addresses is in force when the answer is
// there, or refused; connections that were open go on.
func TestPortsFollowSettings(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	o := serveOptions{appOptions: appOptions{engine: "memory", dataDir: t.TempDir()}}
	address := freeAddress(t)
	file := filepath.Join(o.dataDir, localFile)
	ini := "[chttpd_auth]\niterations = 10\n[chttpd]\nbind_address = 127.0.0.1\nport = " + address[strings.LastIndexByte(address, ':')+1:]
	require.NoError(t, os.WriteFile(file, []byte(ini+"\n"), 0o600))
	stop, err := tryServeAt(t, o, address, io.Discard)
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	set := func(base, key, value string) int {
		return request(t, "PUT", base+"/_node/_local/_config/"+key, `"`+value+`"`)
	}
	shown := func(base, key string) any {
		status, value, _ := ask(t, "admin:secret", "GET", base+"/_node/_local/_config/"+key, "")
		require.Equal(t, 200, status)
		return value
	}
	first, second := "http://"+address, "http://"+freeAddress(t)
	port := func(base string) string { return base[strings.LastIndexByte(base, ':')+1:] }
	open, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer open.Close()

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for key, bad := range map[string][]string{
		"chttpd/port":         {"x", "", "65536", port("http://" + taken.Addr().String())},
		"chttpd/bind_address": {"256.1.1.1", "192.0.2.1"},
	} {
		before := shown(first, key)
		for _, value := range bad {
			require.Equal(t, 400, set(first, key, value), value)
		}
		require.Equal(t, before, shown(first, key))
	}

	require.Equal(t, 200, set(first, "chttpd/port", port(second)))
	require.Equal(t, 200, request(t, "GET", second+"/_up", ""))
	fmt.Fprint(open, "GET /_up HTTP/1.1\r\nHost: x\r\n\r\n")
	w, err := http.ReadResponse(bufio.NewReader(open), nil)
	require.NoError(t, err, "the connection to the old port goes on")
	require.Equal(t, 200, w.StatusCode)
	_, err = net.Dial("tcp", address)
	require.Error(t, err, "the old port is closed")

	// another address at the same port, by a set-up as installers send it; what listens beside it
	// moves along
	functions := "http://" + freeAddress(t)
	require.Equal(t, 200, set(second, "eventing/port", port(functions)))
	require.Equal(t, 200, request(t, "GET", functions+"/api/v1/functions", ""))
	require.Equal(t, 201, request(t, "POST", second+"/_cluster_setup", `{"action":"enable_single_node"}`))
	require.Equal(t, "0.0.0.0", shown(second, "chttpd/bind_address"))
	other := func(base string) string { return strings.Replace(base, "127.0.0.1", "127.0.0.2", 1) }
	require.Equal(t, 200, request(t, "GET", other(functions)+"/api/v1/functions", ""))
	elsewhere := other(second)
	require.Equal(t, 200, set(elsewhere, "chttpd/bind_address", "127.0.0.1"))
	require.Equal(t, 200, request(t, "GET", second+"/_up", ""))
	_, err = net.Dial("tcp", strings.TrimPrefix(elsewhere, "http://"))
	require.Error(t, err)

	require.Equal(t, 200, set(second, "eventing/port", ""))
	_, err = net.Dial("tcp", strings.TrimPrefix(functions, "http://"))
	require.Error(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "port = "+port(second)+"\n")
}

// TestFlagsOutrankSettings: a server whose address a flag has chosen stays there, whatever is set,
// loaded again or sent by a set-up script; what was set is in the file for a start without the
// flag.
func TestFlagsOutrankSettings(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	dir := t.TempDir()
	base, stop := startServe(t, dir)
	defer stop()
	require.Equal(t, 201, request(t, "POST", base+"/_cluster_setup",
		`{"action":"enable_single_node","bind_address":"0.0.0.0","port":5999}`))
	require.Equal(t, 200, request(t, "POST", base+"/_node/_local/_config/_reload", ""))
	require.Equal(t, 200, request(t, "PUT", base+"/_node/_local/_config/chttpd/port", `"5998"`))
	require.Equal(t, 200, request(t, "GET", base+"/_up", ""))
	text, err := os.ReadFile(filepath.Join(dir, localFile))
	require.NoError(t, err)
	require.Contains(t, string(text), "port = 5998\n")
}

// TestConsoleAddress: the address that the start prints is one that a browser can open.
func TestConsoleAddress(t *testing.T) {
	for ip, want := range map[string]string{
		"127.0.0.1": "http://127.0.0.1:5984/_console/", "0.0.0.0": "http://localhost:5984/_console/",
		"::": "http://localhost:5984/_console/", "2001:db8::1": "http://[2001:db8::1]:5984/_console/",
	} {
		require.Equal(t, want, consoleAddress(&net.TCPAddr{IP: net.ParseIP(ip), Port: 5984}), ip)
	}
}
