package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPurgeSchedule: a pass begins when the settings say so, and with jitter once and for all.
func TestPurgeSchedule(t *testing.T) {
	start := time.Date(2026, 11, 27, 12, 0, 0, 7, time.UTC) // a Friday
	at := func(hours float64) time.Time { return start.Add(time.Duration(hours * float64(time.Hour))) }
	for _, c := range []struct {
		after, repeat, jitter string
		last                  time.Time
		hours                 float64
		due                   bool
	}{
		{"restart", "restart", "", time.Time{}, 0, true},
		{"restart", "restart", "", start, 1000, false},
		{"", "2_hours", "0_percent", start, 2, true},
		{"", "2_hours", "0_percent", start, 1.99, false},
		{"", "2_hours", "nonsense", start, 2, true},
		{"", "2_hours", "x_percent", start, 2, true},
		{"", "2_hours", "50_percent", start, 3.01, true},
		{"", "2_hours", "1000_days", start, 4.01, true}, // no longer than the period
		{"", "saturday", "10_percent", start, 11.9, false},
		{"", "saturday", "10_percent", start, 12, true},
		{"2026-11-27T13", "2_hours", "", time.Time{}, 0.9, false},
		{"2026-11-27T13", "2_hours", "", time.Time{}, 1.1, true},
		{"2026-11-28", "2_hours", "", start, 11.9, false},
		{"2026-11-28", "2_hours", "", start, 12.1, true},
	} {
		s := schedule{parseAfter(c.after), c.repeat, c.jitter}
		require.Equal(t, c.due, s.due(c.last, at(c.hours)), "%+v", c)
	}
	s := schedule{repeat: "100_sec", jitter: "10_percent"}
	seen := map[int64]bool{}
	for pass := range 500 {
		last := start.Add(time.Duration(pass) * time.Second)
		later := s.later(last, 100)
		require.Equal(t, later, s.later(last, 100))
		seen[later] = true
	}
	require.Len(t, seen, 11, "0 to 10 seconds: %v", seen)
	require.False(t, seen[-1] || seen[11])
}

// TestAfter: the forms of a time, and what is none.
func TestAfter(t *testing.T) {
	for text, want := range map[string]int64{
		"2026-11-28": 1795824000, "2026-11-28T01": 1795827600, "2026-11-28t01:02": 1795827720,
		"2026-11-28T01:02:03": 1795827723, "2026-11-28T01:02:03Z": 1795827723, "1795827723": 1795827723,
		"2026-11-28T01:02:03+01:00": 1795824123,
		"":                          0, "restart": 0, "123456": 0, "-1795827723": 0, "2026-13-28": 0, "1969-12-31": 0, "2026-11-28T25": 0,
	} {
		got := int64(0)
		if at := parseAfter(text); !at.IsZero() {
			got = at.Unix()
		}
		require.Equal(t, want, got, text)
	}
}

// FuzzAfter: no text is a time before 1970.
func FuzzAfter(f *testing.F) {
	for _, text := range []string{"2026-11-28", "2026-11-28T01:02:03+01:00", "1795827723", "restart", "0000-01-01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at := parseAfter(text); !at.IsZero() && at.Unix() < 0 {
			t.Errorf("%q is %v", text, at)
		}
	})
}
