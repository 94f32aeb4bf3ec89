package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
)

// Interactive indexes have their entries of the log written in the transactions of the documents.
// One key lists them, so that such a transaction knows with one read what to do, and so that a new
// index conflicts with it. All else that it writes is keys of its document, entries of the log and
// atomic additions: writers of different documents have no conflicts.

// interactiveEntry is one interactive index: all that a document's transaction needs.
type interactiveEntry struct {
	signature  signature
	number     int64
	kind       segment.Kind
	language   string
	definition []byte // as design documents have it
}

// interactiveList is the value of keyInteractive.
type interactiveList []interactiveEntry

const listFormat = 1

func (l interactiveList) find(of signature) int {
	return slices.IndexFunc(l, func(e interactiveEntry) bool { return e.signature == of })
}

// encode is the list as it is stored: a byte of format, then each index with its signature, its
// number, its kind, its language and its definition. parseInteractive reads it.
func (l interactiveList) encode() []byte {
	b := []byte{listFormat}
	for i := range l {
		e := &l[i]
		b = binary.AppendUvarint(append(b, e.signature[:]...), uint64(e.number))
		b = packed.AppendText(append(b, byte(e.kind)), e.language)
		b = packed.AppendText(b, e.definition)
	}
	return b
}

// parseInteractive reads the list of interactive indexes as it is stored; nil is the empty list.
// The error is corrupt for anything that is damaged or of another version.
func parseInteractive(b []byte) (list interactiveList, err error) {
	if b == nil {
		return nil, nil
	}
	d := reader{packed.Reader{B: b}}
	if d.Byte() != listFormat {
		return nil, corrupt("list of interactive indexes")
	}
	for len(d.B) > 0 && !d.Bad {
		var e interactiveEntry
		copy(e.signature[:], d.Take(len(e.signature)))
		e.number, e.kind = d.int(), segment.Kind(d.Byte())
		e.language, e.definition = d.Text(), d.Bytes()
		list = append(list, e)
	}
	if d.Bad {
		return nil, corrupt("list of interactive indexes")
	}
	return list, nil
}

func readInteractive(r kv.ReadTx, sp space) (interactiveList, error) {
	value, err := r.Get(sp.key(keyInteractive))
	if err != nil {
		return nil, err
	}
	return parseInteractive(bytes.Clone(value)) // caches the parsed entries
}

// register makes a new index interactive, if it is one whose analysis needs no JavaScript: it notes
// it for writers, and writes its record. known is false if the index is brought up to date before
// queries.
func (def *Definition) register(tx *storage.Tx, sp space, number int64) (known bool, err error) {
	if def.native == nil || def.later {
		return false, nil
	}
	list, err := readInteractive(tx.KV(), sp)
	if err != nil {
		return false, err
	}
	list = append(list, interactiveEntry{def.signature, number, def.Kind, def.language, def.text})
	value := list.encode()
	// The list is read by each write of a document. Where it is full, further indexes are brought
	// up to date by their queries.
	if len(value) > maxValue {
		return false, nil
	}
	tx.KV().Set(sp.key(keyInteractive), value)
	// The build takes what was written before this commit, writers take what comes after it.
	rec := record{number: number, began: storage.Seq{Incarnation: tx.Snapshot().Incarnation()}}
	binary.BigEndian.PutUint16(rec.began.Versionstamp[kv.VersionstampSize:], 0xffff) // after all of this commit
	value = rec.encode()
	// began is the last thing in the record but for the byte that says whether it is ready; the
	// offset points to its versionstamp.
	tx.KV().SetVersionstampedValue(sp.record(def.signature), value, len(value)-keyspace.SeqSize)
	return true, nil
}

// release takes an index that goes off the list.
func release(tx *storage.Tx, sp space, of signature) error {
	list, err := readInteractive(tx.KV(), sp)
	if err != nil {
		return err
	}
	if list = slices.DeleteFunc(list, func(e interactiveEntry) bool { return e.signature == of }); len(list) == 0 {
		tx.KV().Clear(sp.key(keyInteractive))
	} else {
		tx.KV().Set(sp.key(keyInteractive), list.encode())
	}
	return nil
}

// program makes documents of an interactive index.
type program struct {
	def    *Definition
	makers sync.Pool // of *maker
	err    error     // it cannot: this process does not have the language
	bytes  int       // size in memory, roughly
}

const (
	// keptPrograms is how many bytes of programs of interactive indexes a process remembers, those
	// of some thousand usual ones, or the last one that is larger.
	keptPrograms = 16 << 20
	// programBytes is about how many bytes a program takes by itself, definitionBytes for each byte
	// of its definition: analyzers have words that are left out, and synonyms.
	programBytes, definitionBytes = 3000, 20
)

