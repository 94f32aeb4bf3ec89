package admin

import (
	"context"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/forward"
	"github.com/settee-db/settee/storage/kv/memkv"
)

func noCrashes() []replication.Crash { return nil }

// ids are those of warnings, with the severity and the subject.
func ids(t *testing.T, h *Handlers, now reading) (list []string) {
	all, err := warningsOf(t.Context(), h, now)
	require.NoError(t, err)
	for _, w := range all {
		require.NotEmpty(t, w.Text)
		require.NotEmpty(t, w.Do)
		list = append(list, strings.TrimSpace(w.Severity+" "+w.ID+" "+w.Subject))
	}
	return list
}

// TestNoWarnings: a server that is well has none, also where an engine tells nothing.
func TestNoWarnings(t *testing.T) {
	h := bare(t)
	require.Empty(t, ids(t, h, reading{}))
	require.Empty(t, ids(t, h, reading{
		"settee_volume_bytes": 100, "settee_volume_free_bytes": 16, "process_max_fds": 20000,
		"bodies limit": 100, "bodies": 89,
	}))
}

// TestWarnings: each state is told, and nothing else with it.
func TestWarnings(t *testing.T) {
	disk := func(free float64) reading {
		return reading{"settee_volume_bytes": 100e9, "settee_volume_free_bytes": free}
	}
	for name, c := range map[string]struct {
		now   reading
		state func(h *Handlers)
		want  string
	}{
		"disk 85 %": {now: disk(15e9), want: "warning disk_nearly_full"},
		"disk 95 %": {now: disk(5e9), want: "critical disk_nearly_full"},
		"disk, writes refused": {now: disk(50e9), want: "critical disk_nearly_full", state: func(h *Handlers) {
			h.noRoom = func() bool { return true }
		}},
		"bodies":  {now: reading{"bodies": 90, "bodies limit": 100}, want: "warning memory_full bodies"},
		"answers": {now: reading{"answers": 90, "answers limit": 100}, want: "warning memory_full answers"},
		"sorting": {now: reading{"sorting": 90, "sorting limit": 100}, want: "warning memory_full sorting"},
		"heap":    {now: reading{"heap": 91, "memory limit": 100}, want: "warning memory_full heap"},
		"files":   {now: reading{"process_max_fds": 1024}, want: "warning few_files"},
		"nobody in [admins]": {want: "critical no_admin", state: func(h *Handlers) {
			_, err := h.env.Config.Delete("admins", "admin", false)
			require.NoError(t, err)
		}},
		"a function": {want: "critical function_paused f", state: func(h *Handlers) {
			h.functions = func(context.Context) ([]FunctionTask, error) {
				return []FunctionTask{{Function: "f", Reason: "Its owner is gone."}, {Function: "g", Outbox: 1}}, nil
			}
		}},
		"a replication": {want: "warning replication_crashing _replicator/r", state: func(h *Handlers) {
			h.crashing = func() []replication.Crash {
				return []replication.Crash{{DB: "_replicator", DocID: "r", Source: "a", Reason: "timeout", Times: 3}}
			}
		}},
		"a setting": {want: "warning setting_without_effect [couchdb] max_dbs_open", state: func(h *Handlers) {
			_, err := h.env.Config.Set("couchdb", "max_dbs_open", "1", false)
			require.NoError(t, err)
		}},
	} {
		h := bare(t)
		if c.state != nil {
			c.state(h)
		}
		require.Equal(t, []string{c.want}, ids(t, h, c.now), name)
	}
}

// TestWarningsAreBounded: however much is wrong, the answer has an end, and what is critical comes
// first.
func TestWarningsAreBounded(t *testing.T) {
	h := bare(t)
	h.crashing = func() []replication.Crash { return make([]replication.Crash, 1000) }
	list := ids(t, h, reading{"settee_volume_bytes": 100, "settee_volume_free_bytes": 1})
	require.Len(t, list, 1+mostWarnings)
	require.Equal(t, "critical disk_nearly_full", list[0])
}

// TestSecretOfSeveralNodes: what two nodes on a store do not share is told as soon as they know of
// each other, and no longer once it is set.
func TestSecretOfSeveralNodes(t *testing.T) {
	engine := memkv.New()
	member := func(name string) *nodes.Members {
		m := nodes.New(nodes.Options{
			KV: engine, Prefix: []byte("nodes"), Info: nodes.Info{Name: name}, Lease: time.Minute,
			Log: slog.New(slog.DiscardHandler),
		})
		m.Advertise("http://127.0.0.1:1")
		return m
	}
	here, there := member("a"), member("b")
	require.NoError(t, there.Refresh(t.Context()))
	require.NoError(t, here.Refresh(t.Context()))
	h := bare(t)
	h.nodes = forward.New(here)
	require.Equal(t, []string{"critical secret_missing"}, ids(t, h, nil))
	_, err := h.env.Config.Set("chttpd_auth", "secret", "s", false)
	require.NoError(t, err)
	h.env.ReadSettings()
	require.Empty(t, ids(t, h, nil))
}

// TestClocks: a clock that is away is told, with the direction; the age of a sign of life is not
// taken for it.
func TestClocks(t *testing.T) {
	now := time.Now()
	at := func(beat time.Time) []nodes.Member {
		return []nodes.Member{{Info: nodes.Info{Name: "b", Beat: beat}}}
	}
	require.Empty(t, warnOfClocks(now, at(now.Add(-4*time.Second))))
	require.Empty(t, warnOfClocks(now, at(time.Time{})), "an older program tells no time")
	require.Contains(t, warnOfClocks(now, at(now.Add(-time.Hour)))[0].Text, "1h0m0s behind this")
	require.Contains(t, warnOfClocks(now, at(now.Add(time.Minute)))[0].Text, "1m0s ahead of this")
}

// TestMemoryWarning: what one user's bodies hold makes the warning by itself.
func TestMemoryWarning(t *testing.T) {
	h := bare(t)
	for _, user := range []string{"anna", "bob"} {
		share := memory.NewShare(h.env.Bodies, user)
		require.NoError(t, share.Take(t.Context(), h.env.Bodies.Total/2))
		defer share.Release()
	}
	now := readNumbers(h, nil)()
	now["process_max_fds"] = fewFiles // whatever this machine allows
	require.Equal(t, []string{"warning memory_full bodies"}, ids(t, h, now))
}

func TestSizeText(t *testing.T) {
	for n, want := range map[float64]string{0: "0 bytes", 999: "999 bytes", 999.9: "1 KB", 1234: "1.23 KB",
		5e7: "50 MB", 4.2e9: "4.2 GB", 97e12: "97 TB"} {
		require.Equal(t, want, sizeText(n))
	}
}

// TestWarningsLeadToTheDocumentation: each page and heading that a warning names is there.
func TestWarningsLeadToTheDocumentation(t *testing.T) {
	source, err := os.ReadFile("warnings.go")
	require.NoError(t, err)
	places := regexp.MustCompile(`"docs/([a-z-]+\.md)(?:#([^"]*))?"`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(places), 10)
	for _, place := range places {
		page, err := os.ReadFile("../../docs/" + place[1])
		require.NoError(t, err)
		found := place[2] == ""
		for line := range strings.Lines(string(page)) {
			if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
				title = strings.ToLower(strings.TrimSpace(title))
				slug := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(title, "")
				found = found || strings.ReplaceAll(slug, " ", "-") == place[2]
			}
		}
		require.True(t, found, place[0])
	}
}
