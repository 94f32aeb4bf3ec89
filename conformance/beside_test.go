package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// besides are a server of this project and another one: the CouchDB at COUCHDB_URL, or else one of
// this project as well. Databases of the other one end with the test.
type besides struct {
	*testing.T
	here, there *client
}

func newBesides(t *testing.T) *besides {
	b := &besides{T: t, here: clientFor(t, replicationServer(t).Addr)}
	if other, err := url.Parse(os.Getenv("COUCHDB_URL")); err != nil {
		t.Fatal(err)
	} else if other.Host != "" {
		b.there = clientFor(t, other.Host)
	} else {
		b.there = clientFor(t, replicationServer(t).Addr)
	}
	return b
}

// addr is host:port of a client's server.
func (c *client) addr() string { return strings.TrimPrefix(c.base, "http://") }

// url is that of a database, with the credentials that a replicator or a command needs.
func (c *client) url(db string) string {
	return "http://" + AdminName + ":" + AdminPassword + "@" + c.addr() + "/" + db
}

// fill makes a database of conflicts, deletions and attachments, of which some documents and some
// leaves of others are purged, and gives what it has then.
func (b *besides) fill(c *client, db, side string, random *rand.Rand) map[string]string {
	b.Helper()
	fillForReplication(b.T, c, db, 150, random)
	leaves := leavesOf(b.T, c, db)
	byID := map[string][]string{}
	for _, leaf := range slices.Sorted(maps.Keys(leaves)) {
		id, rev, _ := strings.Cut(leaf, " ")
		if !strings.HasPrefix(id, "_design/") {
			byID[id] = append(byID[id], rev)
		}
	}
	purged := map[string][]string{}
	whole, branches := 0, 0
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		switch revs := byID[id]; {
		case len(revs) > 1 && branches < 4:
			branches++
			purged[id] = revs[:1]
		case whole < 4:
			whole++
			purged[id] = revs
		}
	}
	b.purge(c, db, purged, leaves)
	want := leavesOf(b.T, c, db)
	compareLeaves(b.T, side+" after the purge", want, leaves)
	return want
}

// purge purges revisions of documents, also in what a database should have.
func (b *besides) purge(c *client, db string, revs map[string][]string, leaves map[string]string) {
	b.Helper()
	body, err := json.Marshal(revs)
	if err != nil {
		b.Fatal(err)
	}
	c.want(http.StatusCreated, c.do("POST", "/"+db+"/_purge", string(body)))
	for id, list := range revs {
		for _, rev := range list {
			delete(leaves, id+" "+rev)
		}
	}
}

// replicate has a server replicate to the end, from a sequence or a time if one is given.
func (b *besides) replicate(replicator *client, source, target string, since ...string) {
	b.Helper()
	asked := map[string]string{"source": source, "target": target}
	for _, seq := range since {
		asked["since_seq"] = seq
	}
	body, err := json.Marshal(asked)
	if err != nil {
		b.Fatal(err)
	}
	replicator.want(http.StatusOK, replicator.do("POST", "/_replicate", string(body)))
}

