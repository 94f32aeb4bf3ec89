package index

import (
	"context"
	"errors"
	"fmt"
	"github.com/settee-db/settee/search/segment"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// mapBlocks are blocks in memory.
type mapBlocks map[segment.BlockKey][]byte

func (m mapBlocks) ReadBlock(key segment.BlockKey) ([]byte, error) { return m[key], nil }

func (m mapBlocks) put(key segment.BlockKey, b []byte) error {
	m[key] = slices.Clone(b)
	return nil
}

// What package segment writes: the size of blocks, and some of the streams.
const (
	blockBytes         = 32 << 10
	headerStream       = 0
	postingsStream     = 3
	documentEndsStream = 17
)

func newRun() *segment.Run { return segment.NewRun(context.Background()) }

func encode(t testing.TB, segments ...segment.Segment) mapBlocks {
	t.Helper()
	blocks := mapBlocks{}
	if err := segment.Encode(context.Background(), segments, blocks.put); err != nil {
		t.Fatal(err)
	}
	return blocks
}

func open(t testing.TB, blocks segment.Blocks, live *segment.Bitmap) *segment.BlockSegment {
	t.Helper()
	s, err := segment.OpenBlocks(context.Background(), blocks, live)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// without is an oracle in which documents that are not alive never were, as after a merge.
func (o *oracle) without() *oracle {
	merged := &oracle{kind: o.kind}
	for _, d := range o.docs {
		if d.killed == "" {
			merged.docs = append(merged.docs, d)
		}
	}
	return merged
}

// TestBlocksAgainstTheOracle: segments of blocks, made of segments in memory and merged again,
// answer as a scan does, and facets and pages as the segment in memory does.
func TestBlocksAgainstTheOracle(t *testing.T) {
	forWorlds(t, 40, func(t *testing.T, w *world) {
		var flushed []segment.Segment
		for _, p := range w.parts {
			flushed = append(flushed, open(t, encode(t, p.View(w.now())), nil))
		}
		blocks := encode(t, flushed...)
		merged := open(t, blocks, nil)
		kept := keeping(blocks)
		o := w.oracle.at(w.now()).without()
		if int(merged.Docs()) != len(o.docs) {
			t.Errorf("%d documents, want %d", merged.Docs(), len(o.docs))
		}
		indexes := []*Index{{Kind: o.kind, Segments: flushed}, {Kind: o.kind, Segments: []segment.Segment{merged}},
			{Kind: o.kind, Segments: []segment.Segment{open(t, kept, nil)}}}
		memory := w.index(w.now(), false)
		for range 15 {
			n := w.query(3, true)
			for _, x := range indexes {
				checkHits(t, o, n, mustSearch(t, x, &Request{Query: n, Limit: 1000}), true)
			}
			sort, err := memory.ParseSort(sorts(w, memory))
			if err != nil {
				continue
			}
			q := &Request{Query: w.query(2, false), Sort: sort, Limit: 1000, Drilldown: [][]string{{"s"}}}
			if info, _ := memory.field("s"); info.Strings {
				q.Counts = []string{"s"}
			}
			for i := range sort {
				if sort[i].By == ByScore { // depends on documents that are not alive
					sort[i].By = ByOrder
				}
			}
			want := mustSearch(t, memory, q)
			for _, x := range indexes {
				got := mustSearch(t, x, q)
				if !slices.Equal(identities(got.Hits), identities(want.Hits)) ||
					fmt.Sprint(got.Counts) != fmt.Sprint(want.Counts) {
					t.Errorf("%s by %+v: %v %v, want %v %v", show(q.Query), sort, identities(got.Hits), got.Counts,
						identities(want.Hits), want.Counts)
				}
			}
		}
		checkStored(t, o, merged)
	})
}

func checkStored(t *testing.T, o *oracle, s *segment.BlockSegment) {
	t.Helper()
	run := newRun()
	for i, d := range o.docs {
		if s.ID(run, int32(i)) != d.ID || s.Identity(run, int32(i)) != d.identity ||
			!slices.Equal(s.Stored(run, int32(i)), d.Stored) {
			t.Errorf("document %d is %s, want %s", i, s.ID(run, int32(i)), d.ID)
		}
	}
	if run.Err() != nil {
		t.Error(run.Err())
	}
}

// manyDocuments is a segment whose streams have several blocks and whose terms have several groups.
func manyDocuments(n int) *segment.RAM {
	ram, maker := segment.NewRAM(), segment.NewMaker(segment.Clouseau, words)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		text := fmt.Sprintf("a w%d %s common", i, strings.Repeat("b ", rng.IntN(3)))
		if i%7 == 0 {
			text += " seventh"
		}
		ram.Add(segment.Identity(fmt.Sprintf("%013d", i)), maker.Document(fmt.Sprint(i), []segment.Value{
			{Name: "t", Text: text, Analyzed: true, Norms: true},
			{Name: "n", Number: float64(i), IsNumber: true},
			{Name: "s", Text: fmt.Sprintf("v%d", i%100), Facet: true, Store: true}}))
	}
	return ram
}

// TestLargeSegments: postings of many groups are the same in blocks as in memory, one by one and
// with jumps, and so are terms that are looked up.
func TestLargeSegments(t *testing.T) {
	const n = 5000
	memory := manyDocuments(n).View("9")
	blocks := encode(t, memory)
	s := open(t, blocks, nil)
	for key, b := range blocks {
		if len(b) > blockBytes {
			t.Errorf("%+v has %d bytes", key, len(b))
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	run := newRun()
	for _, term := range []string{"a", "b", "seventh", "w77", "common", "none", "zzz", ""} {
		for range 20 {
			want, docs := memory.Term(run, "t", term, true)
			got, same := s.Term(run, "t", term, true)
			if docs != same {
				t.Fatalf("%s has %d documents, want %d", term, same, docs)
			}
			for docs > 0 && want.Doc() != segment.NoMore {
				if rng.IntN(3) == 0 {
					to := want.Doc() + 1 + int32(rng.IntN(700))
					want.Advance(to)
					got.Advance(to)
				} else {
					want.Next()
					got.Next()
				}
				if want.Doc() != got.Doc() {
					t.Fatalf("%s: %d, want %d", term, got.Doc(), want.Doc())
				}
				if want.Doc() != segment.NoMore && (want.Freq() != got.Freq() ||
					rng.IntN(2) == 0 && !slices.Equal(want.Positions(), got.Positions())) {
					t.Fatalf("%s in %d: %v, want %v", term, want.Doc(), got.Positions(), want.Positions())
				}
			}
		}
	}
	if run.Err() != nil {
		t.Fatal(run.Err())
	}
	column, values := s.Numbers(run, "n"), s.Strings(run, "s")
	for range 200 {
		doc := int32(rng.IntN(n))
		if v := column.Numbers(doc); !slices.Equal(v, []float64{float64(doc)}) {
			t.Errorf("the numbers of %d are %v", doc, v)
		}
		if v := values.Value(values.Ordinals(doc)[0]); v != fmt.Sprintf("v%d", doc%100) {
			t.Errorf("the string of %d is %s", doc, v)
		}
	}
	live := segment.NewBitmap(n)
	live.Set(77)
	x := &Index{Kind: segment.Clouseau, Segments: []segment.Segment{open(t, blocks, live)}}
	w := newWorld(1, segment.Clouseau)
	for range 50 {
		if r := mustSearch(t, x, &Request{Query: w.query(2, false), Limit: 10}); r.Total > 1 {
			t.Errorf("%d are alive", r.Total)
		}
	}
}

// damage changes bytes of blocks, cuts some and takes some away.
func damage(blocks mapBlocks, seed uint64) mapBlocks {
	rng := rand.New(rand.NewPCG(seed, 5))
	keys := make([]segment.BlockKey, 0, len(blocks))
	for key := range blocks {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b segment.BlockKey) int {
		return int(a.Stream)<<16 - int(b.Stream)<<16 + int(a.Field)<<8 - int(b.Field)<<8 +
			int(a.Number) - int(b.Number)
	})
	bad := mapBlocks{}
	for _, key := range keys {
		b := slices.Clone(blocks[key])
		switch rng.IntN(8) {
		case 0:
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		case 1:
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		case 2:
			if rng.IntN(5) == 0 {
				b = b[:rng.IntN(len(b))]
			}
		case 3:
			if rng.IntN(10) == 0 {
				continue
			}
		}
		bad[key] = b
	}
	return bad
}

// searchDamaged: what a damaged segment answers is hits or an error, never a panic.
func searchDamaged(t testing.TB, blocks mapBlocks, w *world) {
	s, err := segment.OpenBlocks(context.Background(), blocks, nil)
	if err != nil {
		if !errors.Is(err, segment.ErrSegment) {
			t.Fatal(err)
		}
		return
	}
	x := &Index{Kind: w.oracle.kind, Segments: []segment.Segment{s}}
	for range 10 {
		q := &Request{Query: w.query(2, false), Limit: 3, Ranges: []RangeFacet{{"n", []LabelledRange{{Label: "l",
			Max: 1}}}}}
		r, err := x.Search(context.Background(), q)
		if err == nil && len(r.Hits) > 0 {
			_, _ = x.Stored(context.Background(), &r.Hits[0])
		}
	}
	_ = segment.Encode(context.Background(), []segment.Segment{s}, mapBlocks{}.put)
}

func TestDamagedSegments(t *testing.T) {
	forWorlds(t, 10, func(t *testing.T, w *world) {
		blocks := encode(t, w.whole.View(w.now()))
		for seed := range uint64(30) {
			searchDamaged(t, damage(blocks, seed), w)
		}
	})
}

func FuzzSegment(f *testing.F) {
	w := newWorld(1, segment.Clouseau)
	for range 40 {
		w.step()
	}
	blocks := encode(f, w.whole.View(w.now()))
	f.Add(uint8(headerStream), uint8(0), []byte{1, 2, 3})
	f.Add(uint8(postingsStream), uint8(2), []byte{1, 1, 0, 1, 8, 8})
	f.Fuzz(func(t *testing.T, stream, field uint8, b []byte) {
		bad := mapBlocks{}
		for key, block := range blocks {
			bad[key] = block
		}
		bad[segment.BlockKey{Stream: stream % (documentEndsStream + 1), Field: int32(field) % 6}] = b
		searchDamaged(t, bad, newWorld(uint64(len(b)), segment.Clouseau))
	})
}

// TestManyFields: the fields of a segment take little more memory than they have bytes, and each is
// found; so are those of segments that are merged.
func TestManyFields(t *testing.T) {
	const fields, each = 12_000, 300
	name := func(i int) string { return fmt.Sprintf("f%032x", i) }
	ram := [2]*segment.RAM{segment.NewRAM(), segment.NewRAM()}
	maker := segment.NewMaker(segment.Clouseau, words)
	for doc := range fields / each {
		var values []segment.Value
		for i := range each {
			values = append(values, segment.Value{Name: name(i*fields/each + doc), Text: "x"})
		}
		ram[doc%2].Add(segment.Identity(fmt.Sprintf("%013d", doc)), maker.Document(fmt.Sprint(doc), values))
	}
	first, second := open(t, encode(t, ram[0].View("a")), nil), open(t, encode(t, ram[1].View("a")), nil)
	blocks := encode(t, first, second)
	stored := 0
	for key, block := range blocks {
		if key.Stream == headerStream {
			stored += len(block)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	merged := open(t, blocks, nil)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 2*int64(stored) {
		t.Errorf("%d bytes of memory for a header of %d", held, stored)
	}
	if merged.Bytes() < stored || merged.Bytes() > 2*stored {
		t.Errorf("%d bytes are told of a header of %d", merged.Bytes(), stored)
	}
	i := 0
	for at := range merged.Fields() {
		if at != name(i) {
			t.Fatalf("field %d is %q", i, at)
		}
		i++
	}
	for i := range fields + 1 {
		info, ok := merged.Field(name(i))
		if want := i < fields; ok != want || want && info.Docs != 1 {
			t.Fatalf("field %d: %v, %v", i, info, ok)
		}
	}
	for _, missing := range []string{"", "f", name(7) + "a", "g"} {
		if _, ok := merged.Field(missing); ok {
			t.Errorf("there is a field %q", missing)
		}
	}
}
