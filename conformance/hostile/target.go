package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/settee-db/settee/conformance"
)

// target is the server under attack.
type target struct {
	written
	url    string       // without credentials and last slash
	client *http.Client // the attackers'
	memory int64        // its bound, in bytes; 0: none is known
	pid    int          // 0: a process that cannot be looked at

	server *conformance.Server // nil: a server that this program has not started
	dir    string
	cgroup cgroup
	log    output
	tls    string // the address that speaks TLS, "" where none is known
}

// attackersAddress is on loopback, too, but not the innocents': failures of logins are counted by
// address.
const attackersAddress = "127.0.0.2"

// startTarget starts a server that may have so many bytes of memory, by the command within, which
// takes its command line as arguments, if there is one.
func startTarget(ctx context.Context, memory int64, within ...string) (*target, error) {
	admin = account{conformance.AdminName, conformance.AdminPassword}
	dir, err := os.MkdirTemp("", "settee-hostile-")
	if err != nil {
		return nil, err
	}
	t := &target{client: newClient(attackersAddress), memory: memory, dir: dir}
	settings := ""
	if t.cgroup, err = newCgroup(memory); err != nil {
		fmt.Fprintf(
			os.Stderr,
			"hostile: no control group (%v): the server bounds itself to four fifths of the memory, and nothing enforces the rest\n",
			err,
		)
		settings = fmt.Sprintf("[settee]\nmemory = %d\n", memory*8/10)
	}
	withTLS, err := t.offerTLS()
	if err != nil {
		return nil, err
	}
	settings += withTLS + "[eventing]\ncurl_denied_networks = 10.0.0.0/8\n" // peers of functions are on this machine
	if err := os.WriteFile(filepath.Join(dir, "local.ini"), []byte(settings), 0o600); err != nil {
		return nil, err
	}
	t.server, err = conformance.Engines[0].StartWith(ctx, dir,
		conformance.Options{Wrapper: append(t.cgroup.wrapper(), within...), Log: &t.log})
	if err == nil {
		t.url, t.pid = t.server.URL(), t.server.PID()
		err = t.settleIn(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.end(ctx))
	}
	return t, nil
}

// foreignTarget is a server at a URL with an administrator's credentials; pid is its process, or 0.
func foreignTarget(ctx context.Context, rawURL string, pid int) (*target, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	admin = account{u.User.Username(), password}
	u.User = nil
	from := ""
	if strings.HasPrefix(u.Hostname(), "127.") {
		from = attackersAddress
	}
	t := &target{url: strings.TrimSuffix(u.String(), "/"), client: newClient(from), pid: pid}
	return t, t.settleIn(ctx)
}

// The innocents' databases.
const (
	readDB  = "innocent-reads"
	writeDB = "innocent-writes"
)

// settleIn makes the accounts, and the innocents' databases anew.
func (t *target) settleIn(ctx context.Context) error {
	if r, err := t.ask(ctx, request{method: "PUT", path: "/_users", as: admin}); err != nil ||
		r.status >= http.StatusInternalServerError {
		return fmt.Errorf("making _users: %d %s, %v", r.status, r.start, err)
	}
	for _, u := range []account{innocent, attacker} {
		doc := fmt.Sprintf(`{"name":%q,"password":%q,"roles":[],"type":"user"}`, u.name, u.password)
		r, err := t.ask(ctx,
			request{method: "PUT", path: "/_users/org.couchdb.user:" + u.name, as: admin, body: text(doc)})
		if err := unless(r, err, http.StatusCreated, http.StatusConflict); err != nil {
			return fmt.Errorf("making the user %s: %w", u.name, err)
		}
	}
	for _, db := range []string{readDB, writeDB} {
		if err := t.makeDatabase(ctx, db, innocentName); err != nil {
			return err
		}
	}
	r, err := t.ask(ctx, request{
		method: "PUT",
		path:   "/" + readDB + "/doc",
		as:     innocent,
		body:   text(`{"text":"nothing happens here"}`),
	})
	if err := unless(r, err, http.StatusCreated); err != nil {
		return fmt.Errorf("the innocents' document: %w", err)
	}
	return nil
}

// makeDatabase makes a database anew, with a user as its administrator and only member.
func (t *target) makeDatabase(ctx context.Context, name, user string) error {
	if _, err := t.ask(ctx, request{method: "DELETE", path: "/" + name, as: admin}); err != nil {
		return err
	}
	security := fmt.Sprintf(`{"admins":{"names":[%q],"roles":[]},"members":{"names":[%q],"roles":[]}}`, user, user)
	r, err := t.ask(ctx, request{method: "PUT", path: "/" + name, as: admin})
	if err := unless(r, err, http.StatusCreated); err != nil {
		return fmt.Errorf("making the database %s: %w", name, err)
	}
	r, err = t.ask(ctx, request{method: "PUT", path: "/" + name + "/_security", as: admin, body: text(security)})
	if err := unless(r, err, http.StatusOK); err != nil {
		return fmt.Errorf("giving %s to %s: %w", name, user, err)
	}
	return nil
}

// down reports whether the server has died.
func (t *target) down() bool {
	if t.server == nil {
		return false
	}
	conn, err := net.DialTimeout("tcp", t.server.Addr, time.Second)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// restart brings a server that has died up again, and reports whether it had died.
func (t *target) restart(ctx context.Context) (died bool, err error) {
	if t.server == nil || t.server.Alive() && !t.down() {
		return false, nil
	}
	const dying = 5 * time.Second // a process that refuses connections already may still be there
	for deadline := time.Now().Add(dying); t.server.Alive(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false, errors.New("the server refuses connections, and has not ended")
		}
	}
	fmt.Fprintf(os.Stderr, "hostile: the server has died; the end of its output:\n%s\n", t.server.Tail())
	err = t.server.Restart(ctx)
	t.pid = t.server.PID()
	return true, err
}

// end stops the server, checks its data and removes it.
func (t *target) end(ctx context.Context) error {
	t.client.CloseIdleConnections()
	if t.dir == "" {
		return nil
	}
	var err error
	if t.server != nil && t.pid > 0 { // without a process when the start failed
		if err = t.server.Stop(); err == nil {
			err = conformance.CheckData(context.WithoutCancel(ctx), t.dir)
		}
	}
	t.cgroup.remove()
	if err == nil { // a failed run's data is kept for inspection
		err = os.RemoveAll(t.dir)
	}
	return err
}
