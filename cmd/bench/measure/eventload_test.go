package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func eventOptions(a, b *Target, progress *bytes.Buffer) Options {
	o := options(a, b)
	o.Only, o.Progress = regexp.MustCompile("^event"), progress
	return o
}

func TestAServerWithoutFunctionsIsMeasuredWithAFollower(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute under the race detector; the follower runs in TestAFollowerThatFailsEndsItsFeed, too")
	}
	_, a := startFake(t)
	f, b := startFake(t)
	f.functions, b.Name = nil, "B"
	var progress bytes.Buffer
	report, err := run(context.Background(), eventOptions(a, b, &progress), tinySizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		needsTimers := strings.HasPrefix(r.Workload, "event-timers") || strings.HasPrefix(r.Workload, "event-undeploy")
		if r.A == nil || (r.B == nil) != needsTimers {
			t.Errorf("%s: A %v, B %v", r.Workload, r.A, r.B)
		}
	}
	if !strings.Contains(progress.String(), "event-timers-fire: without server B: has no event functions") {
		t.Errorf("it is not told that B is left out:\n%s", &progress)
	}
	checkOutput(t, report)
}

func TestAProgramForNodeFollowsInAFunctionsPlace(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and has one goroutine for the race detector")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed: the follower in Go is tested in its place")
	}
	f, a := startFake(t)
	f.functions = nil
	o := eventOptions(a, nil, &bytes.Buffer{})
	o.Node = node
	report, err := run(context.Background(), o, tinySizes)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 4 {
		t.Errorf("%d results", len(report.Results))
	}
	for _, r := range report.Results {
		if r.A == nil || len(r.A.Values) == 0 {
			t.Errorf("%s: %v", r.Workload, r.A)
		}
	}

	// a copy over a document that is there is refused, and that is an error
	ctx := context.Background()
	s, err := newSession(ctx, a, newDocuments(), newBlob(1000), tinySizes, "x-")
	if err != nil {
		t.Fatal(err)
	}
	defer s.control.close()
	if err := errors.Join(s.fill(ctx, viewDB, 30), s.fill(ctx, "target", 1)); err != nil {
		t.Fatal(err)
	}
	s.node = node
	for _, does := range []following{copyTogether, copyAlone} {
		_, err := s.runNode(ctx, "target", does)
		if err == nil || !strings.Contains(err.Error(), "the program in Node: ") {
			t.Errorf("%d: a refused copy is no error: %v", does, err)
		}
	}
}

func TestAServerWithNeitherFunctionsNorFeedIsLeftOut(t *testing.T) {
	f, a := startFake(t)
	f.functions, f.welcome = nil, `{"store":"Welcome"}`
	var progress bytes.Buffer
	report, err := run(context.Background(), eventOptions(a, nil, &progress), tinySizes)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 0 || strings.Count(progress.String(), "left out: ") < 5 {
		t.Errorf("%d results, progress:\n%s", len(report.Results), &progress)
	}
}

func TestFunctionsAreRemovedWithTheSession(t *testing.T) {
	f, a := startFake(t)
	o := options(a, nil)
	o.Only = regexp.MustCompile("^event-timers-fire$") // leaves its function to those that follow
	if _, err := run(context.Background(), o, tinySizes); err != nil {
		t.Fatal(err)
	}
	if len(f.functions) != 0 || len(f.dbs) != 0 {
		t.Errorf("left are functions %v, databases %v", f.functions, f.dbs)
	}
}

func TestAFeedIsCutIntoRowsWhereverItsPartsEnd(t *testing.T) {
	const rows = `{"id":"a","doc":{"n":1}}` + "\n\n" + `{"id":"_design/d"}` + "\n" + `{"id":"b"}` + "\n"
	for size := 1; size <= len(rows); size++ {
		var ids []string
		f := &feed{seen: func(rows []*change) error {
			for _, ch := range rows {
				ids = append(ids, ch.ID)
			}
			return nil
		}}
		for part := rows; len(part) > 0; part = part[min(size, len(part)):] {
			f.take([]byte(part[:min(size, len(part))]), len(part) <= size)
		}
		if strings.Join(ids, " ") != "a b" || f.failed != nil {
			t.Errorf("parts of %d bytes: %q, %v", size, ids, f.failed)
		}
	}
}

func TestAFollowerThatFailsEndsItsFeed(t *testing.T) {
	_, a := startFake(t)
	ctx := context.Background()
	s, err := newSession(ctx, a, newDocuments(), newBlob(1000), tinySizes, "x-")
	if err != nil {
		t.Fatal(err)
	}
	defer s.control.close()
	if err := s.fill(ctx, viewDB, 30); err != nil {
		t.Fatal(err)
	}
	bad := errors.New("bad")
	if _, err := s.followAll(ctx, viewDB, 30, func([]*change) error { return bad }); !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
	// a copy over a document that is there is refused, and that is an error
	if err := s.create(ctx, "target"); err != nil {
		t.Fatal(err)
	}
	for _, alone := range []bool{false, true} {
		c, err := s.newCopier(ctx, "target", alone)
		if err != nil {
			t.Fatal(err)
		}
		defer c.c.close()
		row := func() []*change {
			return []*change{{ID: "d", Doc: map[string]json.RawMessage{"_id": json.RawMessage(`"d"`)}}}
		}
		if err := c.write(ctx, row()); (err != nil) != alone { // the second copier finds the first one's
			t.Errorf("alone %t: %v", alone, err)
		}
		if err := c.write(ctx, row()); err == nil {
			t.Errorf("alone %t: a refused copy is no error", alone)
		}
	}
}
