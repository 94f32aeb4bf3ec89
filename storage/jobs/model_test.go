package jobs

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/storagetest"
)

var must = storagetest.Must

// modelJob is what the model knows of a job.
type modelJob struct {
	state                  State
	waits                  bool
	delay                  time.Duration
	since                  time.Time // of the first look at it, zero before that
	request, serving, done uint64
	failures               int
	data                   string
	run                    *Run // while running: who has it
	beat                   uint64
	crashes                int
	began                  time.Time
	ran                    time.Duration // as its lease has it
	paused                 bool
	unseen                 time.Duration // since when the lease is unchanged in the eyes of the sweeper
	seen                   bool
	told                   time.Time // when the wait ends by the clock of the model
}

// model holds the jobs of a type and the workers that have lost theirs.
type model struct {
	does bool // they are begun by Do; else they are added, and a worker takes them
	jobs map[string]*modelJob
	lost []*Run
	now  time.Time
	past timeline
}

// TestModel takes random steps on a store that fails at random and compares with a model after
// each.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rates := faultkv.Rates{Conflict: 0.15, UnknownAborted: 0.1, UnknownCommitted: 0.1, TooOld: 0.05}
		store := faultkv.New(memkv.New(), faultkv.Random(rapid.Uint64().Draw(rt, "seed"), rates))
		defer store.Close()
		m := &model{jobs: map[string]*modelJob{}, now: time.Now()}
		clock := func() time.Time { return m.now.Add(-1000 * time.Hour) } // what is stored as times decides nothing
		quiet := slog.New(slog.DiscardHandler)
		q := &Queue{keys: "\x15\x03", kv: store, lease: 10 * time.Second, now: clock, log: quiet}
		typ := &Type{Name: "t", Backoff: backoff, MaxFailures: 3, Keep: time.Minute, Run: nothing}
		typ.Pauses = rapid.Bool().Draw(rt, "pauses")
		if m.does = rapid.Bool().Draw(rt, "does"); m.does {
			typ.Run = nil
		}
		s := sweeper{queue: q, seen: map[string]sighting{}}
		_, err := q.look(t.Context(), "t", &m.past, m.now)
		must(t, err)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			m.step(rt, q, typ, &s)
			m.compare(rt, q)
		}
	})
}

func (m *model) step(t *rapid.T, q *Queue, typ *Type, s *sweeper) {
	id := rapid.SampledFrom([]string{"a", "b", "c\x00"}).Draw(t, "id")
	job := m.jobs[id]
	switch rapid.IntRange(0, 10).Draw(t, "op") {
	case 0, 1:
		if m.does {
			m.do(t, q, typ, id)
		} else {
			m.add(t, q, id)
		}
	case 2, 3:
		m.take(t, q, typ)
	case 4:
		if job != nil && job.state == Running {
			m.end(t, id, job)
		}
	case 5:
		must(t, q.Remove(t.Context(), "t", id))
		if job != nil && job.run != nil {
			m.lost = append(m.lost, job.run)
		}
		delete(m.jobs, id)
	case 6:
		if job != nil && job.state == Running {
			job.beat++
			job.run.Began = time.Now().Add(job.began.Sub(m.now)) // renew uses the real clock
			must(t, job.run.renew(t.Context(), job.beat))
			job.ran = m.now.Sub(job.began)
			job.seen = false
		}
	case 7:
		m.pass(time.Duration(rapid.OneOf(rapid.IntRange(0, 6000), rapid.SampledFrom([]int{300_000, 3_600_000})).
			Draw(t, "ms")) * time.Millisecond)
	case 8:
		must(t, s.pass(t.Context(), m.now))
		m.swept()
	case 9:
		_, err := q.kv.Update(t.Context(), func(tx kv.Tx) error { return q.ResumeTx(tx, "t", id) })
		must(t, err)
		if job != nil && job.paused {
			job.paused, job.crashes = false, 0
			m.wait(job, 0)
		}
	case 10:
		m.dies(t, q, typ, s, id)
	}
	for _, r := range m.lost {
		if err := r.renew(t.Context(), 99); !errors.Is(err, ErrLost) {
			t.Fatalf("a worker that lost %q can commit: %v", r.ID, err)
		}
		if err := r.finish(t.Context(), nil, nil, false, r.queue.now()); !errors.Is(err, ErrLost) {
			t.Fatalf("a worker that lost %q can finish: %v", r.ID, err)
		}
	}
}

// pass lets time pass.
func (m *model) pass(d time.Duration) {
	m.now = m.now.Add(d)
	for _, j := range m.jobs {
		j.unseen += d
	}
}

