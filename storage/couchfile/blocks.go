package couchfile

import (
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

const (
	blockSize = 4096
	// The first byte of each block belongs to no record.
	blockData, blockHeader = 0, 1

	checksumSize = 16
	checksumBit  = 1 << 31
	recordHead   = 4

	// readAhead is how much is read at once: what is written together is read together.
	readAhead = 32 << 10
)

// Damage is a part of a file that cannot be read.
type Damage struct {
	File   string
	Offset int64  // where in the file
	ID     string // the document it belongs to, "" for several or none
	Err    error
}

func (d *Damage) Error() string {
	if d.ID == "" {
		return fmt.Sprintf("%s: offset %d: %v", d.File, d.Offset, d.Err)
	}
	return fmt.Sprintf("%s: offset %d: document %q: %v", d.File, d.Offset, d.ID, d.Err)
}

// Unwrap is what is wrong.
func (d *Damage) Unwrap() error { return d.Err }

var (
	errChecksum = errors.New("the checksum does not match")
	errBeyond   = errors.New("it reaches beyond the end of the file")
	errTooLarge = errors.New("it is larger than 64 MB")
)

// blocks are the bytes of a file without the first byte of each block. It is for one goroutine.
type blocks struct {
	file io.ReaderAt
	size int64

	ahead   []byte // bytes of the file, from aheadAt on
	aheadAt int64
}

// withPrefixes is how many bytes of the file n bytes of records take that begin at pos
// (couch_file:calculate_total_read_len/2).
func withPrefixes(pos, n int64) int64 {
	in := pos % blockSize
	if in == 0 {
		return n + (n+blockSize-2)/(blockSize-1)
	}
	if left := blockSize - in; n > left {
		return n + (n-left+blockSize-2)/(blockSize-1)
	}
	return n
}

// read appends n bytes of records from pos on to dst; end is the position after them.
func (b *blocks) read(dst []byte, pos, n int64) (_ []byte, end int64, err error) {
	if pos < 0 || n < 0 || n > b.size {
		return dst, 0, errBeyond
	}
	end = pos + withPrefixes(pos, n)
	if end > b.size {
		return dst, 0, errBeyond
	}
	for pos < end {
		raw, err := b.raw(pos, min(end-pos, readAhead))
		if err != nil {
			return dst, 0, err
		}
		for len(raw) > 0 {
			in := pos % blockSize
			if in == 0 {
				raw, pos = raw[1:], pos+1
				continue
			}
			m := min(int64(len(raw)), blockSize-in)
			dst = append(dst, raw[:m]...)
			raw, pos = raw[m:], pos+m
		}
	}
	return dst, end, nil
}

// raw gives n bytes of the file, at most readAhead.
func (b *blocks) raw(pos, n int64) ([]byte, error) {
	if pos >= b.aheadAt && pos+n <= b.aheadAt+int64(len(b.ahead)) {
		return b.ahead[pos-b.aheadAt:][:n], nil
	}
	if b.ahead == nil {
		b.ahead = make([]byte, 0, readAhead)
	}
	got, err := b.file.ReadAt(b.ahead[:min(readAhead, b.size-pos)], pos)
	b.ahead, b.aheadAt = b.ahead[:got], pos
	if int64(got) < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = errBeyond // it has become shorter
		}
		return nil, err
	}
	return b.ahead[:n], nil
}

// record gives the data of the record at pos, after its checksum is found right if it has one
// (couch_file:pread_iolist/2). dst is overwritten.
func (b *blocks) record(dst []byte, pos int64) (data []byte, checked bool, err error) {
	dst, next, err := b.read(dst[:0], pos, recordHead)
	if err != nil {
		return dst, false, err
	}
	head := binary.BigEndian.Uint32(dst)
	n := int64(head &^ checksumBit)
	if n > maxRecord {
		return dst, false, errTooLarge
	}
	if head&checksumBit == 0 {
		data, _, err = b.read(dst[:0], next, n)
		return data, false, err
	}
	dst, _, err = b.read(dst[:0], next, checksumSize+n)
	if err == nil && !matches(dst[:checksumSize], dst[checksumSize:]) {
		err = errChecksum
	}
	if err != nil {
		return dst, false, err
	}
	return dst[checksumSize:], true, nil
}

// matches compares data with its checksum: MD5, or since 3.4 XXH3 of 128 bits. A file mixes both.
func matches(sum, data []byte) bool {
	if is := xxh3.Hash128(data).Bytes(); string(is[:]) == string(sum) {
		return true
	}
	is := md5.Sum(data)
	return string(is[:]) == string(sum)
}
