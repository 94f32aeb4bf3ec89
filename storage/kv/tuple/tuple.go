package tuple

import "errors"

// The codes that elements begin with.
const (
	codeBytes        = 0x01
	codeString       = 0x02
	codeZero         = 0x14 // integers of n bytes have the codes codeZero-n and codeZero+n, n up to maxIntBytes
	codeFalse        = 0x26
	codeTrue         = 0x27
	codeVersionstamp = 0x33

	escape      = 0xff // follows a zero byte within a byte string or text that does not end it
	maxIntBytes = 8
)

// Err is of bytes that are not the element asked for.
var Err = errors.New("kv: not a tuple")
