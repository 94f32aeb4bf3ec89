package query

import "time"

// dateLayouts are the forms of dates that N1QL knows, the one with most parts first. A function's format is an example
// of one.
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
func formatDate(t time.Time, args []value, at int) value {
	layout := dateLayouts[0]
	if len(args) > at {
		if args[at].kind != kindString {
			return null
		}
		// 1111-11-11 is N1QL's example of a form, and a date.
		_, found, ok := parseDate(args[at].text)
		if !ok {
			return null
		}
		layout = found
	}
	return text(t.UTC().Format(layout))
}

func registerDates() {
	millis := func(now func(e *env) time.Time, random bool) builtin {
		return builtin{random: random, call: func(e *env, _ []value) (value, error) {
			return integer(now(e).UnixMilli()), nil
		}}
	}
	str := func(now func(e *env) time.Time, random bool) builtin {
		return builtin{most: 1, random: random, call: func(e *env, args []value) (value, error) {
			return formatDate(now(e), args, 0), nil
		}}
	}
	began := func(e *env) time.Time { return e.now }
	clock := func(*env) time.Time { return time.Now() }
	register(millis(began, false), "NOW_MILLIS")
	register(millis(clock, true), "CLOCK_MILLIS")
	register(str(began, false), "NOW_STR", "NOW_UTC")
	register(str(clock, true), "CLOCK_STR", "CLOCK_UTC")
	register(onText(1, 2, func(args []value) value {
		t, _, ok := parseDate(args[0].text)
		if !ok {
			return null
		}
		return integer(t.UnixMilli())
	}), "STR_TO_MILLIS", "MILLIS")
	register(pure(1, 2, func(args []value) value {
		n, ok := count(&args[0])
		if !ok || n < -maxDate || n > maxDate {
			return null
		}
		return formatDate(time.UnixMilli(n), args, 1)
	}), "MILLIS_TO_STR", "MILLIS_TO_UTC")
}

// maxDate is the last millisecond of the year 9999, beyond which dates have another form.
const maxDate = 253402300799999
