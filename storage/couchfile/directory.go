package couchfile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

const extension = ".couch"

// Database is a database of a data directory, as files.
type Database struct {
	Name   string
	Shards []Shard
	// Partitioned tells that the partition of an id, not the id itself, says in which shard it is.
	Partitioned bool
	// Clustered is since 2.0: its sequences are texts, never plain numbers.
	Clustered bool
}

// Shard is a range of a database with the files that have it: one of each node that was given.
type Shard struct {
	Low, High uint32 // of the hash, both included
	Files     []string
}

// Has reports whether a document of the database belongs to the shard: the range is of the CRC-32 of
// its id, or of its partition; design documents go by their id (couch_partition:hash/1).
func (d *Database) Has(s *Shard, id string) bool {
	if partition, _, found := strings.Cut(id, ":"); d.Partitioned && found && !strings.HasPrefix(id, "_design/") {
		id = partition
	}
	hash := crc32.ChecksumIEEE([]byte(id))
	return s.Low <= hash && hash <= s.High
}

// Layout is the list of databases in the data directories.
type Layout struct {
	Databases []Database // by name
	// LeftOut are files of databases that are not among them, with the reason of each.
	LeftOut []string
	// Damages are damages of the database of shards, and files that it names and that are missing.
	Damages []*Damage
}

// Directories finds the databases of the data directory of a CouchDB 1.x, or of all nodes of a cluster since
// 2.0. shardsDB is the name of the database that knows the shards ([mem3] shards_db, "_dbs" unless
// that is set): what it says is believed, not which files there are.
func Directories(dirs []string, shardsDB string) (*Layout, error) {
	l := &Layout{}
	byName := map[string]*Database{}
	for _, dir := range dirs {
		path := filepath.Join(dir, shardsDB+extension)
		_, err := os.Stat(path)
		switch {
		case err == nil:
			err = l.cluster(byName, dir, shardsDB)
		case errors.Is(err, fs.ErrNotExist):
			err = l.single(byName, dir)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, d := range byName {
		sort.Slice(d.Shards, func(i, j int) bool { return d.Shards[i].Low < d.Shards[j].Low })
		for i := range d.Shards {
			if s := &d.Shards[i]; len(s.Files) == 0 {
				l.Damages = append(l.Damages, &Damage{File: d.Name, Err: fmt.Errorf(
					"no file has its shard %08x-%08x: %w", s.Low, s.High, fs.ErrNotExist)})
			}
		}
		l.Databases = append(l.Databases, *d)
	}
	sort.Slice(l.Databases, func(i, j int) bool { return l.Databases[i].Name < l.Databases[j].Name })
	if len(l.Databases) == 0 && len(l.LeftOut) == 0 && len(l.Damages) == 0 {
		return nil, fmt.Errorf("couchfile: %s has no databases", strings.Join(dirs, ", "))
	}
	return l, nil
}

// single finds the databases of a CouchDB 1.x: NAME.couch, where slashes of the name are folders.
func (l *Layout) single(byName map[string]*Database, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != dir && strings.HasPrefix(entry.Name(), ".") { // indexes, and what is to be deleted
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name, ok := strings.CutSuffix(filepath.ToSlash(rel), extension)
		if !ok {
			if name, ok = strings.CutSuffix(filepath.ToSlash(rel), extension+".compact"); !ok {
				return nil
			}
			if _, err := os.Stat(strings.TrimSuffix(path, ".compact")); err == nil {
				return nil // a compaction that did not end
			}
			path = strings.TrimSuffix(path, ".compact")
		}
		switch {
		case strings.HasPrefix(name, "shards/"):
			l.LeftOut = append(l.LeftOut, path+": the database that knows the shards is missing")
		case strings.HasSuffix(name, ".deleted"):
		case byName[name] != nil:
			return fmt.Errorf("couchfile: two directories have a database %s", name)
		default:
			byName[name] = &Database{Name: name, Shards: []Shard{{High: 1<<32 - 1, Files: []string{path}}}}
		}
		return nil
	})
}

// cluster finds the databases of a node since 2.0: those of which its database of shards has a
// document.
func (l *Layout) cluster(byName map[string]*Database, dir, shardsDB string) error {
	path := filepath.Join(dir, shardsDB+extension)
	f, damages, err := Open(path)
	if err != nil {
		return err
	}
	l.Damages = append(l.Damages, damages...)
	maps := map[string]*Revision{} // the winner of each document
	err = f.Revisions(0, func(r *Revision) error {
		was := maps[r.ID]
		if was == nil || was.Deleted && !r.Deleted ||
			was.Deleted == r.Deleted && was.Revs.Rev().Compare(r.Revs.Rev()) < 0 {
			kept := *r
			kept.Body = bytes.Clone(r.Body)
			maps[r.ID] = &kept
		}
		return nil
	}, func(d *Damage) error {
		l.Damages = append(l.Damages, d)
		return nil
	})
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for name, r := range maps {
		if r.Deleted || strings.HasPrefix(name, "_design/") {
			continue
		}
		if err := l.shards(byName, dir, name, r.Body); err != nil {
			l.Damages = append(l.Damages, &Damage{File: path, ID: name, Err: err})
		}
	}
	return l.nodeLocal(dir, shardsDB)
}

// nodeLocal notes the databases that are not in shards: no client sees them but at /_node.
func (l *Layout) nodeLocal(dir, shardsDB string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok && name != shardsDB && name != "_nodes" {
			l.LeftOut = append(l.LeftOut, filepath.Join(dir, e.Name())+": a database of the node alone")
		}
	}
	return err
}

// shards reads the document of a database: shard_suffix, and the ranges in by_range, or by_node.
func (l *Layout) shards(byName map[string]*Database, dir, name string, body []byte) error {
	v, err := ejson.Parse(body)
	if err != nil {
		return err
	}
	suffix := name
	if list, ok := v.Get("shard_suffix"); ok {
		for code := range list.Elements() {
			n, ok := code.Int()
			if !ok || n < 0 || n > 255 {
				return errTerm("its shard_suffix cannot be read")
			}
			suffix += string(rune(n))
		}
	}
	d := byName[name]
	if d == nil {
		d = &Database{Name: name, Clustered: true}
		if props, ok := v.Get("props"); ok {
			partitioned, _ := props.Get("partitioned")
			d.Partitioned, _ = partitioned.Bool()
		}
		byName[name] = d
	}
	ranges, ok := v.Get("by_range")
	if !ok || ranges.Kind() != ejson.Object || ranges.Len() == 0 {
		return errTerm("it names no shards")
	}
	for key := range ranges.Members() {
		low, high, ok := parseRange(key.Text())
		if !ok {
			return errTerm("the range of a shard cannot be read")
		}
		at := slices.IndexFunc(d.Shards, func(s Shard) bool { return s.Low == low && s.High == high })
		if at < 0 {
			at = len(d.Shards)
			d.Shards = append(d.Shards, Shard{Low: low, High: high})
		}
		path := filepath.Join(dir, "shards", key.Text(), filepath.FromSlash(suffix)+extension)
		if exists(path) || exists(path+".compact") {
			d.Shards[at].Files = append(d.Shards[at].Files, path)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// parseRange reads LO-HI, eight hexadecimal digits each.
func parseRange(text string) (low, high uint32, ok bool) {
	if len(text) != len("00000000-ffffffff") || text[8] != '-' {
		return 0, 0, false
	}
	a, err := strconv.ParseUint(text[:8], 16, 32)
	b, also := strconv.ParseUint(text[9:], 16, 32)
	return uint32(a), uint32(b), err == nil && also == nil && a <= b
}
