package functions

import (
	"time"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// dateLayouts are the forms of dates that N1QL knows, the one with most parts first. A function's
// format is an example of one.
var dateLayouts = []string{
	"2006-01-02T15:04:05.999Z07:00", // also without a fraction, as all that have one
	"2006-01-02T15:04:05.999",
	"2006-01-02 15:04:05.999Z07:00",
	"2006-01-02 15:04:05.999",
	"2006-01-02",
	"15:04:05.999Z07:00",
	"15:04:05.999",
}

// parseDate reads a date and says which form it has. Without a zone it is in UTC.
func parseDate(s string) (t time.Time, layout string, ok bool) {
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, layout, true
		}
	}
	return t, "", false
}

// formatDate writes a date in the form of the argument at a position, or in the first one.
func formatDate(t time.Time, args []datum.Value, at int) datum.Value {
	layout := dateLayouts[0]
	if len(args) > at {
		if args[at].Kind != datum.KindString {
			return datum.Null
		}
		// 1111-11-11 is N1QL's example of a form, and a date.
		_, found, ok := parseDate(args[at].Text)
		if !ok {
			return datum.Null
		}
		layout = found
	}
	return datum.Text(t.UTC().Format(layout))
}

// registerDates adds the functions of the present time and the conversions between text and
// milliseconds since 1970. NOW_… is the time at which the statement began, the same for all rows;
// CLOCK_… is the time of each call, so that it is no constant of the statement (random).
func registerDates() {
	millis := func(now func(c Caller) time.Time, random bool) Function {
		return Function{random: random, call: func(c Caller, _ []datum.Value) (datum.Value, error) {
			return datum.Integer(now(c).UnixMilli()), nil
		}}
	}
	str := func(now func(c Caller) time.Time, random bool) Function {
		return Function{most: 1, random: random, call: func(c Caller, args []datum.Value) (datum.Value, error) {
			return formatDate(now(c), args, 0), nil
		}}
	}
	began := func(c Caller) time.Time { return c.Began() }
	clock := func(Caller) time.Time { return time.Now() }
	register(millis(began, false), "NOW_MILLIS")
	register(millis(clock, true), "CLOCK_MILLIS")
	register(str(began, false), "NOW_STR", "NOW_UTC")
	register(str(clock, true), "CLOCK_STR", "CLOCK_UTC")
	register(onText(1, 2, func(args []datum.Value) datum.Value {
		t, _, ok := parseDate(args[0].Text)
		if !ok {
			return datum.Null
		}
		return datum.Integer(t.UnixMilli())
	}), "STR_TO_MILLIS", "MILLIS")
	register(pure(1, 2, func(args []datum.Value) datum.Value {
		n, ok := args[0].Int()
		if !ok || n < -maxDate || n > maxDate {
			return datum.Null
		}
		return formatDate(time.UnixMilli(n), args, 1)
	}), "MILLIS_TO_STR", "MILLIS_TO_UTC")
	registerDateParts()
	registerMoreDates()
	registerRanges()
}

// dateParts are what DATE_PART_STR and DATE_PART_MILLIS take of a date.
var dateParts = map[string]func(t time.Time) int{
	"year": time.Time.Year, "month": func(t time.Time) int { return int(t.Month()) }, "day": time.Time.Day,
	"hour": time.Time.Hour, "minute": time.Time.Minute, "second": time.Time.Second,
	"millisecond": func(t time.Time) int { return t.Nanosecond() / 1e6 },
	"quarter":     func(t time.Time) int { return (int(t.Month()) + 2) / 3 },
	"day_of_week": func(t time.Time) int { return int(t.Weekday()) }, "day_of_year": time.Time.YearDay,
	"iso_week": func(t time.Time) int { _, week := t.ISOWeek(); return week },
	"iso_year": func(t time.Time) int { year, _ := t.ISOWeek(); return year },
}

// dateUnits are what DATE_ADD_STR and DATE_ADD_MILLIS add.
var dateUnits = map[string]struct{ months, days, millis int64 }{
	"year": {months: 12}, "quarter": {months: 3}, "month": {months: 1}, "week": {days: 7}, "day": {days: 1},
	"hour": {millis: 3_600_000}, "minute": {millis: 60_000}, "second": {millis: 1000}, "millisecond": {millis: 1},
}

