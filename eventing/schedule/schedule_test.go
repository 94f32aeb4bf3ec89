package schedule_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/eventing/schedule"
)

// TestNext: calls by hand, at the edges of their grids.
func TestNext(t *testing.T) {
	for _, c := range []struct{ every, at, after, want string }{
		{"15m", "", "2026-11-28T10:14:59.999Z", "2026-11-28T10:15:00Z"},
		{"15m", "", "2026-11-28T10:15:00Z", "2026-11-28T10:30:00Z"},
		{"24h", "", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"},
		{"", "03:00", "2026-11-28T02:59:59.999Z", "2026-11-28T03:00:00Z"},
		{"", "03:00", "2026-11-28T03:00:00Z", "2026-11-29T03:00:00Z"},
		{"", "23:59:59", "2026-12-31T23:59:59Z", "2027-01-01T23:59:59Z"},
		{"", "00:00", "2028-02-28T12:00:00Z", "2028-02-29T00:00:00Z"},
		{"1h", "", "1969-12-31T23:30:00Z", "1970-01-01T00:00:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, c.after)
		require.NoError(t, err)
		s := schedule.Schedule{Every: c.every, At: c.at, Call: "f"}
		require.NoError(t, s.Check())
		require.Equal(t, c.want, s.Next(after).Format(time.RFC3339), c)
	}
}

// TestNextAgainstACalendar: the next call at a time of the day is the first second of it after now
// that a clock of hands would show.
func TestNextAgainstACalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hour, minute := rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute")
		after := time.UnixMilli(rapid.Int64Range(-1e12, 4e12).Draw(t, "after")).UTC()
		at := time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC).Format("15:04")
		want := time.Date(after.Year(), after.Month(), after.Day(), hour, minute, 0, 0, time.UTC)
		if !want.After(after) {
			want = time.Date(after.Year(), after.Month(), after.Day()+1, hour, minute, 0, 0, time.UTC)
		}
		require.Equal(t, want, schedule.Schedule{At: at, Call: "f"}.Next(after))
	})
}

// TestListIsChecked: what cannot be a schedule is refused, with a text that says what could be.
func TestListIsChecked(t *testing.T) {
	for _, bad := range []string{
		`{}`, `[1]`, `["15m"]`, `[{}]`, `[{"call":"f"}]`, `[{"every":"1m"}]`, `[{"every":"1m","at":"03:00","call":"f"}]`,
		`[{"every":"","call":"f"}]`, `[{"every":"0s","call":"f"}]`, `[{"every":"-1m","call":"f"}]`,
		`[{"every":"999ms","call":"f"}]`, `[{"every":"1.0001s","call":"f"}]`, `[{"every":"8785h","call":"f"}]`,
		`[{"every":"1d","call":"f"}]`, `[{"every":60,"call":"f"}]`, `[{"at":"3:00","call":"f"}]`,
		`[{"at":"24:00","call":"f"}]`, `[{"at":"03:60","call":"f"}]`, `[{"at":"03:00Z","call":"f"}]`,
		`[{"at":"03:00:00.5","call":"f"}]`, `[{"every":"1m","call":"f","on":"monday"}]`,
		`[{"every":"1m","call":"f"},{"every":"1m","call":"f"}]`,
	} {
		var l schedule.List
		require.Error(t, json.Unmarshal([]byte(bad), &l), bad)
		require.Nil(t, l)
	}
}

// FuzzList: whatever is accepted has a next call, later than now, and none between.
func FuzzList(f *testing.F) {
	f.Add([]byte(`[{"every":"15m","call":"f"},{"at":"03:00:01","call":"g"}]`), int64(1_700_000_000_000))
	f.Add([]byte(`[{"every":"8784h","call":"f"}]`), int64(-1))
	f.Fuzz(func(t *testing.T, text []byte, ms int64) {
		var l schedule.List
		if json.Unmarshal(text, &l) != nil || ms < -1<<45 || ms > 1<<45 {
			return
		}
		for _, s := range l {
			after := time.UnixMilli(ms)
			next := s.Next(after)
			require.True(t, next.After(after))
			require.False(t, s.Next(next.Add(-time.Millisecond)).Before(next))
			_, found := l.Find(s.String())
			require.True(t, found)
		}
	})
}
