package txn

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// Eval returns what op with param makes of existing (nil: absent); nil means that the key is absent
// afterwards. The rules are FoundationDB's (fdbclient/Atomic.h, the second version of Min and
// ByteMin): integers are unsigned and little-endian, the result of Add, Max and Min has the width
// of param. The result may share memory with its arguments, which are not changed.
func Eval(op kv.AtomicOp, existing, param []byte) []byte {
	switch op {
	case kv.Add:
		return add(existing, param)
	case kv.Max:
		if compareLittleEndian(existing, param) > 0 {
			return resize(existing, len(param))
		}
		return param
	case kv.Min:
		if existing != nil && compareLittleEndian(existing, param) < 0 {
			return resize(existing, len(param))
		}
		return param
	case kv.ByteMax:
		if existing != nil && bytes.Compare(existing, param) > 0 {
			return existing
		}
		return param
	case kv.ByteMin:
		if existing != nil && bytes.Compare(existing, param) < 0 {
			return existing
		}
		return param
	case kv.CompareAndClear:
		if bytes.Equal(existing, param) {
			return nil
		}
		return existing
	}
	return existing // not reached: Tx.Atomic refuses unknown operations
}

// validOp reports whether Eval knows op.
func validOp(op kv.AtomicOp) bool { return op >= kv.Add && op <= kv.CompareAndClear }

// add sums two little-endian integers in the width of param, wrapping.
func add(existing, param []byte) []byte {
	if len(existing) == 0 {
		return param
	}
	sum := make([]byte, len(param))
	carry := uint16(0)
	for i := range param {
		carry += uint16(param[i])
		if i < len(existing) {
			carry += uint16(existing[i])
		}
		sum[i] = byte(carry)
		carry >>= 8
	}
	return sum
}

// compareLittleEndian compares two unsigned integers in the width of param: existing is cut or
// padded with zeros.
func compareLittleEndian(existing, param []byte) int {
	for i := len(param) - 1; i >= 0; i-- {
		var e byte
		if i < len(existing) {
			e = existing[i]
		}
		if e != param[i] {
			return int(e) - int(param[i])
		}
	}
	return 0
}

// resize cuts b to n bytes or pads it with zeros.
func resize(b []byte, n int) []byte {
	if len(b) >= n {
		return b[:n:n]
	}
	padded := make([]byte, n)
	copy(padded, b)
	return padded
}
