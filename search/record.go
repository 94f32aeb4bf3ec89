package search

import (
	"bytes"
	"encoding/binary"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
)

// record is the stored state of an index, apart from its definition.
//
// Its bytes are the fence of builds: each commit changes them, so that another build, which compares
// them with those it has read, notices.
type record struct {
	number int64
	// Of the feed, up to which it is built.
	seq    storage.Seq
	fields int64 // how many fields have a type; none ever goes

	// Of an interactive index: documents written after began were put into it by their writers;
	// once it is ready, it has all.
	began storage.Seq
	ready bool
}

const (
	recordFormat      = 1
	interactiveFormat = 2 // began follows, and whether it is ready
)

// interactive reports whether writers keep the index.
func (r *record) interactive() bool { return r.began != storage.Seq{} }

// encode makes the bytes of the record; an interactive index has a format of its own, with two more
// values.
func (r *record) encode() []byte {
	format := byte(recordFormat)
	if r.interactive() {
		format = interactiveFormat
	}
	b := binary.AppendUvarint([]byte{format}, uint64(r.number))
	b = binary.AppendUvarint(b, uint64(r.fields))
	b = keyspace.AppendSeq(b, r.seq)
	if r.interactive() {
		b = append(keyspace.AppendSeq(b, r.began), 0)
		if r.ready {
			b[len(b)-1] = 1
		}
	}
	return b
}

// parseRecord reads the record of an index. An interactive index has two members more, where its
// build began and whether it is ready, and another format number for them.
func parseRecord(b []byte) (r record, err error) {
	d := reader{packed.Reader{B: b}}
	format := d.Byte()
	r.number, r.fields = d.int(), d.int()
	seq := d.Take(keyspace.SeqSize)
	switch {
	case format == recordFormat && d.Done():
	case format == interactiveFormat && !d.Bad && len(d.B) == keyspace.SeqSize+1:
		if r.began, err = keyspace.ParseSeq(d.Take(keyspace.SeqSize)); err != nil {
			return r, err
		}
		r.ready = d.Byte() == 1
	default:
		return r, corrupt("record of an index")
	}
	r.seq, err = keyspace.ParseSeq(seq)
	return r, err
}

// manifest says which segments an index consists of, and where its log begins.
type manifest struct {
	version int64 // grows with each change
	next    int64 // number of the next segment
	// The place in the log up to which it is in segments.
	flushed segment.Identity
	// In the order of their documents' identities.
	segments []segmentInfo
}

// segmentInfo is a segment. Its documents are those of the log of one time, or of several segments.
type segmentInfo struct {
	id     int64
	docs   int64
	killed int64 // of these
	live   int64 // version of the set of documents that are alive; 0: all are
	bytes  int64 // of the blocks
}

const (
	manifestFormat = 1
	leastSegment   = 5 // bytes of a segmentInfo at least
)

