package eventing

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/expiry"
)

// Functions of a process that have the same partitions of the same database read its changes together: what one of them
// has read is kept for those that have not come so far, and who wants what is just being read waits for that. So each
// change is read once, however many functions there are. Nothing depends on it: a function that is left behind, or
// whose partitions are others, reads for itself.

const (
	// pieceRows and chunkBytes bound what is read of a feed at once: as many events as a batch may have.
	pieceRows = mostItems
	// feedShare is which part of Options.FeedMemory pieces may have that are kept for others.
	feedShare = 4
)

// row is a change of a document as all functions see it. Nobody changes it.
type row struct {
	storage.Change        // the document is the row's own; nil for a deletion of which nothing more is known
	partition      int    // of the document
	meta           []byte // what handlers get beside the document
	origin         origin
}

// size is about how many bytes the row takes.
func (r *row) size() int {
	size := len(r.meta)
	if r.Doc != nil {
		size += len(r.Doc.Body)
	}
	return size
}

// piece is a part of a feed: all rows after since up to end, of one snapshot. It has been read when done is closed, and
// is not changed any more then.
type piece struct {
	since, end storage.Seq // end is zero where there are no rows
	began      time.Time   // a moment before the snapshot
	rows       []row
	bytes      int
	pending    int64 // rows that come after end
	err        error
	done       chan struct{}

	// Guarded by feeds.mu:
	of    *feed
	ready bool // done is closed
}

// feedKey tells which changes a feed has.
type feedKey struct {
	source     [16]byte // uuid of the database
	partitions uint64   // the bit of each that it has
}

// feed is the changes of some partitions of a database, for the functions of this process that have these.
type feed struct {
	key    feedKey
	taps   map[*tap]bool
	pieces []*piece
}

// feeds are those that functions of this process read. It is safe for concurrent use.
type feeds struct {
	mu    sync.Mutex
	open  map[feedKey]*feed
	kept  []*piece // oldest first
	bytes int      // of these
	most  int
	reads int64 // rows that were read
}

func newFeeds(most int) *feeds { return &feeds{open: make(map[feedKey]*feed), most: most} }

// tap is where a function is in a feed. It is used by one goroutine.
type tap struct {
	feeds *feeds
	feed  *feed
	db    *storage.DB
	// joined is when the function has begun: what was read before it does not see, so that nobody gets to see documents
	// as they were before he asked.
	joined time.Time
	// asked is a moment after the last change that the function was told of: what has been read since has all of them.
	asked time.Time
	at    storage.Seq // guarded by feeds.mu
	rows  int         // of the piece that was read last: about as many as the next one has
}

// join begins to read a feed after a sequence.
func (f *feeds) join(db *storage.DB, key feedKey, at storage.Seq) *tap {
	t := &tap{feeds: f, db: db, at: at, joined: time.Now()}
	t.asked = t.joined
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.feed = f.open[key]; t.feed == nil {
		t.feed = &feed{key: key, taps: make(map[*tap]bool)}
		f.open[key] = t.feed
	}
	t.feed.taps[t] = true
	return t
}

// leave ends what join has begun.
func (t *tap) leave() {
	t.feeds.mu.Lock()
	defer t.feeds.mu.Unlock()
	delete(t.feed.taps, t)
	if len(t.feed.taps) == 0 && t.feeds.open[t.feed.key] == t.feed {
		delete(t.feeds.open, t.feed.key)
	}
	t.feeds.prune(t.feed)
}

// news says that the function was told of changes which it is going to read.
func (t *tap) news() { t.asked = time.Now() }

// part is what a function gets of a feed at once.
type part struct {
	rows    []row
	end     storage.Seq // of the last row, or of one after it that no function sees; zero if there is none
	pending int64       // about how many rows come after it
	last    bool        // all changes that the function was told of are in it, or came before
}

// next gives rows after a sequence, of about so many bytes at most.
func (t *tap) next(ctx context.Context, since storage.Seq, most int) (part, error) {
	for {
		p, own := t.find(since)
		if own {
			p.read(ctx, t, most)
			t.finish(p)
			if p.err != nil {
				return part{}, p.err
			}
			return t.take(p, since, most), nil
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return part{}, ctx.Err()
		}
		if p.err == nil { // otherwise this function looks whether it can
			return t.take(p, since, most), nil
		}
	}
}

// find gives the piece with the rows after a sequence; own: there was none, and the caller has to read it.
func (t *tap) find(since storage.Seq) (p *piece, own bool) {
	t.feeds.mu.Lock()
	defer t.feeds.mu.Unlock()
	t.at = since
	for _, p := range t.feed.pieces {
		has := p.since == since || p.ready && p.since.Before(since) && since.Before(p.end)
		if has && !p.began.Before(t.joined) {
			return p, false
		}
	}
	p = &piece{since: since, began: time.Now(), done: make(chan struct{}), of: t.feed}
	t.feed.pieces = append(t.feed.pieces, p)
	return p, true
}

// finish shows a piece that has been read to others, and keeps it if one of them is going to want it.
func (t *tap) finish(p *piece) {
	t.feeds.mu.Lock()
	defer t.feeds.mu.Unlock()
	p.ready = true
	close(p.done)
	t.feeds.reads += int64(len(p.rows))
	if p.err != nil || p.end == (storage.Seq{}) {
		p.of.forget(p)
		return
	}
	t.feeds.kept = append(t.feeds.kept, p)
	t.feeds.bytes += p.bytes
}

