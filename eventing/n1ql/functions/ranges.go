package functions

import (
	"time"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// registerRanges adds DATE_RANGE_STR and DATE_RANGE_MILLIS, and the functions of durations.
func registerRanges() {
	register(Function{least: 3, most: 4, call: func(c Caller, args []datum.Value) (datum.Value, error) {
		from, layout, ok := parseDate(args[0].Text)
		to, _, also := parseDate(args[1].Text)
		if !ok || !also || args[0].Kind != datum.KindString || args[1].Kind != datum.KindString {
			return datum.Null, nil
		}
		return datesBetween(c, from, to, args[2:], func(t time.Time) datum.Value {
			return datum.Text(t.Format(layout))
		})
	}}, "DATE_RANGE_STR")
	register(Function{least: 3, most: 4, call: func(c Caller, args []datum.Value) (datum.Value, error) {
		from, ok := dateOf(&args[0])
		to, also := dateOf(&args[1])
		if !ok || !also {
			return datum.Null, nil
		}
		return datesBetween(c, from, to, args[2:], func(t time.Time) datum.Value {
			return datum.Integer(t.UnixMilli())
		})
	}}, "DATE_RANGE_MILLIS")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		n, ok := args[0].Int()
		if !ok {
			return datum.Null
		}
		return datum.Text(time.Duration(n).String())
	}), "DURATION_TO_STR")
	register(onText(1, 1, func(args []datum.Value) datum.Value {
		d, err := time.ParseDuration(args[0].Text)
		if err != nil {
			return datum.Null
		}
		return datum.Integer(int64(d))
	}), "STR_TO_DURATION")
}

// datesBetween are the dates from one on and before another, so many units apart: one, backwards if the first
// is the later one, where there is no number. For 0 it is the first date alone, and no date where the number
// leads away from the other one.
func datesBetween(
	c Caller, from, to time.Time, args []datum.Value, show func(t time.Time) datum.Value,
) (datum.Value, error) {
	step := datum.Integer(1)
	if len(args) > 1 {
		step = args[1]
	} else if from.After(to) {
		step = datum.Integer(-1)
	}
	n, ok := step.Int()
	if _, known := addToDate(from, &datum.Value{Kind: datum.KindNumber}, &args[0]); !ok || !known {
		return datum.Null, nil
	}
	if n == 0 {
		return datum.Array([]datum.Value{show(from)}), nil
	}
	list := []datum.Value{}
	for ok && (n > 0 && from.Before(to) || n < 0 && from.After(to)) {
		list = append(list, show(from))
		if err := room(c, float64(len(list))); err != nil {
			return datum.Value{}, err
		}
		from, ok = addToDate(from, &step, &args[0])
	}
	return datum.Array(list), nil
}
