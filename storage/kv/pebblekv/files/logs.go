package files

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
)

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

func (l *logRows) sort() {
	slices.SortFunc(l.rows, func(a, b row) int {
		if c := bytes.Compare(a.key, b.key); c != 0 || a.seq == b.seq {
			return c
		}
		if a.seq > b.seq {
			return -1
		}
		return 1
	})
}
