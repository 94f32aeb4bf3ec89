package views

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views/levels"
)

// knownStates are what is known of indexes that are queried again and again while they do not change: the numbers of
// rows, and sums, before the boundaries of one of their levels. With them a query need not come down through the levels
// from the top. They are kept of the state in which an index was queried last.
type knownStates struct {
	mu     sync.Mutex
	states map[string]*knownState // by the prefix of the rows
	total  int                    // boundaries of all of them
	clock  int64
}

// knownState is one index. The state is named by what moves with every change of rows: the sequence of the index, the
// last purge, and, of an interactive index, the last update of the database; and by what is kept of the rows.
type knownState struct {
	seq     storage.Seq
	state   string        // "" before anything was read
	asked   int64         // queries since it is in this state
	used    int64         // by the clock
	known   *levels.Known // nil: nothing yet
	lowest  int           // level below which there are too many boundaries
	reading bool          // somebody reads it
}

// What is kept, and what it may cost: a boundary takes about 80 bytes, and 256 more at most for aggregates
// (levels.Known). In all, reading it is a small part of what the queries before have read.
const (
	maxKnownStates     = 32
	maxKnownBoundaries = 32 << 10  // of an index
	maxKnownTotal      = 100 << 10 // of all together
	minKnownRows       = 100       // of an index: below, reading is as cheap
	minKnown           = 3         // boundaries, likewise
	knownPerQuery      = 8         // boundaries that are worth reading for each query that came before
	minKnownQueries    = 8         // before anything is read
)

// readKnown has the levels of an index read with what is known of the state that the snapshot shows, and reads that
// when there were enough queries to be worth it.
func (v *Views) readKnown(s *storage.Snapshot, ix *index) error {
	if !ix.rec.levels || !v.known.count(ix) {
		return nil
	}
	rows, err := ix.rowCount(s)
	if err != nil || rows < minKnownRows {
		return err
	}
	state, err := ix.state(s)
	if err != nil {
		return err
	}
	known, level := v.known.ask(ix, state, rows)
	if level == 0 && known == nil {
		return nil
	}
	x, err := v.levels(ix)
	if level > 0 {
		var read *levels.Known
		if err == nil {
			read, err = x.ReadKnown(s.KV(), level, maxKnownBoundaries)
		}
		if v.known.read(ix, state, level, read, err); read != nil {
			known = read
		}
	}
	if err == nil && known != nil {
		ix.above = x.With(known)
	}
	return err
}

// state names the state of the rows.
func (ix *index) state(s *storage.Snapshot) (string, error) {
	var buf [3*storage.SeqSize + 16]byte
	state := storage.AppendSeq(buf[:0], ix.rec.seq)
	purge, err := s.LastPurge()
	if err != nil {
		return "", err
	}
	state = strconv.AppendBool(storage.AppendSeq(state, purge), ix.rec.sums)
	state = binary.AppendVarint(state, ix.rec.claims)
	if ix.rec.interactive {
		last, err := s.LastSeq()
		if err != nil {
			return "", err
		}
		state = storage.AppendSeq(state, last)
	}
	return string(state), nil
}

// count counts a query, and reports whether there were enough of them at the sequence of the index.
func (k *knownStates) count(ix *index) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.states[string(ix.keys.rows)]
	if e == nil {
		if k.states == nil {
			k.states = make(map[string]*knownState)
		}
		if len(k.states) == maxKnownStates {
			k.dropOldest()
		}
		e = &knownState{seq: ix.rec.seq}
		k.states[string(ix.keys.rows)] = e
	}
	if e.seq != ix.rec.seq {
		k.total -= lenOf(e.known)
		*e = knownState{seq: ix.rec.seq}
	}
	k.clock++
	e.used = k.clock
	e.asked++
	return e.asked > minKnownQueries
}

// gave counts the groups of an answer: each would have been a query of its own.
func (k *knownStates) gave(ix *index, groups int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.states[string(ix.keys.rows)]; e != nil && e.seq == ix.rec.seq {
		e.asked += groups
	}
}

// ask gives what is known of an index, and the level to be read by whoever asks, or 0.
func (k *knownStates) ask(ix *index, state string, rows int64) (known *levels.Known, level int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.states[string(ix.keys.rows)]
	if e == nil || e.seq != ix.rec.seq {
		return nil, 0
	}
	if e.state != state {
		k.total -= lenOf(e.known)
		if e.state != "" { // the first one begins with the queries that were counted
			e.asked = 0
		}
		*e = knownState{seq: e.seq, state: state, asked: e.asked, used: e.used}
	}
	if e.reading {
		return e.known, 0
	}
	boundaries := rows
	for n := 1; n <= ix.rec.levelHeight && (e.known == nil || n < e.known.Level()); n++ {
		boundaries /= int64(ix.rec.levelFan)
		if n >= e.lowest && boundaries >= minKnown && boundaries <= min(knownPerQuery*e.asked, maxKnownBoundaries) {
			e.reading = true
			return e.known, n
		}
	}
	return e.known, 0
}

// read takes what was read of a level: nil if it has too many boundaries, or could not be read.
func (k *knownStates) read(ix *index, state string, level int, known *levels.Known, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.states[string(ix.keys.rows)]
	if e == nil || e.state != state {
		return
	}
	if e.reading = false; known == nil {
		if err == nil {
			e.lowest = level + 1
		}
		return
	}
	k.total += lenOf(known) - lenOf(e.known)
	e.known = known
	for k.total > maxKnownTotal && len(k.states) > 1 {
		k.dropOldest()
	}
}

func lenOf(known *levels.Known) int {
	if known == nil {
		return 0
	}
	return known.Len()
}

// dropOldest forgets the index that was not asked for the longest.
func (k *knownStates) dropOldest() {
	var oldest string
	for key, e := range k.states {
		if o := k.states[oldest]; o == nil || e.used < o.used {
			oldest = key
		}
	}
	k.total -= lenOf(k.states[oldest].known)
	delete(k.states, oldest)
}
