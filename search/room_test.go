package search

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestBuildsShareTheirRoom: what all builds have of texts at one time has one bound, however many
// they are, and none of them waits for functions of others: a build that finds no room has one
// small batch, and one large document has as much as there is.
func TestBuildsShareTheirRoom(t *testing.T) {
	const memory, indexes, docs = 64 << 20, 12, 40
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	var functions []string
	for i := range indexes {
		functions = append(functions, fmt.Sprintf(`"i%02d":{"index":"f%d"}`, i, i))
	}
	b.put(t, "_design/d", `{"indexes":{`+strings.Join(functions, ",")+`}}`)
	text := strings.Repeat("w ", freeBytes/3)
	for n := range docs {
		b.put(t, fmt.Sprintf("d%02d", n), `{"index":[["a","x",{}]],"text":"`+text+`"}`)
	}
	b.put(t, "large", `{"index":[["a","x",{}]],"text":"`+strings.Repeat(text, 100)+`"}`)
	held := &holding{until: make(chan struct{}), of: map[string]bool{}, called: make(chan struct{}, 1)}
	o := b.indexes.opts
	o.Memory, o.JS, o.directDocs = memory, held, 0
	b.indexes.Close()
	b.indexes = New(o)
	b.store.SetHooks(storage.Hooks{Indexer: b.indexes})
	var all sync.WaitGroup
	for i := range indexes {
		def := b.lookup(t, segment.Clouseau, fmt.Sprintf("i%02d", i))
		all.Go(func() {
			if err := b.indexes.Update(context.Background(), b.db, def); err != nil {
				t.Error(err)
			}
		})
	}
	// Each build has a batch with the worker, though nobody has got one back.
	for range held.called {
		if held.functions() == indexes {
			break
		}
	}
	close(held.until)
	all.Wait()
	room := b.indexes.room
	if most := int(room.total)/batchCopies + indexes*freeBytes; held.most > most || held.most < freeBytes {
		t.Errorf("%d bytes of texts were held, of %d", held.most, most)
	}
	b.indexes.running.Wait()
	if !room.free.TryAcquire(room.total) {
		t.Error("a build has kept a part of the room")
	}
	for i := range indexes {
		def := b.lookup(t, segment.Clouseau, fmt.Sprintf("i%02d", i))
		must(t, b.db.View(context.Background(), func(s *storage.Snapshot) error {
			opened, err := b.indexes.open(context.Background(), s, def)
			if err != nil {
				return err
			}
			n := int32(0)
			for _, s := range opened.segments {
				n += s.Docs()
			}
			if n != docs+1 {
				t.Errorf("index %d has %d documents", i, n)
			}
			return nil
		}))
	}
}

// holding is JavaScript that keeps its calls until it is told, and counts the bytes that it has
// been given.
type holding struct {
	script
	until chan struct{}

	mu        sync.Mutex
	now, most int
	of        map[string]bool // functions that were called
	called    chan struct{}
}

func (h *holding) Map(ctx context.Context, p *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	size := 0
	for _, d := range docs {
		size += len(d)
	}
	h.count(size, p.Maps[0])
	defer h.count(-size, p.Maps[0])
	<-h.until
	return h.script.Map(ctx, p, docs)
}

func (h *holding) count(n int, function string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now += n
	h.most = max(h.most, h.now)
	h.of[function] = true
	select {
	case h.called <- struct{}{}:
	default:
	}
}

func (h *holding) functions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.of)
}

// TestBlocksOfATransaction: small blocks count with what they take in a transaction. A segment of
// many fields of a word each has hundreds of thousands of them, of a few bytes.
func TestBlocksOfATransaction(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", design)
	b.put(t, "a", `{"index":[["a","x",{}]]}`)
	def := b.lookup(t, segment.Clouseau, "c")
	must(t, b.indexes.Update(t.Context(), b.db, def))
	bd := &build{x: b.indexes, db: b.db, def: def, flight: &flight{}}
	must(t, bd.prepare(t.Context()))
	c, err := b.indexes.take(t.Context(), b.db, bd.recordKey, bd.keys, claimMerge)
	must(t, err)
	defer c.drop()
	put, most := c.put(t.Context()), 0
	for i := range 50_000 {
		must(t, put(segment.BlockKey{Field: int32(i)}, []byte{1}))
		most = max(most, len(c.pending))
	}
	if most > b.indexes.opts.transactionBudget()/2/blockBytes {
		t.Errorf("%d blocks were held for one transaction", most)
	}
}

