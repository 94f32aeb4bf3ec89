package conformance

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kivik/kivik/v4"
)

func TestKivikServer(t *testing.T) {
	client := kivikClient(t)
	version, err := client.Version(t.Context())
	must(t, err)
	if !strings.HasPrefix(version.Version, "3.") || version.Vendor == "" ||
		!slices.Contains(version.Features, "partitioned") {
		t.Errorf("version %+v", version)
	}
	up, err := client.Ping(t.Context())
	must(t, err)
	if !up {
		t.Error("ping says the server is down")
	}
	members, err := client.Membership(t.Context())
	must(t, err)
	if len(members.AllNodes) != 1 || !slices.Equal(members.AllNodes, members.ClusterNodes) {
		t.Errorf("membership %+v", members)
	}
}

func TestKivikDatabases(t *testing.T) {
	client, ctx := kivikClient(t), t.Context()
	name := databaseName(t)
	other := name + "/with-odd$(chars)"
	for _, db := range []string{name, other} {
		exists, err := client.DBExists(ctx, db)
		must(t, err)
		if exists {
			t.Fatalf("%s exists already", db)
		}
		must(t, client.CreateDB(ctx, db))
		exists, err = client.DBExists(ctx, db)
		must(t, err)
		if !exists {
			t.Errorf("%s does not exist after its creation", db)
		}
	}
	wantStatus(t, http.StatusPreconditionFailed, client.CreateDB(ctx, name))
	wantStatus(t, http.StatusBadRequest, client.CreateDB(ctx, "Not-A-Name"))

	list, err := client.AllDBs(ctx, kivik.Param("startkey", `"`+name+`"`), kivik.Param("endkey", `"`+name+"\uffff\""))
	must(t, err)
	if !slices.Equal(list, []string{name, other}) {
		t.Errorf("AllDBs %q", list)
	}

	put(t, client.DB(name), "a", body{"v": 1})
	rev := put(t, client.DB(name), "b", body{})
	_, err = client.DB(name).Delete(ctx, "b", rev)
	must(t, err)
	stats, err := client.DB(name).Stats(ctx)
	must(t, err)
	if stats.Name != name || stats.DocCount != 1 || stats.DeletedCount != 1 || stats.UpdateSeq == "" ||
		stats.ExternalSize <= 0 ||
		stats.CompactRunning ||
		stats.Cluster == nil {
		t.Errorf("Stats %+v", stats)
	}
	several, err := client.DBsStats(ctx, []string{other, name, "no-such-" + name})
	must(t, err)
	if len(several) != 3 || several[0].Name != other || several[1].DocCount != 1 || several[2] != nil {
		t.Errorf("DBsStats %+v", several)
	}
	all, err := client.AllDBsStats(ctx)
	must(t, err)
	if !slices.ContainsFunc(all, func(s *kivik.DBStats) bool { return s.Name == name && s.DocCount == 1 }) {
		t.Error("AllDBsStats lacks the database")
	}

	for _, db := range []string{name, other} {
		must(t, client.DestroyDB(ctx, db))
		wantStatus(t, http.StatusNotFound, client.DestroyDB(ctx, db))
	}
	_, err = client.DB(name).Stats(ctx)
	wantStatus(t, http.StatusNotFound, err)
}

