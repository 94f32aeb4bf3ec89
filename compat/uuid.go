package compat

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"sync"
	"time"
)

// UUIDAlgorithm is a value of uuids/algorithm.
type UUIDAlgorithm string

// The algorithms of couch_uuids.
const (
	UUIDSequential UUIDAlgorithm = "sequential" // the default: 26 random digits, then 6 that grow by 1..0xffd
	UUIDRandom     UUIDAlgorithm = "random"     // 32 random digits
	UUIDUTCRandom  UUIDAlgorithm = "utc_random" // 14 digits of microseconds since 1970, then 18 random ones
	UUIDUTCID      UUIDAlgorithm = "utc_id"     // those 14 digits, then a configured suffix
	UUIDv4         UUIDAlgorithm = "uuid_v4"    // 122 random bits, written in the format
	UUIDv7         UUIDAlgorithm = "uuid_v7"    // 48 bits of milliseconds since 1970, 74 random ones, in the format
)

// UUIDFormat is a value of uuids/format: how UUIDv4 and UUIDv7 write their 128 bits.
type UUIDFormat string

// The formats of couch_uuids:uuid_format.
const (
	UUIDBase16  UUIDFormat = "base_16" // the default: 32 digits
	UUIDBase36  UUIDFormat = "base_36" // 25 digits of 0-9a-z
	UUIDRFC9562 UUIDFormat = "rfc9562" // 32 digits in five groups with hyphens between them
)

const (
	uuidMaxStep    = 0xffd
	uuidNewPrefix  = 0xfff000 // a sequence number from here on is the last one of its prefix
	uuidPrefixSize = 13
	uuidBase36Size = 25 // digits of the largest number of 128 bits
)

// UUIDOptions configure a generator. The zero value is CouchDB 3.5's default.
type UUIDOptions struct {
	Algorithm UUIDAlgorithm    // "" is UUIDSequential
	Format    UUIDFormat       // of UUIDv4 and UUIDv7, whose Next fails for a text that is none of the three
	Suffix    string           // uuids/utc_id_suffix, for UUIDUTCID
	Now       func() time.Time // nil is time.Now
	Random    func([]byte)     // fills its argument; nil is crypto/rand
}

// UUIDs makes document ids (couch_uuids). It is safe for concurrent use.
type UUIDs struct {
	options UUIDOptions

	mu     sync.Mutex
	prefix string // sequential: 26 digits
	seq    uint32 // sequential: the next number
	clock  int64  // utc_*: the last time used, microseconds
}

// NewUUIDs makes a generator; an unknown algorithm is an error.
func NewUUIDs(o UUIDOptions) (*UUIDs, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = cryptoRandom
	}
	u := &UUIDs{options: o}
	switch o.Algorithm {
	case "", UUIDSequential:
		u.options.Algorithm = UUIDSequential
		u.startPrefix()
	case UUIDUTCRandom, UUIDUTCID:
		u.clock = o.Now().UnixMicro()
	case UUIDRandom, UUIDv4, UUIDv7:
	default:
		return nil, fmt.Errorf("unknown uuid algorithm %q", o.Algorithm)
	}
	return u, nil
}

// cryptoRandom relies on crypto/rand.Read, which never returns an error.
func cryptoRandom(b []byte) { _, _ = rand.Read(b) }

// Next makes one id. The error is CouchDB's for a format that it does not know.
func (u *UUIDs) Next() (string, error) {
	switch u.options.Algorithm {
	case UUIDRandom:
		return u.randomHex(16), nil
	case UUIDUTCRandom:
		return u.utc() + u.randomHex(9), nil
	case UUIDUTCID:
		return u.utc() + u.options.Suffix, nil
	case UUIDv4, UUIDv7:
		return u.write(u.bits())
	}
	return u.sequential(), nil
}

// bits are those of a UUID of version 4 or 7 (RFC 9562): all random but for the version, the
// variant and, of version 7, the time, whose milliseconds order ids of different ones. Like
// CouchDB's, those of one millisecond have no order.
func (u *UUIDs) bits() (id [16]byte) {
	u.options.Random(id[:])
	version := byte(4)
	if u.options.Algorithm == UUIDv7 {
		version = 7
		var now [8]byte
		binary.BigEndian.PutUint64(now[:], uint64(u.options.Now().UnixMilli()))
		copy(id[:6], now[2:])
	}
	id[6] = version<<4 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// write writes a UUID in the format.
func (u *UUIDs) write(id [16]byte) (string, error) {
	switch u.options.Format {
	case UUIDBase16:
		return hex.EncodeToString(id[:]), nil
	case UUIDBase36:
		return base36(id), nil
	case UUIDRFC9562:
		h := hex.EncodeToString(id[:])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
	}
	return "", Named(KindError, "unsupported_uuid_format", string(u.options.Format)).WithRef()
}

// base36 writes a number with zeros in front, so that texts sort as the numbers do.
func base36(id [16]byte) string {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	var digits [uuidBase36Size]byte
	for i := len(digits) - 1; i >= 0; i-- {
		var digit uint64
		high, digit = bits.Div64(0, high, 36)
		low, digit = bits.Div64(digit, low, 36)
		digits[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
	}
	return string(digits[:])
}

// sequential gives the next id: a random prefix of 26 digits and a number that grows by random
// steps. A new prefix begins before the number could run over its 6 digits.
func (u *UUIDs) sequential() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var number [3]byte
	number[0], number[1], number[2] = byte(u.seq>>16), byte(u.seq>>8), byte(u.seq)
	id := u.prefix + hex.EncodeToString(number[:])
	if u.seq >= uuidNewPrefix {
		u.startPrefix()
	} else {
		u.seq += u.step()
	}
	return id
}

// startPrefix begins a new random prefix when the numbers behind the last one are used up.
func (u *UUIDs) startPrefix() {
	u.prefix = u.randomHex(uuidPrefixSize)
	u.seq = u.step()
}

// step is uniform in 1..uuidMaxStep.
func (u *UUIDs) step() uint32 {
	var b [2]byte
	for {
		u.options.Random(b[:])
		if n := uint32(binary.LittleEndian.Uint16(b[:]) & 0xfff); n < uuidMaxStep {
			return n + 1
		}
	}
}

// utc gives the time as 14 digits; a clock that stands still or goes back is replaced by the last
// time plus one.
func (u *UUIDs) utc() string {
	now := u.options.Now().UnixMicro()
	u.mu.Lock()
	u.clock = max(now, u.clock+1)
	now = u.clock
	u.mu.Unlock()
	digits := strconv.FormatInt(now, 16)
	for len(digits) < 14 {
		digits = "0" + digits
	}
	return digits
}

func (u *UUIDs) randomHex(n int) string {
	var b [16]byte
	u.options.Random(b[:n])
	return hex.EncodeToString(b[:n])
}
