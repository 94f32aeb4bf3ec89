package packed

import "encoding/binary"

// Reader takes a stored value apart. It is for one goroutine.
type Reader struct {
	B   []byte // what is left
	Bad bool   // something was missing or damaged
}

// fail notes damage, and drops the rest of the bytes, which cannot be understood any more.
func (r *Reader) fail() { r.Bad, r.B = true, nil }

// Done reports whether the value was read to its end and was whole.
func (r *Reader) Done() bool { return !r.Bad && len(r.B) == 0 }

// Take reads n bytes, without a copy; none if there are fewer.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.B) {
		r.fail()
		return nil
	}
	part := r.B[:n:n]
	r.B = r.B[n:]
	return part
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if len(r.B) == 0 {
		r.fail()
		return 0
	}
	c := r.B[0]
	r.B = r.B[1:]
	return c
}

// Uvarint reads what binary.AppendUvarint wrote.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.B)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Varint reads what binary.AppendVarint wrote.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.B)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Count reads a number of things of which each takes at least size bytes: a damaged count makes no
// memory.
func (r *Reader) Count(size int) int {
	n := r.Uvarint()
	if n > uint64(len(r.B)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

// Bytes reads what AppendText wrote, without a copy.
func (r *Reader) Bytes() []byte { return r.Take(r.Count(1)) }

// Text reads what AppendText wrote.
func (r *Reader) Text() string { return string(r.Bytes()) }

// AppendText appends a text or bytes behind their length.
func AppendText[T ~string | ~[]byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
