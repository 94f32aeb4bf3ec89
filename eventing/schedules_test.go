package eventing

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/schedule"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// virtual is a clock that the processes of a test share, and which stands unless it is wound.
type virtual struct{ ms atomic.Int64 }

func (v *virtual) now() time.Time { return time.UnixMilli(v.ms.Load()) }

// lookAtTimers has the timers of the process looked at, since its clock was wound.
func (n *node) lookAtTimers() {
	n.engine.mu.Lock()
	defer n.engine.mu.Unlock()
	for _, run := range n.engine.running {
		for p := range partitions {
			if run.f != nil {
				run.f.alarm.Set(p, 0)
			}
		}
	}
}

// scheduleCode counts each call of a schedule by its time. A third of the calls fail, and leave nothing.
const scheduleCode = `
function OnUpdate(doc, meta) {}
function note(context) {
	if (context.due / 1000 % 3 === 0) throw new Error("unlucky");
	const key = context.schedule + "|" + context.due, was = dst[key] || {n: 0};
	dst[key] = {n: was.n + 1};
}
function Tick(context) { note(context); }
function Tock(context) { note(context); }`

// scheduleModel says which calls there have to be: of each schedule the next one, and those that were.
type scheduleModel struct {
	list   schedule.List
	next   map[string]time.Time // of a deployed or paused function
	called map[string]bool      // the documents
	failed int64
}

// come has all calls happen that are due, those of a schedule as one.
func (m *scheduleModel) come(now time.Time) {
	for _, s := range m.list {
		due, has := m.next[s.String()]
		if !has {
			m.next[s.String()] = s.Next(now)
			continue
		}
		if due.After(now) {
			continue
		}
		if due.Unix()%3 == 0 {
			m.failed++
		} else {
			m.called[fmt.Sprintf("%s|%d", s, due.UnixMilli())] = true
		}
		m.next[s.String()] = s.Next(now)
	}
}

var scheduleLists = []string{
	`[{"every":"7s","call":"Tick"},{"every":"1m","call":"Tock"},{"at":"03:00","call":"Tick"}]`,
	`[{"every":"1m","call":"Tock"},{"every":"1h30m","call":"Tick"},{"at":"00:00:01","call":"Tock"}]`,
}

// TestSchedulesModel: while the clock is wound by random times, processes die or end, and the function is
// paused, given other schedules, resumed, undeployed and deployed, each schedule has called its function
// just when a model says, once, and for many calls that were missed once.
func TestSchedulesModel(t *testing.T) {
	const lease = 300 * time.Millisecond
	store, clock, random := memkv.New(), new(virtual), rand.New(rand.NewPCG(11, 43))
	clock.ms.Store(time.Date(2026, 11, 28, 2, 30, 0, 0, time.UTC).UnixMilli())
	keeper := newNodeAt(t, store, lease, clock.now) // for the test's own questions
	keeper.create("src", "dst")
	m := &scheduleModel{next: map[string]time.Time{}, called: map[string]bool{}}
	define := func(settings string) {
		keeper.define("f", scheduleCode, `{"schedules":`+settings+`}`, "+dst=dst")
		m.list = merged(t, settings)
		maps.DeleteFunc(m.next, func(name string, _ time.Time) bool { _, found := m.list.Find(name); return !found })
	}
	define(scheduleLists[0])
	keeper.deploy("f")
	m.come(clock.now())
	var other *node
	var life *mortal
	settled := func() {
		t.Helper()
		seen := time.Time{}
		keeper.eventually(func() bool {
			for _, n := range []*node{keeper, other} {
				if n != nil && time.Since(seen) > 100*time.Millisecond {
					n.lookAtTimers()
				}
			}
			if time.Since(seen) > 100*time.Millisecond {
				seen = time.Now()
			}
			return keeper.calls() == int64(len(m.called)) && keeper.nextAre(m)
		}, fmt.Sprintf("calls that the model has, %d", len(m.called)))
	}
	settled()
	for range shorterCount(60, 20) {
		switch random.IntN(8) {
		case 0: // paused for a while, and perhaps changed
			settled()
			require.Equal(t, definition.Paused, keeper.pause("f"))
			clock.ms.Add(random.Int64N(3 * time.Hour.Milliseconds()))
			if random.IntN(2) == 0 {
				define(scheduleLists[random.IntN(len(scheduleLists))])
			}
			require.Equal(t, definition.Deployed, keeper.deploy("f"))
		case 1:
			settled()
			require.Equal(t, definition.Undeployed, keeper.undeploy("f"))
			clear(m.next)
			clock.ms.Add(random.Int64N(3 * time.Hour.Milliseconds()))
			require.Equal(t, definition.Deployed, keeper.deploy("f"))
		case 2: // another process comes, or the one that came dies or ends
			if other == nil {
				life = &mortal{Store: store}
				other = newNodeAt(t, life, lease, clock.now)
			} else {
				clock.ms.Add(random.Int64N(2 * time.Minute.Milliseconds()))
				life.dead.Store(random.IntN(2) == 0)
				other.close()
				other = nil
			}
		default:
			clock.ms.Add(random.Int64N([]int64{20_000, 300_000, 100_000_000}[random.IntN(3)]))
		}
		m.come(clock.now())
		settled()
	}
	for id := range m.called {
		require.Equal(t, `{"n":1}`, keeper.get("dst", id), id)
	}
	require.Positive(t, m.failed)
	require.Empty(t, keeper.checked())
}

