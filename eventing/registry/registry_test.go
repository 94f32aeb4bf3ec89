package registry_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// newFunction is a function that takes from one database and writes to others.
func newFunction(t testing.TB, name, source string, writes ...string) *definition.Function {
	t.Helper()
	f, err := definition.Parse([]byte(fmt.Sprintf(`{"appname":%q,"appcode":"function OnUpdate(doc,meta){}",
		"depcfg":{"source_bucket":%q}}`, name, source)), definition.ParseOptions{})
	require.NoError(t, err)
	for i, db := range writes {
		f.Bindings.Buckets = append(f.Bindings.Buckets, definition.DatabaseBinding{
			Alias: fmt.Sprint("a", i), BucketName: db, ScopeName: "_default", CollectionName: "_default", Access: "rw",
		})
	}
	return f
}

// user deploys functions.
var user = registry.Principal{Name: "anna", Roles: []string{"r"}}

// newStore is an empty store that ends with the test.
func newStore(t testing.TB) kv.Store {
	s := memkv.New()
	t.Cleanup(func() { s.Close() })
	return s
}

// life drives functions of a registry and stands for the engine.
type life struct {
	*registry.Registry
	t testing.TB
}

func (l life) get(name string) *registry.Record {
	l.t.Helper()
	r, err := l.Get(l.t.Context(), definition.Ref{Scope: definition.Global, Name: name})
	require.NoError(l.t, err)
	return r
}

func (l life) put(f *definition.Function) *registry.Record {
	l.t.Helper()
	r, err := l.Put(l.t.Context(), f, l.get(f.Name))
	require.NoError(l.t, err)
	return r
}

func (l life) finish(r *registry.Record, to definition.State) *registry.Record {
	l.t.Helper()
	require.NoError(l.t, l.Finish(l.t.Context(), r.Ref(), r.Instance, r.State, to))
	return l.get(r.Draft.Name)
}

func (l life) deploy(name string) *registry.Record {
	l.t.Helper()
	r, err := l.Deploy(l.t.Context(), l.get(name), user, nil)
	require.NoError(l.t, err)
	return l.finish(r, definition.Deployed)
}

func (l life) pause(name string) *registry.Record {
	l.t.Helper()
	r, err := l.Pause(l.t.Context(), l.get(name))
	require.NoError(l.t, err)
	return l.finish(r, definition.Paused)
}

func (l life) undeploy(name string) *registry.Record {
	l.t.Helper()
	r, err := l.Undeploy(l.t.Context(), l.get(name))
	require.NoError(l.t, err)
	return l.finish(r, definition.Undeployed)
}

func requireCode(t testing.TB, code definition.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, definition.AsError(err).Code, "%v", err)
}

func TestPutAndDelete(t *testing.T) {
	l := life{registry.New(newStore(t), registry.Hooks{}), t}
	require.Nil(t, l.get("f"))
	f := newFunction(t, "f", "src")
	r := l.put(f)
	require.Equal(t, definition.Undeployed, r.State)
	require.NotZero(t, r.Draft.UUID)
	require.Nil(t, r.Deployed)
	require.Equal(t, r.Version, l.get("f").Version)
	require.Equal(t, r.Draft, l.get("f").Draft)

	changed := newFunction(t, "f", "other")
	changed.UUID = 1
	again := l.put(changed)
	require.Equal(t, r.Draft.UUID, again.Draft.UUID, "a function keeps its number")
	require.Equal(t, "other", l.get("f").Draft.Bindings.SourceBucket)

	_, err := l.Put(t.Context(), f, r)
	require.ErrorIs(t, err, registry.ErrChanged)
	_, err = l.Put(t.Context(), f, nil)
	require.ErrorIs(t, err, registry.ErrChanged)
	require.ErrorIs(t, l.Delete(t.Context(), r, 0), registry.ErrChanged)
	requireCode(t, definition.CodeNotFound, l.Delete(t.Context(), again, again.Draft.UUID+1))
	require.NotNil(t, l.get("f"))
	require.NoError(t, l.Delete(t.Context(), again, again.Draft.UUID))
	require.Nil(t, l.get("f"))

	anew := l.put(f)
	require.NotEqual(t, r.Version, anew.Version)
	require.ErrorIs(t, l.Delete(t.Context(), again, 0), registry.ErrChanged, "it is another one of the name")
}

