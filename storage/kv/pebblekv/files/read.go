package files

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Damage is a part of a file that cannot be read, and the keys that may have been lost with it.
type Damage struct {
	// The file's name in the directory, and what is wrong with it in words.
	File string
	What string
	// Blocks is how many blocks of a table are broken.
	Blocks int
	// From and To bound the keys, as Pebble has them, that were there: From <= key < To. An empty
	// one is not known.
	From, To string
}

// String is a line for a log or a report.
func (d Damage) String() string {
	switch {
	case d.Blocks > 1:
		return fmt.Sprintf("%s: %d blocks cannot be read, the first because %s", d.File, d.Blocks, d.What)
	default:
		return fmt.Sprintf("%s: %s", d.File, d.What)
	}
}

// Report lists which files were read, and which parts could not be.
type Report struct {
	Tables, Logs int // that were read
	Bytes        int64
	Damages      []Damage
	// Torn is the end of the last log, where it breaks off as after a process that stopped during a
	// commit. Whether that is all it was the files do not say.
	Torn []Damage
}

// Sink takes what can be read.
type Sink interface {
	// Row takes a key with its newest value, in the order of the keys.
	Row(key, value []byte) error
	// Lost takes a key whose newest value cannot be read.
	Lost(key []byte)
}

// Read gives out of directory dir all that can be read. It changes nothing there. The error is of
// the sink or ctx; of the directory only if it cannot be listed.
func Read(ctx context.Context, fsys vfs.FS, dir string, sink Sink) (Report, error) {
	r := reader{fs: fsys, dir: dir}
	names, err := fsys.List(dir)
	if err != nil {
		return r.report, err
	}
	found := list(names)
	r.manifest(found)
	r.readLogs(found)
	tables := r.tables(found)
	blobs := &blobFiles{fs: fsys, dir: dir, files: r.m.Blobs}
	defer blobs.close()
	r.logs.sort()
	lostIn := map[string]*Damage{}
	err = merge(tables, &r.logs, r.deletions, func(row *row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		value := row.value
		if row.apart {
			var err error
			if value, err = blobs.value(row); err != nil {
				r.lostValue(lostIn, row, err)
				sink.Lost(row.key)
				return nil
			}
		}
		r.report.Bytes += int64(len(row.key) + len(value))
		return sink.Row(row.key, value)
	})
	return r.report, err
}

// reader is a running Read.
type reader struct {
	fs    vfs.FS
	dir   string
	m     *Manifest
	whole bool // the manifest could be read completely
	// What logs have, which is in no table yet.
	logs      logRows
	follow    following
	deletions []deletion
	report    Report
}

func (r *reader) damaged(d Damage) { r.report.Damages = append(r.report.Damages, d) }

// lostValue reports each reason once, with the number of values.
func (r *reader) lostValue(seen map[string]*Damage, row *row, err error) {
	what := err.Error()
	if len(seen) > 100 {
		what = "more values cannot be read"
	}
	key := row.file + what
	d := seen[key]
	if d == nil {
		d = &Damage{File: row.file, What: "a value that is apart cannot be read: " + what, From: string(row.key)}
		seen[key] = d
		r.damaged(*d)
	}
	for i := range r.report.Damages {
		if r.report.Damages[i].File == d.File && r.report.Damages[i].What == d.What {
			r.report.Damages[i].To = string(row.key) + "\x00"
		}
	}
}

// listing is what is in the directory, by number, ascending.
type listing struct {
	tables, logs, manifests []uint64
	names                   []string
}

// list sorts the files of a directory by kind and number. Files of other names are no part of a
// store.
func list(names []string) (l listing) {
	l.names = names
	for _, name := range names {
		var n uint64
		switch {
		case number(name, "", ".sst", &n):
			l.tables = append(l.tables, n)
		case number(name, "", ".log", &n):
			l.logs = append(l.logs, n)
		case number(name, "MANIFEST-", "", &n):
			l.manifests = append(l.manifests, n)
		}
	}
	slices.Sort(l.tables)
	slices.Sort(l.logs)
	slices.Sort(l.manifests)
	return l
}

// number reads the number in a file's name.
func number(name, prefix, suffix string, n *uint64) bool {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	if digits, ok = strings.CutSuffix(digits, suffix); !ok || digits == "" || len(digits) > 18 {
		return false
	}
	*n = 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return false
		}
		*n = *n*10 + uint64(c-'0')
	}
	return true
}

// manifest reads the newest manifest that says anything; older ones add what they know of blob
// files.
func (r *reader) manifest(found listing) {
	r.m = &Manifest{}
	for _, n := range slices.Backward(found.manifests) {
		name := fmt.Sprintf("MANIFEST-%06d", n)
		file, err := readFile(r.fs, r.fs.PathJoin(r.dir, name))
		if err != nil {
			r.damaged(Damage{File: name, What: err.Error()})
			continue
		}
		m := readManifest(name, file)
		if m.File == "" {
			r.damaged(Damage{File: name, What: "nothing of it can be read"})
			continue
		}
		if r.m.File == "" {
			r.m = m
			r.whole = len(m.Damage) == 0 && n == found.manifests[len(found.manifests)-1]
			for _, gap := range m.Damage {
				what := fmt.Sprintf("%d bytes at %d cannot be read", gap.Length, gap.Offset)
				r.damaged(Damage{File: name, What: what})
			}
			continue
		}
		r.m.add(m)
	}
	if r.m.File == "" {
		r.m = newManifest("")
		r.damaged(Damage{File: "MANIFEST", What: "there is none: all tables and logs are read, the replaced ones, too"})
	}
}