// registerDateParts adds the functions that take dates apart and move them: each for dates as text
// and as milliseconds.
func registerDateParts() {
	part := func(t time.Time, name *datum.Value) datum.Value {
		if f := dateParts[name.Text]; f != nil && name.Kind == datum.KindString {
			return datum.Integer(int64(f(t)))
		}
		return datum.Null
	}
	register(onText(2, 2, func(args []datum.Value) datum.Value {
		t, _, ok := parseDate(args[0].Text)
		if !ok {
			return datum.Null
		}
		return part(t, &args[1])
	}), "DATE_PART_STR")
	register(pure(2, 2, func(args []datum.Value) datum.Value {
		n, ok := args[0].Int()
		if !ok || n < -maxDate || n > maxDate {
			return datum.Null
		}
		return part(time.UnixMilli(n).UTC(), &args[1])
	}), "DATE_PART_MILLIS")
	register(pure(3, 3, func(args []datum.Value) datum.Value {
		t, layout, ok := parseDate(args[0].Text)
		if args[0].Kind != datum.KindString || !ok {
			return datum.Null
		}
		if t, ok = addToDate(t, &args[1], &args[2]); !ok {
			return datum.Null
		}
		return datum.Text(t.Format(layout))
	}), "DATE_ADD_STR")
	register(pure(3, 3, func(args []datum.Value) datum.Value {
		n, ok := args[0].Int()
		if !ok || n < -maxDate || n > maxDate {
			return datum.Null
		}
		t, ok := addToDate(time.UnixMilli(n).UTC(), &args[1], &args[2])
		if !ok {
			return datum.Null
		}
		return datum.Integer(t.UnixMilli())
	}), "DATE_ADD_MILLIS")
}

// truncations are a date without what is smaller than a unit.
var truncations = map[string]func(t time.Time) time.Time{
	"year":    func(t time.Time) time.Time { return dayOf(t.Year(), time.January, 1, t) },
	"quarter": func(t time.Time) time.Time { return dayOf(t.Year(), (t.Month()-1)/3*3+1, 1, t) },
	"month":   func(t time.Time) time.Time { return dayOf(t.Year(), t.Month(), 1, t) },
	"day":     func(t time.Time) time.Time { return dayOf(t.Year(), t.Month(), t.Day(), t) },
	"hour": func(t time.Time) time.Time {
		return dayOf(t.Year(), t.Month(), t.Day(), t).Add(time.Duration(t.Hour()) * time.Hour)
	},
	"minute":      func(t time.Time) time.Time { return t.Truncate(time.Minute) },
	"second":      func(t time.Time) time.Time { return t.Truncate(time.Second) },
	"millisecond": func(t time.Time) time.Time { return t.Truncate(time.Millisecond) },
}

// dayOf is the midnight that begins a day, in the zone of t.
func dayOf(year int, month time.Month, day int, t time.Time) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, t.Location())
}

// difference is how many boundaries of a unit lie from b to a, negative if a is before b.
func difference(a, b time.Time, unit *datum.Value) datum.Value {
	days := func(t time.Time) int64 { return dayOf(t.Year(), t.Month(), t.Day(), t.UTC()).Unix() / 86400 }
	months := func(t time.Time) int64 { return int64(t.Year())*12 + int64(t.Month()) - 1 }
	name := unit.Text
	if unit.Kind != datum.KindString {
		name = ""
	}
	switch name {
	case "year":
		return datum.Integer(int64(a.Year() - b.Year()))
	case "quarter":
		return datum.Integer(months(a)/3 - months(b)/3)
	case "month":
		return datum.Integer(months(a) - months(b))
	case "week":
		return datum.Integer((days(a) - days(b)) / 7)
	case "day":
		return datum.Integer(days(a) - days(b))
	case "hour", "minute", "second", "millisecond":
		size := dateUnits[name].millis
		return datum.Integer(floorDiv(a.UnixMilli(), size) - floorDiv(b.UnixMilli(), size))
	}
	return datum.Null
}