// TestScopes: functions of different scopes may have the same name, and names may begin alike.
func TestScopes(t *testing.T) {
	g := registry.New(newStore(t), registry.Hooks{})
	var refs []string
	for _, scope := range []definition.Scope{definition.Global, {Bucket: "a", Scope: "_default"}} {
		for _, name := range []string{"f", "ff"} {
			f := newFunction(t, name, "src")
			f.Scope = scope
			_, err := g.Put(t.Context(), f, nil)
			require.NoError(t, err)
			refs = append(refs, f.Ref().String())
		}
	}
	all, _, err := g.List(t.Context())
	require.NoError(t, err)
	var got []string
	for _, r := range all {
		got = append(got, r.Ref().String())
	}
	require.Equal(t, refs, got)
}

// TestLongRecords: code above the size of a value is stored in chunks, and shrinks again.
func TestLongRecords(t *testing.T) {
	store := newStore(t)
	l := life{registry.New(store, registry.Hooks{}), t}
	l.put(newFunction(t, "e", "src"))
	l.put(newFunction(t, "g", "src"))
	for _, size := range []int{500_000, 89_000, 90_000, 250_000, 10} {
		f := newFunction(t, "f", "src")
		f.Code = strings.Repeat("x", size)
		l.put(f)
		require.Equal(t, f.Code, l.get("f").Draft.Code)
		all, _, err := l.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.Equal(t, f.Code, all[1].Draft.Code)
	}
	require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte{0xff}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			require.LessOrEqual(t, len(it.Value()), kv.FDBLimits.ValueSize)
		}
		return it.Err()
	}))
	require.NoError(t, l.Delete(t.Context(), l.get("f"), 0))
	require.Nil(t, l.get("f"))
	require.NotNil(t, l.get("g"))
}

func TestLife(t *testing.T) {
	l := life{registry.New(newStore(t), registry.Hooks{}), t}
	l.put(newFunction(t, "f", "src", "dst"))

	r, err := l.Deploy(t.Context(), l.get("f"), user, []string{"q"})
	require.NoError(t, err)
	require.Equal(t, definition.Deploying, r.State)
	require.EqualValues(t, 1, r.Instance)
	require.Equal(t, user, r.Owner)
	require.Equal(t, []string{"q"}, r.Queries)
	require.Equal(t, r.Draft, r.Deployed)
	require.Equal(t, fmt.Sprintf("%d-1", r.Draft.UUID), r.Draft.InstanceID)
	_, err = l.Pause(t.Context(), r)
	requireCode(t, definition.CodeInvalidRequest, err)
	_, err = l.Put(t.Context(), newFunction(t, "f", "src"), r)
	requireCode(t, definition.CodeInvalidRequest, err)
	requireCode(t, definition.CodeNotUndeployed, l.Delete(t.Context(), r, 0))

	require.ErrorIs(t, l.Finish(t.Context(), r.Ref(), 2, r.State, definition.Deployed), registry.ErrChanged)
	require.ErrorIs(t, l.Finish(t.Context(), r.Ref(), 1, definition.Resuming, definition.Deployed), registry.ErrChanged)
	require.Error(t, l.Finish(t.Context(), r.Ref(), 1, definition.Deploying, definition.Paused))
	r = l.finish(r, definition.Deployed)
	_, err = l.Deploy(t.Context(), r, user, nil)
	requireCode(t, definition.CodeAlreadyDeployed, err)

	// While deployed, a setting that takes effect at once changes both versions; code does not
	// change.
	verbose := r.Draft.Clone()
	verbose.Settings.LogLevel = "TRACE"
	r = l.put(verbose)
	require.Equal(t, "TRACE", r.Deployed.Settings.LogLevel)
	coded := verbose.Clone()
	coded.Code = "x"
	_, err = l.Put(t.Context(), coded, r)
	requireCode(t, definition.CodeInvalidRequest, err)

	// While paused, what is deployed stays as it is until the function is resumed, as the same
	// instance.
	r = l.pause("f")
	require.NotNil(t, r.Paused)
	r = l.put(coded)
	require.Equal(t, "x", r.Draft.Code)
	require.NotEqual(t, "x", r.Deployed.Code)
	require.Equal(t, r.Deployed, r.Running())
	other := registry.Principal{Name: "bert"}
	r, err = l.Deploy(t.Context(), r, other, nil)
	require.NoError(t, err)
	require.Equal(t, definition.Resuming, r.State)
	require.EqualValues(t, 1, r.Instance)
	require.Equal(t, other.Name, r.Owner.Name)
	require.Equal(t, "x", r.Deployed.Code)
	require.NotNil(t, r.Paused, "OnDeploy is told how long the pause was")
	l.finish(r, definition.Deployed)

	r = l.undeploy("f")
	require.Nil(t, r.Deployed)
	require.Zero(t, r.Instance)
	require.Empty(t, r.Draft.InstanceID)
	require.Nil(t, r.Paused)
	_, err = l.Undeploy(t.Context(), r)
	requireCode(t, definition.CodeNotDeployed, err)
	require.EqualValues(t, 2, l.deploy("f").Instance)
}

