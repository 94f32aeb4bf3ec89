package main

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
)

// TestReduceLimit reads the settings as CouchDB does: what is no number with a point leaves the
// ratio as it is.
func TestReduceLimit(t *testing.T) {
	c, err := config.Load(nil)
	require.NoError(t, err)
	set := func(key, value string) {
		_, err := c.Set("query_server_config", key, value, false)
		require.NoError(t, err)
	}
	read := func() (on, log bool, threshold int, ratio float64) {
		l := reduceLimit(c, slog.New(slog.DiscardHandler))
		return l.On, l.Log, l.Threshold, l.Ratio
	}
	is := func(on, log bool, threshold int, ratio float64) {
		t.Helper()
		gotOn, gotLog, gotThreshold, gotRatio := read()
		require.Equal(t, []any{on, log, threshold, ratio}, []any{gotOn, gotLog, gotThreshold, gotRatio})
	}
	is(true, false, 5000, 2)
	for value, want := range map[string]float64{"1.0": 1, "0.5e1": 5, "1": 2, "x": 2, ".5": 2, "1.": 2, "": 2} {
		set("reduce_limit_ratio", value)
		is(true, false, 5000, want)
	}
	set("reduce_limit_ratio", "2.0")
	set("reduce_limit_threshold", "50")
	for value, want := range map[string][2]bool{
		"true": {true, false}, "false": {false, false}, "log": {false, true}, "x": {true, false},
	} {
		set("reduce_limit", value)
		is(want[0], want[1], 50, 2)
	}
	set("reduce_limit_threshold", "x")
	set("reduce_limit", "true")
	is(true, false, 5000, 2)
}
