package admin

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// warningCounts are the metrics of warnings that are not 0, by id and severity.
func warningCounts(t *testing.T, h *Handlers) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(warningCollector{h}))
	families, err := registry.Gather()
	require.NoError(t, err)
	counts, ids := map[string]float64{}, map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			if name == "settee_warnings" {
				name = m.GetLabel()[1].GetValue() + " " + m.GetLabel()[0].GetValue()
				ids[m.GetLabel()[0].GetValue()] = true
			}
			if v := m.GetGauge().GetValue(); v != 0 {
				counts[name] = v
			}
		}
	}
	require.Len(t, ids, len(warningKinds), "each kind is there, with a warning or without")
	return counts
}

// TestWarningMetrics: the metrics count what the overview lists, and a check that fails is told
// instead of counting as one that has found nothing.
func TestWarningMetrics(t *testing.T) {
	h := bare(t)
	h.samples = &sampler{read: func() reading {
		return reading{"bodies": 99, "bodies limit": 100, "sorting": 99, "sorting limit": 100, "process_max_fds": 1024}
	}}
	require.Equal(t, map[string]float64{"warning memory_full": 2, "warning few_files": 1}, warningCounts(t, h))
	h.functions = func(context.Context) ([]FunctionTask, error) { return nil, errors.New("the store is away") }
	_, err := h.env.Config.Delete("admins", "admin", false)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{
		"warning memory_full": 2, "warning few_files": 1, "critical no_admin": 1, "settee_warnings_unknown": 1,
	}, warningCounts(t, h))
}