// TestTermsOfADocument: a document whose terms take more memory than the server has for them is
// listed with the reason, whichever way it comes into the index, and nothing is held of it; what a
// server of 512 MB takes is not refused there.
func TestTermsOfADocument(t *testing.T) {
	var text strings.Builder
	for i := range 120_000 {
		fmt.Fprintf(&text, "w%d ", i)
	}
	values := []segment.Value{{Name: "a", Text: text.String(), Analyzed: true}}
	for memory, fits := range map[int64]bool{50 << 20: false, 280 << 20: true} {
		b := newBench(t, memkv.New(), storage.CreateOptions{})
		b.put(t, "_design/d", design)
		m := b.lookup(t, segment.Clouseau, "c").newMaker()
		b.indexes.opts.Memory = memory
		m.of.Most = b.indexes.opts.documentMemory()
		for _, way := range []func(*source){m.record, func(src *source) {
			m.invert(segment.NewBatch(segment.Clouseau, m.of.Analyze), src)
		}} {
			src := &source{id: "d", fields: &fields{values: values}}
			way(src)
			if whole := src.fields.failure == ""; whole != fits || !fits && src.fields.failure != tooManyTerms {
				t.Errorf("with %d MB: %q", memory>>20, src.fields.failure)
			}
		}
	}
	m := segment.NewMaker(segment.Clouseau, func(_, text string, add func([]byte, int, int, int)) {
		for _, word := range strings.Fields(text) {
			add([]byte(word), 1, 0, 0)
		}
	})
	m.Most = 1 << 20
	if d := m.Document("d", values); m.Whole() || d.Memory() > 2*m.Most {
		t.Errorf("%d bytes of a document are held, of %d", d.Memory(), m.Most)
	}
}

// TestPiecesAreLetGo: of what a batch has handed over it holds nothing, so that records do not add
// up to those of the whole batch.
func TestPiecesAreLetGo(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", design)
	def := b.lookup(t, segment.Clouseau, "c")
	b.indexes.opts.Memory = 1 // pieces of leastDirect
	words := strings.Fields(strings.Repeat("word ", 400))
	for i := range words {
		words[i] += fmt.Sprint(i)
	}
	values := []segment.Value{{Name: "a", Text: strings.Join(words, " "), Analyzed: true}}
	all := &batch{docs: make([]source, 40), made: make(chan *batch, 40)}
	k := &making{b: &build{x: b.indexes, def: def}, batch: all, m: def.newMaker()}
	for i := range all.docs {
		all.docs[i].id, all.docs[i].fields = fmt.Sprint(i), &fields{values: values}
		must(t, k.take(t.Context(), &all.docs[i]))
		held := 0
		for j := range all.docs {
			held += all.docs[j].memory
		}
		if held > 2*leastDirect {
			t.Fatalf("%d bytes of records are held by a batch, of %d in a piece", held, leastDirect)
		}
	}
	must(t, k.hand(t.Context(), len(all.docs)))
	handed := 0
	for len(all.made) > 0 {
		handed += len((<-all.made).docs)
	}
	if handed != len(all.docs) {
		t.Errorf("%d documents were handed over", handed)
	}
}

