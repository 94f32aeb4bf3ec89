package search

import (
	"context"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
)

// state is what this process has in memory of an index with one manifest: the segments, and what
// the log has after them. It grows with the log, and serves every snapshot that has this manifest.
type state struct {
	// Guards all below it. It is held while segments are opened and the log is read on, so that the
	// queries which come at the same time do that once.
	mu       sync.Mutex
	counted  int // bytes, when states were made to fit last
	segments []*segment.BlockSegment
	live     []*segment.Bitmap // of the segments, as the manifest has it; nil: all
	// The documents of the log, as a segment that grows.
	ram   *segment.RAM
	last  segment.Identity     // the log was read up to here
	kills []segmentKill        // in the order of the log
	types map[string]fieldType // of the fields

	// What the segments look like after the first kills; nil: not made yet.
	shown      []*segment.Bitmap
	shownKills int
}

// segmentKill says that a document of a segment was not alive from an identity on.
type segmentKill struct {
	at      segment.Identity
	segment int
	doc     int32
}

type stateKey struct {
	database [16]byte
	number   int64
	manifest int64
}

// states are the states that are kept, the least recently used dropped first. The memory that their
// logs and the fields of their segments take is bounded.
type states struct {
	mu   sync.Mutex
	kept *lru.Cache[stateKey, *state]
	most int // bytes of all in memory
}

// keptStates is how many are kept at most.
const keptStates = 256

func newStates(bytes int) *states {
	kept, err := lru.New[stateKey, *state](keptStates)
	if err != nil {
		panic(err) // the size is right
	}
	return &states{kept: kept, most: bytes}
}

func (c *states) forget() { c.kept.Purge() }

// get is the state of a key, a new one if there is none.
func (c *states) get(key stateKey) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st, ok := c.kept.Get(key); ok {
		return st
	}
	st := &state{}
	c.kept.Add(key, st)
	return st
}

// shrink drops states that were not used for the longest time until all of them fit.
func (c *states) shrink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes := 0
	for _, st := range c.kept.Values() {
		bytes += st.memory()
	}
	for bytes > c.most && c.kept.Len() > 1 {
		_, st, _ := c.kept.RemoveOldest()
		bytes -= st.memory()
	}
}

// memory is about how many bytes the log and the fields of segments take, 0 while they are being
// read.
func (st *state) memory() (bytes int) {
	// Whoever reads a state holds its lock for long; shrink must not wait for that.
	if !st.mu.TryLock() {
		return 0
	}
	defer st.mu.Unlock()
	return st.bytes()
}

// bytes is memory without taking the lock, which the caller holds.
func (st *state) bytes() (bytes int) {
	if st.ram != nil {
		bytes = st.ram.Bytes()
	}
	for _, s := range st.segments {
		bytes += s.Bytes()
	}
	return bytes
}

// opened is an index in a snapshot.
type opened struct {
	rec      *record
	keys     *keys
	manifest *manifest
	state    *state
	at       segment.Identity // the end of the log
	segments []segment.Segment
}

// open opens an index in a snapshot; nil if it was never built. The state of the manifest is shared
// by all queries; one that reads the log on does so for the others too.
func (x *Indexes) open(ctx context.Context, s *storage.Snapshot, def *Definition) (*opened, error) {
	sp := spaceOf(s)
	rec, _, err := readRecord(s.KV(), sp, def.signature)
	if err != nil || rec == nil {
		return nil, err
	}
	o := &opened{rec: rec, keys: sp.keysOf(rec.number)}
	value, err := s.KV().Get(o.keys.key(keyManifest))
	if err != nil {
		return nil, err
	}
	if o.manifest, err = parseManifest(value); err != nil {
		return nil, err
	}
	if o.at, err = o.keys.lastOfLog(s.KV()); err != nil {
		return nil, err
	}
	// An empty log ends where the last flush ended.
	if o.at == "" {
		o.at = o.manifest.flushed
	}
	o.state = x.states.get(stateKey{s.UUID(), rec.number, o.manifest.version})
	grown, err := o.show(ctx, x, s)
	if grown && err == nil {
		x.states.shrink()
	}
	return o, err
}

