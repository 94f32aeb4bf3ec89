package views

import (
	"encoding/binary"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// An entry of IDS has the rows of one document: format byte, then for each distinct key the length of its row key up to
// the document id without the partition, that, the number of rows, and for each row length and hash (8 bytes) of what
// is stored.

const idsFormat = 1

// keptRow is a stored row as IDS tells it.
type keptRow struct {
	rowKey []byte
	length int
	hash   uint64
}

// appendIDs appends the entry for rows, which are in order of their keys; skip is the length of the partition's prefix.
func appendIDs(dst []byte, rows []row, skip int) []byte {
	dst = append(dst, idsFormat)
	for i := 0; i < len(rows); {
		key := rows[i].rowKey[skip:rows[i].keyed]
		n := i + 1
		for n < len(rows) && string(rows[n].rowKey[:rows[n].keyed]) == string(rows[i].rowKey[:rows[i].keyed]) {
			n++
		}
		dst = binary.AppendUvarint(dst, uint64(len(key)))
		dst = append(dst, key...)
		dst = binary.AppendUvarint(dst, uint64(n-i))
		for ; i < n; i++ {
			dst = binary.AppendUvarint(dst, uint64(len(rows[i].value)))
			dst = binary.LittleEndian.AppendUint64(dst, rows[i].hash)
		}
	}
	return dst
}

// parseIDs reads the entry of a document; partition is what its row keys begin with. They are copied.
func parseIDs(entry []byte, partition []byte, docID string, kept []keptRow) ([]keptRow, error) {
	p := parser{b: entry}
	if p.byte() != idsFormat {
		return nil, corrupt("ids of a document")
	}
	for len(p.b) > 0 {
		key := p.bytes()
		count := p.uvarint()
		for number := uint64(0); number < count && !p.bad; number++ {
			length := p.uvarint()
			hash := p.take(8)
			if hash == nil {
				break
			}
			rowKey := make([]byte, 0, len(partition)+len(key)+len(docID)+8)
			rowKey = append(append(rowKey, partition...), key...)
			rowKey = tuple.AppendUint(tuple.AppendString(rowKey, docID), number)
			kept = append(kept, keptRow{rowKey: rowKey, length: int(length), hash: binary.LittleEndian.Uint64(hash)})
		}
		if p.bad {
			return nil, corrupt("ids of a document")
		}
	}
	return kept, nil
}
