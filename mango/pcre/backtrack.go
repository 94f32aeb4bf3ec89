package pcre

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"

	"github.com/settee-db/settee/compat"
)

// Patterns that RE2 refuses, with look-around, back references, atomic groups or possessive
// quantifiers, run on a backtracking engine, whose time is bounded: for one text, where too much of
// it means no match, as in PCRE; and for a selector, where it is an error.
const (
	backtrackTime      = 250 * time.Millisecond
	backtrackTotalTime = 10 * time.Second
	maxBacktracked     = 4096    // bytes of a pattern
	maxBacktrackStack  = 1 << 20 // entries
	// backtrackerSize is about as how many instructions of package regexp a byte of a pattern
	// takes.
	backtrackerSize = 2
)

// backtracking has a place for each match that may run at a time: a match takes the memory of its
// stack, and is over after backtrackTime.
var backtracking = make(chan struct{}, runtime.GOMAXPROCS(0))

// backtracker is a pattern on the backtracking engine. It is safe for concurrent use.
type backtracker struct {
	re    *regexp2.Regexp
	spent atomic.Int64 // nanoseconds of all matches
}

// newBacktracker compiles a pattern for the engine that can do what RE2 cannot. That engine may take
// time without end: the length of the pattern, its stack and the time of a match are bounded.
func newBacktracker(pattern string) (*backtracker, error) {
	if len(pattern) > maxBacktracked {
		return nil, fmt.Errorf("pcre: a pattern of %d bytes", len(pattern))
	}
	re, err := regexp2.Compile(dotNetPattern(pattern), regexp2.OptionMaintainCaptureOrder(),
		regexp2.OptionMaxBacktrackingStackSize(maxBacktrackStack))
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = backtrackTime
	return &backtracker{re: re}, nil
}

// match reports whether the text, characters of Latin-1, matches.
func (b *backtracker) match(text []rune) (bool, error) {
	if b.spent.Load() > int64(backtrackTotalTime) {
		return false, compat.ErrTimeout
	}
	backtracking <- struct{}{}
	defer func() { <-backtracking }()
	started := time.Now()
	ok, err := b.re.MatchRunes(text)
	b.spent.Add(int64(time.Since(started)))
	return ok && err == nil, nil
}

// posixClasses are the named sets inside brackets, with the characters of ASCII.
var posixClasses = map[string]string{
	"alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "xdigit": "0-9A-Fa-f", "word": "a-zA-Z0-9_",
	"space": `\t-\r `, "blank": `\t `, "cntrl": `\x00-\x1f\x7f`, "print": ` -~`, "graph": `!-~`, "punct": "!-/:-@\\[-`{-~",
}

// dotNet turns a pattern of PCRE, in Latin-1, into the dialect of the backtracking engine.
type dotNet struct {
	in   string
	out  []string // atoms and what is between them
	atom int      // in out: where the latest atom begins, -1 if there is none to repeat
	open []int    // in out: where the open groups begin
	// refers says that something in the pattern may refer to a group by its number.
	refers bool
}

// reference is what refers to a group: \1, \g{1}, \k<name>, (?P=name), (?(1)…).
var reference = regexp.MustCompile(`\\[1-9gk]|\(\?P=|\(\?\(`)

func dotNetPattern(pattern string) string {
	d := dotNet{in: pattern, atom: -1, refers: reference.MatchString(pattern)}
	for d.in != "" {
		d.step()
	}
	return strings.Join(d.out, "")
}

// step takes the next element of the pattern.
func (d *dotNet) step() {
	switch {
	case strings.HasPrefix(d.in, `\Q`):
		text, rest, _ := strings.Cut(d.in[2:], `\E`)
		d.in = rest
		for _, c := range text {
			d.put(regexp2.Escape(string(c)))
		}
	// \K moves the begin of the match, which nobody asks for
	case strings.HasPrefix(d.in, `\E`), strings.HasPrefix(d.in, `\K`):
		d.in = d.in[2:]
	case d.in[0] == '\\' && len(d.in) > 1:
		size := escapeSize(d.in)
		d.put(dotNetEscape(d.in[:size], false))
		d.in = d.in[size:]
	case d.in[0] == '[':
		d.brackets()
	case d.in[0] == '(':
		d.group()
	case d.in[0] == ')':
		d.in = d.in[1:]
		begin := len(d.out)
		if n := len(d.open); n > 0 {
			begin, d.open = d.open[n-1], d.open[:n-1]
		}
		d.out = append(d.out, ")")
		d.atom = begin
	case d.in[0] == '|':
		d.in = d.in[1:]
		d.out = append(d.out, "|")
		d.atom = -1
	default:
		if size := quantifierSize(d.in); size > 0 && d.atom >= 0 {
			d.repeat(size)
			return
		}
		_, size := utf8.DecodeRuneInString(d.in)
		d.put(d.in[:size])
		d.in = d.in[size:]
	}
}

// put appends an atom.
func (d *dotNet) put(atom string) {
	d.atom = len(d.out)
	d.out = append(d.out, atom)
}

