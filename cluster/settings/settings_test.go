package settings

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

var prefix = []byte("settings")

// process is a process on a store.
type process struct {
	config   *config.Config
	settings *Settings
	end      func()
}

func start(t *testing.T, store kv.Store, lease time.Duration) *process {
	t.Helper()
	p := &process{}
	var err error
	p.config, err = config.Load(map[string]map[string]string{"a": {"stock": "built in"}})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	members := nodes.New(nodes.Options{KV: store, Prefix: []byte("nodes"), Lease: lease, Log: log})
	p.settings, err = Open(t.Context(), Options{KV: store, Prefix: prefix, Nodes: members, Config: p.config, Log: log})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { members.Run(ctx) })
	running.Go(func() { p.settings.Run(ctx) })
	p.end = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(p.end)
	return p
}

// TestEachSeesTheLast: whoever has changed a key, all see the last change as soon as it is made; of
// those who make a new value all get the same one.
func TestEachSeesTheLast(t *testing.T) {
	store := memkv.New()
	var all []*process
	for range 3 {
		all = append(all, start(t, store, 2*time.Second))
	}
	for i := range 10 {
		value := fmt.Sprint(i)
		_, err := all[i%3].config.Set("a", "key", value, true)
		require.NoError(t, err)
		for _, p := range all {
			require.Equal(t, value, p.config.String("a", "key"))
		}
	}
	var made [3]string
	var making sync.WaitGroup
	for i, p := range all {
		making.Go(func() {
			var err error
			if made[i], err = p.config.SetNew("a", "new", fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	making.Wait()
	require.Equal(t, made[0], made[1])
	require.Equal(t, made[0], made[2])
	late := start(t, store, 2*time.Second)
	require.Equal(t, made[0], late.config.String("a", "new"))
	violations, err := Check(t.Context(), store, prefix)
	require.NoError(t, err)
	require.Empty(t, violations)
}

// TestLayers: what was deleted is as it is built in; what was set for a process's life goes before
// what is shared until that changes.
func TestLayers(t *testing.T) {
	store := memkv.New()
	a, b := start(t, store, 2*time.Second), start(t, store, 2*time.Second)
	_, err := a.config.Set("a", "stock", "set", true)
	require.NoError(t, err)
	require.Equal(t, "set", b.config.String("a", "stock"))
	_, err = b.config.Set("a", "stock", "mine", false)
	require.NoError(t, err)
	require.Equal(t, "mine", b.config.String("a", "stock"))
	require.Equal(t, "set", a.config.String("a", "stock"))
	require.NoError(t, b.config.Reload())
	require.Equal(t, "set", b.config.String("a", "stock"))
	old, err := b.config.Delete("a", "stock", true)
	require.NoError(t, err)
	require.Equal(t, "set", old)
	require.Equal(t, "built in", a.config.String("a", "stock"))
	_, err = a.config.Set("a", "long", strings.Repeat("x", longest+1), true)
	require.ErrorIs(t, err, config.ErrValue)
	_, err = a.config.Set("a", strings.Repeat("x", longestKey), "", true)
	require.ErrorIs(t, err, config.ErrKey)
}

// TestDeadProcess: a change waits for a process that has died no longer than it counts as there.
func TestDeadProcess(t *testing.T) {
	store := memkv.New()
	a := start(t, store, time.Second)
	dead := nodes.New(nodes.Options{
		KV: store, Prefix: []byte("nodes"), Lease: time.Second, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, dead.Refresh(t.Context())) // it says that it is there, and nothing more
	begin := time.Now()
	_, err := a.config.Set("a", "key", "value", true)
	require.NoError(t, err)
	require.Greater(t, time.Since(begin), time.Second/2)
	require.Equal(t, "value", a.config.String("a", "key"))
}

// FuzzParse: keys and values of any bytes do no harm, and what is found is told.
func FuzzParse(f *testing.F) {
	s := Settings{o: Options{Prefix: prefix}}
	value := "v"
	f.Add(s.key("a", "b")[len(prefix):], encode(&value))
	f.Fuzz(func(t *testing.T, key, stored []byte) {
		section, name, err := parse(key, stored)
		if err != nil {
			require.ErrorIs(t, err, kv.ErrCorrupt)
			return
		}
		require.Equal(t, append([]byte("settings"), key...), s.key(section, name))
		require.Equal(t, stored[0] == 1, decode(stored) != nil)
	})
}
