package files

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// readFile reads a file whole; logs and manifests are small.
func readFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, closing(f, err)
}

// logRows are the rows of all logs, in the order of a table.
type logRows struct {
	rows      []row
	deletions []deletion
}

// add takes the batch that is a log's record.
func (l *logRows) add(file string, record []byte) (err error) {
	defer recovered(&err)
	h, ok := batchrepr.ReadHeader(record)
	if !ok {
		return fmt.Errorf("a record of %d bytes", len(record))
	}
	seq := uint64(h.SeqNum)
	batch := batchrepr.Read(record)
	for {
		kind, key, value, ok, err := batch.Next()
		if err != nil || !ok {
			return err
		}
		switch kind {
		case pebble.InternalKeyKindLogData:
			continue // has no sequence number
		case pebble.InternalKeyKindRangeDelete:
			l.deletions = append(l.deletions, deletion{start: key, end: value, seq: seq})
		default:
			l.rows = append(l.rows, row{key: key, seq: seq, kind: kind, value: append([]byte{}, value...), file: file})
		}
		seq++
	}
}

// sort orders rows as tables have them: by key, and of one key the newest first.
func (l *logRows) sort() {
	sort.Slice(l.rows, func(i, j int) bool {
		c := bytes.Compare(l.rows[i].key, l.rows[j].key)
		return c < 0 || c == 0 && l.rows[i].seq > l.rows[j].seq
	})
}

// firstSeq is the first sequence number of a store.
const firstSeq = 10

// following sees whether each log begins where what is before it ends: all that is written has a
// number.
type following struct {
	last  uint64 // what was written last before, as far as that is known
	first uint64 // of all logs, 0 if there is none
}

// firstSeq is the first number in the logs, above all others if they have none.
func (f *following) firstSeq() uint64 {
	if f.first == 0 {
		return math.MaxUint64
	}
	return f.first
}

// gap tells that something is missing before the records of a log.
func (f *following) gap(log *Records) (what string) {
	n := len(log.Whole)
	if n == 0 {
		return ""
	}
	first, ok := batchrepr.ReadHeader(log.Whole[0])
	last, lastOK := batchrepr.ReadHeader(log.Whole[n-1])
	if !ok || !lastOK {
		return ""
	}
	if f.first == 0 {
		f.first = uint64(first.SeqNum)
	}
	if uint64(first.SeqNum) > max(f.last, firstSeq)+1 {
		what = "something is missing before it: a log was cut or removed, or the manifest was cut"
	}
	f.last = max(f.last, uint64(last.SeqNum)+uint64(last.Count)-1)
	return what
}
