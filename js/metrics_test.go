package js

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// TestMetrics: calls are counted by what became of them.
func TestMetrics(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector ends with the memory before the worker can say so")
	}
	p := newTestPool(t, Options{Memory: 128 << 20})
	_, err := mapText(t, p, "function(doc){ emit(1) }", "", `{"_id":"a"}`)
	require.NoError(t, err)
	_, err = mapText(
		t,
		p,
		"function(doc){ var a = []; for(;;) a.push('x'.repeat(1 << 24) + a.length) }",
		"",
		`{"_id":"a"}`,
	)
	require.Error(t, err)
	p.SetTimeout(200 * time.Millisecond)
	_, err = mapText(t, p, "function(doc){ for(;;); }", "", `{"_id":"a"}`)
	require.Error(t, err)
	require.Equal(t, "failed", outcome(errors.New("x")))
	require.Equal(t, "crash", outcome(processError(crashed+"1}")))
	r := prometheus.NewRegistry()
	r.MustRegister(p)
	families, err := r.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			label := ""
			if f.GetName() == "settee_js_calls_total" {
				label = m.Label[0].GetValue() + " " + m.Label[1].GetValue()
			}
			got[f.GetName()+" "+label] += m.GetCounter().GetValue()
		}
	}
	for label, want := range map[string]float64{"map ok": 1, "map timeout": 1, "map memory": 1} {
		require.Equal(t, want, got["settee_js_calls_total "+label], "%s of %v", label, got)
	}
	require.Equal(t, 2.0, got["settee_js_workers_killed_total "])
}