// TestFailures: what cannot be deployed or resumed is again as it was.
func TestFailures(t *testing.T) {
	l := life{registry.New(newStore(t), registry.Hooks{}), t}
	l.put(newFunction(t, "f", "src"))
	r, err := l.Deploy(t.Context(), l.get("f"), user, nil)
	require.NoError(t, err)
	r = l.finish(r, definition.Undeployed)
	require.Nil(t, r.Deployed)
	require.Zero(t, r.Instance)
	l.deploy("f")
	paused := l.pause("f")
	r, err = l.Deploy(t.Context(), paused, user, nil)
	require.NoError(t, err)
	r = l.finish(r, definition.Paused)
	require.True(t, paused.Paused.Equal(*r.Paused), "it was paused all the time")
	require.Equal(t, paused.Instance, r.Instance)
}

func TestRecursion(t *testing.T) {
	l := life{registry.New(newStore(t), registry.Hooks{}), t}
	l.put(newFunction(t, "f", "a", "b"))
	l.put(newFunction(t, "g", "b", "a"))
	l.deploy("f")
	_, err := l.Deploy(t.Context(), l.get("g"), user, nil)
	requireCode(t, definition.CodeDatabaseRecursion, err)
	require.Equal(t, definition.Undeployed, l.get("g").State)
	l.pause("f") // a paused function goes on some day
	_, err = l.Deploy(t.Context(), l.get("g"), user, nil)
	requireCode(t, definition.CodeDatabaseRecursion, err)
	require.NoError(t, l.MergeConfig(t.Context(), []byte(`{"allow_interbucket_recursion":true}`)))
	l.deploy("g")
	l.undeploy("g")
	require.NoError(t, l.ResetConfig(t.Context()))
	l.undeploy("f")
	l.deploy("g")
}