// group takes the beginning of one; names are written in one way only.
func (d *dotNet) group() {
	begin := "("
	if strings.HasPrefix(d.in, branchReset) && !d.refers {
		d.in = "(?:" + d.in[len(branchReset):]
	}
	for _, spelling := range [...][2]string{{"(?P<", "(?<"}, {"(?P=", `\k<`}} {
		if !strings.HasPrefix(d.in, spelling[0]) {
			continue
		}
		begin = spelling[1]
		if name, rest, ok := strings.Cut(d.in[4:], ")"); ok && begin == `\k<` {
			d.in = rest
			d.put(begin + name + ">")
			return
		}
		d.in = d.in[3:]
	}
	d.open = append(d.open, len(d.out))
	d.out = append(d.out, begin)
	d.in = d.in[1:]
	// What follows "(?" must not be taken for a quantifier.
	if begin == "(" && strings.HasPrefix(d.in, "?") {
		d.out = append(d.out, "?")
		d.in = d.in[1:]
	}
	d.atom = -1
}

// repeat takes a quantifier. A possessive one makes an atomic group.
func (d *dotNet) repeat(size int) {
	quantifier := d.in[:size]
	d.in = d.in[size:]
	if !strings.HasPrefix(d.in, "+") {
		d.out = append(d.out, quantifier)
		if strings.HasPrefix(d.in, "?") {
			d.out = append(d.out, "?")
			d.in = d.in[1:]
		}
		d.atom = -1
		return
	}
	d.in = d.in[1:]
	d.out[d.atom] = "(?>" + d.out[d.atom]
	d.out = append(d.out, quantifier+")")
}

// quantifierSize is the length of a quantifier at the beginning, 0 if there is none.
func quantifierSize(s string) int {
	switch s[0] {
	case '*', '+', '?':
		return 1
	case '{':
		end := strings.IndexByte(s, '}')
		if end > 1 && s[1] != ',' && strings.Trim(s[1:end], "0123456789,") == "" {
			return end + 1
		}
	}
	return 0
}

// brackets takes a set of characters.
func (d *dotNet) brackets() {
	set := "["
	i := 1
	if strings.HasPrefix(d.in[i:], "^") {
		set, i = "[^", 2
	}
	for first := i; i < len(d.in) && (d.in[i] != ']' || i == first); {
		switch {
		case strings.HasPrefix(d.in[i:], "[:"):
			name, _, ok := strings.Cut(d.in[i+2:], ":]")
			if class := posixClasses[name]; ok && class != "" {
				set, i = set+class, i+len(name)+4
				continue
			}
			set, i = set+`\[`, i+1
		case d.in[i] == '[', d.in[i] == ']':
			set, i = set+`\`+d.in[i:i+1], i+1
		case d.in[i] == '\\' && i+1 < len(d.in):
			size := escapeSize(d.in[i:])
			set, i = set+dotNetEscape(d.in[i:i+size], true), i+size
		default:
			_, size := utf8.DecodeRuneInString(d.in[i:])
			set, i = set+d.in[i:i+size], i+size
		}
	}
	if i < len(d.in) {
		set, i = set+"]", i+1
	}
	d.put(set)
	d.in = d.in[i:]
}

// escapeSize is the length of the escape at the beginning.
func escapeSize(s string) int {
	_, size := utf8.DecodeRuneInString(s[1:])
	size++
	if len(s) > 2 && strings.IndexByte("xkgpPo", s[1]) >= 0 && (s[2] == '{' || s[2] == '<') {
		if end := strings.IndexAny(s, "}>"); end > 0 {
			return end + 1
		}
	}
	return size
}

// dotNetEscape writes an escape in the engine's way.
func dotNetEscape(s string, inBrackets bool) string {
	switch {
	case len(s) > 3 && s[1] == 'x': // \x{…}
		digits := strings.Trim(s[3:len(s)-1], "{}")
		return `\x` + strings.Repeat("0", max(0, 2-len(digits))) + digits
	case len(s) > 3 && s[1] == 'g': // \g{1}
		return `\` + s[3:len(s)-1]
	case len(s) > 3 && s[1] == 'k': // \k{name}
		return `\k<` + s[3:len(s)-1] + ">"
	case len(s) > 2:
		return s
	case s[1] == 'Z' || s[1] == 'z' || s[1] == 'A' || s[1] == 'G':
		return s
	case s[1] == 'b' && !inBrackets: // of words in ASCII; the engine's own are those of Unicode
		return `(?:(?<=[a-zA-Z0-9_])(?![a-zA-Z0-9_])|(?<![a-zA-Z0-9_])(?=[a-zA-Z0-9_]))`
	case s[1] == 'B' && !inBrackets:
		return `(?:(?<=[a-zA-Z0-9_])(?=[a-zA-Z0-9_])|(?<![a-zA-Z0-9_])(?![a-zA-Z0-9_]))`
	}
	text := translateEscape(s[1], inBrackets)
	for {
		at := strings.Index(text, `\x{`)
		if at < 0 {
			return text
		}
		text = text[:at] + `\x` + text[at+3:at+5] + text[at+6:]
	}
}