// dies has all that is due and runs, and a job that is begun by Do, lose its worker a few times. If
// that is often enough for a pause, this may be over at the end.
func (m *model) dies(t *rapid.T, q *Queue, typ *Type, s *sweeper, id string) {
	begin := func() {
		if m.does {
			m.do(t, q, typ, id)
		} else {
			m.take(t, q, typ)
		}
	}
	for range rapid.IntRange(1, 4).Draw(t, "deaths") {
		begin()
		for range 2 {
			must(t, s.pass(t.Context(), m.now))
			m.swept()
			m.pass(10 * time.Second)
		}
	}
	if rapid.Bool().Draw(t, "later") {
		begin()
		m.pass(pausedFor)
		m.take(t, q, typ)
		begin()
	}
}

func (m *model) add(t *rapid.T, q *Queue, id string) {
	spec := Spec{Type: "t", ID: id, Data: []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "data"))}
	spec.Again = rapid.Bool().Draw(t, "again")
	spec.After = time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * time.Second
	ticket, err := q.add(t.Context(), spec, q.now())
	must(t, err)
	job := m.jobs[id]
	switch {
	case job == nil:
		job = &modelJob{state: Pending, request: 1, data: string(spec.Data)}
		m.wait(job, spec.After)
		m.jobs[id] = job
	case job.state == Pending:
		if job.failures == 0 && job.crashes == 0 && spec.After < job.delay &&
			(spec.After == 0 || m.now.Add(spec.After).Before(job.told)) {
			m.wait(job, spec.After)
		}
		if spec.Again {
			job.data = string(spec.Data)
		}
	case job.state == Running:
		if spec.Again {
			job.request, job.data = job.serving+1, string(spec.Data)
		}
	case job.state == Finished:
		*job = modelJob{
			state:   Pending,
			request: job.done + 1,
			serving: job.serving,
			done:    job.done,
			data:    string(spec.Data),
		}
		m.wait(job, spec.After)
	}
	expected := job.request
	if job.state == Running && !spec.Again {
		expected = job.serving
	}
	if ticket.request != expected {
		t.Fatalf("ticket for request %d, want %d", ticket.request, expected)
	}
}

// do begins a job as Do does: unless it is paused, or another worker has it.
func (m *model) do(t *rapid.T, q *Queue, typ *Type, id string) {
	spec := Spec{Type: "t", ID: id, Data: []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "data"))}
	run, seen, err := q.tryClaim(t.Context(), typ, spec, q.now())
	job := m.jobs[id]
	switch {
	case job == nil:
		job = &modelJob{request: 1}
		m.jobs[id] = job
	case job.state == Running:
		if run != nil || seen == nil || err != nil {
			t.Fatalf("another worker has the job: %+v %v", run, err)
		}
		return
	case typ.Pauses && job.crashes >= 3:
		if run != nil || !errors.Is(err, ErrPaused) {
			t.Fatalf("the job is to be paused: %+v %v", run, err)
		}
		if !job.paused {
			job.paused, job.data = true, string(spec.Data)
			m.wait(job, pausedFor)
		}
		return
	}
	must(t, err)
	if run == nil || string(run.Data) != string(spec.Data) {
		t.Fatalf("began %+v with %q", run, spec.Data)
	}
	*job = modelJob{
		state: Running, request: job.request, serving: job.request, crashes: job.crashes,
		data: string(spec.Data), run: run, began: m.now,
	}
}

// wait makes a job wait from now on.
func (m *model) wait(j *modelJob, delay time.Duration) {
	j.waits, j.delay, j.since, j.told = true, delay, time.Time{}, m.now.Add(delay)
}

// take lets a worker take the first job that is due.
func (m *model) take(t *rapid.T, q *Queue, typ *Type) {
	seen, err := q.look(t.Context(), "t", &m.past, m.now)
	must(t, err)
	due := 0
	for _, j := range m.jobs {
		if j.waits && j.since.IsZero() {
			j.since = m.now
		}
		if j.waits && !j.since.Add(j.delay).After(m.now) {
			due++
		}
	}
	if due != len(seen.due) {
		t.Fatalf("%d jobs are due, %d found", due, len(seen.due))
	}
	if due == 0 {
		return
	}
	e := seen.due[0]
	run, err := q.take(t.Context(), typ, e, q.now())
	must(t, err)
	job := m.jobs[e.id]
	if m.does {
		if run != nil {
			t.Fatal("a worker runs what is begun by Do")
		}
		if !job.paused {
			delete(m.jobs, e.id)
			return
		}
		job.paused, job.crashes = false, 2
		m.wait(job, pausedFor)
		return
	}
	if job.state == Finished {
		if run != nil {
			t.Fatalf("a finished job runs")
		}
		delete(m.jobs, e.id)
		return
	}
	if typ.Pauses && job.crashes >= 3 && !job.paused {
		if run != nil {
			t.Fatal("a job runs that is to be paused")
		}
		job.paused = true
		m.wait(job, pausedFor)
		return
	}
	if run == nil || string(run.Data) != job.data || run.Failures != job.failures {
		t.Fatalf("took %+v, want %+v", run, job)
	}
	if second, err := q.take(t.Context(), typ, e, q.now()); second != nil || err != nil {
		t.Fatalf("a second worker has the job too (%v)", err)
	}
	*job = modelJob{
		state:    Running,
		request:  job.request,
		serving:  job.request,
		done:     job.done,
		failures: job.failures,
		crashes:  job.crashes,
		data:     job.data,
		run:      run,
		began:    m.now,
	}
}

