package files

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// Inspection is the result of looking at a directory before Pebble opens it.
type Inspection struct {
	// Broken lists files because of which the store must not be opened, each with the reason:
	// Pebble would fail, or continue without the missing data and remove files.
	Broken []Damage
	// Dropped is what the opening will pass over: ends of logs.
	Dropped []Damage
}

// Inspect looks at the files of a store that Pebble reads when it opens it: manifest and logs as a
// whole, of tables whether they are there. The error is one of reading.
func Inspect(fsys vfs.FS, dir string) (in Inspection, err error) {
	names, err := fsys.List(dir)
	if err != nil {
		return in, err
	}
	found := list(names)
	name, err := atomicfs.ReadMarker(fsys, dir, "manifest")
	if err != nil {
		return in, err
	}
	if name == "" {
		if len(found.tables) > 0 || len(found.logs) > 0 {
			in.broken("marker.manifest", "it is missing, but there are tables or logs")
		}
		return in, nil
	}
	file, err := readFile(fsys, fsys.PathJoin(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		in.broken(name, "it is missing")
		return in, nil
	}
	if err != nil {
		return in, err
	}
	m := readManifest(name, file)
	for _, gap := range m.Damage {
		if gap.Records > 0 {
			in.broken(name, gap.String())
		}
	}
	if m.File == "" {
		in.broken(name, "nothing of it can be read")
	}
	if len(m.Damage) == 0 {
		if err := in.missing(fsys, dir, m, found); err != nil {
			return in, err
		}
	}
	if err := in.options(fsys, dir, found); err != nil {
		return in, err
	}
	return in, in.logs(fsys, dir, m, found)
}

func (in *Inspection) broken(file, what string) {
	in.Broken = append(in.Broken, Damage{File: file, What: what})
}

// options looks at the newest file with the options that the store was opened with. Pebble only
// compares them, but does not open without.
func (in *Inspection) options(fsys vfs.FS, dir string, found listing) error {
	newest, name := uint64(0), ""
	for _, n := range found.names {
		if v := uint64(0); number(n, "OPTIONS-", "", &v) && v >= newest {
			newest, name = v, n
		}
	}
	if name == "" {
		return nil
	}
	text, err := readFile(fsys, fsys.PathJoin(dir, name))
	if err != nil {
		return err
	}
	if err := compatible(dir, string(text)); err != nil {
		in.broken(name, fmt.Sprintf("%v; nothing is lost with this file: without it the store opens", err))
	}
	return nil
}

// compatible reports whether this version of Pebble, as settee sets it up, can open a directory
// with these options.
func compatible(dir, text string) (err error) {
	defer recovered(&err)
	return options().CheckCompatibility(dir, text)
}

// missing looks for the tables and blob files that the manifest names: whether they are there, and
// as long as they were.
func (in *Inspection) missing(fsys vfs.FS, dir string, m *Manifest, found listing) error {
	look := func(n uint64, name string) error {
		if !slices.Contains(found.names, name) {
			in.broken(name, "it is missing")
			return nil
		}
		info, err := fsys.Stat(fsys.PathJoin(dir, name))
		if err != nil {
			return err
		}
		if what := m.resized(n, info.Size()); what != "" {
			in.broken(name, what)
		}
		return nil
	}
	for n, t := range m.Tables {
		if !t.Part {
			if err := look(n, tableName(n)); err != nil {
				return err
			}
		}
		for _, id := range t.Blobs {
			if file, ok := m.Blobs[id]; ok {
				if err := look(file, blobName(file)); err != nil {
					return err
				}
			}
		}
	}
	sort.Slice(in.Broken, func(i, j int) bool { return in.Broken[i].File < in.Broken[j].File })
	in.Broken = slices.CompactFunc(in.Broken, func(a, b Damage) bool { return a.File == b.File })
	return nil
}

// logs looks at the logs that are going to be read. Damage that makes Pebble fail is left for
// Pebble to report; damage that it would pass over is reported here.
func (in *Inspection) logs(fsys vfs.FS, dir string, m *Manifest, found listing) error {
	follow := following{last: m.LastSeq}
	for _, n := range found.logs {
		if n < m.FirstLog {
			continue
		}
		file, err := readFile(fsys, fsys.PathJoin(dir, logName(n)))
		if err != nil {
			return err
		}
		records := readRecords(file, uint32(n))
		if gap := follow.gap(&records); gap != "" {
			in.broken(logName(n), gap)
		}
		for _, gap := range records.Gaps {
			what := gap.String()
			if gap.Records == 0 {
				what += ": a commit that was being written when the process or the machine stopped, or the log was cut"
			}
			in.Dropped = append(in.Dropped, Damage{File: logName(n), What: what})
		}
	}
	if table, ok := m.behind(fsys, dir, found, follow.firstSeq()); ok {
		in.broken(m.File, "it does not name "+tableName(table)+", which has what no other file has: it was cut")
	}
	return nil
}
