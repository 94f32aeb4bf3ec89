package eventing

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/applog"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// checked holds the store of a node against what the packages promise.
func (n *node) checked() []Violation {
	n.t.Helper()
	found, err := Check(context.Background(), n.kv, n.store)
	require.NoError(n.t, err)
	return found
}

// newCheckable is a node with all that Check looks at: instance 1 has a timer with a context of
// three pieces and one without a context, a log, and documents that it has written to its source.
func newCheckable(t *testing.T) *node {
	n := newAlone(t, "src")
	n.define("f", `
function Later(context) {}
function OnUpdate(doc, meta) {
  log(meta.id);
  src[meta.id] = {n: doc.n, seen: true};
  createTimer(Later, new Date(9e12), meta.id, doc.n === 1 ? 'x'.repeat(200000) : undefined);
}`, `{"timer_context_size":300000}`, "+src=src")
	n.deploy("f")
	n.put("src", "a", `{"n":1}`)
	n.put("src", "b", `{"n":2}`)
	n.becomes("src", "a", `{"n":1,"seen":true}`)
	n.becomes("src", "b", `{"n":2,"seen":true}`)
	r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Instance)
	n.eventually(func() bool { return strings.Count(n.log("f"), `"text":"`) >= 2 }, "no log")
	require.NoError(t, n.jobs.Close())
	n.engine.Close()
	n.closed = true
	t.Cleanup(func() {
		require.NoError(t, n.views.Close())
		n.js.Close()
		require.NoError(t, n.store.Close())
	})
	return n
}

// TestCheckFindsDamage: Check names each invariant that is broken, and nothing before.
func TestCheckFindsDamage(t *testing.T) {
	n := newCheckable(t)
	require.Empty(t, n.checked())
	s := spaceOf(1)
	a, b := timers.Name{Callback: "Later", Reference: "a"}, timers.Name{Callback: "Later", Reference: "b"}
	// The partition is that of the document with the id.
	named := func(key []byte, t timers.Name) []byte {
		return tuple.AppendString(tuple.AppendString(key, t.Callback), t.Reference)
	}
	ref := func(t timers.Name) []byte { return named(s.sub(tagRef), t) }
	dueOf := func(t timers.Name) []byte {
		return named(tuple.AppendInt(tuple.AppendInt(s.sub(tagDue), int64(feed.PartitionOf(t.Reference))), 9e12), t)
	}
	root := func(tag int64) []byte { return tuple.AppendInt(keyspace.EventingPrefix(), tag) }
	part := func(key []byte, n int64) []byte { return tuple.AppendInt(bytes.Clone(key), n) }
	function := tuple.AppendString(tuple.AppendString(tuple.AppendString(root(1), "*"), "*"), "f")
	log := applog.Key(refOf("f"))
	require.True(t, bytes.HasPrefix(log, root(applog.Root)))
	far := keyspace.AppendSeq(nil, storage.Seq{Incarnation: 255})
	var origin []byte
	require.NoError(t, n.store.DB("src").ViewAgain(context.Background(), func(s *storage.Snapshot) error {
		origin = storage.BesideKey(s.AppendPrefix(nil, keyspace.TagEventing), "a")
		return nil
	}))
	nonce := make([]byte, kv.VersionstampSize)
	another := append(binary.BigEndian.AppendUint64(nonce, 5), 0, byte(feed.PartitionOf("b"))) // time
	future := func(origin []byte) []byte { origin[len(origin)-2] = 99; return origin }
	tooFar := func(progress []byte) []byte { return append(progress[:17:17], far...) }
	other := append(function[:len(function)-2:len(function)-2], 'g', 0)
	edited := func(old, new string) func([]byte) []byte {
		return func(value []byte) []byte {
			after := strings.Replace(string(value), old, new, 1)
			require.NotEqual(t, string(value), after, "nothing to damage")
			return []byte(after)
		}
	}
	to := func(value []byte) func([]byte) []byte { return func([]byte) []byte { return value } }
	stopped := edited(`"state":"deployed"`, `"state":"undeployed"`)
	number := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	for name, c := range map[string]struct {
		key   []byte
		value func(before []byte) []byte // nil: the key is removed
		want  string
	}{
		"a timer without its time":       {dueOf(b), nil, "instance 1: invariant 8"},
		"a timer without its name":       {ref(b), nil, "instance 1: invariant 8"},
		"a timer of another time":        {ref(b), to(another), "instance 1: invariant 8"},
		"a timer with another nonce":     {dueOf(b), to(append(nonce, 0)), "instance 1: invariant 8"},
		"a piece of a context too few":   {part(dueOf(a), 1), nil, "instance 1: invariant 8"},
		"a piece of a context too many":  {part(dueOf(b), 1), to([]byte("x")), "instance 1: invariant 8"},
		"a malformed timer":              {dueOf(b), to([]byte("x")), "instance 1: invariant 13"},
		"a malformed name of a timer":    {ref(b), to([]byte("x")), "instance 1: invariant 13"},
		"a malformed context":            {dueOf(b), to(append(nonce, 2)), "instance 1: invariant 13"},
		"keys of no function":            {spaceOf(7).partition(1), to(far), "instance 7: invariant 9"},
		"no progress":                    {s.progress(), nil, "instance 1: invariant 10"},
		"a progress beyond the source":   {s.progress(), tooFar, "invariant 10: the progress has"},
		"a partition beyond the source":  {s.partition(3), to(far), "instance 1: invariant 10: partition 3 has"},
		"a malformed progress":           {s.progress(), to([]byte{2}), "instance 1: invariant 13"},
		"a partition that there is not":  {s.partition(partitions), to(far), "instance 1: invariant 13"},
		"a malformed partition":          {s.partition(1), to([]byte{1}), "instance 1: invariant 13"},
		"a kind that there is not":       {s.sub(9), to([]byte{1}), "instance 1: invariant 13"},
		"a root that there is not":       {root(7), to([]byte{1}), "keys: invariant 13"},
		"more done than there is":        {s.done(3), to(far), "instance 1: invariant 10: partition 3 has"},
		"a malformed owner":              {s.owner(3), to([]byte{1}), "instance 1: invariant 13"},
		"a malformed count of owners":    {s.ownersChanged(), to([]byte{1}), "instance 1: invariant 13"},
		"an outbox without its message":  {part(s.sub(tagOutbox), 3), to(number(1)), "instance 1: invariant 17"},
		"a malformed key of an outbox":   {part(s.sub(tagOutbox), 9), to([]byte{1}), "instance 1: invariant 13"},
		"malformed statistics":           {part(s.sub(tagStats), 1), to([]byte{1}), "instance 1: invariant 13"},
		"a log without its last piece":   {log, to(number(1000)), "logs: invariant 11"},
		"pieces without a log":           {log, nil, "logs: invariant 11"},
		"a piece of a log too many":      {part(log, 900), to([]byte("{}\n")), "logs: invariant 11"},
		"a malformed number of a log":    {log, to([]byte{1}), "logs: invariant 13"},
		"an origin from the future":      {origin, future, "src: invariant 12"},
		"a malformed origin":             {origin, to([]byte{1}), "src: invariant 13"},
		"a malformed key of an origin":   {part(origin, 1), to([]byte{1}), "src: invariant 13"},
		"a record that is no JSON":       {function, to([]byte(`{`)), "registry: invariant 6"},
		"a record of another function":   {function, edited(`"appname":"f"`, `"appname":"g"`), "registry: invariant 6"},
		"an unknown state":               {function, edited(`"state":"deployed"`, `"state":"?"`), "registry: invariant 6"},
		"a piece of a record":            {part(function, 1), to([]byte(" ")), "registry: invariant 6"},
		"undeployed with an instance":    {function, stopped, "registry: invariant 4"},
		"deployed without an instance":   {function, edited(`"instance":1,`, ``), "registry: invariant 4"},
		"an instance from the future":    {function, edited(`"instance":1,`, `"instance":9,`), "registry: invariant 4"},
		"two functions with an instance": {other, nil, "has instance 1 as"},
		"a malformed number of changes":  {root(0), to([]byte{1}), "registry: invariant 6"},
		"a malformed configuration":      {root(2), to([]byte{1}), "registry: invariant 6"},
		"a malformed last instance":      {root(3), to([]byte{1}), "registry: invariant 6"},
		"a malformed debug session":      {part(root(6), 1), to([]byte("{}")), "registry: invariant 6"},
	} {
		t.Run(name, func(t *testing.T) {
			var before []byte
			_, err := n.kv.Update(context.Background(), func(tx kv.Tx) error {
				value, err := tx.Get(c.key)
				if err != nil {
					return err
				}
				before = bytes.Clone(value)
				switch {
				case strings.HasPrefix(name, "two functions"):
					record, err := tx.Get(function)
					if err != nil {
						return err
					}
					renamed := edited(`"appname":"f"`, `"appname":"g"`) // in the draft, and in what is deployed
					tx.Set(c.key, renamed(renamed(record)))
				case c.value == nil:
					require.NotNil(t, value, "nothing to damage")
					tx.Clear(c.key)
				default:
					tx.Set(c.key, c.value(bytes.Clone(value)))
				}
				return nil
			})
			require.NoError(t, err)
			require.Contains(t, fmt.Sprint(n.checked()), c.want)
			_, err = n.kv.Update(context.Background(), func(tx kv.Tx) error {
				if tx.Clear(c.key); before != nil {
					tx.Set(c.key, before)
				}
				return nil
			})
			require.NoError(t, err)
			require.Empty(t, n.checked())
		})
	}
}