// end ends a run in one of the ways there are.
func (m *model) end(t *rapid.T, id string, job *modelJob) {
	ways := []string{"ok", "fail", "permanent", "forget", "closing"}
	if m.does { // whatever the error of what is done
		ways = ways[3:]
	}
	how := rapid.SampledFrom(ways).Draw(t, "end")
	again := job.request > job.serving
	errs := map[string]error{
		"fail": errors.New("f"), "permanent": fmt.Errorf("x: %w", Permanent(errors.New("p"))),
		"forget": ErrForget, "closing": errors.New("c"),
	}
	must(t, job.run.finish(t.Context(), []byte("r"), errs[how], how == "closing", job.run.queue.now()))
	m.lost = append(m.lost, job.run)
	job.run, job.beat, job.unseen, job.seen = nil, 0, 0, false
	job.state, job.crashes = Pending, 0
	m.wait(job, 0)
	switch how {
	case "closing":
		return
	case "fail":
		if job.failures++; job.failures < 3 {
			m.wait(job, backoff(job.failures))
			return
		}
	case "permanent":
		job.failures++
	default:
		job.failures = 0
	}
	job.done = job.serving
	switch {
	case again:
		job.failures = 0
	case how == "forget":
		delete(m.jobs, id)
	default:
		job.state = Finished
		m.wait(job, time.Minute)
	}
}

// swept queues again what the sweeper has seen unchanged for a lease.
func (m *model) swept() {
	for _, j := range m.jobs {
		switch {
		case j.state != Running:
		case !j.seen:
			j.seen, j.unseen = true, 0
		case j.unseen >= 10*time.Second:
			m.lost = append(m.lost, j.run)
			j.state, j.run, j.beat, j.seen = Pending, nil, 0, false
			if j.crashes++; j.ran >= wellAfter {
				j.crashes = 0
			}
			pause := time.Duration(0)
			if m.does { // it is kept for whoever begins it again
				pause = pausedFor
			}
			if j.crashes > 2 && j.ran < provenAfter {
				pause = max(pause, backoff(j.crashes-2))
			}
			j.ran = 0
			m.wait(j, pause)
		}
	}
}

// compare reads every key and holds invariants 1 to 4 and the model against them.
func (m *model) compare(t *rapid.T, q *Queue) {
	want := map[string]string{}
	for id, j := range m.jobs {
		if j.state == Running {
			want[string(q.keys.lease("t", id))] = "lease"
		}
		if j.waits {
			want["due "+id] = fmt.Sprint(j.delay)
		}
		want[string(q.keys.job("t", id))] = fmt.Sprint(
			j.state, j.request, j.done, j.failures, j.crashes, j.paused, j.data)
	}
	got := map[string]string{}
	must(t, q.kv.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte{0xff}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			key, rest := string(it.Key()), it.Key()[len(q.keys):]
			tag, _, err := tuple.ReadInt(rest)
			must(t, err)
			switch tag {
			case keyJob:
				r, err := parseJobRecord(it.Value())
				must(t, err)
				got[key] = fmt.Sprint(r.state, r.request, r.done, r.failures, r.crashes, r.paused(), string(r.data))
			case keyDue:
				e, err := q.keys.parseDue("t", it.Key(), it.Value())
				must(t, err)
				got["due "+e.id] = fmt.Sprint(time.Duration(e.delay) * time.Millisecond)
			case keyLease:
				l, err := parseLease(it.Value())
				must(t, err)
				got[key] = "lease"
				_, id, err := q.keys.parseName(it.Key())
				must(t, err)
				if job := m.jobs[id]; job == nil || job.run == nil || job.run.token != l.run {
					t.Fatalf("the lease of %q is another run's", id)
				}
			}
		}
		return it.Err()
	}))
	if len(got) != len(want) {
		t.Fatalf("stored %q, want %q", got, want)
	}
	violations, err := Check(t.Context(), q.kv, []byte(q.keys))
	must(t, err)
	for _, v := range violations {
		t.Fatal(v)
	}
	for key, value := range want {
		if got[key] != value {
			t.Fatalf("%q: %q, want %q", key, got[key], value)
		}
	}
}
