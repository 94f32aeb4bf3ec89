package couchfile

import (
	"errors"
	"fmt"
	"github.com/settee-db/settee/compat"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// File is an open file of a database: all of one, or a shard. It is for one goroutine.
type File struct {
	path   string
	file   io.Closer
	blocks blocks
	header *header
}

// Info is the description of a database in its file's header.
type Info struct {
	Version     int    // of the format: 4 to 8
	UUID        string // of the shard, "" in old files
	UpdateSeq   int64
	Documents   int64 // that are not deleted, and deleted ones, as the tree of ids counts them
	Deleted     int64
	RevsLimit   int64
	PurgesLimit int64
}

// Open opens a file as its newest valid header has it. Headers after that one that are damaged are
// damages: what was written with them is lost. The caller closes the file.
func Open(path string) (f *File, damages []*Damage, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // a compaction that was to replace it (couch_bt_engine:open_db_file/2)
		if compacted, other := os.Open(path + ".compact"); other == nil {
			file, err = compacted, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		f, damages, err = open(path, file, size)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	f.file = file
	return f, damages, nil
}

// open is Open for any reader of a file's bytes.
func open(path string, file io.ReaderAt, size int64) (f *File, damages []*Damage, err error) {
	f = &File{path: path, blocks: blocks{file: file, size: size}}
	var broken []int64
	if f.header, broken, err = f.blocks.findHeader(); err != nil {
		return nil, nil, &Damage{File: path, Err: err}
	}
	for _, at := range broken {
		damages = append(damages, &Damage{File: path, Offset: at,
			Err: fmt.Errorf("a header is damaged, the one at %d is used: %w", f.header.at, errChecksum)})
	}
	return f, damages, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Info is what the header says.
func (f *File) Info() Info {
	h := f.header
	i := Info{Version: h.version, UUID: h.uuid, UpdateSeq: h.updateSeq, RevsLimit: h.revsLimit,
		PurgesLimit: h.purgesLimit}
	i.Documents, i.Deleted = h.ids.counts()
	return i
}

// counts are what the reduction of a tree of ids counts: {live, deleted} with more behind it.
func (t tree) counts() (live, deleted int64) {
	if t.root < 0 {
		return 0, 0
	}
	c := cursor{rest: t.reduction}
	if c.tuple() >= 2 {
		live, deleted = c.integer(), c.integer()
	}
	return live, deleted
}

// Security is the text of the database's security object, `{}` if it has none.
func (f *File) Security() ([]byte, error) { return f.object(f.header.security) }

// Properties are those that a database is made with, such as partitioned, as JSON. Atoms that JSON
// has not are strings.
func (f *File) Properties() ([]byte, error) { return f.object(f.header.props) }

// object reads an object that is stored as its list of members.
func (f *File) object(at int64) ([]byte, error) {
	if at < 0 {
		return []byte("{}"), nil
	}
	record, _, err := f.blocks.record(nil, at)
	if err == nil {
		c := newCursor(record)
		if tag := c.peek(); tag == tagList || tag == tagNil {
			c.rest = append([]byte{tagSmallTuple, 1}, c.rest...)
		}
		json := c.appendJSON(nil)
		if err = c.err; err == nil {
			return json, nil
		}
	}
	return nil, &Damage{File: f.path, Offset: at, Err: err}
}

// Local is a local document.
type Local struct {
	ID   string // with _local/
	Rev  string // the number in 0-N
	Body []byte // JSON
}

// Locals calls fn for each local document, in the order of ids.
func (f *File) Locals(fn func(Local) error, lost func(*Damage) error) error {
	return f.walk(f.header.locals, func(key []byte, c *cursor) error {
		id, ok := keyText(key)
		if !ok || c.tuple() != 2 {
			return errTerm("a local document cannot be read")
		}
		l := Local{ID: id}
		if c.peek() == tagBinary {
			l.Rev = string(c.binary())
		} else {
			l.Rev = strconv.FormatInt(c.integer(), 10)
		}
		// The body is the term itself, or a compressed one.
		if c.peek() == tagBinary {
			inner := newCursor(c.binary())
			l.Body = inner.appendJSON(nil)
			if inner.err != nil {
				return errTerm(inner.err.Error())
			}
		} else {
			l.Body = c.appendJSON(nil)
		}
		if c.err != nil {
			return c.err
		}
		return fn(l)
	}, lost)
}

// Purge says that revisions of a document were purged.
type Purge struct {
	Seq  int64
	ID   string
	Revs []compat.Rev
}

// Purges calls fn for each purge that the file remembers, in their order.
func (f *File) Purges(fn func(Purge) error, lost func(*Damage) error) error {
	if f.header.version < purgeTrees {
		return f.oldPurges(fn, lost)
	}
	return f.walk(f.header.purges, func(key []byte, c *cursor) error {
		k := cursor{rest: key}
		p := Purge{Seq: k.integer()}
		if k.err != nil || c.tuple() != 3 {
			return errTerm("a purge cannot be read")
		}
		c.skip() // its UUID
		p.ID, p.Revs = string(c.binary()), c.hashes()
		if c.err != nil {
			return c.err
		}
		return fn(p)
	}, lost)
}

// oldPurges are those of a file before 2.3: of the last purge only.
func (f *File) oldPurges(fn func(Purge) error, lost func(*Damage) error) error {
	if f.header.lastPurge < 0 {
		return nil
	}
	record, _, err := f.blocks.record(nil, f.header.lastPurge)
	if err != nil {
		return lost(&Damage{File: f.path, Offset: f.header.lastPurge, Err: err})
	}
	c := newCursor(record)
	for n := c.list(); n > 0 && c.err == nil; n-- {
		if c.tuple() != 2 {
			break
		}
		p := Purge{Seq: f.header.purgeSeq, ID: string(c.binary()), Revs: c.hashes()}
		if c.err != nil {
			break
		}
		if err := fn(p); err != nil {
			return err
		}
	}
	if c.err != nil {
		return lost(&Damage{File: f.path, Offset: f.header.lastPurge, Err: c.err})
	}
	return nil
}

// hashes reads [{Pos,Rev}].
func (c *cursor) hashes() (revs []compat.Rev) {
	n := c.list()
	for range n {
		if c.tuple() != 2 {
			c.fail("a revision cannot be read")
		}
		revs = append(revs, compat.Rev{Pos: c.integer(), Hash: c.revHash()})
		if c.err != nil {
			return nil
		}
	}
	c.endList(n)
	return revs
}
