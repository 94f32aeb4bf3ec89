package files

import (
	"encoding/binary"
	"io"

	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// scan finds the blocks of a table whose index cannot be read: they follow each other, and each
// ends with a byte and a checksum of all of it, so that a length is right if the checksum after it
// is.

const (
	// longestBlock bounds the length of the blocks that are looked for, in bytes. Blocks of rows
	// have 8 KiB, unless a row is longer.
	longestBlock = 256 << 10
	// longestAfterGap is that for a block after bytes that are none; shorter, since each byte may
	// be where it begins.
	longestAfterGap = 12 << 10
	// maxTries bounds how often that is tried in a table.
	maxTries = 1 << 17
)

// scan walks over the file from its beginning. After bytes that are no block it tries each
// following byte, with shorter blocks and a bounded number of tries: otherwise a large damaged file
// would take checksums over the square of its length.
func (t *table) scan() error {
	t.scanned, t.blocks, t.deletions = true, nil, nil
	file := make([]byte, t.size)
	if n, err := t.file.ReadAt(file, 0); err != nil && err != io.EOF {
		file = file[:n]
	}
	tries, longest := 0, longestBlock
	for at := 0; at+block.TrailerLen < len(file); {
		n := blockLength(file[at:], longest)
		if n < 0 {
			if tries++; tries > maxTries {
				t.gone += int64(len(file) - at)
				break
			}
			at, longest = at+1, longestAfterGap
			t.gone++
			continue
		}
		t.found(block.Handle{Offset: uint64(at), Length: uint64(n)}, file[at:at+n], file[at+n])
		at, longest = at+n+block.TrailerLen, longestBlock
	}
	return nil
}

// found takes a block whose checksum is right.
func (t *table) found(h block.Handle, b []byte, how byte) {
	var err error
	defer recovered(&err)
	data, err := decompressed(b, how)
	if err != nil {
		return
	}
	switch columns(data) {
	case dataColumns:
		t.blocks = append(t.blocks, h)
	case deletionColumns:
		t.deletions = append(t.deletions, h)
	}
}

// blockLength is the length of the block that b begins with, -1 if there is none.
func blockLength(b []byte, longest int) int {
	crc := ^uint32(0)
	last := min(longest, len(b)-block.TrailerLen)
	for n := 0; n <= last; n++ {
		crc = castagnoli[byte(crc)^b[n]] ^ crc>>8
		if n > 0 && masked(^crc) == binary.LittleEndian.Uint32(b[n+1:]) {
			return n
		}
	}
	return -1
}
