package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var tinySizes = sizes{
	documents:       130,
	diskDocuments:   50,
	viewDocuments:   200,
	groupDocuments:  200,
	bulk:            20,
	bulkGet:         5,
	accessUsers:     3,
	accessDocuments: 7,
	feeds:           60,
	smallAttachment: 1000,
	largeAttachment: 100_000,
	attachmentBytes: 300_000,
	eventWorkers:    1,
	timers:          250,
	timersFired:     20,
	waits:           waits{diskSteady: time.Millisecond, timerLead: 50 * time.Millisecond},
}

func options(a, b *Target) Options {
	return Options{A: a, B: b, Duration: 5 * time.Millisecond, Rounds: 2, Progress: io.Discard}
}

func TestAllWorkloadsRunOnBothServersAndLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute and a half under the race detector; the other tests run what goroutines share")
	}
	fakeA, a := startFake(t)
	fakeB, b := startFake(t)
	a.DataDir, b.DataDir = t.TempDir(), t.TempDir()
	report, err := run(context.Background(), options(a, b), tinySizes)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(workloads(tinySizes)); len(report.Results) != want {
		t.Errorf("%d results of %d workloads", len(report.Results), want)
	}
	for _, r := range report.Results {
		if r.A == nil || r.B == nil || len(r.A.Values) != len(r.B.Values) {
			t.Errorf("%s: %+v %+v", r.Workload, r.A, r.B)
		} else if alone := []string{"disk", "feeds-memory", "event-delay", "search-disk"}; r.Ratio == nil &&
			!slices.Contains(alone, r.Workload) {
			t.Errorf("%s has no ratio: %+v %+v", r.Workload, r.A, r.B)
		}
	}
	if len(fakeA.dbs) != 0 || len(fakeB.dbs) != 0 || len(fakeA.users) != 0 || len(fakeB.users) != 0 {
		t.Errorf("databases or users are left: %v %v, %v %v", fakeA.dbs, fakeB.dbs, fakeA.users, fakeB.users)
	}
	for _, name := range []string{"patch-1", "patch-64-one", "fields-600k", "atomic-100", "aggregate-50-of-1m"} {
		if !slices.ContainsFunc(report.Results, func(r *Result) bool { return r.Workload == name }) {
			t.Errorf("there is no row %s", name)
		}
	}
	checkOutput(t, report)
}

// What a CouchDB has not is done there as its users do it: groups by a view, counting in a document
// by reading and writing it until there is no conflict, a user's documents by a filter. Where they
// have nothing, a server is measured alone.
func TestOldWays(t *testing.T) {
	_, a := startFake(t)
	couchdb, b := startFake(t)
	couchdb.couchdb = true
	o := options(a, b)
	o.Only = regexp.MustCompile("^(aggregate-50-of-1m|patch-1|patch-64-one|access-sync|access-wake)$")
	report, err := run(context.Background(), o, tinySizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if alone := r.Workload == "access-wake"; alone != (r.B == nil) || alone != (r.Ratio == nil) {
			t.Errorf("%s: %+v", r.Workload, r)
		}
	}
	if len(report.Results) != 5 || couchdb.byView == 0 || couchdb.conflicts == 0 || len(couchdb.dbs) != 0 {
		t.Errorf("%d results, %d groups, %d conflicts, databases %v",
			len(report.Results), couchdb.byView, couchdb.conflicts, couchdb.dbs)
	}
	checkOutput(t, report)
}

func checkOutput(t *testing.T, report *Report) {
	t.Helper()
	var table, text bytes.Buffer
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || len(back.Results) != len(report.Results) {
		t.Errorf("the JSON has %d of %d results, %v", len(back.Results), len(report.Results), err)
	}
	for _, r := range report.Results {
		if strings.Count(table.String(), "\n"+r.Workload+" ") != 2 {
			t.Errorf("%s is not in both tables:\n%s", r.Workload, &table)
		}
	}
}

func TestOneServerAndChosenWorkloads(t *testing.T) {
	f, a := startFake(t)
	o := options(a, nil)
	o.Only = regexp.MustCompile("^get-1$")
	report, err := run(context.Background(), o, tinySizes)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 1 || report.Results[0].B != nil || report.Results[0].Ratio != nil || len(f.dbs) != 0 {
		t.Errorf("got %+v, databases %v", report.Results, f.dbs)
	}
	checkOutput(t, report)
}

// The table and the JSON say which servers were measured.
func TestServersAreNamed(t *testing.T) {
	couchdb, a := startFake(t)
	couchdb.welcome = `{"couchdb":"Welcome","version":"3.5.2-a6778e5","git_sha":"a6778e5"}`
	couchdb.versions = `{"javascript_engine":{"version":"128","name":"spidermonkey"},"erlang":{"version":"27.3.4.1"}}`
	_, b := startFake(t)
	b.Name = "B"
	o := options(a, b)
	o.Only = regexp.MustCompile("^get-1$")
	report, err := run(context.Background(), o, tinySizes)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	const newer = "version 3.5.2-a6778e5, git_sha a6778e5, Erlang 27.3.4.1, spidermonkey 128"
	for _, line := range []string{"A: " + a.Addr + " " + newer, "B: " + b.Addr + " version 3.5.2"} {
		if !strings.Contains(table.String(), "\n"+line+"\n") {
			t.Errorf("there is no line %q:\n%s", line, &table)
		}
	}
	if report.Servers[0].Version != newer {
		t.Errorf("the report has %q", report.Servers[0].Version)
	}
}

func TestRefusedRequestsEndTheRun(t *testing.T) {
	_, a := startFake(t)
	a.Auth = ""
	if _, err := run(context.Background(), options(a, nil), tinySizes); err == nil ||
		!strings.Contains(err.Error(), "401") {
		t.Errorf("error %v", err)
	}
}

func TestFailuresUnderLoadAreReported(t *testing.T) {
	f, a := startFake(t)
	s, err := newSession(context.Background(), a, newDocuments(), newBlob(1000), tinySizes, "x-")
	if err != nil {
		t.Fatal(err)
	}
	defer s.control.close()
	_, err = s.get(context.Background(), 4, plan{duration: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("reading a database that is not there: %v after %d requests", err, f.requests)
	}
}

func TestACancelledRunCleansUp(t *testing.T) {
	f, a := startFake(t)
	ctx, cancel := context.WithCancel(context.Background())
	o := options(a, nil)
	o.Duration, o.Only = time.Minute, regexp.MustCompile("put-64")
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := run(ctx, o, tinySizes); err == nil {
		t.Error("no error")
	}
	if len(f.dbs) != 0 {
		t.Errorf("databases are left: %v", f.dbs)
	}
}

func TestServeBareRepeatsTheAnswer(t *testing.T) {
	addr, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	in, out := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- ServeBare(context.Background(), addr, in) }()
	answer := bareAnswer{Header: http.Header{"X-Same": {"yes"}}, Body: []byte("hello\n")}
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		t.Fatal(err)
	}
	if err := waitUp(context.Background(), addr); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + addr + "/any")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "hello\n" || resp.Header.Get("X-Same") != "yes" {
		t.Errorf("%q %v", body, resp.Header)
	}
	out.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
