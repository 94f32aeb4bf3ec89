package files

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv/packed"
)

// Manifest is the state of the store according to its manifests.
type Manifest struct {
	// File is the manifest's name, empty where none could be read.
	File string
	// Tables are the tables that are part of the store, by number.
	Tables map[uint64]TableInfo
	// Blobs are the numbers of the files of blob file ids.
	Blobs map[uint64]uint64
	// Sizes are the lengths in bytes of tables and blob files, by file number.
	Sizes map[uint64]int64
	// FirstLog is the number of the first log that may have something that no table has.
	FirstLog uint64
	// LastSeq is at or above the sequence numbers of all that was written when it was written.
	LastSeq uint64
	// NextFile is a number above those of all files when it was written.
	NextFile uint64
	// Known are the numbers of all tables and blob files that manifests name, also of those that
	// were removed from the store since.
	Known map[uint64]bool
	// Damage is what could not be read of it. Then Tables may have some that were replaced.
	Damage []Gap
}

// TableInfo describes a table, from the manifest.
type TableInfo struct {
	Level int
	// Smallest and Largest are the bounds of its keys, both inclusive.
	Smallest, Largest []byte
	// LastSeq is the largest sequence number of its rows.
	LastSeq uint64
	// Blobs are the ids of the blob files that its rows refer to by their place here.
	Blobs []uint64
	// Part tells that it is a part of another file.
	Part bool
}

var errManifest = errors.New("malformed record of a manifest")

func newManifest(name string) *Manifest {
	return &Manifest{
		File: name, Tables: map[uint64]TableInfo{}, Blobs: map[uint64]uint64{}, Sizes: map[uint64]int64{},
		Known: map[uint64]bool{},
	}
}

// readManifest reads a manifest, the records after a damage, too: they say what later tables refer
// to.
func readManifest(name string, file []byte) *Manifest {
	records := readRecords(file, 0)
	m := newManifest(name)
	for _, gap := range records.Gaps {
		if gap.Records > 0 {
			m.Damage = append(m.Damage, gap)
		}
	}
	for i, record := range records.Whole {
		e := editReader{packed.Reader{B: record}, m}
		if err := e.read(); err != nil {
			m.Damage = append(m.Damage, Gap{Offset: records.Ends[i] - int64(len(record)), Length: int64(len(record))})
		}
	}
	if len(records.Whole) == 0 {
		m.File = ""
	}
	return m
}

// editReader reads a record: a version edit.
type editReader struct {
	packed.Reader
	m *Manifest
}

// The tags of version edits (Pebble: internal/manifest/version_edit.go).
const (
	tagComparator     = 1
	tagLogNumber      = 2
	tagNextFileNumber = 3
	tagLastSequence   = 4
	tagCompactPointer = 5
	tagDeletedFile    = 6
	tagPrevLogNumber  = 9
	tagNewFile4       = 103
	tagNewFile5       = 104
	tagCreatedBacking = 105
	tagRemovedBacking = 106
	tagNewBlobFile    = 107
	tagDeletedBlob    = 108

	customTerminate      = 1
	customVirtual        = 66
	customBlobReferences = 69
)

