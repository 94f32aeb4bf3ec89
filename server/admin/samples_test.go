package admin

import (
	"encoding/json"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
	"github.com/settee-db/settee/server/stats"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// bare makes Handlers that have counters, settings and budgets, and no store.
func bare(t *testing.T) *Handlers {
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	_, err = c.Set("admins", "admin", "-pbkdf2-x", false)
	require.NoError(t, err)
	env := &call.Env{Config: c, Stats: stats.New(), Node: call.NodeName, Log: slog.New(slog.DiscardHandler)}
	env.Open(1 << 30)
	return &Handlers{env: env, nodes: forward.New(nil), crashing: noCrashes, started: time.Now()}
}

// TestSamplesAgainstModel: readings that grow, fall and lack numbers by chance, many more than are
// kept: each series shows what a model computes from the readings alone, which has none of the ring.
func TestSamplesAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var next reading
	s := newSampler(func() reading { return next }, new(stats.Interval))
	s.last, s.lastAt = reading{}, time.Unix(1000, 0)
	var readings []reading
	const taken = 2*samplesKept + 17
	for i := range taken {
		next = reading{}
		for _, m := range measures {
			if random.IntN(10) > 0 {
				next[m.of] = float64(random.IntN(1000) * (i + 1))
				next[m.of+" sum"], next[m.of+" count"] = float64(i*i), float64(i/2)
			}
		}
		readings = append(readings, next)
		s.take(time.Unix(int64(1010+10*i), 0))
	}
	for _, after := range []int64{0, 1010 + 10*(taken-3), 1010 + 10*taken} {
		var want []int
		for i := max(0, taken-samplesKept); i < taken; i++ {
			if int64(1010+10*i) > after {
				want = append(want, i)
			}
		}
		times, series := s.since(after)
		require.Len(t, times, len(want))
		for n, i := range want {
			require.EqualValues(t, 1010+10*i, times[n])
			for _, m := range measures {
				column, there := series[m.name]
				expect := modelOf(&m, readings[i-1], readings[i])
				if !there {
					require.True(t, math.IsNaN(expect), m.name)
				} else if math.IsNaN(expect) {
					require.True(t, math.IsNaN(column[n]), m.name)
				} else {
					require.InDelta(t, expect, column[n], 1e-9, m.name)
				}
			}
		}
	}
	require.EqualValues(t, samplesMemory, int(unsafe.Sizeof(s.times))+len(measures)*samplesKept*8)
}

// modelOf is what a series shows of two readings ten seconds apart.
func modelOf(m *measure, before, now reading) float64 {
	if m.kind == asItIs {
		if v, there := now[m.of]; there {
			return v
		}
		return math.NaN()
	}
	of := []string{m.of}
	if m.kind == mean {
		of = []string{m.of + " sum", m.of + " count"}
	}
	var grown []float64
	for _, name := range of {
		from, known := before[name]
		to, there := now[name]
		if !known || !there || from > to {
			return math.NaN()
		}
		grown = append(grown, to-from)
	}
	if m.kind == perSecond {
		return grown[0] / 10
	}
	unit := 1.0
	if strings.HasSuffix(m.name, "_ms") {
		unit = 1000
	}
	return unit * grown[0] / grown[1]
}

// TestNumbersAsJSON: whole numbers are exact, what is none is null.
func TestNumbersAsJSON(t *testing.T) {
	text, err := json.Marshal(numbers{0, 1 << 50, 1.0 / 3, math.NaN(), math.Inf(1), -2, 1e-9})
	require.NoError(t, err)
	require.Equal(t, `[0,1125899906842624,0.33333,null,null,-2,1e-09]`, string(text))
}

// TestMeasuresAreThere: the numbers of all series exist in a server on Pebble, so that no name is
// mistyped; in one on an engine without numbers those of the store do not, and nothing stands for
// them.
func TestMeasuresAreThere(t *testing.T) {
	store, err := pebblekv.Open(t.TempDir(), pebblekv.Options{})
	require.NoError(t, err)
	defer store.Close()
	_, err = store.Update(t.Context(), func(tx kv.Tx) error { tx.Set([]byte("k"), nil); return nil })
	require.NoError(t, err)
	h := bare(t)
	elsewhere := map[string]bool{ // of collectors that other packages have, each with a test of its names
		"settee_js_workers/busy": true, "settee_js_workers/idle": true, "settee_http_connections": true,
		"settee_function_workers/busy": true, "settee_function_workers/idle": true,
		"settee_jobs_running": true, "settee_write_seconds": true, "workers limit": true, "memory limit": true,
		"settee_http_connections_max": true, "p50": true, "p95": true, "p99": true,
	}
	with, without := readNumbers(h, []prometheus.Collector{store})(), readNumbers(h, nil)()
	there := func(name string) bool {
		_, number := with[name]
		_, histogram := with[name+" count"]
		return number || histogram || elsewhere[name]
	}
	for _, m := range measures {
		require.True(t, there(m.of), m.of)
		if strings.HasPrefix(m.of, "settee_") {
			require.NotContains(t, without, m.of)
		}
	}
	for _, of := range limits {
		require.True(t, there(of), of)
	}
	last := without
	s := newSampler(func() reading { return last }, new(stats.Interval))
	s.take(time.Now())
	_, series := s.since(0)
	require.Contains(t, series, "requests_per_second")
	require.NotContains(t, series, "store_disk_bytes")
}

// TestSamplerTakesAndEnds: a sample every ten seconds, until the server stops.
func TestSamplerTakesAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		s := newSampler(func() reading { return reading{"requests": float64(requests.Load())} }, new(stats.Interval))
		stopping, ended := make(chan struct{}), make(chan struct{})
		go func() { s.run(stopping); close(ended) }()
		requests.Store(50)
		time.Sleep(5*sampleEvery + time.Second)
		close(stopping)
		<-ended
		times, series := s.since(0)
		require.Len(t, times, 5)
		require.Equal(t, numbers{5, 0, 0, 0, 0}, series["requests_per_second"])
	})
}

// TestBudgetsAreRead: what requests hold shows in the reading, with the bound.
func TestBudgetsAreRead(t *testing.T) {
	h := bare(t)
	share := memory.NewShare(h.env.Bodies, "anna")
	require.NoError(t, share.Take(t.Context(), 1<<20))
	defer share.Release()
	r := readNumbers(h, nil)()
	require.EqualValues(t, 1<<20, r["bodies"])
	require.EqualValues(t, h.env.Bodies.Total, r["bodies limit"])
	require.EqualValues(t, 0, r["answers"])
}
