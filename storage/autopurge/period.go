package autopurge

import (
	"math"
	"strconv"
	"strings"
)

// Forever is the life of deleted documents that are not purged, as deleted_document_ttl has it.
const Forever = "infinity"

// units are the seconds of the units of time, by CouchDB's names for them
// (couch_scanner_util:parse_period_unit).
var units = map[string]int64{
	"s": 1, "sec": 1, "second": 1, "seconds": 1,
	"min": 60, "minute": 60, "minutes": 60,
	"h": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
	"d": 86400, "day": 86400, "days": 86400,
	"w": 7 * 86400, "week": 7 * 86400, "weeks": 7 * 86400,
	"mon": 30 * 86400, "month": 30 * 86400, "months": 30 * 86400,
	"y": 365 * 86400, "year": 365 * 86400, "years": 365 * 86400,
}

// longest bounds periods: Erlang's integers have no largest one.
const longest = math.MaxInt64 / 4

// ParsePeriod reads a number and a unit, as 30_days, in seconds, of which there is at least one
// (couch_scanner_util:parse_non_weekday_period). Anything else is not ok.
func ParsePeriod(text string) (seconds int64, ok bool) {
	digits, unit, _ := strings.Cut(text, "_")
	each := units[unit]
	if each == 0 {
		return 0, false
	}
	digits = strings.TrimPrefix(digits, "+")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > longest/each { // all are digits: it is too large
		return longest, true
	}
	return n * each, n > 0
}

// life is how many seconds deleted documents are kept by a text of deleted_document_ttl; a negative
// one counts where the server's setting has it. ok is false where they are kept for ever, or there
// is no such period.
func life(text string) (seconds int64, ok bool) {
	if positive, negative := strings.CutPrefix(text, "-"); negative {
		seconds, ok = ParsePeriod(positive)
		return -seconds, ok
	}
	return ParsePeriod(text)
}

// Off is the life of replaced revisions that are kept until their database is compacted.
const Off = "off"

// ParseHistory reads how long replaced revisions are kept: a period, with or without the
// underscore, as 30d, or Off, which is 0.
func ParseHistory(text string) (seconds int64, ok bool) {
	if text == Off {
		return 0, true
	}
	digits := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		return 0, false
	}
	return ParsePeriod(text[:digits] + "_" + strings.TrimPrefix(text[digits:], "_"))
}