// take cuts a piece down to what the function may have.
func (t *tap) take(p *piece, since storage.Seq, most int) part {
	rows := p.rows
	for len(rows) > 0 && !since.Before(rows[0].Seq.Seq) {
		rows = rows[1:]
	}
	out := part{rows: rows, end: p.end, pending: p.pending, last: p.pending == 0 && !p.began.Before(t.asked)}
	size := 0
	for i := range rows {
		if size += rows[i].size(); size > most && i+1 < len(rows) {
			out = part{rows: rows[:i+1], end: rows[i].Seq.Seq, pending: p.pending + int64(len(rows)-i-1)}
			break
		}
	}
	t.feeds.mu.Lock()
	defer t.feeds.mu.Unlock()
	if out.end != (storage.Seq{}) {
		t.at = out.end
	}
	t.feeds.prune(t.feed)
	return out
}

// prune forgets the pieces of a feed that nobody is going to want, and the oldest of all where too much is kept. The
// mutex is held.
func (f *feeds) prune(of *feed) {
	for _, p := range slices.Clone(of.pieces) {
		if p.ready && !of.wants(p) {
			f.drop(p)
		}
	}
	for f.bytes > f.most {
		f.drop(f.kept[0])
	}
}

// wants reports whether a function has not come to the end of a piece which it may see. The mutex is held.
func (f *feed) wants(p *piece) bool {
	for t := range f.taps {
		if t.at.Before(p.end) && !p.began.Before(t.joined) {
			return true
		}
	}
	return false
}

// forget takes a piece out of the feed. The mutex is held.
func (f *feed) forget(p *piece) {
	f.pieces = slices.DeleteFunc(f.pieces, func(other *piece) bool { return other == p })
}

// drop forgets a piece that is kept. The mutex is held.
func (f *feeds) drop(p *piece) {
	p.of.forget(p)
	f.kept = slices.DeleteFunc(f.kept, func(other *piece) bool { return other == p })
	f.bytes -= p.bytes
}

// read reads the piece from the store, up to about so many bytes.
func (p *piece) read(ctx context.Context, t *tap, most int) {
	var revs []storage.ReadRev
	var mem slab
	p.rows = make([]row, 0, t.rows)
	defer func() { t.rows = len(p.rows) }()
	p.err = t.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		if s.UUID() != t.feed.key.source {
			return errSourceGone
		}
		p.rows, p.bytes, p.end, revs = p.rows[:0], 0, storage.Seq{}, revs[:0]
		end, err := s.Changes(storage.ChangesOptions{Since: p.since, Limit: pieceRows, IncludeDocs: true},
			func(ch *storage.Change) error {
				p.end = ch.Seq.Seq
				partition := partitionOf(ch.ID)
				if t.feed.key.partitions&(1<<partition) == 0 || compat.IsDesignID(ch.ID) {
					return nil
				}
				meta := metaOf(mem.room(usualMeta), t.db.Name(), ch, partition)
				r := row{Change: *ch, partition: partition, meta: meta}
				r.Revs, r.Doc = slices.Clone(ch.Revs[:1]), ownCopy(&mem, ch.Doc)
				p.rows, revs = append(p.rows, r), append(revs, storage.ReadRev{ID: r.ID, Rev: r.Revs[0]})
				if p.bytes += r.size(); p.bytes > most {
					return storage.ErrStop
				}
				return nil
			})
		if err != nil {
			return err
		}
		p.pending = end.Pending
		return p.complete(s, revs)
	})
}

// complete looks up what is kept beside the documents of the rows.
func (p *piece) complete(s *storage.Snapshot, revs []storage.ReadRev) error {
	if len(revs) == 0 {
		return nil
	}
	origins, err := originsOf(s, revs)
	if err != nil {
		return err
	}
	expiries, err := expiry.Of(s, revs)
	if err != nil {
		return err
	}
	for i := range p.rows {
		p.rows[i].origin, p.rows[i].meta = origins[i], appendExpiry(p.rows[i].meta, expiries[i])
	}
	return nil
}

// slab is memory of which rows have small parts: they come and go together, and the collector has less to look at.
type slab struct {
	free []byte
	size int // of what was allocated last
}

// Slabs begin small, for a row that comes alone, and each is twice as large as the one before, up to mostSlab.
const (
	leastSlab = 1 << 10
	mostSlab  = 32 << 10
)

// room is an empty slice with a capacity.
func (s *slab) room(size int) []byte {
	if size > mostSlab/4 {
		return make([]byte, 0, size)
	}
	if len(s.free) < size {
		s.size = max(leastSlab, size, min(2*s.size, mostSlab))
		s.free = make([]byte, s.size)
	}
	var b []byte
	b, s.free = s.free[:0:size], s.free[size:]
	return b
}

// ownCopy is a copy of a row's document that has memory of a slab.
func ownCopy(mem *slab, doc *storage.Document) *storage.Document {
	if doc == nil {
		return nil
	}
	c := *doc
	if doc.Body != nil {
		c.Body = append(mem.room(len(doc.Body)), doc.Body...)
	}
	c.Attachments = slices.Clone(doc.Attachments)
	return &c
}

// shown is the document of a row as a principal may see it, false if not at all.
func (r *row) shown(ctx context.Context, db *documents.Database) (*storage.Document, bool) {
	if !db.Hides() {
		return r.Doc, true
	}
	doc := ownCopy(new(slab), r.Doc)
	return doc, db.Show(ctx, doc) == nil
}