func TestHooks(t *testing.T) {
	store := newStore(t)
	var fail error
	g := registry.New(store, registry.Hooks{
		Deploy: func(tx kv.Tx, r *registry.Record) error {
			require.Equal(t, definition.Deploying, r.State)
			tx.Set(append(registry.InstancePrefix(r.Instance), "begin"...), []byte("x"))
			return fail
		},
		Undeployed: func(tx kv.Tx, r *registry.Record) error {
			require.NotNil(t, r.Deployed)
			begin := registry.InstancePrefix(r.Instance)
			tx.ClearRange(begin, append(registry.InstancePrefix(r.Instance), 0xff))
			return fail
		},
	})
	l := life{g, t}
	keys := func() (n int) {
		require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) error {
			for i := range int64(10) {
				value, err := tx.Get(append(registry.InstancePrefix(i), "begin"...))
				if err != nil {
					return err
				}
				if value != nil {
					n++
				}
			}
			return nil
		}))
		return n
	}
	l.put(newFunction(t, "f", "src"))
	fail = definition.Errorf(definition.CodeOperationFailed, "no")
	_, err := l.Deploy(t.Context(), l.get("f"), user, nil)
	requireCode(t, definition.CodeOperationFailed, err)
	require.Equal(t, definition.Undeployed, l.get("f").State)
	require.Zero(t, keys())
	fail = nil
	l.deploy("f")
	require.Equal(t, 1, keys())
	l.pause("f")
	r, err := l.Deploy(t.Context(), l.get("f"), user, nil)
	require.NoError(t, err)
	l.finish(r, definition.Deployed)
	r, err = l.Undeploy(t.Context(), l.get("f"))
	require.NoError(t, err)
	fail = definition.Errorf(definition.CodeOperationFailed, "no")
	require.Error(t, l.Finish(t.Context(), r.Ref(), r.Instance, r.State, definition.Undeployed))
	require.Equal(t, 1, keys())
	fail = nil
	l.finish(r, definition.Undeployed)
	require.Zero(t, keys())
}

// TestListMakesWhatHasChanged: a change of one function costs the making of one record, however
// many functions there are.
func TestListMakesWhatHasChanged(t *testing.T) {
	for _, count := range []int{10, 100} {
		l := life{registry.New(newStore(t), registry.Hooks{}), t}
		for i := range count {
			l.put(newFunction(t, fmt.Sprint("f", i), "a"))
		}
		before, _, err := l.List(t.Context())
		require.NoError(t, err)
		changed := l.deploy("f3").Ref()
		after, _, err := l.List(t.Context())
		require.NoError(t, err)
		require.Len(t, after, count)
		for i, r := range after {
			if r.Ref() == changed {
				require.Equal(t, definition.Undeployed, before[i].State)
				require.Equal(t, definition.Deployed, r.State)
				continue
			}
			require.Same(t, before[i], r)
		}
	}
}

// TestWatch: each change ends a watch, and none is missed between List and Watch.
func TestWatch(t *testing.T) {
	l := life{registry.New(newStore(t), registry.Hooks{}), t}
	_, seen, err := l.List(t.Context())
	require.NoError(t, err)
	require.Zero(t, seen)
	for i, change := range []func(){
		func() { l.put(newFunction(t, "f", "src")) },
		func() { l.deploy("f") },
		func() { l.pause("f") },
		func() { require.NoError(t, l.MergeConfig(t.Context(), []byte(`{}`))) },
		func() { l.undeploy("f") },
		func() { require.NoError(t, l.Delete(t.Context(), l.get("f"), 0)) },
	} {
		woken := make(chan error, 1)
		go func(seen uint64) { woken <- l.Watch(t.Context(), seen) }(seen)
		change()
		select {
		case err := <-woken:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Fatalf("change %d was not seen", i)
		}
		var now uint64
		_, now, err = l.List(t.Context())
		require.NoError(t, err)
		require.Greater(t, now, seen)
		seen = now
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.Watch(ended, seen), context.Canceled)
}

func TestWaitFor(t *testing.T) {
	l := life{registry.New(newStore(t), registry.Hooks{}), t}
	ref := definition.Ref{Scope: definition.Global, Name: "f"}
	r, err := l.WaitFor(t.Context(), ref)
	require.NoError(t, err)
	require.Nil(t, r)
	l.put(newFunction(t, "f", "src"))
	begun, err := l.Deploy(t.Context(), l.get("f"), user, nil)
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = l.WaitFor(short, ref)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	got := make(chan *registry.Record, 1)
	go func() {
		r, err := l.WaitFor(t.Context(), ref)
		if err == nil {
			got <- r
		}
	}()
	l.finish(begun, definition.Deployed)
	select {
	case r := <-got:
		require.Equal(t, definition.Deployed, r.State)
	case <-time.After(time.Minute):
		t.Fatal("the end was not seen")
	}
}