// TestMergesTakeOfTheRoom: a merge waits for the memory that it needs, and is not begun if that is
// more than there is; the index grows on and answers.
func TestMergesTakeOfTheRoom(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", design)
	def := b.lookup(t, segment.Clouseau, "c")
	docs := 0
	grow := func(flushes int) (segments int) {
		for range flushes {
			for range fewEntries + 1 {
				b.put(t, fmt.Sprint("doc", docs), `{"index":[["default","word",{}]]}`)
				docs++
			}
			want(t, "documents", b.ask(t, def, "word")[:len(fmt.Sprint(docs))], fmt.Sprint(docs))
		}
		must(t, b.db.View(t.Context(), func(s *storage.Snapshot) error {
			o, err := b.indexes.open(t.Context(), s, def)
			segments = len(o.manifest.segments)
			return err
		}))
		return segments
	}
	large := b.indexes.room
	b.indexes.room = newRoom(4 * segment.EncodedDocument * fewEntries * 4 * 100)
	want(t, "segments that do not fit", grow(fanOut+2), fanOut+2)
	b.indexes.running.Wait()
	b.indexes.room = large
	must(t, large.free.Acquire(t.Context(), large.total))
	want(t, "segments that wait", grow(2), fanOut+4)
	large.free.Release(large.total)
	b.indexes.running.Wait()
	if n := grow(0); n >= fanOut {
		t.Errorf("there are %d segments", n)
	}
	want(t, "what merges have kept", large.free.TryAcquire(large.total), true)
}

// watching is a language that tells of each document that it is asked for.
type watching struct {
	listed
	see func(doc ejson.Value)
}

func (w watching) Compile(segment.Kind, ejson.Value) (Mapper, error) { return w, nil }

func (w watching) Map(doc ejson.Value) ([]segment.Value, bool, error) {
	w.see(doc)
	return w.listed.Map(doc)
}

// TestLargeDocumentHasItsRoom: while a document is indexed, its build holds what its terms may take;
// that is all there is if they may take more.
func TestLargeDocumentHasItsRoom(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", `{"language":"watching","indexes":{"i":{"index":"default"}}}`)
	for n := range 5 {
		b.put(t, fmt.Sprint("d", n), `{"index":[["default","word",{}]],"text":"`+strings.Repeat("w ", 70_000<<n)+`"}`)
	}
	o := b.indexes.opts
	b.indexes.Close()
	seen := 0
	o.Memory = 512 << 20
	o.Languages = map[string]Language{"watching": watching{see: func(doc ejson.Value) {
		seen++
		text, _ := doc.Get("text")
		room := b.indexes.room
		held := min(room.total, mostOfText*int64(len(text.Text())))
		if free := room.total - held + 1; room.free.TryAcquire(free) {
			room.free.Release(free)
			t.Errorf("less than %d bytes are held for a document of %d", held, len(text.Text()))
		}
	}}}
	b.indexes = New(o)
	b.store.SetHooks(storage.Hooks{Indexer: b.indexes})
	must(t, b.indexes.Update(t.Context(), b.db, b.lookup(t, segment.Clouseau, "i")))
	want(t, "documents", seen, 5)
}

// TestProgramsAreBounded: programs of interactive indexes are kept up to a number of bytes, their
// definitions and what languages make of these counted.
func TestProgramsAreBounded(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	for n := range 40 {
		e := &interactiveEntry{signature: signature{byte(n)}, language: "listed"}
		e.definition = fmt.Appendf(nil, `{"index":%q}`, strings.Repeat("x", 80_000))
		want(t, "error", b.indexes.programOf(e).err, nil)
	}
	if n := b.indexes.programs.Len(); n > 12 || n < 3 {
		t.Errorf("%d programs are kept", n)
	}
}

// TestReadDictionariesCount: what queries have read of the dictionaries of an index counts for what
// is kept of indexes, from the next query on.
func TestReadDictionariesCount(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", design)
	var words strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&words, "%06x ", n)
	}
	b.put(t, "words", `{"index":[["default","`+words.String()+`",{}]]}`)
	b.indexes.opts.flushEntries = 1
	def := b.lookup(t, segment.Clouseau, "c")
	must(t, b.indexes.Update(t.Context(), b.db, def))
	var counted []int
	for range 2 {
		must(t, b.db.View(t.Context(), func(s *storage.Snapshot) error {
			o, err := b.indexes.open(t.Context(), s, def)
			must(t, err)
			counted = append(counted, o.state.counted)
			postings, docs := o.segments[0].Term(segment.NewRun(t.Context()), "default", "000123", false)
			want(t, "found", postings != nil && docs == 1, true)
			return nil
		}))
	}
	if read := counted[1] - counted[0]; read < 20_000/64*40 {
		t.Errorf("%d bytes are counted of a dictionary", read)
	}
}