func shorterCount(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// calls is how many calls have left a document.
func (n *node) calls() int64 { return n.count("dst") }

// nextAre reports whether the stored next calls are those of the model.
func (n *node) nextAre(m *scheduleModel) bool {
	r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
	require.NoError(n.t, err)
	list, err := n.engine.NextCalls(context.Background(), r)
	require.NoError(n.t, err)
	return !slices.ContainsFunc(list, func(c schedule.Upcoming) bool {
		return c.Next == nil || !c.Next.Equal(m.next[c.Schedule.String()])
	})
}

func merged(t *testing.T, schedules string) schedule.List {
	s := definition.DefaultSettings()
	require.NoError(t, s.Merge([]byte(`{"schedules":`+schedules+`}`), true))
	return s.Schedules
}

// TestSchedulesAlone: a function may have schedules and no handler of documents; what they call has to
// be there. A failed call is retried and is a dead letter, and the next one comes all the same.
func TestSchedulesAlone(t *testing.T) {
	clock := new(virtual)
	clock.ms.Store(time.Date(2026, 11, 28, 2, 59, 0, 0, time.UTC).UnixMilli())
	n := newNodeAt(t, memkv.New(), 0, clock.now)
	n.create("src", "dst", "dead")
	const settings = `{"schedules":[{"at":"03:00","call":"Nightly"}],"dead_letter_database":"dead","max_retries":1}`
	n.define("f", `function Nightly(context) {
	if (!dst.ready) throw new Error("not " + context.schedule);
	dst["called " + context.due] = {};
}`, settings, "+dst=dst")
	n.deploy("f")
	n.eventually(func() bool { return n.nextIs("2026-11-28T03:00:00Z") }, "the first call")
	clock.ms.Add(time.Minute.Milliseconds())
	n.eventually(func() bool { n.lookAtTimers(); return n.count("dead") == 1 }, "no dead letter")
	n.eventually(func() bool { return n.nextIs("2026-11-29T03:00:00Z") }, "the next call")
	require.Contains(t, n.deadLetters(), `"event":"timer","callback":"Nightly"`)
	require.Contains(t, n.deadLetters(), `"schedule":"at 03:00 Nightly"`)
	n.put("dst", "ready", `{}`)
	clock.ms.Add(5 * 24 * time.Hour.Milliseconds())
	due := time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC).UnixMilli()
	called := fmt.Sprint("called ", due)
	n.eventually(func() bool { n.lookAtTimers(); return n.get("dst", called) != "" }, "no second call")
	require.EqualValues(t, 2, n.count("dst"), "the calls that were missed are one")

	bad := definition.Function{
		Name: "g", Code: "function OnUpdate() {}", Scope: definition.Global, Settings: definition.DefaultSettings(),
		Bindings: definition.Bindings{SourceBucket: "src"},
	}
	bad.Settings.Schedules = merged(t, `[{"every":"1m","call":"Missing"}]`)
	_, wrong := n.engine.Compile(t.Context(), &bad)
	require.NotNil(t, wrong)
	require.Equal(t, definition.CodeCompilation, wrong.Code)
	require.Contains(t, wrong.Error(), "there is no function Missing()")
}

func (n *node) nextIs(want string) bool {
	r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
	require.NoError(n.t, err)
	list, err := n.engine.NextCalls(context.Background(), r)
	require.NoError(n.t, err)
	return len(list) == 1 && list[0].Next != nil && list[0].Next.Format(time.RFC3339) == want
}

// deadLetters are the bodies of all documents in dead.
func (n *node) deadLetters() string {
	var all strings.Builder
	feed := n.db("dead").Bare().Feed()
	_, err := feed.Changes(context.Background(), storage.ChangesOptions{Limit: -1, IncludeDocs: true},
		func(ch *storage.Change) error {
			all.Write(ch.Doc.Body)
			return nil
		})
	require.NoError(n.t, err)
	return all.String()
}
