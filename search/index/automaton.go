package index

import (
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/settee-db/settee/compat/patterns"
	"github.com/settee-db/settee/search/segment"
)

// automaton says which terms match a pattern, character by character. States are numbers; dead is
// the one that nothing leads out of.
//
// One automaton is shared by all segments of a search, which are read one after the other: states
// that one of them has made are there for the next.
type automaton interface {
	start() int32
	step(state int32, r rune) int32
	accepts(state int32) bool
}

const dead = int32(-1)

var errTooManyStates = &Error{fmt.Sprintf("Determinizing automaton would require more than %d states.", mostStates)}

// mostStates bounds the memory of an automaton, as Lucene bounds it.
const mostStates = 10000

// mostStatesTogether bounds the states of all automata of a query, each about half a kilobyte.
const mostStatesTogether = 4 * mostStates

// What is counted as one state: bytes of the key that a state is known by, and instructions of a
// pattern.
const (
	stateSize         = 512
	stateInstructions = 4
)

// lazy keeps the states of an automaton and what leads from one to another once it was asked.
type lazy struct {
	run *segment.Run
	// By number, in the order in which they were met; the start is made like any other.
	states []lazyState
	// Numbers of states by key. What a key is, the automaton says: a set of instructions or rows of
	// distances.
	known map[string]int32
}

// lazyState is a state with what follows it. Characters below 128, which most terms are made of,
// have a table; others are in a map of at most 256, beyond which they are computed each time.
type lazyState struct {
	key    string
	accept bool
	ascii  [utf8.RuneSelf]int32 // 0: not asked yet; else the state + 2
	other  map[rune]int32
}

// state is the number of a state by its key.
func (l *lazy) state(key string, accept bool) int32 {
	if n, ok := l.known[key]; ok {
		return n
	}
	// A long key counts as several states, because it takes as much memory.
	if l.run.States += 1 + len(key)/stateSize; len(l.states) == mostStates ||
		l.run.States > mostStatesTogether {
		l.run.Fail(errTooManyStates)
		return dead
	}
	n := int32(len(l.states))
	if l.known == nil {
		l.known = map[string]int32{}
	}
	l.states = append(l.states, lazyState{key: key, accept: accept})
	l.known[key] = n
	return n
}

func (l *lazy) accepts(state int32) bool { return l.states[state].accept }

// cached is the state after a character, which compute finds out.
func (l *lazy) cached(state int32, r rune, compute func(key string, r rune) int32) int32 {
	if r >= 0 && r < utf8.RuneSelf {
		if n := l.states[state].ascii[r]; n != 0 {
			return n - 2
		}
		n := compute(l.states[state].key, r)
		l.states[state].ascii[r] = n + 2
		return n
	}
	if n, ok := l.states[state].other[r]; ok {
		return n
	}
	// compute may add states and move the array, so that the state is looked up again after it.
	n := compute(l.states[state].key, r)
	s := &l.states[state]
	if s.other == nil {
		s.other = map[rune]int32{}
	}
	if len(s.other) < 256 {
		s.other[r] = n
	}
	return n
}

// program is an automaton of a compiled regular expression: a state is the set of instructions that
// are reached.
type program struct {
	lazy
	prog *syntax.Prog
	// Memory of set: which instructions it has come to.
	seen []bool
}

// newProgram makes an automaton of an expression. A pattern that has more instructions than an
// automaton may have states is refused before it is compiled.
func newProgram(run *segment.Run, re *syntax.Regexp) (*program, error) {
	size := patterns.Instructions(re)
	// It is counted before it is compiled: a pattern such as (a{1000}){1000} has more instructions
	// than there is memory.
	if size > mostStates || run.States+int(size/stateInstructions) > mostStatesTogether {
		return nil, errTooManyStates
	}
	run.States += int(size / stateInstructions)
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, &Error{err.Error()}
	}
	return &program{lazy: lazy{run: run}, prog: prog, seen: make([]bool, len(prog.Inst))}, nil
}

func (p *program) start() int32 { return p.set([]uint32{uint32(p.prog.Start)}) }

// set gives the state of a set of instructions: itself and everything that it leads to without a
// character. Instructions are sorted, so that equal sets are one state. It is dead if no
// instruction takes a character or accepts.
func (p *program) set(from []uint32) int32 {
	clear(p.seen)
	accept := false
	var reached []uint32
	for len(from) > 0 {
		pc := from[len(from)-1]
		from = from[:len(from)-1]
		if p.seen[pc] {
			continue
		}
		p.seen[pc] = true
		switch i := &p.prog.Inst[pc]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			from = append(from, i.Arg, i.Out)
		case syntax.InstCapture, syntax.InstNop:
			from = append(from, i.Out)
		case syntax.InstMatch:
			accept = true
			reached = append(reached, pc)
		// Lucene has no anchors; the parser makes none either.
		case syntax.InstFail, syntax.InstEmptyWidth:
		default:
			reached = append(reached, pc)
		}
	}
	if len(reached) == 0 {
		return dead
	}
	slices.Sort(reached)
	key := make([]byte, 0, 4*len(reached))
	for _, pc := range reached {
		key = binary.BigEndian.AppendUint32(key, pc)
	}
	return p.state(string(key), accept)
}

