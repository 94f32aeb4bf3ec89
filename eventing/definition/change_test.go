package definition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// TestChanges: what may change in which settled state.
func TestChanges(t *testing.T) {
	type function = definition.Function
	const undeployed, paused, deployed = 1, 2, 4
	for name, row := range map[string]struct {
		change func(*function)
		in     int
	}{
		"nothing":     {func(*function) {}, undeployed | paused | deployed},
		"description": {func(f *function) { f.Settings.Description = "x" }, undeployed | paused | deployed},
		"log_level":   {func(f *function) { f.Settings.LogLevel = "DEBUG" }, undeployed | paused | deployed},
		"timer_context_size": {func(f *function) { f.Settings.TimerContextSize = 99 },
			undeployed | paused | deployed},
		"statuses":     {func(f *function) { f.Settings.Deployment = true }, undeployed | paused | deployed},
		"appcode":      {func(f *function) { f.Code = "x" }, undeployed | paused},
		"bindings":     {func(f *function) { f.Bindings.Buckets[0].Access = "r" }, undeployed | paused},
		"worker_count": {func(f *function) { f.Settings.WorkerCount = 4 }, undeployed | paused},
		"headers":      {func(f *function) { f.Settings.Headers = nil }, undeployed | paused},
		"selector":     {func(f *function) { f.Settings.Selector = nil }, undeployed | paused},
		"source":       {func(f *function) { f.Bindings.SourceBucket = "other" }, undeployed},
		"metadata":     {func(f *function) { f.Bindings.MetadataBucket = "other" }, undeployed},
		"num_timer_partitions": {func(f *function) { f.Settings.TimerPartitions = 2 },
			undeployed},
		"app_log_dir":         {func(f *function) { f.Settings.AppLogDir = "/x" }, undeployed},
		"dcp_stream_boundary": {func(f *function) { f.Settings.Boundary = definition.FromNow }, undeployed},
	} {
		before := parse(t, whole, definition.ParseOptions{})
		after := before.Clone()
		row.change(after)
		require.Equal(t, parse(t, whole, definition.ParseOptions{}), before, "%s: a clone is another function", name)
		for bit, s := range map[int]definition.State{
			undeployed: definition.Undeployed, paused: definition.Paused, deployed: definition.Deployed,
		} {
			err := definition.CheckChange(s, before, after)
			require.Equal(t, row.in&bit != 0, err == nil, "%s while %s: %v", name, s, err)
			if err != nil {
				require.Equal(t, definition.CodeInvalidRequest, definition.AsError(err).Code)
			}
		}
		for _, s := range states {
			if !s.Settled() {
				require.ErrorContains(t, definition.CheckChange(s, before, after), "Try again later")
			}
		}
	}
}