// read takes the edits of a record into the manifest, tag by tag as Pebble writes them. A tag that
// is not known ends it: nothing behind it can be understood.
func (e *editReader) read() error {
	for len(e.B) > 0 && !e.Bad {
		switch e.Uvarint() {
		case tagComparator:
			e.Bytes()
		case tagLogNumber:
			e.m.FirstLog = max(e.m.FirstLog, e.Uvarint())
		case tagNextFileNumber:
			e.m.NextFile = max(e.m.NextFile, e.Uvarint())
		case tagLastSequence:
			e.m.LastSeq = max(e.m.LastSeq, e.Uvarint())
		case tagPrevLogNumber, tagRemovedBacking:
			e.Uvarint()
		case tagCompactPointer:
			e.Uvarint()
			e.Bytes()
		case tagDeletedFile:
			level, file := int(e.Uvarint()), e.Uvarint()
			// not if it was moved to another level by the same edit
			if t, ok := e.m.Tables[file]; ok && t.Level == level {
				delete(e.m.Tables, file)
			}
			e.m.Known[file] = true
		case tagNewFile4:
			e.table(false)
		case tagNewFile5:
			e.table(true)
		case tagCreatedBacking:
			e.m.Known[e.Uvarint()] = true
			e.Uvarint()
		case tagNewBlobFile:
			id, file, size := e.Uvarint(), e.Uvarint(), e.Uvarint()
			e.Uvarint()
			e.Uvarint()
			if !e.Bad {
				e.m.Blobs[id] = file
				e.m.Sizes[file] = int64(size & (1<<62 - 1))
				e.m.Known[file] = true
			}
		case tagDeletedBlob:
			id, file := e.Uvarint(), e.Uvarint()
			if e.m.Blobs[id] == file {
				delete(e.m.Blobs, id)
			}
			e.m.Known[file] = true
		default:
			return errManifest
		}
	}
	if e.Bad {
		return errManifest
	}
	return nil
}

// table reads a new table; rangeKeys says that its bounds are those of two kinds of keys.
func (e *editReader) table(rangeKeys bool) {
	t := TableInfo{Level: int(e.Uvarint())}
	number := e.Uvarint()
	size := int64(e.Uvarint() & (1<<62 - 1))
	if rangeKeys {
		if e.Byte()&1 != 0 {
			t.Smallest, t.Largest = e.key(), e.key()
		}
		e.Bytes()
		e.Bytes()
	} else {
		t.Smallest, t.Largest = e.key(), e.key()
	}
	e.Uvarint()
	t.LastSeq = e.Uvarint()
	for !e.Bad {
		tag := e.Uvarint()
		switch {
		case tag == customTerminate:
			e.m.Known[number] = true
			e.m.Tables[number] = t
			if !t.Part {
				e.m.Sizes[number] = size
			}
			return
		case tag == customVirtual:
			t.Part = true
			e.Uvarint() // the other file
		case tag == customBlobReferences:
			e.Uvarint()
			for range e.Count(2) {
				t.Blobs = append(t.Blobs, e.Uvarint())
				e.Uvarint()
			}
		default:
			e.Bytes()
		}
	}
}

// key reads an internal key and gives the user's part, without the eight bytes of sequence and
// kind.
func (e *editReader) key() []byte {
	b := e.Bytes()
	if len(b) < 8 {
		e.Bad = true
		return nil
	}
	return slices.Clone(b[:len(b)-8])
}

// resized tells that a file has not the length that was written down; "" if it has, or if that is
// not known.
func (m *Manifest) resized(file uint64, now int64) string {
	if size, ok := m.Sizes[file]; ok && size != now {
		return fmt.Sprintf("it has %d bytes, it had %d", now, size)
	}
	return ""
}

// behind gives a table that the manifest does not name, and that has what is neither in named ones
// nor in the logs, whose first sequence number is firstLogged: the manifest was cut before it. What
// an unfinished flush wrote is in the logs, and what a compaction wrote is no newer than what it
// read.
func (m *Manifest) behind(fsys vfs.FS, dir string, found listing, firstLogged uint64) (table uint64, ok bool) {
	named := uint64(0)
	for _, t := range m.Tables {
		named = max(named, t.LastSeq)
	}
	for _, n := range found.tables {
		if m.Known[n] {
			continue
		}
		t, err := openTable(fsys, fsys.PathJoin(dir, tableName(n)))
		if err != nil {
			continue // it was never finished
		}
		newest := uint64(0)
		for _, h := range t.blocks {
			rows, _ := t.rows(h, nil) // those of an unfinished table as far as they are there
			for _, r := range rows {
				newest = max(newest, r.seq)
			}
		}
		_ = t.file.Close() // was only read
		if newest > named && newest < firstLogged {
			return n, true
		}
	}
	return 0, false
}