// show makes the segments of the snapshot. grown tells that more is in memory of the index than
// before: its segments or the log were read, or earlier queries have read dictionaries.
func (o *opened) show(ctx context.Context, x *Indexes, s *storage.Snapshot) (grown bool, err error) {
	st := o.state
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ram == nil {
		if err := st.load(ctx, o, x, s); err != nil {
			return false, err
		}
	}
	blocks := make([]*segmentBlocks, len(st.segments))
	for i := range st.segments {
		blocks[i] = x.blocksIn(s, o.keys, o.rec.number, o.manifest.segments[i].id)
	}
	if st.last < o.at {
		if err := st.grow(ctx, o, blocks, s); err != nil {
			return false, err
		}
	}
	live := st.liveAt(o.at)
	for i, of := range st.segments {
		o.segments = append(o.segments, of.Over(blocks[i], live[i]))
	}
	// The state may have read further than this snapshot: the view ends at its own place.
	if view := st.ram.View(o.at); view.Docs() > 0 {
		o.segments = append(o.segments, view)
	}
	grown = st.bytes() > st.counted
	st.counted = st.bytes()
	return grown, nil
}

// load opens the segments of the manifest.
func (st *state) load(ctx context.Context, o *opened, x *Indexes, s *storage.Snapshot) error {
	var segments []*segment.BlockSegment
	var live []*segment.Bitmap
	for i := range o.manifest.segments {
		info := &o.manifest.segments[i]
		alive, err := o.keys.readLive(s.KV(), info)
		if err != nil {
			return err
		}
		opened, err := segment.OpenBlocks(ctx, x.blocksIn(s, o.keys, o.rec.number, info.id), alive)
		if err != nil {
			return err
		}
		segments, live = append(segments, opened), append(live, alive)
	}
	st.segments, st.live, st.last, st.ram = segments, live, o.manifest.flushed, segment.NewRAM()
	return nil
}

// grow reads the log on to the end that the snapshot has.
func (st *state) grow(ctx context.Context, o *opened, blocks []*segmentBlocks, s *storage.Snapshot) error {
	return o.keys.readLog(s.KV(), st.last, o.at, func(e *logEntry) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		// What is killed is in the log itself, or in a segment.
		if e.kill != "" && !st.ram.Kill(e.at, e.kill) {
			if err := st.killIn(ctx, e, blocks); err != nil {
				return err
			}
		}
		if e.doc != nil {
			d, err := segment.ReadRecord(e.doc)
			if err != nil {
				return err
			}
			st.ram.Add(e.at, d)
		}
		st.last = e.at
		return nil
	})
}

// killIn finds the document that an entry of the log kills in the segments.
func (st *state) killIn(ctx context.Context, e *logEntry, blocks []*segmentBlocks) error {
	for i, s := range st.segments {
		doc, ok, err := segment.Find(ctx, s.Over(blocks[i], nil), e.kill)
		if err != nil {
			return err
		}
		if ok {
			st.kills = append(st.kills, segmentKill{e.at, i, doc})
			return nil
		}
	}
	return corrupt("log of an index: it kills a document that is not there")
}

// liveAt gives, for each segment, the documents that are alive after the entry of the log at a
// place; nil: all.
func (st *state) liveAt(at segment.Identity) []*segment.Bitmap {
	n := len(st.kills)
	for n > 0 && strings.Compare(string(st.kills[n-1].at), string(at)) > 0 {
		n--
	}
	if st.shown != nil && st.shownKills == n {
		return st.shown
	}
	shown := append([]*segment.Bitmap(nil), st.live...)
	// Sets are shared by queries that run: one that is changed here is cloned first, once.
	own := make([]bool, len(shown))
	from := 0
	// Queries mostly come with later snapshots: what was made for the last one is gone on with.
	if st.shown != nil && st.shownKills < n {
		copy(shown, st.shown)
		from = st.shownKills
	}
	for _, k := range st.kills[from:n] {
		if !own[k.segment] {
			own[k.segment] = true
			if shown[k.segment] == nil {
				shown[k.segment] = segment.All(st.segments[k.segment].Docs())
			} else {
				shown[k.segment] = shown[k.segment].Clone()
			}
		}
		shown[k.segment].Clear(k.doc)
	}
	st.shown, st.shownKills = shown, n
	return shown
}
