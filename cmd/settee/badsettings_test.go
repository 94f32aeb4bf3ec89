package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStartsAfterBadSettings: whatever was set over HTTP, the next start works, or names the
// settings and the file to mend them in; what was stored is there once it does.
func TestStartsAfterBadSettings(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	dir := t.TempDir()
	file := filepath.Join(dir, localFile)
	require.NoError(t, os.WriteFile(file, []byte("[chttpd_auth]\niterations = 10\n"), 0o600))
	cases := []struct {
		settings []string // section/key=value
		refused  string   // what the start says; "": it works
		logged   string   // what its log says
		empty    bool     // it finds no database
		ini      string   // the file, as the settings left it
	}{
		{settings: []string{"chttpd/port=x"}, refused: `[chttpd] bind_address and port, or --listen, --bind, --port: "x"`},
		{settings: []string{"chttpd/port="}}, // the default, as in CouchDB
		{settings: []string{"chttpd/bind_address=no address"}, refused: "[chttpd] bind_address"},
		{settings: []string{"ssl/enable=true"}, refused: "[ssl] enable and the files it needs: certificate"},
		{settings: []string{"prometheus/additional_port=true", "prometheus/port=x"}, refused: "[prometheus]"},
		{settings: []string{"query_server_config/os_process_user=root"}, refused: "[query_server_config] os_process_user"},
		{settings: []string{"query_server_config/os_process_confinement=x"}, refused: "os_process_confinement"},
		{settings: []string{"couchdb/database_dir=" + file}, refused: "[couchdb] database_dir"},
		{settings: []string{"couchdb/database_dir=" + t.TempDir()}, empty: true},
		{settings: []string{"log/writer=nonsense"}, logged: "unknown writer"},
		{settings: []string{"log/file=" + file + "/log", "log/writer=file"}, logged: "mkdir " + file},
		{settings: []string{"couchdb/max_document_size=x"}},
		{settings: []string{"couchdb/max_dbs_open=5000"}, logged: `setting="[couchdb] max_dbs_open"`},
	}
	base, stop := startServe(t, dir)
	require.Equal(t, 201, request(t, "PUT", base+"/db", ""))
	for i := range cases {
		if strings.HasPrefix(cases[i].settings[0], "chttpd/") {
			key, value, _ := strings.Cut(cases[i].settings[0], "=")
			status := request(t, "PUT", base+"/_node/_local/_config/"+key, `"`+value+`"`)
			require.Equal(t, 400, status, "refused at once")
			cases[i].ini = "[chttpd]\n" + strings.Replace(cases[i].settings[0][len("chttpd/"):], "=", " = ", 1) + "\n"
			continue
		}
		for _, setting := range cases[i].settings {
			key, value, _ := strings.Cut(setting, "=")
			require.Equal(t, 200, request(t, "PUT", base+"/_node/_local/_config/"+key, `"`+value+`"`), setting)
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		cases[i].ini = string(text)
		for _, setting := range slices.Backward(cases[i].settings) { // the writer before its file
			key, _, _ := strings.Cut(setting, "=")
			require.Equal(t, 200, request(t, "DELETE", base+"/_node/_local/_config/"+key, ""), setting)
		}
	}
	stop()
	for _, c := range cases {
		t.Run(strings.Join(c.settings, " "), func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(c.ini), 0o600))
			o := serveOptions{appOptions: appOptions{engine: "pebble", dataDir: dir}}
			if c.refused == "" || !strings.HasPrefix(c.settings[0], "chttpd/") {
				o.listen = freeAddress(t)
			}
			var log bytes.Buffer
			stop, err := tryServe(t, o, &log)
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				require.ErrorContains(t, err, file)
				return
			}
			require.NoError(t, err)
			status := map[bool]int{false: 200, true: 404}[c.empty]
			require.Equal(t, status, request(t, "GET", "http://"+o.listen+"/db", ""))
			require.NoError(t, stop())
			require.Contains(t, log.String(), c.logged)
		})
	}
}

// TestAddressesOfIPv4: 0.0.0.0 is no address of IPv6, whose firewall nobody may have set up.
func TestAddressesOfIPv4(t *testing.T) {
	for bind, listened := range map[string]string{"0.0.0.0": "0.0.0.0", "127.0.0.1": "127.0.0.1", "": "::"} {
		l, err := listen(t.Context(), net.JoinHostPort(bind, "0"))
		require.NoError(t, err)
		host, _, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		require.Equal(t, listened, host, bind)
		require.NoError(t, l.Close())
	}
}

// TestPortsAreNumbers: without one the system would choose, and a port of 0 asks for that.
func TestPortsAreNumbers(t *testing.T) {
	for _, port := range []string{"", "x", "-1", "70000"} {
		_, err := listen(t.Context(), "127.0.0.1:"+port)
		require.ErrorContains(t, err, strconv.Quote(port)+" is no port")
	}
	l, err := listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())

	// an ini file with an empty one says nothing
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, localFile), []byte("[chttpd]\nport = \n"), 0o600))
	o := serveOptions{appOptions: appOptions{dataDir: dir}}
	c, err := loadConfig(&o.appOptions)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:5984", o.address(c))
}