// add takes from an older manifest what this one does not know.
func (m *Manifest) add(older *Manifest) {
	for n, t := range older.Tables {
		if _, ok := m.Tables[n]; !ok && !m.Known[n] {
			m.Tables[n] = t
		}
	}
	for id, file := range older.Blobs {
		if _, ok := m.Blobs[id]; !ok {
			m.Blobs[id] = file
		}
	}
}

// readLogs reads the logs that are needed, or all where that is not known.
func (r *reader) readLogs(found listing) {
	if len(found.logs) == 0 { // each start begins one before it removes those of the last
		r.damaged(Damage{File: "*.log", What: "there is none"})
	}
	r.follow.last = math.MaxUint64 - 1
	if r.whole {
		r.follow.last = r.m.LastSeq
	}
	for i, n := range found.logs {
		if r.whole && n < r.m.FirstLog {
			continue
		}
		name := logName(n)
		file, err := readFile(r.fs, r.fs.PathJoin(r.dir, name))
		if err != nil {
			r.damaged(Damage{File: name, What: err.Error()})
			continue
		}
		records := readRecords(file, uint32(n))
		for _, gap := range records.Gaps {
			if d := (Damage{File: name, What: gap.String()}); gap.Records == 0 && i == len(found.logs)-1 {
				r.report.Torn = append(r.report.Torn, d)
			} else {
				r.damaged(d)
			}
		}
		if gap := r.follow.gap(&records); gap != "" {
			r.damaged(Damage{File: name, What: gap})
		}
		if len(records.Gaps) == 0 && !records.Closed && i < len(found.logs)-1 {
			r.damaged(Damage{File: name, What: fmt.Sprintf("it ends at %d without the mark of its end", records.End)})
		}
		for _, record := range records.Whole {
			if err := r.logs.add(name, record); err != nil {
				r.damaged(Damage{File: name, What: err.Error()})
			}
		}
		r.report.Logs++
	}
	r.deletions = append(r.deletions, r.logs.deletions...)
}

// String says what a gap is.
func (g Gap) String() string {
	if g.Records == 0 {
		return fmt.Sprintf("its last %d bytes, from %d on, cannot be read", g.Length, g.Offset)
	}
	return fmt.Sprintf("%d bytes at %d cannot be read, %d records after them can", g.Length, g.Offset, g.Records)
}

// tables opens each table once: for what it deletes, and to know what cannot be read at all.
func (r *reader) tables(found listing) (sources []*tableSource) {
	for n, info := range r.m.Tables {
		if !slices.Contains(found.tables, n) && !info.Part {
			r.damaged(Damage{
				File: tableName(n),
				What: "it is missing",
				From: string(info.Smallest),
				To:   string(info.Largest) + "\x00",
			})
		}
	}
	for id, n := range r.m.Blobs {
		if info, err := r.fs.Stat(r.fs.PathJoin(r.dir, blobName(n))); err == nil {
			if what := r.m.resized(n, info.Size()); what != "" {
				// Its end, which leads to the values, is gone, or it is another file: Pebble would
				// trust what it finds.
				r.damaged(Damage{File: blobName(n), What: what})
				delete(r.m.Blobs, id)
			}
		}
	}
	_, behind := r.m.behind(r.fs, r.dir, found, r.follow.firstSeq())
	for _, n := range found.tables {
		info, live := r.m.Tables[n]
		if !live && r.m.Known[n] {
			continue // replaced
		}
		if !live && r.m.File != "" {
			if r.whole && !behind {
				// output of a flush or a compaction that was not finished: its rows are elsewhere,
				// too
				continue
			}
			r.damaged(Damage{File: tableName(n), What: "no manifest names it: that breaks off"})
		}
		s := &tableSource{
			fs:     r.fs,
			path:   r.fs.PathJoin(r.dir, tableName(n)),
			info:   info,
			first:  info.Smallest,
			report: r.damaged,
		}
		if r.prepare(n, s) {
			sources = append(sources, s)
		}
	}
	return sources
}

// prepare opens the table with the number n for reading, and notes its deleted ranges and its
// damage.
func (r *reader) prepare(n uint64, s *tableSource) bool {
	bounded := func(what string) Damage {
		d := Damage{File: r.fs.PathBase(s.path), What: what, From: string(s.info.Smallest)}
		if s.info.Largest != nil {
			d.To = string(s.info.Largest) + "\x00"
		}
		return d
	}
	t, err := openTable(r.fs, s.path)
	if err != nil {
		r.damaged(bounded(err.Error()))
		return false
	}
	s.t = t
	defer s.close()
	if what := r.m.resized(n, t.size); what != "" {
		r.damaged(bounded(what))
	}
	if t.scanned && t.gone > 0 {
		what := fmt.Sprintf("its index cannot be read: %d blocks were found without it, in %d bytes there is none",
			len(t.blocks), t.gone)
		r.damaged(bounded(what))
	}
	deletions, err := t.deleted()
	if err != nil {
		d := bounded("what it deletes cannot be read: " + err.Error())
		r.damaged(d)
	}
	r.deletions = append(r.deletions, deletions...)
	r.report.Tables++
	for _, h := range t.blocks {
		if s.first != nil {
			return true
		}
		if rows, err := t.rows(h, nil); err == nil && len(rows) > 0 {
			s.first = rows[0].key
		}
	}
	return s.first != nil
}
