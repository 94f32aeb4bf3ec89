package replication

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/stretchr/testify/require"
)

func testSpec(t interface{ Fatal(...any) }, set *Settings, more string) *Spec {
	doc, err := ejson.Parse([]byte(`{"source":"http://a.invalid/s","target":"http://b.invalid/t"` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSpec(doc, set)
	if err != nil {
		t.Fatal(err)
	}
	s.SetID(set, "")
	s.Begun = time.Now()
	return s
}

func quietly(string, ...any) {}

// TestRunAgainAndAgain lets sessions fail at any call, until one goes to its end. A checkpoint must
// never be ahead of what the target has, and in the end it has everything but what it refuses.
func TestRunAgainAndAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 1))
		set := DefaultSettings()
		set.MissingDocRetry = time.Millisecond
		source, target := newMemoryPeer("s", seed), newMemoryPeer("t", seed+1)
		source.bulk = random.IntN(4) > 0
		for i := range 200 {
			att := ""
			if random.IntN(5) == 0 {
				att = "bytes of " + strconv.Itoa(i)
			}
			source.write(random.IntN(100), att)
		}
		target.refuse["d7"] = true
		spec := testSpec(
			t,
			&set,
			`,"worker_batch_size":`+strconv.Itoa(1+random.IntN(50))+`,"retries_per_request":0,"checkpoint_interval":1`,
		)
		for try := 0; ; try++ {
			rate := 0.02
			if try > 20 {
				rate = 0
			}
			source.rate, target.rate = rate, rate
			session := NewSession(spec, &set, source, target, "", Stats{}, quietly)
			_, err := session.Do(context.Background())
			source.rate, target.rate = 0, 0
			checkCheckpoint(t, source, target, spec)
			if err == nil {
				break
			}
		}
		for id, revs := range source.docs {
			for rev, json := range revs {
				if got := target.docs[id][rev]; got != json && id != "d7" {
					t.Fatalf("%s %s is %q at the target", id, rev, got)
				}
				if a, b := source.atts[id+rev.String()], target.atts[id+rev.String()]; string(a) != string(b) &&
					id != "d7" {
					t.Fatalf("attachment of %s: %q instead of %q", id, b, a)
				}
			}
		}
		if len(target.docs["d7"]) > 0 {
			t.Fatal("a refused document was written")
		}
	})
}

// checkCheckpoint requires that the target has all that the checkpoints say.
func checkCheckpoint(t *rapid.T, source, target *memoryPeer, spec *Spec) {
	for _, p := range []*memoryPeer{source, target} {
		d := p.local["_local/"+spec.ID.Base]
		if d == nil {
			continue
		}
		v, err := ejson.Parse(d.Body)
		if err != nil {
			t.Fatal(err)
		}
		seq, _ := v.Get("source_last_seq")
		n, _ := strconv.Atoi(Sequence(seq.AppendJSON(nil)).Query())
		for _, id := range source.feed[:n] {
			for rev := range source.docs[id] {
				if _, ok := target.docs[id][rev]; !ok && id != "d7" {
					t.Fatalf("checkpoint %d of %s, but %s is missing", n, p.name, id)
				}
			}
		}
	}
}

