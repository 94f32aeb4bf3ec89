package definition_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

var update = flag.Bool("update", false, "write the table of settings into docs/eventing.md")

func merge(t *testing.T, text string) definition.Settings {
	t.Helper()
	s := definition.DefaultSettings()
	require.NoError(t, s.Merge([]byte(text), true), text)
	return s
}

// TestCheckpoints: exports of older servers have milliseconds.
func TestCheckpoints(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{}`: time.Minute, `{"checkpoint_interval":999}`: 999 * time.Second, `{"checkpoint_interval":60000}`: time.Minute,
	} {
		s := merge(t, text)
		require.Equal(t, want, s.Checkpoints(), text)
	}
}

// TestBounds: every number takes its bounds, and nothing beyond.
func TestBounds(t *testing.T) {
	numbers := 0
	for _, r := range definition.SettingTable {
		if r.Type() != "a whole number" {
			continue
		}
		numbers++
		merge(t, fmt.Sprintf(`{%q:%d}`, r.Name, r.Min))
		for _, bad := range []string{fmt.Sprint(r.Min - 1), `1.5`, `"1"`, `true`, `[]`, `1e300`} {
			s := definition.DefaultSettings()
			err := s.Merge([]byte(fmt.Sprintf(`{"worker_count":7,%q:%s}`, r.Name, bad)), true)
			require.Error(t, err, "%s: %s", r.Name, bad)
			require.Equal(t, definition.CodeInvalidConfig, definition.AsError(err).Code)
			require.Equal(t, definition.DefaultSettings(), s, "nothing is changed by what is refused")
		}
	}
	require.Greater(t, numbers, 15)
}

func TestSettings(t *testing.T) {
	s := merge(t, `{"worker_count":3.0,"num_timer_partitions":1000,"selector":{ "a" : 1 },"handler_headers":["a","b"],
		"log_level":"TRACE","dead_letter_database":"dead","description":null}`)
	require.EqualValues(t, 3, s.WorkerCount)
	require.EqualValues(t, 1024, s.TimerPartitions, "the next power of two")
	require.Equal(t, `{"a":1}`, string(s.Selector))
	require.Equal(t, []string{"a", "b"}, s.Headers)
	require.NoError(t, s.Merge([]byte(`{"selector":null}`), true))
	require.Nil(t, s.Selector)
	for partitions, rounded := range map[int]int64{1: 1, 2: 2, 3: 4, 1024: 1024, 1025: 2048} {
		require.Equal(t, rounded, merge(t, fmt.Sprintf(`{"num_timer_partitions":%d}`, partitions)).TimerPartitions)
	}
}

// TestSettingsOnTheWire: every setting is printed by its name with its default, and comes back.
func TestSettingsOnTheWire(t *testing.T) {
	text, err := json.Marshal(definition.DefaultSettings())
	require.NoError(t, err)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &members))
	for i := range definition.SettingTable {
		r := &definition.SettingTable[i]
		if r.Name == "selector" {
			require.NotContains(t, members, r.Name)
			continue
		}
		require.JSONEq(t, r.Default(), string(members[r.Name]), r.Name)
	}
	var back definition.Settings
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, definition.DefaultSettings(), back)
}

// settingsTable is the table of the documentation.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| setting | default | values | may change | |\n|---|---|---|---|---|\n")
	for i := range definition.SettingTable {
		r := &definition.SettingTable[i]
		values := strings.Join(r.Values, ", ")
		switch {
		case values != "":
		case r.Type() == "a whole number" && r.Max < 1<<31-1:
			values = fmt.Sprintf("%d to %d", r.Min, r.Max)
		case r.Type() == "a whole number":
			values = fmt.Sprintf("from %d", r.Min)
		default:
			values = r.Type()
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", r.Name, r.Default(), values, r.Changeable(), r.Doc)
	}
	return b.String()
}

// TestSettingsAreDocumented: docs/eventing.md has the table as it is.
func TestSettingsAreDocumented(t *testing.T) {
	const file = "../../docs/eventing.md"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	table := regexp.MustCompile(`(?m)^\| setting \|.*\n(\|.*\n)*`)
	require.True(t, table.Match(text), "no table of settings")
	if *update {
		changed := table.ReplaceAllLiteral(text, []byte(settingsTable()))
		require.NoError(t, os.WriteFile(file, changed, 0o644))
		return
	}
	require.Equal(t, settingsTable(), string(table.Find(text)), "stale: go test ./eventing/definition -update")
}

// TestWarnings: settings that have no effect are named where they are not as they would be without.
func TestWarnings(t *testing.T) {
	s := definition.DefaultSettings()
	require.Empty(t, s.Warnings())
	require.NoError(t, s.Merge([]byte(`{"log_level":"TRACE","worker_count":3,"num_timer_partitions":16,"lcb_timeout":5}`), true))
	require.Equal(t, []string{
		"the setting log_level has no effect: the function's own log has all lines, the server's what concerns the server",
		"the setting num_timer_partitions has no effect: timers are one list in the order of time",
	}, s.Warnings())
}