// programOf is the program of an index, which the process remembers.
func (x *Indexes) programOf(e *interactiveEntry) *program {
	p, _ := x.programs.Load(e.signature, func() (*program, error) {
		p := &program{def: &Definition{Kind: e.kind, language: e.language, signature: e.signature}}
		p.err = p.compile(x, e)
		if p.bytes = programBytes + definitionBytes*len(e.definition); p.def.native != nil {
			p.bytes += p.def.native.Size()
		}
		p.makers.New = func() any { return x.newMaker(p.def) }
		return p, nil
	})
	return p
}

// compile makes the definition of an interactive index again from its entry in the list: writers do
// not read design documents.
func (p *program) compile(x *Indexes, e *interactiveEntry) error {
	language := x.opts.Languages[e.language]
	if language == nil {
		return errors.New("there is no language " + e.language)
	}
	d, err := ejson.Parse(e.definition)
	if err != nil {
		return err
	}
	source, _ := d.Get("index")
	_, err = p.def.compile(language, d, source)
	return err
}

// maxInteractive is the largest record of a document that an interactive index takes: it has to fit
// the transaction of the document, beside it and what other indexes have of it.
const maxInteractive = 1 << 20

// readOfEntry is roughly the size that looking up a document adds to a transaction.
const readOfEntry = 200

// interactiveUpdate collects what a transaction changes in interactive indexes.
type interactiveUpdate struct {
	x    *Indexes
	list interactiveList
	took int // bytes of the transaction, about
	docs []interactiveDoc
}

// interactiveDoc is one document in one index.
type interactiveDoc struct {
	of  int // place in the list
	old bool
	source
}

var (
	_ storage.HeadIndexer  = (*Indexes)(nil)
	_ storage.FoldIndexer  = (*Indexes)(nil)
	_ storage.PurgeIndexer = (*Indexes)(nil)
)

// AppendHead implements storage.HeadIndexer.
func (x *Indexes) AppendHead(keys [][]byte, tx *storage.Tx) [][]byte {
	return append(keys, spaceOf(tx.Snapshot()).key(keyInteractive))
}

// Prepare implements storage.Indexer: it reads which indexes are interactive. The others are
// brought up to date before they are read.
func (x *Indexes) Prepare(_ context.Context, tx *storage.Tx) (storage.IndexFunc, error) {
	list, err := readInteractive(tx.Head(), spaceOf(tx.Snapshot()))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	u := &interactiveUpdate{x: x, list: list}
	return u.add, nil
}

// add is the storage.IndexFunc. Design documents are in no interactive index.
func (u *interactiveUpdate) add(_ context.Context, tx *storage.Tx, id string, before, after *docread.Document) error {
	if compat.IsDesignID(id) || before == nil && after == nil {
		return nil
	}
	docs, size, err := u.sources(tx, id, before, after)
	if err != nil {
		return err
	}
	if u.took > 0 && u.took+size > u.x.opts.transactionBudget() {
		return kv.ErrTooLarge // the writer begins again, with fewer documents
	}
	u.took += size
	if len(u.docs) == 0 {
		// All documents of the transaction are looked up together, once.
		tx.BeforeCommit(func() error { return u.flush(tx) })
	}
	u.docs = append(u.docs, docs...)
	return nil
}

// sources are a document for all indexes, and how many bytes they take.
func (u *interactiveUpdate) sources(
	tx *storage.Tx, id string, before, after *docread.Document,
) (docs []interactiveDoc, size int, err error) {
	var doc ejson.Value
	if after != nil {
		parser := ejson.AcquireParser()
		defer parser.Release()
		if doc, err = parser.Parse(appendSource(nil, after)); err != nil {
			return nil, 0, corrupt("document")
		}
	}
	for i := range u.list {
		d := interactiveDoc{of: i, old: before != nil, source: source{id: id}}
		if after != nil {
			u.x.programOf(&u.list[i]).make(&d.source, doc, tx.Snapshot().Partitioned())
		}
		size += len(d.record) + readOfEntry
		docs = append(docs, d)
	}
	return docs, size, nil
}

// make makes the record of a document.
func (p *program) make(src *source, doc ejson.Value, partitioned bool) {
	if p.err != nil {
		src.fields = &fields{failure: p.err.Error()}
		return
	}
	src.fields = p.def.nativeFields(src.id, doc, partitioned)
	if src.fields.failure == "" && len(src.fields.values) > 0 {
		m := p.makers.Get().(*maker)
		m.record(src)
		p.makers.Put(m)
	}
	// They are in the record now.
	src.fields.values = nil
}