// encode is the manifest as it is stored, a byte of format first. parseManifest reads it.
func (m *manifest) encode() []byte {
	b := []byte{manifestFormat}
	b = binary.AppendUvarint(b, uint64(m.version))
	b = binary.AppendUvarint(b, uint64(m.next))
	b = packed.AppendText(b, m.flushed)
	b = binary.AppendUvarint(b, uint64(len(m.segments)))
	for _, s := range m.segments {
		for _, v := range []int64{s.id, s.docs, s.killed, s.live, s.bytes} {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	return b
}

// parseManifest reads a manifest; nil is that of an index without segments.
func parseManifest(b []byte) (*manifest, error) {
	m := &manifest{}
	if b == nil {
		return m, nil
	}
	d := reader{packed.Reader{B: b}}
	if d.Byte() != manifestFormat {
		return nil, corrupt("manifest of an index")
	}
	m.version, m.next = d.int(), d.int()
	m.flushed = segment.Identity(d.Bytes())
	// Count refuses a number that the bytes left cannot hold, so that damage does not take memory.
	for range d.Count(leastSegment) {
		m.segments = append(m.segments, segmentInfo{d.int(), d.int(), d.int(), d.int(), d.int()})
	}
	if !d.Done() {
		return nil, corrupt("manifest of an index")
	}
	return m, nil
}

// find is the place of a segment, -1 if it is not there.
func (m *manifest) find(id int64) int {
	for i := range m.segments {
		if m.segments[i].id == id {
			return i
		}
	}
	return -1
}

// reader takes a value apart.
type reader struct{ packed.Reader }

// int reads a number that is not negative.
func (r *reader) int() int64 {
	v := r.Uvarint()
	if v>>62 != 0 {
		r.Bad = true
		return 0
	}
	return int64(v)
}

// identityOf is the place that a transaction writes at: its sequence, whose versionstamp the commit
// fills in.
func identityOf(s *storage.Snapshot, order uint16) []byte {
	seq := storage.Seq{Incarnation: s.Incarnation()}
	binary.BigEndian.PutUint16(seq.Versionstamp[kv.VersionstampSize:], order)
	return keyspace.AppendSeq(nil, seq)
}

// Values of keyDocument: a document that is in the index, with its identity, or one that could not
// be.
const (
	documentFailed byte = iota
	documentIndexed
)

// identityIn reads such a value; "" if the document is not in the index.
func identityIn(value []byte) (segment.Identity, error) {
	switch {
	case value == nil || len(value) == 1 && value[0] == documentFailed:
		return "", nil
	case len(value) == 1+keyspace.SeqSize && value[0] == documentIndexed:
		return segment.Identity(value[1:]), nil
	}
	return "", corrupt("entry of a document")
}

// logEntry is an entry of the log: a document that is not alive any more, one that is indexed, or
// both.
type logEntry struct {
	at segment.Identity
	// The identity of the document that is replaced or deleted; "" for none.
	kill segment.Identity
	doc  []byte // its record
}

const (
	logFormat = 1
	logKill   = 1
	logDoc    = 2
)

// encode is the entry as it is stored, which parseLogEntry reads: format, flags, the identity of the
// document that is replaced, the document. An identity has a fixed length, so that none is stored.
func (e *logEntry) encode() []byte {
	flags := byte(0)
	if e.kill != "" {
		flags |= logKill
	}
	if e.doc != nil {
		flags |= logDoc
	}
	b := append(make([]byte, 0, 2+len(e.kill)+len(e.doc)), logFormat, flags)
	return append(append(b, e.kill...), e.doc...)
}

// parseLogEntry reads an entry of the log, whose place at is in its key. It shares memory with b.
func parseLogEntry(at segment.Identity, b []byte) (*logEntry, error) {
	d := reader{packed.Reader{B: b}}
	e := &logEntry{at: at}
	format, flags := d.Byte(), d.Byte()
	if flags&logKill != 0 {
		e.kill = segment.Identity(d.Take(keyspace.SeqSize))
	}
	if flags&logDoc != 0 {
		e.doc = d.B
	}
	if d.Bad || format != logFormat {
		return nil, corrupt("entry of a log")
	}
	return e, nil
}

// writeLog puts an entry into the log, in pieces, and returns how many bytes it takes. There may be
// 0xff00 pieces: children ends before a byte 0xff.
func (k *keys) writeLog(tx kv.Tx, at []byte, e *logEntry) int {
	value := e.encode()
	prefix := k.key(keyLog)
	for piece := 0; piece == 0 || len(value) > 0; piece++ {
		part := value[:min(len(value), maxValue)]
		value = value[len(part):]
		key := append(append(make([]byte, 0, len(prefix)+len(at)+2), prefix...), at...)
		if piece > 0 {
			key = binary.BigEndian.AppendUint16(key, uint16(piece))
		}
		tx.SetVersionstampedKey(key, len(prefix)+1, part)
	}
	return int(e.size())
}

// size is what an entry counts for in the size of the log.
func (e *logEntry) size() int64 { return int64(len(e.doc) + len(e.kill)) }

// readLog calls fn for the entries of the log after one place and up to another, in order. A large
// entry is stored in pieces, which follow each other and are joined here; fn may keep the entry.
func (k *keys) readLog(r kv.ReadTx, after, upTo segment.Identity, fn func(*logEntry) error) error {
	prefix := k.key(keyLog)
	begin := prefix
	if after != "" {
		// Behind all pieces of the entry at that place.
		_, begin = children(k.log(after))
	}
	_, end := children(k.log(upTo))
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var at, value []byte
	take := func() error {
		if at == nil {
			return nil
		}
		e, err := parseLogEntry(segment.Identity(at), value)
		if err != nil {
			return err
		}
		return fn(e)
	}
	for it.Next() {
		place := it.Key()[len(prefix):]
		if len(place) < keyspace.SeqSize {
			return corrupt("key of a log")
		}
		if at != nil && bytes.Equal(place[:keyspace.SeqSize], at) {
			value = append(value, it.Value()...)
			continue
		}
		if err := take(); err != nil {
			return err
		}
		at, value = bytes.Clone(place[:keyspace.SeqSize]), bytes.Clone(it.Value())
	}
	if err := it.Err(); err != nil {
		return err
	}
	return take()
}

// lastOfLog is the place of the last entry of the log; "" if it is empty.
func (k *keys) lastOfLog(r kv.ReadTx) (segment.Identity, error) {
	prefix := k.key(keyLog)
	begin, end := children(prefix)
	it := r.Range(begin, end, kv.RangeOptions{Reverse: true, Limit: 1})
	defer it.Close()
	if !it.Next() {
		return "", it.Err()
	}
	place := it.Key()[len(prefix):]
	if len(place) < keyspace.SeqSize {
		return "", corrupt("key of a log")
	}
	return segment.Identity(place[:keyspace.SeqSize]), nil
}
