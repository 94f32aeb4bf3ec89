package views

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/views/levels"
)

// stateCache is the cache for indexes that are queried again and again while they do not change:
// the numbers of rows, and sums, before the boundaries of one of their levels. With them a query
// need not come down through the levels from the top. They are kept of the state in which an index
// was queried last.
type stateCache struct {
	mu     sync.Mutex
	states map[string]*cachedState // by the prefix of the rows
	total  int                     // boundaries of all of them
	clock  int64
}

// cachedState is one index. Its state is named by values that change with every change of rows: the
// sequence of the index, the last purge, and, of an interactive index, the last update of the
// database; and by what is kept of the rows.
type cachedState struct {
	seq     storage.Seq
	state   string        // "" before anything was read
	asked   int64         // queries since it is in this state
	used    int64         // by the clock
	cache   *levels.Cache // nil: nothing yet
	lowest  int           // level below which there are too many boundaries
	reading bool          // somebody reads it
}

// What is kept, and what it may cost: a boundary takes about 80 bytes, and 256 more at most for
// aggregates (levels.Cache). In all, reading it is a small part of what the queries before have
// read.
const (
	maxCachedStates     = 32
	maxCachedBoundaries = 32 << 10  // of an index
	maxCachedTotal      = 100 << 10 // of all together
	minCachedRows       = 100       // of an index: below, reading is as cheap
	minCached           = 3         // boundaries, likewise
	cachedPerQuery      = 8         // boundaries that are worth reading for each query that came before
	minCachedQueries    = 8         // before anything is read
)

// readCached makes queries of an index use its cache for the state that the snapshot shows. It
// reads the cache, or a finer level of it, when there were enough queries to be worth that.
func (a *aggregates) readCached(s *storage.Snapshot, ix *index) error {
	if !ix.rec.levels || !a.states.count(ix) {
		return nil
	}
	rows, err := ix.rowCount(s)
	if err != nil || rows < minCachedRows {
		return err
	}
	state, err := ix.state(s)
	if err != nil {
		return err
	}
	cache, level := a.states.ask(ix, state, rows)
	if level == 0 && cache == nil {
		return nil
	}
	x, err := a.levels(ix)
	if level > 0 {
		var read *levels.Cache
		if err == nil {
			read, err = x.ReadCache(s.KV(), level, maxCachedBoundaries)
		}
		if a.states.read(ix, state, level, read, err); read != nil {
			cache = read
		}
	}
	if err == nil && cache != nil {
		ix.above = x.With(cache)
	}
	return err
}

// state names the state of the rows.
func (ix *index) state(s *storage.Snapshot) (string, error) {
	var buf [3*keyspace.SeqSize + 16]byte
	state := keyspace.AppendSeq(buf[:0], ix.rec.seq)
	purge, err := s.LastPurge()
	if err != nil {
		return "", err
	}
	state = strconv.AppendBool(keyspace.AppendSeq(state, purge), ix.rec.sums)
	state = binary.AppendVarint(state, ix.rec.claims)
	if ix.rec.interactive {
		last, err := s.LastSeq()
		if err != nil {
			return "", err
		}
		state = keyspace.AppendSeq(state, last)
	}
	return string(state), nil
}

// count counts a query, and reports whether there were enough of them at the sequence of the index.
func (k *stateCache) count(ix *index) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.states[string(ix.keys.rows)]
	if e == nil {
		if k.states == nil {
			k.states = make(map[string]*cachedState)
		}
		if len(k.states) == maxCachedStates {
			k.dropOldest()
		}
		e = &cachedState{seq: ix.rec.seq}
		k.states[string(ix.keys.rows)] = e
	}
	if e.seq != ix.rec.seq {
		k.total -= lenOf(e.cache)
		*e = cachedState{seq: ix.rec.seq}
	}
	k.clock++
	e.used = k.clock
	e.asked++
	return e.asked > minCachedQueries
}

// gave counts the groups of an answer: each would have been a query of its own.
func (k *stateCache) gave(ix *index, groups int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.states[string(ix.keys.rows)]; e != nil && e.seq == ix.rec.seq {
		e.asked += groups
	}
}

// ask returns the cache of an index, and the level that the caller shall read into it, or 0.
// While one caller reads, others get no level, so that a level is read once.
func (k *stateCache) ask(ix *index, state string, rows int64) (cache *levels.Cache, level int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.states[string(ix.keys.rows)]
	if e == nil || e.seq != ix.rec.seq {
		return nil, 0
	}
	if e.state != state {
		k.total -= lenOf(e.cache)
		if e.state != "" { // the first one begins with the queries that were counted
			e.asked = 0
		}
		*e = cachedState{seq: e.seq, state: state, asked: e.asked, used: e.used}
	}
	if e.reading {
		return e.cache, 0
	}
	boundaries := rows
	for n := 1; n <= ix.rec.levelHeight && (e.cache == nil || n < e.cache.Level()); n++ {
		boundaries /= int64(ix.rec.levelFan)
		if n >= e.lowest && boundaries >= minCached && boundaries <= min(cachedPerQuery*e.asked, maxCachedBoundaries) {
			e.reading = true
			return e.cache, n
		}
	}
	return e.cache, 0
}

// read takes the cache that was read of a level: nil if the level has too many boundaries, or could
// not be read. It is dropped if the index has changed since ask.
func (k *stateCache) read(ix *index, state string, level int, cache *levels.Cache, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.states[string(ix.keys.rows)]
	if e == nil || e.state != state {
		return
	}
	if e.reading = false; cache == nil {
		if err == nil {
			e.lowest = level + 1
		}
		return
	}
	k.total += lenOf(cache) - lenOf(e.cache)
	e.cache = cache
	for k.total > maxCachedTotal && len(k.states) > 1 {
		k.dropOldest()
	}
}

func lenOf(cache *levels.Cache) int {
	if cache == nil {
		return 0
	}
	return cache.Len()
}

// dropOldest forgets the index that was not asked for the longest.
func (k *stateCache) dropOldest() {
	var oldest string
	for key, e := range k.states {
		if o := k.states[oldest]; o == nil || e.used < o.used {
			oldest = key
		}
	}
	k.total -= lenOf(k.states[oldest].cache)
	delete(k.states, oldest)
}