// lastOrder is the greatest place in a commit that is given to entries of the log.
const lastOrder = 0xfff0

// flush writes what was collected for all interactive indexes, with one read of the entries by id.
// A new document needs no read, because no index can have anything of it. A transaction with more
// entries than places in a commit is too large.
func (u *interactiveUpdate) flush(tx *storage.Tx) error {
	writers := make([]writer, len(u.list))
	for i := range u.list {
		writers[i] = writer{tx: tx, keys: spaceOf(tx.Snapshot()).keysOf(u.list[i].number)}
	}
	keys := make([][]byte, len(u.docs))
	var asked [][]byte
	for i := range u.docs {
		d := &u.docs[i]
		if keys[i] = writers[d.of].keys.document(d.id); d.old {
			asked = append(asked, keys[i])
		}
	}
	values, err := tx.KV().GetMany(asked)
	if err != nil {
		return err
	}
	for i := range u.docs {
		d := &u.docs[i]
		var value []byte
		if d.old {
			value, values = values[0], values[1:]
		}
		if err := writers[d.of].document(&d.source, keys[i], value); err != nil {
			return err
		}
	}
	for i := range writers {
		writers[i].count()
	}
	u.docs = u.docs[:0]
	if tx.NextOrder() > lastOrder {
		return kv.ErrTooLarge
	}
	return nil
}

// leaveOut takes those documents out of a batch that writers have put into the index.
func (b *build) leaveOut(s *storage.Snapshot, read *batch) error {
	keys := make([][]byte, len(read.docs))
	for i := range read.docs {
		keys[i] = b.keys.document(read.docs[i].id)
	}
	values, err := s.KV().GetMany(keys)
	if err != nil {
		return err
	}
	began := segment.Identity(keyspace.AppendSeq(nil, b.began))
	left := read.docs[:0]
	for i := range read.docs {
		at, err := identityIn(values[i])
		if err != nil {
			return err
		}
		// It is not in the index, or was put there by the build; what writers have put has a later
		// identity.
		if at <= began {
			left = append(left, read.docs[i])
		}
	}
	read.docs = left
	return nil
}

// segmentsBefore is how many segments have documents that were written before an interactive index
// was: all others are of the log. What publishes segments holds the claim for flushes, and nothing
// merges them yet.
func (b *build) segmentsBefore(ctx context.Context) (n int, err error) {
	if !b.interactive() {
		return 0, nil
	}
	began := segment.Identity(keyspace.AppendSeq(nil, b.began))
	err = b.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		n = 0
		o, err := b.x.open(ctx, s, b.def)
		if err != nil || o == nil {
			return err
		}
		for _, s := range o.segments[:len(o.manifest.segments)] {
			_, at, err := segment.NameOf(ctx, s, 0)
			if err != nil || at > began {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// endOfFeed is after every change.
var endOfFeed = func() (seq storage.Seq) {
	seq.Incarnation = 0xff
	for i := range seq.Versionstamp {
		seq.Versionstamp[i] = 0xff
	}
	return seq
}()

// Fold implements storage.FoldIndexer: it flushes the logs of interactive indexes that are large.
// Nobody else does, since queries have nothing to build.
func (x *Indexes) Fold(ctx context.Context, db *storage.DB) error {
	var large interactiveList
	var sp space
	var uuid [16]byte
	if err := db.ViewAgain(kv.WithPrefetch(ctx, "fold"), func(s *storage.Snapshot) (err error) {
		sp, uuid, large = spaceOf(s), s.UUID(), nil
		list, err := readInteractive(s.KV(), sp)
		if err != nil || len(list) == 0 {
			return err
		}
		var keys [][]byte
		for i := range list {
			k := sp.keysOf(list[i].number)
			keys = append(keys, k.count(countLogEntries), k.count(countLogBytes))
		}
		counts, err := s.KV().GetMany(keys)
		if err != nil {
			return err
		}
		for i := range list {
			if x.isLarge(keyspace.Counter(counts[2*i]), keyspace.Counter(counts[2*i+1])) {
				large = append(large, list[i])
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for i := range large {
		e := &large[i]
		def, recordKey, k := x.programOf(e).def, sp.record(e.signature), sp.keysOf(e.number)
		err := x.flush(ctx, db, def, recordKey, k)
		switch {
		case err == nil:
			x.mergeSoon(db, uuid, def, recordKey, e.number, k)
		case !errors.Is(err, errClaimed) && !errors.Is(err, errMoved): // these are for another one, or the next time
			return err
		}
	}
	return nil
}