func TestConfig(t *testing.T) {
	g := registry.New(newStore(t), registry.Hooks{})
	c, err := g.Config(t.Context())
	require.NoError(t, err)
	require.Equal(t, definition.DefaultConfig(), c)
	require.NoError(t, g.MergeConfig(t.Context(), []byte(`{"enable_curl":false}`)))
	require.Error(t, g.MergeConfig(t.Context(), []byte(`{"function_size":-1}`)))
	require.NoError(t, g.MergeConfig(t.Context(), []byte(`{"function_size":1000}`)))
	c, err = g.Config(t.Context())
	require.NoError(t, err)
	require.False(t, c.EnableCurl)
	require.EqualValues(t, 1000, c.FunctionSize)
	require.NoError(t, g.ResetConfig(t.Context()))
	c, err = g.Config(t.Context())
	require.NoError(t, err)
	require.Equal(t, definition.DefaultConfig(), c)
}

// TestFaults: whatever the store does, a change that failed has changed nothing, and others have
// happened once.
func TestFaults(t *testing.T) {
	for seed := range uint64(20) {
		mem := newStore(t)
		sure := life{registry.New(mem, registry.Hooks{}), t}
		faults := faultkv.New(mem, faultkv.Random(seed, faultkv.Rates{
			Conflict: 0.1, UnknownAborted: 0.1, UnknownCommitted: 0.1, TooOld: 0.1, TooLarge: 0.1, Full: 0.1,
		}))
		g := registry.New(faults, registry.Hooks{})
		version, instance := uint64(0), int64(0)
		for i := range 60 {
			before := sure.get("f")
			var err error
			var r *registry.Record
			switch {
			case before == nil:
				r, err = g.Put(t.Context(), newFunction(t, "f", "src"), nil)
			case before.State == definition.Undeployed && i%5 == 0:
				f := before.Draft.Clone()
				f.Code = fmt.Sprint(i)
				r, err = g.Put(t.Context(), f, before)
			case before.State == definition.Undeployed, before.State == definition.Paused && i%2 == 0:
				r, err = g.Deploy(t.Context(), before, user, nil)
			case before.State == definition.Paused:
				r, err = g.Undeploy(t.Context(), before)
			case before.State == definition.Deployed:
				r, err = g.Pause(t.Context(), before)
			default:
				err = g.Finish(t.Context(), before.Ref(), before.Instance, before.State, before.State.Target())
			}
			after := sure.get("f")
			if err != nil {
				require.Equal(t, before, after, "seed %d, step %d: %v", seed, i, err)
				continue
			}
			if r != nil {
				require.Equal(t, r.Version, after.Version)
				require.Equal(t, r.State, after.State)
			}
			if version > 0 {
				require.Equal(t, version+1, after.Version, "it happened once")
			}
			version = after.Version
			if after.Instance > 0 {
				require.Contains(t, []int64{instance, instance + 1}, after.Instance, "numbers are given in turn")
				instance = after.Instance
			}
		}
		require.NotZero(t, version)
	}
}

// TestChangesCount: the value that is watched is a counter of 8 bytes.
func TestChangesCount(t *testing.T) {
	store := newStore(t)
	l := life{registry.New(store, registry.Hooks{}), t}
	l.put(newFunction(t, "f", "src"))
	l.deploy("f") // begins and ends
	require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) error {
		value, err := tx.Get(registry.ChangesKey())
		require.Equal(t, binary.LittleEndian.AppendUint64(nil, 3), value)
		return err
	}))
}