func TestKivikDBUpdates(t *testing.T) {
	client := kivikClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := client.CreateDB(ctx, "_global_changes"); err != nil {
		wantStatus(t, http.StatusPreconditionFailed, err)
	}
	name := databaseName(t)
	// The driver's default is feed=continuous&since=now. It reads the first event before it
	// returns.
	created := make(chan error, 1)
	go func() {
		time.Sleep(300 * time.Millisecond)
		created <- client.CreateDB(ctx, name)
	}()
	updates := client.DBUpdates(ctx, kivik.Param("timeout", 20_000))
	defer updates.Close()
	must(t, updates.Err())
	await := func(event string) {
		t.Helper()
		for updates.Next() {
			if updates.DBName() == name && updates.Seq() == "" {
				t.Errorf("the event %q has no sequence", updates.Type())
			}
			if updates.DBName() == name && updates.Type() == event {
				return
			}
		}
		t.Fatalf("no event %q: %v", event, updates.Err())
	}
	must(t, <-created)
	await("created")
	put(t, client.DB(name), "doc", body{})
	await("updated")
	must(t, client.DestroyDB(ctx, name))
	await("deleted")

	normal := client.DBUpdates(ctx, kivik.Param("feed", "normal"), kivik.Param("since", "0"))
	defer normal.Close()
	deleted := false
	for normal.Next() {
		deleted = deleted || normal.DBName() == name && normal.Type() == "deleted"
	}
	must(t, normal.Err())
	if seq, err := normal.LastSeq(); err != nil || seq == "" || !deleted {
		t.Errorf("feed=normal: deletion shows %t, last_seq %q, %v", deleted, seq, err)
	}
}

func TestKivikSecurity(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	sec, err := db.Security(ctx)
	must(t, err)
	if !slices.Equal(sec.Admins.Roles, []string{"_admin"}) || !slices.Equal(sec.Members.Roles, []string{"_admin"}) {
		t.Errorf("a new database's security is %+v", sec)
	}
	want := kivik.Security{
		Admins:  kivik.Members{Names: []string{"ann"}, Roles: []string{"boss"}},
		Members: kivik.Members{Names: []string{"bob"}, Roles: []string{"staff", "guest"}},
	}
	must(t, db.SetSecurity(ctx, &want))
	sec, err = db.Security(ctx)
	must(t, err)
	wantJSON(
		t,
		`{"admins":{"names":["ann"],"roles":["boss"]},"members":{"names":["bob"],"roles":["staff","guest"]}}`,
		sec,
	)
}

func TestKivikMaintenance(t *testing.T) {
	db, ctx := kivikDB(t), t.Context()
	first := put(t, db, "doc", body{"v": 1})
	second := put(t, db, "doc", body{"_rev": first, "v": 2})
	put(t, db, "_design/d", body{"views": body{"v": body{"map": "function(doc) { emit(doc._id) }"}}})
	must(t, db.Flush(ctx))
	must(t, db.ViewCleanup(ctx))
	must(t, db.CompactView(ctx, "d"))
	if got := get(t, db, "doc", kivik.Rev(first)); got["v"] != 1.0 {
		t.Errorf("before compaction the old revision is %v", got)
	}
	must(t, db.Compact(ctx))
	deadline := time.Now().Add(20 * time.Second)
	for {
		var doc body
		err := db.Get(ctx, "doc", kivik.Rev(first)).ScanDoc(&doc)
		if err != nil {
			wantStatus(t, http.StatusNotFound, err)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("compaction keeps the old revision's body")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got := get(t, db, "doc"); got["v"] != 2.0 || got["_rev"] != second {
		t.Errorf("after compaction: %v", got)
	}
}

func TestKivikPartitions(t *testing.T) {
	db, ctx := kivikDB(t, kivik.Param("partitioned", true)), t.Context()
	for _, id := range []string{"a:1", "a:2", "b:1"} {
		put(t, db, id, body{"id": id})
	}
	rev := put(t, db, "a:gone", body{})
	_, err := db.Delete(ctx, "a:gone", rev)
	must(t, err)
	stats, err := db.PartitionStats(ctx, "a")
	must(t, err)
	if stats.DBName != db.Name() || stats.Partition != "a" || stats.DocCount != 2 || stats.DeletedDocCount != 1 ||
		stats.ExternalSize <= 0 {
		t.Errorf("PartitionStats %+v", stats)
	}
	stats, err = db.PartitionStats(ctx, "empty")
	must(t, err)
	if stats.DocCount != 0 || stats.ExternalSize != 0 {
		t.Errorf("PartitionStats of an empty one %+v", stats)
	}
	wantJSON(t, `["b:1"]`, ids(rows(t, db.AllDocs(ctx, partition("b")), false)))
	_, err = db.Put(ctx, "no-partition", body{})
	wantStatus(t, http.StatusBadRequest, err)
}
