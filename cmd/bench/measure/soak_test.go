package measure

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestASoakPrintsLinesAndLeavesNothing(t *testing.T) {
	f, a := startFake(t)
	a.DataDir = t.TempDir()
	size := tinySizes
	size.diskDocuments = 2000
	var out bytes.Buffer
	o := Soak{Target: a, Duration: 900 * time.Millisecond, Every: 200 * time.Millisecond, Out: &out}
	if err := o.run(context.Background(), size); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if n := len(regexp.MustCompile(`(?m)^[01]s .*`).FindAllString(out.String(), -1)); n < 4 {
		t.Errorf("%d lines\n%s", n, &out)
	}
	for _, name := range []string{"get", "put", "edit", "bulk", "attach", "query", "changes"} {
		if !regexp.MustCompile(`(?m)^` + name + ` +\S+/s +[0-9.]*[1-9]`).Match(out.Bytes()) {
			t.Errorf("nothing was done as %s:\n%s", name, &out)
		}
	}
	if len(f.dbs) != 0 {
		t.Errorf("databases are left: %v", f.dbs)
	}
}

func TestASoakEndsWithTheFirstError(t *testing.T) {
	f, a := startFake(t)
	o := Soak{Target: a, Duration: time.Minute, Every: time.Minute, Out: &bytes.Buffer{}}
	drop := func() (dropped bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for name := range f.dbs {
			if strings.HasSuffix(name, soakDB) {
				delete(f.dbs, name)
				dropped = true
			}
		}
		return dropped
	}
	go func() {
		for time.Sleep(300 * time.Millisecond); !drop() && t.Context().Err() == nil; {
			time.Sleep(100 * time.Millisecond) // the database is not there yet
		}
	}()
	start := time.Now()
	err := o.run(context.Background(), tinySizes)
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("error %v after %s", err, time.Since(start))
	}
}

func TestRingKeepsAFewDatabases(t *testing.T) {
	f, a := startFake(t)
	s, err := newSession(context.Background(), a, newDocuments(), newBlob(1000), tinySizes, "x-")
	if err != nil {
		t.Fatal(err)
	}
	r := &ring{session: s, per: 10}
	var last string
	for range 10 {
		first, db, err := r.take(context.Background(), 7)
		if err != nil {
			t.Fatal(err)
		}
		if want := s.db(ringName(first / 10)); db != want {
			t.Errorf("document %d is in %s instead of %s", first, db, want)
		}
		if last = db; f.dbs[strings.TrimPrefix(last, "/")] == nil {
			t.Errorf("%s does not exist", last)
		}
	}
	if len(f.dbs) != ringKept {
		t.Errorf("%d databases", len(f.dbs))
	}
	if err := s.close(context.Background()); err != nil || len(f.dbs) != 0 {
		t.Errorf("%v, left: %v", err, f.dbs)
	}
}

func TestAStallIsTold(t *testing.T) {
	var out bytes.Buffer
	k := &soakKind{name: "get", unit: "docs/s"}
	s := &session{target: &Target{}}
	r := &soaking{Soak: Soak{Out: &out}, session: s, kinds: []*soakKind{k}, start: time.Now().Add(-time.Minute)}
	at := r.start
	r.note(k, 1, at, at.Add(time.Millisecond))
	r.note(k, 1, at.Add(time.Millisecond), at.Add(2*time.Second))
	r.ring = &ring{session: s}
	r.still = append(r.still, make([]stall, stallsNamed)...)
	s.control = &conn{target: &Target{Addr: "127.0.0.1:0"}}
	if err := r.line(context.Background(), resources{elapsed: time.Minute}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no answer at all 2.0 s, until 2s", "and 2 more"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, &out)
		}
	}
	r.summary()
	if !regexp.MustCompile(`(?m)^get .* 1$`).Match(out.Bytes()) {
		t.Errorf("the stall is not counted:\n%s", &out)
	}
}

func TestMetricsAreRead(t *testing.T) {
	text := []byte("# TYPE a gauge\na_b 3\na 2.5\nb 7")
	if a, b, c := metric(text, "a"), metric(text, "b"), metric(text, "c"); a != 2.5 || b != 7 || c != 0 {
		t.Error(a, b, c)
	}
}