// settee runs a command of the program.
func (b *besides) settee(args ...string) {
	b.Helper()
	path, err := binary()
	if err != nil {
		b.Fatal(err)
	}
	if out, err := exec.CommandContext(b.Context(), path, args...).CombinedOutput(); err != nil {
		b.Fatalf("settee %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestBesideAnotherServer: whichever replicates, moves or restores, this server and the other one
// have the same leaves in the end: conflicts, deletions, attachments, and nothing that was purged.
func TestBesideAnotherServer(t *testing.T) {
	b := newBesides(t)
	for i, replicator := range []*client{b.here, b.there} {
		t.Run([]string{"here", "there"}[i]+" replicates", func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			b.T, b.here.t, b.there.t = t, t, t
			b.bothWays(replicator, random)
		})
		t.Run([]string{"here", "there"}[i]+" replicates since a time", func(t *testing.T) {
			b.T, b.here.t, b.there.t = t, t, t
			b.sinceTimes(replicator)
		})
	}
	t.Run("migrate", func(t *testing.T) {
		b.T, b.here.t, b.there.t = t, t, t
		db := b.database(b.there)
		want := b.fill(b.there, db, "there", rand.New(rand.NewPCG(3, 1)))
		b.settee("migrate", b.there.url(""), "--to", b.here.url(""), "--db", db, "--verify")
		compareLeaves(t, "here", leavesOf(t, b.here, db), want)
	})
	t.Run("archives", func(t *testing.T) {
		b.T, b.here.t, b.there.t = t, t, t
		b.archives()
	})
}

// database makes the name of a database that the server has until the test ends.
func (b *besides) database(c *client) string {
	db := databaseName(b.T)
	b.Cleanup(func() {
		c.late = true
		c.do("DELETE", "/"+db, "")
		c.late = false
	})
	return db
}

// bothWays replicates two databases into each other.
func (b *besides) bothWays(replicator *client, random *rand.Rand) {
	here, there := b.database(b.here), b.database(b.there)
	a, z := b.fill(b.here, here, "here", random), b.fill(b.there, there, "there", random)
	union := mergeLeaves(a, z)
	ends := [2]string{b.here.url(here), b.there.url(there)}
	b.replicate(replicator, ends[0], ends[1])
	b.replicate(replicator, ends[1], ends[0])
	compareLeaves(b.T, "here", leavesOf(b.T, b.here, here), union)
	compareLeaves(b.T, "there", leavesOf(b.T, b.there, there), union)

	// What is purged at one end only does not come back from the other: it was passed.
	gone := slices.Sorted(maps.Keys(z))[0]
	id, rev, _ := strings.Cut(gone, " ")
	left := maps.Clone(union)
	b.purge(b.here, here, map[string][]string{id: {rev}}, left)
	b.here.put(here, "later", `{"n":1}`)
	b.replicate(replicator, ends[1], ends[0])
	b.replicate(replicator, ends[0], ends[1])
	now := leavesOf(b.T, b.here, here)
	for leaf, doc := range now {
		if strings.HasPrefix(leaf, "later ") {
			left[leaf], union[leaf] = doc, doc
		}
	}
	compareLeaves(b.T, "here after a purge", now, left)
	compareLeaves(b.T, "there after a purge here", leavesOf(b.T, b.there, there), union)
}

// sinceTimes replicates, in each direction, from before the beginning, from the time of a write, and
// from a time to come. A server that does not know times is no source here.
func (b *besides) sinceTimes(replicator *client) {
	for i, source := range []*client{b.here, b.there} {
		other := []*client{b.there, b.here}[i]
		db := b.database(source)
		source.want(http.StatusCreated, source.do("PUT", "/"+db, ""))
		if source.do("GET", "/"+db+"/_time_seq", "").Status == http.StatusNotFound {
			continue
		}
		source.put(db, "before", `{}`)
		now := time.Now().UTC().Format(time.RFC3339)
		source.put(db, "after", `{}`)
		for since, want := range map[string][]string{
			"2000-01-01T00:00:00Z": {"before", "after"}, now: {"after"}, "2999-01-01T00:00:00Z": nil,
		} {
			copied := b.database(other)
			other.want(http.StatusCreated, other.do("PUT", "/"+copied, ""))
			b.replicate(replicator, source.url(db), other.url(copied), since)
			got := leavesOf(b.T, other, copied)
			for _, id := range want {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(leaf string) bool {
					return strings.HasPrefix(leaf, id+" ")
				}) {
					b.Errorf("since %s, from %s: %q is missing", since, source.base, id)
				}
			}
			if len(want) == 0 && len(got) > 0 {
				b.Errorf("since %s, from %s: %v", since, source.base, got)
			}
		}
	}
}

// archives writes the archive of a database in couchbackup's form and restores it at the other
// server as that program does, and restores one here that is made as by that program.
func (b *besides) archives() {
	here, there := b.database(b.here), b.database(b.there)
	want := b.fill(b.here, here, "here", rand.New(rand.NewPCG(4, 1)))
	file := filepath.Join(b.TempDir(), "backup")
	b.settee("backup", b.here.url(here), "--format", "couchbackup", "-o", file)
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	b.there.want(http.StatusCreated, b.there.do("PUT", "/"+there, ""))
	for line := range bytes.Lines(text) {
		if line[0] == '[' {
			body := fmt.Sprintf(`{"new_edits":false,"docs":%s}`, line)
			b.there.want(http.StatusCreated, b.there.do("POST", "/"+there+"/_bulk_docs", body))
		}
	}
	compareLeaves(b.T, "there", leavesOf(b.T, b.there, there), want)

	again := b.database(b.here)
	lines := []string{`{"name":"@cloudant/couchbackup","version":"2.11.0","mode":"full","attachments":true}`}
	for leaf := range want {
		id, rev, _ := strings.Cut(leaf, " ")
		doc := b.there.do("GET", "/"+there+"/"+id+"?revs=true&attachments=true&rev="+rev, "")
		lines = append(lines, "["+strings.TrimSpace(b.there.want(http.StatusOK, doc).Body)+"]")
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	b.settee("restore", b.here.url(again), file)
	compareLeaves(b.T, "here again", leavesOf(b.T, b.here, again), want)
}
