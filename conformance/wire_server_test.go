package conformance

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tests named TestWnn each hold one wire rule that real clients depend on; the comment says
// which clients.

// W1: the Server header names CouchDB and a version from 3.2 on (Obsidian LiveSync picks its
// configuration keys by it, kivik looks for CouchDB/1.).
func TestW01_ServerHeader(t *testing.T) {
	c := newClient(t)
	pattern := regexp.MustCompile(`^CouchDB/(\d+)\.(\d+)[0-9.]*`)
	for _, path := range []string{"/", "/_up", "/_all_dbs", "/no-such-database", "/no-such-database/doc"} {
		got := c.do("GET", path, "").Header.Get("Server")
		m := pattern.FindStringSubmatch(got)
		if m == nil {
			t.Errorf("GET %s: Server: %q", path, got)
			continue
		}
		if minor, _ := strconv.Atoi(m[2]); m[1] != "3" || minor < 2 {
			t.Errorf("GET %s: Server: %q is older than 3.2", path, got)
		}
	}
}

type welcome struct {
	CouchDB  string
	Version  string
	UUID     string
	Features []string
	Vendor   struct{ Name string }
}

func (c *client) welcome() welcome {
	c.t.Helper()
	var w welcome
	c.decode(c.want(http.StatusOK, c.do("GET", "/", "")), &w)
	return w
}

// W2: the version has parts and major 3 (Fabric splits it), the uuid stays for the life of the data
// (PouchDB's replication ids contain it), features has partitioned, and search or nouveau only if
// they are served (Fauxton).
func TestW02_Welcome(t *testing.T) {
	c := newClient(t)
	w := c.welcome()
	if w.CouchDB != "Welcome" || w.Vendor.Name == "" {
		t.Errorf("welcome: %+v", w)
	}
	if parts := strings.Split(w.Version, "."); len(parts) < 2 || parts[0] != "3" {
		t.Errorf("version %q", w.Version)
	}
	if !slices.Contains(w.Features, "partitioned") {
		t.Errorf("features %q", w.Features)
	}
	search, nouveau := slices.Contains(w.Features, "search"), slices.Contains(w.Features, "nouveau")
	if own := os.Getenv("COUCHDB_URL") == ""; own && !(search && nouveau) {
		t.Errorf("features %q", w.Features)
	}
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(w.UUID) || w.UUID != c.welcome().UUID {
		t.Errorf("uuid %q", w.UUID)
	}
}

// W2, for a server that was stopped, and one that was killed, and started again on the same data.
func TestW02_UUIDSurvivesRestart(t *testing.T) {
	if os.Getenv("COUCHDB_URL") != "" {
		t.Log("not a server of this test's own")
		return
	}
	s := startServer(t, Engines[0], "")
	c := clientFor(t, s.Addr)
	before := c.welcome().UUID
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := c.welcome().UUID; after != before {
		t.Errorf("after a stop the uuid is %q, it was %q", after, before)
	}
	s.Kill()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := c.welcome().UUID; after != before {
		t.Errorf("after a crash the uuid is %q, it was %q", after, before)
	}
}

// W17: instance_start_time is a string and not empty (iriscouch/follow refuses the database
// otherwise).
func TestW17_InstanceStartTime(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	var info struct {
		Start any `json:"instance_start_time"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+db, "")), &info)
	if s, ok := info.Start.(string); !ok || s == "" {
		t.Errorf("instance_start_time %v", info.Start)
	}
}

// W20: API paths never redirect (nano sends redirect: 'error'); /_utils to /_utils/ is the only
// one.
func TestW20_NoRedirects(t *testing.T) {
	c := newClient(t)
	db := c.newDatabase("")
	c.put(db, "doc", `{}`)
	c.put(db, "_design/d", `{}`)
	for _, path := range []string{
		"/", "/_up", "/_up/", "/_all_dbs", "/_all_dbs/", "/_uuids", "/_active_tasks", "/_membership",
		"/$db", "/$db/", "//$db", "/$db/doc", "/$db/doc?", "/$db//doc", "/$db/_all_docs", "/$db/_all_docs/", "/$db/_changes",
		"/$db/_design/d", "/$db/_local/x", "/$db/_local_docs", "/$db/missing", "/no-such-database", "/no-such-database/",
	} {
		for _, accept := range []string{"application/json", "*/*", "text/html, */*"} {
			path := strings.ReplaceAll(path, "$db", db)
			if r := c.do("GET", path, "", "Accept", accept); r.Status/100 == 3 {
				t.Errorf("GET %s with Accept %s: %d to %s", path, accept, r.Status, r.Header.Get("Location"))
			}
		}
	}
	r := c.do("GET", "/_utils", "")
	if r.Status != http.StatusMovedPermanently || !strings.HasSuffix(r.Header.Get("Location"), "/_utils/") {
		t.Errorf("GET /_utils: %d to %q", r.Status, r.Header.Get("Location"))
	}
}
