package locale

import (
	"math"
	"strings"
	"time"
)

// ParseDate reads a date as SpiderMonkey 78 does, which knows more and other forms than goja, and
// gives whole milliseconds since 1970, NaN for what is none: ISO 8601, or words and numbers in one
// of the orders of other days. Times without a zone are in UTC.
func ParseDate(s string) float64 {
	if ms, ok := parseISODate(s); ok {
		return ms
	}
	if d, ok := parseLooseDate(s); ok {
		return d.milliseconds()
	}
	return math.NaN()
}

// dateTime is a date in parts, which may be beyond their bounds; offset is what its zone lacks to
// UTC, in minutes.
type dateTime struct {
	year, month, day, hour, minute, second, offset int
	fraction                                       float64 // milliseconds
}

// milliseconds gives NaN for what is further than a Date goes.
func (d dateTime) milliseconds() float64 {
	days := time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC).Unix()
	seconds := days + int64(d.hour)*3600 + int64(d.minute+d.offset)*60 + int64(d.second)
	ms := float64(seconds)*1000 + math.Trunc(d.fraction)
	if math.Abs(ms) > 8.64e15 {
		return math.NaN()
	}
	return ms
}

// isoReader reads a date of ISO 8601 from the left; bad is set once it is none, short by a part of
// a single digit.
type isoReader struct {
	rest       string
	bad, short bool
}

func (r *isoReader) take(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *isoReader) need(c byte) { r.bad = !r.take(c) || r.bad }

func (r *isoReader) sign() int {
	switch {
	case r.take('-'):
		return -1
	case r.take('+'):
		return 1
	}
	return 0
}

func (r *isoReader) digits(n int) (value int) {
	for range n {
		if r.rest == "" || !isDigit(r.rest[0]) {
			r.bad = true
			return 0
		}
		value = value*10 + int(r.rest[0]-'0')
		r.rest = r.rest[1:]
	}
	return value
}

// part reads a number of two digits or one.
func (r *isoReader) part() int {
	if len(r.rest) < 2 || !isDigit(r.rest[1]) {
		r.short = true
		return r.digits(1)
	}
	return r.digits(2)
}

// fraction reads what is behind the point of seconds, as milliseconds.
func (r *isoReader) fraction() float64 {
	value, weight := 0.0, 0.1
	r.bad = r.bad || r.rest == "" || !isDigit(r.rest[0])
	for ; r.rest != "" && isDigit(r.rest[0]); weight *= 0.1 {
		value += float64(r.rest[0]-'0') * weight
		r.rest = r.rest[1:]
	}
	return value * 1000
}

