package views

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/reduce"
)

// An entry of IDS has the rows of one document: format byte, then for each distinct key the length
// of its row key up to the document id without the partition, that, the number of rows, and for
// each row length and hash (8 bytes) of what is stored. Where sums are kept of the rows each has,
// too, what it takes of them, so that a row that changes or goes need not be read: 0 if it is no
// integer, else the integer (zigzag) and 2, or 1 for one that has no room for that.

// Format bytes of entries of IDS.
const (
	idsFormat    = 1
	idsFailed    = 2 // the map function failed
	idsOversized = 3 // the rows do not fit: what follows is the document's key in OVERSIZED
	idsTerms     = 4 // idsFormat with what the rows take of sums
)

// keptRow is a stored row as IDS tells it.
type keptRow struct {
	rowKey []byte
	length int
	hash   uint64
	old    []byte // stands for what is stored: anyOld, or a row that takes as much of a sum
}

// What a row takes of a sum, as entries have it, besides integers.
const (
	noInteger = 0
	toBeRead  = 1
	integers  = 2
)

// termOf is what a row takes of a sum.
func termOf(value []byte) uint64 {
	n, ok := reduce.SmallInt(value)
	if !ok {
		return noInteger
	}
	if zigzag := uint64(n)<<1 ^ uint64(n>>63); zigzag <= math.MaxUint64-integers {
		return zigzag + integers
	}
	return toBeRead
}

// oldOf makes a row that takes as much of a sum; keyed is the length of its row key up to the
// document id.
func oldOf(keyed int, term uint64) []byte {
	if term == toBeRead {
		return anyOld
	}
	row := append(binary.AppendUvarint(make([]byte, 0, 24), uint64(keyed)), 0) // with an empty key
	if term == noInteger {
		return append(row, "null"...)
	}
	zigzag := term - integers
	return strconv.AppendInt(row, int64(zigzag>>1)^-int64(zigzag&1), 10)
}

// appendIDs appends the entry for rows, which are in order of their keys; skip is the length of the
// partition's prefix. terms tells that sums are kept of them.
func appendIDs(dst []byte, rows []row, skip int, terms bool) []byte {
	format := byte(idsFormat)
	if terms {
		format = idsTerms
	}
	dst = append(dst, format)
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
			if terms {
				dst = binary.AppendUvarint(dst, rows[i].term)
			}
		}
	}
	return dst
}

// parseIDs reads the entry of a document; partition is what its row keys begin with. They are
// copied.
func parseIDs(entry []byte, partition []byte, docID string, kept []keptRow) ([]keptRow, error) {
	p := parser{packed.Reader{B: entry}}
	format := p.Byte()
	if format != idsFormat && format != idsTerms {
		return nil, corrupt("ids of a document")
	}
	for len(p.B) > 0 {
		key := p.Bytes()
		count := p.Uvarint()
		for number := uint64(0); number < count && !p.Bad; number++ {
			length := p.Uvarint()
			hash := p.Take(8)
			term := uint64(toBeRead)
			if format == idsTerms {
				term = p.Uvarint()
			}
			if p.Bad {
				break
			}
			rowKey := make([]byte, 0, len(partition)+len(key)+len(docID)+8)
			rowKey = append(append(rowKey, partition...), key...)
			keyed := len(rowKey)
			rowKey = tuple.AppendUint(tuple.AppendString(rowKey, docID), number)
			kept = append(kept, keptRow{
				rowKey: rowKey, length: int(length), hash: binary.LittleEndian.Uint64(hash), old: oldOf(keyed, term),
			})
		}
		if p.Bad {
			return nil, corrupt("ids of a document")
		}
	}
	return kept, nil
}
