package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Schedule calls a function of the code by the clock.
type Schedule struct {
	// Every is a duration as 15m or 1h30m, of whole milliseconds from a second to Longest. Calls are at
	// its multiples since 1970, so that 15m is at the quarters of each hour.
	Every string `json:"every,omitempty"`
	// At is a time of each day in UTC, as 03:00 or 03:00:30. A Schedule has either.
	At string `json:"at,omitempty"`
	// Call is the function, of the global scope of the code.
	Call string `json:"call"`
}

const (
	// Longest is the longest duration of Every.
	Longest = 366 * 24 * time.Hour
	// Most is how many schedules a function may have.
	Most = 100
	day  = 24 * time.Hour
)

// List is the schedules of a function. In JSON it is a list of objects; one that has other members,
// or more than Most, or one twice, or that Check refuses, is an error.
type List []Schedule

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var list []Schedule
	if err := decoder.Decode(&list); err != nil {
		return errors.New(`not a list of objects as {"every": "15m", "call": "name"} or {"at": "03:00", "call": "name"}`)
	}
	if len(list) > Most {
		return fmt.Errorf("there are more than %d", Most)
	}
	seen := make(map[string]bool)
	for _, s := range list {
		if err := s.Check(); err != nil {
			return err
		}
		if seen[s.String()] {
			return fmt.Errorf("%q is there twice", s)
		}
		seen[s.String()] = true
	}
	*l = list
	return nil
}

// Find gives the schedule that String names.
func (l List) Find(name string) (s Schedule, found bool) {
	for _, s := range l {
		if s.String() == name {
			return s, true
		}
	}
	return s, false
}

// String names the schedule among those of its function: "every 15m Tick".
func (s Schedule) String() string {
	if s.At != "" {
		return "at " + s.At + " " + s.Call
	}
	return "every " + s.Every + " " + s.Call
}

// Check says what is wrong with the schedule.
func (s Schedule) Check() error {
	if s.Call == "" || (s.Every == "") == (s.At == "") {
		return errors.New("each has call and either every or at")
	}
	_, _, err := s.grid()
	return err
}

// grid is the times of the schedule: all that are offset after a multiple of period since 1970.
func (s Schedule) grid() (period, offset time.Duration, err error) {
	if s.At == "" {
		period, err := time.ParseDuration(s.Every)
		if err != nil || period < time.Second || period > Longest || period%time.Millisecond != 0 {
			return 0, 0, fmt.Errorf("every is a duration from 1s to %dh, as 15m, not %q", Longest/time.Hour, s.Every)
		}
		return period, 0, nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, s.At); err == nil && len(s.At) == len(layout) {
			return day, t.Sub(t.Truncate(day)), nil
		}
	}
	return 0, 0, fmt.Errorf("at is a time of the day in UTC, as 03:00 or 15:30:10, not %q", s.At)
}

// Next is when the schedule, which Check accepts, calls the function first after a time.
func (s Schedule) Next(after time.Time) time.Time {
	period, offset, _ := s.grid()
	ms, from := period.Milliseconds(), after.UnixMilli()-offset.Milliseconds()
	n := from / ms
	if from < 0 && from%ms != 0 {
		n--
	}
	return time.UnixMilli((n+1)*ms + offset.Milliseconds()).UTC()
}

// Upcoming is a schedule with its next call.
type Upcoming struct {
	Schedule
	// Next is nil where the function is undeployed, or has not yet run with this schedule.
	Next *time.Time `json:"next,omitempty"`
}