// floorDiv divides and rounds down, where Go rounds towards zero: times before 1970 are negative,
// and their boundaries are counted like those of later ones. The divisor must be positive.
func floorDiv(n, by int64) int64 {
	if n < 0 {
		return -((by - 1 - n) / by)
	}
	return n / by
}

// dateOf is a date in milliseconds, in UTC.
func dateOf(v *datum.Value) (t time.Time, ok bool) {
	n, ok := v.Int()
	return time.UnixMilli(n).UTC(), ok && n >= -maxDate && n <= maxDate
}

// registerMoreDates adds the functions that compare dates, cut them off and print them: each for
// dates as text and as milliseconds.
func registerMoreDates() {
	between := func(read func(v *datum.Value) (time.Time, bool), absolute bool) Function {
		return pure(3, 3, func(args []datum.Value) datum.Value {
			a, okA := read(&args[0])
			b, okB := read(&args[1])
			if !okA || !okB {
				return datum.Null
			}
			v := difference(a, b, &args[2])
			if absolute && v.Num.Sign() < 0 {
				v = datum.Negate(&v)
			}
			return v
		})
	}
	text := func(v *datum.Value) (time.Time, bool) {
		t, _, ok := parseDate(v.Text)
		return t, ok && v.Kind == datum.KindString
	}
	register(between(text, false), "DATE_DIFF_STR")
	register(between(text, true), "DATE_DIFF_ABS_STR")
	register(between(dateOf, false), "DATE_DIFF_MILLIS")
	register(between(dateOf, true), "DATE_DIFF_ABS_MILLIS")
	register(onText(2, 2, func(args []datum.Value) datum.Value {
		t, layout, ok := parseDate(args[0].Text)
		cut := truncations[args[1].Text]
		if !ok || cut == nil {
			return datum.Null
		}
		return datum.Text(cut(t).Format(layout))
	}), "DATE_TRUNC_STR")
	register(pure(2, 2, func(args []datum.Value) datum.Value {
		t, ok := dateOf(&args[0])
		cut := truncations[args[1].Text]
		if !ok || cut == nil || args[1].Kind != datum.KindString {
			return datum.Null
		}
		return datum.Integer(cut(t).UnixMilli())
	}), "DATE_TRUNC_MILLIS")
	register(onText(2, 2, func(args []datum.Value) datum.Value {
		t, _, ok := parseDate(args[0].Text)
		_, layout, known := parseDate(args[1].Text)
		if !ok || !known {
			return datum.Null
		}
		return datum.Text(t.Format(layout))
	}), "DATE_FORMAT_STR")
	register(onText(1, 1, func(args []datum.Value) datum.Value {
		t, layout, ok := parseDate(args[0].Text)
		if !ok {
			return datum.Null
		}
		return datum.Text(t.UTC().Format(layout))
	}), "STR_TO_UTC")
	register(onText(1, 1, func(args []datum.Value) datum.Value {
		t, _, ok := parseDate(args[0].Text)
		if !ok {
			return datum.Null
		}
		return datum.Text(t.Weekday().String())
	}), "WEEKDAY_STR")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		t, ok := dateOf(&args[0])
		if !ok {
			return datum.Null
		}
		return datum.Text(t.Weekday().String())
	}), "WEEKDAY_MILLIS")
}

// addToDate moves a date by a number of units; ok is false where that makes no date of four digits.
func addToDate(t time.Time, number, unit *datum.Value) (moved time.Time, ok bool) {
	n, ok := number.Int()
	u, known := dateUnits[unit.Text]
	size := u.millis + u.days*24*3_600_000 + u.months*28*24*3_600_000
	if !ok || !known || unit.Kind != datum.KindString || n < -2*maxDate/size || n > 2*maxDate/size {
		return t, false
	}
	moved = t.AddDate(0, int(n*u.months), int(n*u.days))
	if u.millis > 0 {
		moved = time.UnixMilli(t.UnixMilli() + n*u.millis).In(t.Location())
	}
	return moved, moved.Year() >= 0 && moved.Year() <= 9999
}

// maxDate is the last millisecond of the year 9999, beyond which dates have another form.
const maxDate = 253402300799999