// TestCheckAfterLife: what Check compares of one snapshot holds while functions run, and of what is
// gone it says nothing.
func TestCheckAfterLife(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function Later(context) { dst[context] = {}; }
function OnUpdate(doc, meta) { createTimer(Later, new Date(Date.now() + doc.ms), meta.id, meta.id); }`, "", "+dst=dst")
	n.deploy("f")
	for i := range 50 {
		n.put("src", fmt.Sprint(i), fmt.Sprintf(`{"ms":%d}`, i%2*1e9))
		if i%10 == 0 {
			require.Empty(t, n.checked())
		}
	}
	n.eventually(func() bool { return n.count("dst") == 25 }, "timers have not fired")
	require.Empty(t, n.checked())
	n.pause("f")
	require.Empty(t, n.checked())
	n.undeploy("f")
	require.Empty(t, n.checked())
	require.NoError(t, n.store.Delete(context.Background(), "src"))
	require.Empty(t, n.checked())
}

// TestDeletedLog: the log of a function goes with it; one that takes its name begins with an empty
// one.
func TestDeletedLog(t *testing.T) {
	n := newAlone(t, "src")
	code := `function OnUpdate(doc, meta) { log("seen", meta.id); }`
	n.define("f", code, "")
	n.deploy("f")
	n.put("src", "a", `{}`)
	n.eventually(func() bool { return strings.Contains(n.log("f"), `"id":"a"`) }, "no log")
	n.undeploy("f")
	r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
	require.NoError(t, err)
	require.NoError(t, n.engine.Registry().Delete(context.Background(), r, 0))
	n.define("f", code, "")
	require.NotContains(t, n.log("f"), `"id":"a"`)
	require.Empty(t, n.checked())
}