// parseISODate reads a date in the forms of ISO 8601 that SpiderMonkey 78 accepts, and returns
// milliseconds since 1970 (js/src/jsdate.cpp: ParseISOStyleDate). A date without a T may have
// parts of one digit and a space before the time; with a T each part needs two digits. Hour 24 is
// allowed for the end of a day only. What returns false may still be a date of words and numbers.
func parseISODate(s string) (float64, bool) {
	r := &isoReader{rest: s}
	d := dateTime{month: 1, day: 1}
	sign := r.sign()
	if sign == 0 {
		d.year = r.digits(4)
	} else {
		d.year = sign * r.digits(6)
	}
	if r.take('-') {
		d.month = r.part()
		if r.take('-') {
			d.day = r.part()
		}
	}
	zoneHour, zoneMinute, strict := 0, 0, r.take('T')
	if strict || r.take(' ') {
		d.hour = r.part()
		r.need(':')
		d.minute = r.part()
		if r.take(':') {
			d.second = r.part()
			if r.take('.') {
				d.fraction = r.fraction()
			}
		}
		if !r.take('Z') {
			if sign := r.sign(); sign != 0 {
				zoneHour = r.digits(2)
				r.take(':')
				zoneMinute = r.digits(2)
				d.offset = -sign * (zoneHour*60 + zoneMinute)
			}
		}
	}
	last := time.Date(d.year, time.Month(d.month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if r.bad || strict && r.short || r.rest != "" || d.month < 1 || d.month > 12 || d.day < 1 || d.day > last ||
		d.hour > 24 || d.hour == 24 && (d.minute > 0 || d.second > 0) || d.minute > 59 || d.second > 59 ||
		zoneHour > 23 || zoneMinute > 59 {
		return 0, false
	}
	ms := d.milliseconds()
	return ms, !math.IsNaN(ms)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// dateWords are the words of dates, of which the first letters suffice, two at least; the last one
// that fits counts. Each has the number of a month, the minutes that a zone lacks to UTC, or what
// it does to the hour.
var dateWords = []struct {
	word  string
	kind  byte // 'm' month, 'z' zone, 'a' or 'p' half of the day, ' ' nothing
	value int
}{
	{"am", 'a', 0}, {"pm", 'p', 0},
	{"monday", ' ', 0}, {"tuesday", ' ', 0}, {"wednesday", ' ', 0}, {"thursday", ' ', 0}, {"friday", ' ', 0},
	{"saturday", ' ', 0}, {"sunday", ' ', 0},
	{"january", 'm', 1}, {"february", 'm', 2}, {"march", 'm', 3}, {"april", 'm', 4}, {"may", 'm', 5}, {"june", 'm', 6},
	{"july", 'm', 7}, {"august", 'm', 8}, {"september", 'm', 9}, {"october", 'm', 10}, {"november", 'm', 11},
	{"december", 'm', 12},
	{"gmt", 'z', 0}, {"ut", 'z', 0}, {"utc", 'z', 0}, {"est", 'z', 300}, {"edt", 'z', 240}, {"cst", 'z', 360},
	{"cdt", 'z', 300}, {"mst", 'z', 420}, {"mdt", 'z', 360}, {"pst", 'z', 480}, {"pdt", 'z', 420},
}

// looseDate is a date of words and numbers while it is read; parts that are not there yet are -1.
type looseDate struct {
	text                                           string
	at                                             int
	year, month, day, hour, minute, second, offset int
	before                                         byte // the sign before a number, 0 for none
	signedZone, monthName, fullYear, negative      bool
}

// parseLooseDate reads a date of words and numbers, such as "Jan 2 2006 3:04 PM (comment)", as
// SpiderMonkey 78 does (js/src/jsdate.cpp: ParseDate). Separators say nothing themselves: they
// only tell what the next number is, which number and word decide. Text in parentheses is skipped.
func parseLooseDate(s string) (dateTime, bool) {
	l := &looseDate{text: s, year: -1, month: -1, day: -1, hour: -1, minute: -1, second: -1, offset: -1}
	if s == "" {
		return dateTime{}, false
	}
	for l.at < len(s) {
		c := s[l.at]
		l.at++
		ok := true
		switch {
		case c <= ' ' || c == ',' || c == '-':
			if c == '-' && isDigit(l.next()) {
				l.before = c
			}
		case c == '(':
			l.comment()
		case isDigit(c):
			l.at--
			ok = l.number()
		case c == '/' || c == ':' || c == '+':
			l.before = c
		default:
			l.at--
			ok = l.word()
		}
		if !ok {
			return dateTime{}, false
		}
	}
	return l.date()
}

// next is the character that comes, 0 at the end.
func (l *looseDate) next() byte {
	if l.at < len(l.text) {
		return l.text[l.at]
	}
	return 0
}

// comment skips what is in parentheses, which may be nested and need not be closed.
func (l *looseDate) comment() {
	for depth := 1; l.at < len(l.text) && depth > 0; l.at++ {
		switch l.text[l.at] {
		case '(':
			depth++
		case ')':
			depth--
		}
	}
}

// number takes a number for the part that the characters around it tell.
func (l *looseDate) number() bool {
	n, start := 0, l.at
	for isDigit(l.next()) {
		n = min(n*10+int(l.next()-'0'), math.MaxInt32)
		l.at++
	}
	c, before := l.next(), l.before
	l.before = 0
	switch {
	case before == '-' && (l.offset != 0 || l.signedZone) && l.at-start >= 4 && l.year < 0:
		l.year, l.negative, l.fullYear = n, true, true
	case before == '+' || before == '-':
		// A zone: hours, or hours and minutes in one number.
		l.signedZone = true
		if n < 24 {
			n *= 60
		} else {
			n = n%100 + n/100*60
		}
		if before == '+' {
			n = -n
		}
		if l.offset != 0 && l.offset != -1 {
			return false
		}
		l.offset = n
	case before == '/' && l.month >= 0 && l.day >= 0 && l.year < 0:
		if c > ' ' && c != ',' && c != '/' {
			return false
		}
		l.year = n
	case c == ':':
		return set(n, &l.hour, &l.minute)
	case c == '/':
		return set(n, &l.month, &l.day)
	case c > ' ' && c != ',' && c != '-' && c != '(':
		return false
	case l.signedZone && n < 60:
		if l.offset < 0 {
			n = -n
		}
		l.offset += n
	case l.hour >= 0 && l.minute < 0:
		l.minute = n
	case before == ':' && l.minute >= 0 && l.second < 0:
		l.second = n
	case l.month >= 0 && l.day >= 0 && l.year < 0:
		l.year, l.fullYear = n, l.at-start >= 4
	default:
		return set(n, &l.month, &l.day)
	}
	return true
}

// set gives a value to the first part that has none.
func set(n int, parts ...*int) bool {
	for _, p := range parts {
		if *p < 0 {
			*p = n
			return true
		}
	}
	return false
}

// word reads a word and looks it up by its first letters, from the end of dateWords, so that "ma"
// is May and not March. A half of the day changes the hour that was read before; 12 AM is
// midnight. Names of days are read and ignored. It returns false for a word that no entry begins
// with.
func (l *looseDate) word() bool {
	start := l.at
	for isLetter(l.next()) {
		l.at++
	}
	word := strings.ToLower(l.text[start:l.at])
	if len(word) < 2 {
		return false
	}
	l.before = 0
	for i := len(dateWords) - 1; i >= 0; i-- {
		w := dateWords[i]
		if !strings.HasPrefix(w.word, word) {
			continue
		}
		switch w.kind {
		case 'a', 'p':
			if l.hour < 0 || l.hour > 12 {
				return false
			}
			l.hour %= 12
			if w.kind == 'p' {
				l.hour += 12
			}
		case 'm':
			return l.named(w.value)
		case 'z':
			l.offset = w.value
		}
		return true
	}
	return false
}

// named takes the name of a month, which moves what stood in its place.
func (l *looseDate) named(month int) bool {
	if l.monthName {
		return false
	}
	l.monthName = true
	switch {
	case l.month < 0:
	case l.day < 0:
		l.day = l.month
	case l.year < 0:
		l.year = l.month
	default:
		return false
	}
	l.month = month
	return true
}

// date makes a date of the parts. Where the month has a name, day and year are told apart by size;
// where it is a number, the order is month, day, year, or year, month, day if the first is above
// 31. A year of two digits is from 1950 to 2049.
func (l *looseDate) date() (dateTime, bool) {
	if l.year < 0 || l.month < 0 || l.day < 0 {
		return dateTime{}, false
	}
	switch {
	case l.monthName:
		if !l.fullYear && (l.day == 0 || 0 < l.year && l.year < l.day) {
			l.year, l.day = l.day, l.year
		}
		if l.day <= 0 || l.day > 31 {
			return dateTime{}, false
		}
	case 0 < l.month && l.month <= 12 && 0 < l.day && l.day <= 31:
	case !l.fullYear && l.month > 31 && l.day <= 12 && l.year <= 31: // the year comes first
		l.year, l.month, l.day = l.month, l.day, l.year
	default:
		return dateTime{}, false
	}
	switch {
	case l.negative:
		l.year = -l.year
	case l.year < 50 && !l.fullYear:
		l.year += 2000
	case l.year < 100 && !l.fullYear:
		l.year += 1900
	}
	d := dateTime{
		year: l.year, month: l.month, day: l.day,
		hour: max(l.hour, 0), minute: max(l.minute, 0), second: max(l.second, 0),
	}
	if l.offset != -1 {
		d.offset = l.offset
	}
	return d, true
}