// TestCheckpointOfOthers begins where the newest common session has ended.
func TestCheckpointOfOthers(t *testing.T) {
	set := DefaultSettings()
	spec := testSpec(t, &set, "")
	entry := func(id string, seq int) string {
		return fmt.Sprintf(`{"session_id":%q,"recorded_seq":%d,"docs_written":%d}`, id, seq, seq)
	}
	log := func(id string, seq int, entries ...string) string {
		h := ""
		for i, e := range entries {
			if i > 0 {
				h += ","
			}
			h += e
		}
		return fmt.Sprintf(`{"session_id":%q,"source_last_seq":%d,"history":[%s]}`, id, seq, h)
	}
	others := make([]string, maxHistory)
	for i := range others {
		others[i] = entry("x", 9)
	}
	for _, c := range []struct {
		source, target string
		start          Sequence
		written        int64
	}{
		{log("b", 9, append(others[1:], entry("a", 5))...), log("a", 5, entry("a", 5)), "5", 0},
		{log("b", 9, append(others, entry("a", 5))...), log("a", 5, entry("a", 5)), "0", 0},
		{"{}", "{}", "0", 0},
		{log("a", 5, entry("a", 5)), log("a", 5, entry("a", 5)), "5", 5},
		{log("a", 5, entry("a", 5)), "{}", "0", 0},
		{log("b", 9, entry("b", 9), entry("a", 5), entry("0", 2)), log("a", 5, entry("a", 5), entry("0", 2)), "5", 2},
		{log("a", 5, entry("a", 5)), log("b", 9, entry("b", 9), entry("a", 5)), "5", 0},
		{log("a", 5, entry("a", 5)), log("b", 9, entry("b", 9)), "0", 0},
	} {
		source, target := newMemoryPeer("s", 1), newMemoryPeer("t", 2)
		source.local["_local/"+spec.ID.Base] = &LocalDocument{Rev: "0-1", Body: []byte(c.source)}
		target.local["_local/"+spec.ID.Base] = &LocalDocument{Rev: "0-1", Body: []byte(c.target)}
		session := NewSession(spec, &set, source, target, "", Stats{}, quietly)
		if err := session.begin(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := session.counters.snapshot().Written; session.points.start != c.start || got != c.written {
			t.Errorf(
				"%s and %s: begins at %s with %d, not at %s with %d",
				c.source,
				c.target,
				session.points.start,
				got,
				c.start,
				c.written,
			)
		}
	}
}

// TestLargeCheckpoint: a peer's checkpoint that is none is not parsed.
func TestLargeCheckpoint(t *testing.T) {
	set := DefaultSettings()
	spec := testSpec(t, &set, "")
	source := newMemoryPeer("s", 1)
	large := `{"history":[` + strings.Repeat("{},", maxCheckpoint/3) + `{}]}`
	source.local["_local/"+spec.ID.Base] = &LocalDocument{Rev: "0-1", Body: []byte(large)}
	session := NewSession(spec, &set, source, newMemoryPeer("t", 2), "", Stats{}, quietly)
	require.ErrorContains(t, session.begin(t.Context()), "has more than")
}

// TestNewDatabase refuses a checkpoint when a database was created anew in the meantime.
func TestNewDatabase(t *testing.T) {
	set := DefaultSettings()
	source, target := newMemoryPeer("s", 1), newMemoryPeer("t", 2)
	source.write(1, "")
	session := NewSession(testSpec(t, &set, ""), &set, source, target, "", Stats{}, quietly)
	session.Started = func() { target.born = `"2"` }
	_, err := session.Do(context.Background())
	var f *Failure
	if !errors.As(err, &f) ||
		f.Text() != `{checkpoint_commit_failure,<<"instance_start_time on target database has changed since last checkpoint.">>}` {
		t.Errorf("%v", err)
	}
}

// TestStop writes a checkpoint of what is done.
func TestStop(t *testing.T) {
	set := DefaultSettings()
	source, target := newMemoryPeer("s", 1), newMemoryPeer("t", 2)
	for i := range 100 {
		source.write(i, "")
	}
	spec := testSpec(t, &set, `,"continuous":true`)
	session := NewSession(spec, &set, source, target, "", Stats{}, quietly)
	ctx, stop := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := session.Do(ctx)
		ended <- err
	}()
	for session.Progress().Written < 100 || session.Progress().Through != "100" {
		time.Sleep(time.Millisecond)
	}
	stop(ErrStopped)
	if err := <-ended; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if source.local["_local/"+spec.ID.Base] == nil {
		t.Error("no checkpoint")
	}
}
