package compat

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
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
)

const (
	uuidMaxStep    = 0xffd
	uuidNewPrefix  = 0xfff000 // a sequence number from here on is the last one of its prefix
	uuidPrefixSize = 13
)

// UUIDOptions configure a generator. The zero value is CouchDB's default.
type UUIDOptions struct {
	Algorithm UUIDAlgorithm    // "" is UUIDSequential
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
	case UUIDRandom:
	default:
		return nil, fmt.Errorf("unknown uuid algorithm %q", o.Algorithm)
	}
	return u, nil
}

// cryptoRandom relies on crypto/rand.Read, which never returns an error.
func cryptoRandom(b []byte) { _, _ = rand.Read(b) }

// Next makes one id.
func (u *UUIDs) Next() string {
	switch u.options.Algorithm {
	case UUIDRandom:
		return u.randomHex(16)
	case UUIDUTCRandom:
		return u.utc() + u.randomHex(9)
	case UUIDUTCID:
		return u.utc() + u.options.Suffix
	}
	return u.sequential()
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

// utc gives the time as 14 digits; a clock that stands still or goes back is replaced by the last time plus one.
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