func (p *program) step(state int32, r rune) int32 { return p.cached(state, r, p.after) }

// after gives the state after one more character: the instructions that are reached from those of a
// state, which its key lists.
func (p *program) after(key string, r rune) int32 {
	var next []uint32
	for ; key != ""; key = key[4:] {
		// A key is the numbers of the instructions, four bytes each.
		i := &p.prog.Inst[binary.BigEndian.Uint32([]byte(key[:4]))]
		if i.Op != syntax.InstMatch && i.MatchRune(r) {
			next = append(next, i.Out)
		}
	}
	return p.set(next)
}

// levenshtein is an automaton of the terms within some edits of a word: characters put in, left
// out, replaced, or two exchanged. A state is the last two rows of the table of distances with the
// character between them.
type levenshtein struct {
	lazy
	word  []rune
	edits int
}

func newLevenshtein(run *segment.Run, word string, edits int) *levenshtein {
	return &levenshtein{lazy: lazy{run: run}, word: []rune(word), edits: edits}
}

// start is the state before the first character: the first row of the table of edit distances.
func (l *levenshtein) start() int32 {
	row := make([]byte, len(l.word)+1)
	// The row of the empty text: its distance to each beginning of the word is the beginning's
	// length.
	for i := range row {
		row[i] = byte(min(i, l.edits+1))
	}
	// There is no row before it, and no character: nothing can have changed places yet.
	before := slices.Repeat([]byte{byte(l.edits + 1)}, len(row))
	return l.rows(before, row, -1)
}

// rows is the state of two neighbouring rows of the table of edit distances and the character
// between them, which an exchange of two characters needs; dead if no text that begins so can still
// match.
func (l *levenshtein) rows(before, row []byte, r rune) int32 {
	// Distances never shrink again below the least of both rows: an exchange reaches back over one
	// row.
	if int(slices.Min(row)) > l.edits && int(slices.Min(before)) > l.edits {
		return dead
	}
	key := append(append(binary.BigEndian.AppendUint32(nil, uint32(r)), before...), row...)
	return l.state(string(key), int(row[len(row)-1]) <= l.edits)
}

func (l *levenshtein) step(state int32, r rune) int32 { return l.cached(state, r, l.after) }

// after computes the state that follows by a character. A state is two rows of the table of
// distances, of the text so far and of the text without its last character, and that character: two
// letters that changed places count as one edit, which only the row before shows. Distances above
// the limit are all edits+1, so that the number of states is finite.
func (l *levenshtein) after(key string, r rune) int32 {
	n := len(l.word) + 1
	last := rune(binary.BigEndian.Uint32([]byte(key[:4])))
	before, row := key[4:4+n], key[4+n:]
	next := make([]byte, n)
	most := l.edits + 1
	next[0] = byte(min(int(row[0])+1, most))
	for i := 1; i < n; i++ {
		d := int(row[i-1])
		if l.word[i-1] != r {
			d++
		}
		d = min(d, int(row[i])+1, int(next[i-1])+1)
		if i > 1 && l.word[i-1] == last && l.word[i-2] == r {
			d = min(d, int(before[i-2])+1)
		}
		next[i] = byte(min(d, most))
	}
	return l.rows([]byte(row), next, r)
}

// distance is the number of edits of the state after a term that is accepted.
func (l *levenshtein) distance(state int32) int {
	key := l.states[state].key
	return int(key[len(key)-1])
}

// walk calls found for each term that the automaton accepts, in order, with its last state. Parts
// of the dictionary that cannot match are jumped over.
func walk(run *segment.Run, terms segment.Terms, a automaton, found func(state int32)) {
	type place struct {
		end   int // of the character in the term
		state int32
	}
	// The stack has the states after each character of the term before, as far as the automaton
	// came: what the next term shares with it is not looked at again.
	stack := []place{{0, a.start()}}
	if stack[0].state == dead {
		return
	}
	last := ""
	for ok := terms.Next(); ok; {
		if run.Spent(1) {
			return
		}
		term := terms.Term()
		shared := segment.SharedLength(last, term)
		for stack[len(stack)-1].end > shared {
			stack = stack[:len(stack)-1]
		}
		at, state := stack[len(stack)-1].end, stack[len(stack)-1].state
		for at < len(term) {
			r, n := utf8.DecodeRuneInString(term[at:])
			if state = a.step(state, r); state == dead {
				at += n
				break
			}
			at += n
			stack = append(stack, place{at, state})
		}
		last = term
		if state != dead {
			if a.accepts(state) {
				found(state)
			}
			ok = terms.Next()
			continue
		}
		// No term that begins like this one can match: the walk goes on behind all of them.
		next := successor(term[:at])
		if next == "" {
			return
		}
		ok = terms.Seek(next)
	}
}

// successor is the first text behind all that begin with s; empty if there is none.
func successor(s string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < 0xFF {
			return s[:i] + string([]byte{s[i] + 1})
		}
	}
	return ""
}
