package reduce

import (
	"crypto/sha1"
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// distinct is _approx_count_distinct: HyperLogLog over the SHA-1 of the keys' terms (couch_hyper).
//
// An aggregate is sparseMark and, for each register that is not 0, its number (2 bytes, big-endian,
// ascending) and value; or denseMark and all registers, a byte each.
type distinct struct{}

const (
	registerBits = 11
	registers    = 1 << registerBits
	sparseMark   = 2
	denseMark    = 3
	sparseEntry  = 3
	maxRegister  = 64 - registerBits + 1
)

func (distinct) kind() Kind { return KindOther }

// reduce fills the registers of HyperLogLog: the first bits of a key's hash choose a register,
// which keeps the longest run of zeros seen in the rest. The hash is of Erlang's term, so that the
// estimate is CouchDB's.
func (distinct) reduce(rows []Row) (Aggregate, error) {
	var r [registers]byte
	p := ejson.AcquireParser()
	defer p.Release()
	var term []byte
	for _, row := range rows {
		v, err := p.Parse(row.Key)
		if err != nil {
			return nil, corrupt("key")
		}
		const version = 131 // of Erlang's external term format
		term = v.AppendTerm(append(term[:0], version))
		hash := sha1.Sum(term)
		h := binary.BigEndian.Uint64(hash[:])
		n := h >> (64 - registerBits)
		zeros := min(bits.LeadingZeros64(h<<registerBits), 64-registerBits)
		r[n] = max(r[n], byte(zeros+1))
	}
	return encodeRegisters(&r), nil
}

func (distinct) rereduce(aggregates []Aggregate) (Aggregate, error) {
	var r [registers]byte
	for _, a := range aggregates {
		if err := mergeRegisters(&r, a); err != nil {
			return nil, err
		}
	}
	return encodeRegisters(&r), nil
}

func (distinct) finish(_ string, a Aggregate) ([]byte, error) {
	var r [registers]byte
	if err := mergeRegisters(&r, a); err != nil {
		return nil, err
	}
	return strconv.AppendInt(nil, estimate(&r), 10), nil
}

// encodeRegisters writes the registers of the estimate: those that are not 0 with their numbers if
// that is shorter, otherwise all of them. Equal registers have equal bytes, whatever way they came
// about.
func encodeRegisters(r *[registers]byte) Aggregate {
	full := 0
	for _, v := range r {
		if v != 0 {
			full++
		}
	}
	if full*sparseEntry >= registers {
		return append(append(make([]byte, 0, 1+registers), denseMark), r[:]...)
	}
	out := append(make([]byte, 0, 1+full*sparseEntry), sparseMark)
	for i, v := range r {
		if v != 0 {
			out = append(binary.BigEndian.AppendUint16(out, uint16(i)), v)
		}
	}
	return out
}

// mergeRegisters takes the larger value of each register, which is how HyperLogLog joins two sets.
// An aggregate of another length or with a register that does not exist is kv.ErrCorrupt; a value
// above maxRegister, which no hash gives, counts as that.
func mergeRegisters(r *[registers]byte, a Aggregate) error {
	switch {
	case len(a) == 1+registers && a[0] == denseMark:
		for i, v := range a[1:] {
			r[i] = max(r[i], min(v, maxRegister))
		}
		return nil
	case len(a) == 0 || a[0] != sparseMark || (len(a)-1)%sparseEntry != 0:
		return corrupt("_approx_count_distinct")
	}
	for a = a[1:]; len(a) > 0; a = a[sparseEntry:] {
		i := binary.BigEndian.Uint16(a)
		if i >= registers {
			return corrupt("_approx_count_distinct")
		}
		r[i] = max(r[i], min(a[2], maxRegister))
	}
	return nil
}
