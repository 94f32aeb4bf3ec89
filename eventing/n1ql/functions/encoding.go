package functions

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"hash/crc32"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// hashes are the algorithms of HASHBYTES.
var hashes = map[string]func() hash.Hash{
	"crc32":      func() hash.Hash { return crc32.NewIEEE() },
	"md5":        md5.New,
	"sha224":     sha256.New224,
	"sha256":     sha256.New,
	"sha384":     sha512.New384,
	"sha512":     sha512.New,
	"sha512/224": sha512.New512_224,
	"sha512/256": sha512.New512_256,
}

// onJSON is a function of the JSON of a value, and of other values.
func onJSON(most int, call func(printed []byte, args []datum.Value) datum.Value) Function {
	return Function{least: 1, most: most, takesUnknown: true, call: func(
		_ Caller, args []datum.Value,
	) (datum.Value, error) {
		if args[0].Kind == datum.KindMissing {
			return args[0], nil
		}
		printed, err := args[0].AppendJSON(nil, datum.MaxValueSize)
		if err != nil {
			return datum.Value{}, err
		}
		return call(printed, args), nil
	}}
}

// registerEncodings adds the functions of what a value is as bytes.
func registerEncodings() {
	register(onJSON(1, func(printed []byte, _ []datum.Value) datum.Value {
		return datum.Text(base64.StdEncoding.EncodeToString(printed))
	}), "BASE64", "BASE64_ENCODE", "ENCODE_BASE64")
	// Bytes that are no JSON are no value.
	register(onText(1, 1, func(args []datum.Value) datum.Value {
		decoded, err := base64.StdEncoding.DecodeString(args[0].Text)
		if err != nil {
			return datum.Null
		}
		parsed, err := ejson.Parse(bytes.Clone(decoded))
		if err != nil {
			return datum.Null
		}
		return datum.FromJSON(parsed)
	}), "BASE64_DECODE", "DECODE_BASE64")
	register(onJSON(1, func(printed []byte, _ []datum.Value) datum.Value {
		return datum.Integer(int64(len(printed)))
	}), "ENCODED_SIZE")
	register(onJSON(2, hashBytes), "HASHBYTES")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		switch {
		case args[0].Kind == datum.KindString:
			return datum.Integer(int64(len(args[0].Text)))
		case args[0].Kind >= datum.KindArray:
			return datum.Integer(int64(args[0].Length()))
		}
		return datum.Null
	}), "POLY_LENGTH")
}

// hashBytes is HASHBYTES(value[, algorithm or {"algorithm": …}]): of a string its bytes, of others their
// JSON.
func hashBytes(printed []byte, args []datum.Value) datum.Value {
	name := "sha256"
	if len(args) > 1 {
		switch of := args[1]; of.Kind {
		case datum.KindObject:
			if v := of.Field("algorithm"); v.Kind == datum.KindString {
				name = v.Text
			}
		case datum.KindString:
			name = of.Text
		case datum.KindMissing, datum.KindNull:
		default:
			return datum.Null
		}
	}
	begin := hashes[strings.Replace(strings.ToLower(name), "sha-", "sha", 1)]
	if begin == nil || args[0].Kind == datum.KindNull {
		return datum.Null
	}
	if args[0].Kind == datum.KindString {
		printed = []byte(args[0].Text)
	}
	h := begin()
	h.Write(printed)
	return datum.Text(hex.EncodeToString(h.Sum(nil)))
}
