package answers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// Life is how long an answer is given again.
	Life = 24 * time.Hour
	// MaxBytes is what the answers of one user may take, each charged with overhead besides: those
	// of about 200,000 patches in a day.
	MaxBytes = 64 << 20
	// overhead is about what the keys of an answer take.
	overhead = 200
	// sweepBatch is how many answers are removed in one transaction.
	sweepBatch = 500
)

// The parts of the key space.
const (
	partTimes = iota
	partAnswers
	partUsers
)

var (
	// errReused refuses a key that was used for a different request before.
	errReused = compat.Named(compat.KindBadRequest, "idempotency_key_reused",
		"this Idempotency-Key came with another request in the last 24 hours")
	// errTooMany refuses requests of a user whose stored answers have reached MaxBytes.
	errTooMany = compat.Named(compat.KindInsufficientStorage, "too_many_idempotency_keys",
		"the answers of the last 24 hours that are kept for this user take 64 MB")
)

// Request is a request with a key. It is not for concurrent use.
type Request struct {
	User, Key string // "" is the user that has no name
	// Of the request: the same key with another request is a mistake of the client.
	Hash [sha256.Size]byte
	Now  time.Time
}

// Answer is what a request was answered.
type Answer struct {
	// What is answered again: the status, the header ETag and the body.
	Status int
	ETag   string
	Body   []byte
}

func prefix(part int64) []byte { return tuple.AppendInt(keyspace.AnswersPrefix(), part) }

func (q *Request) answer() []byte {
	return tuple.AppendBytes(tuple.AppendString(prefix(partAnswers), q.User), q.Key)
}

func (q *Request) listed(ms int64) []byte {
	return tuple.AppendBytes(tuple.AppendString(tuple.AppendInt(prefix(partTimes), ms), q.User), q.Key)
}

func charged(user string) []byte { return tuple.AppendString(prefix(partUsers), user) }

// Find gives what the request was answered; nil if it was not done in the last 24 hours. If another
// transaction does it meanwhile, this one conflicts. The error is idempotency_key_reused where the
// key came with another request.
func (q *Request) Find(tx kv.ReadTx) (*Answer, error) {
	r, err := q.read(tx)
	switch {
	case err != nil || r == nil || q.Now.UnixMilli()-r.ms >= Life.Milliseconds():
		return nil, err
	case r.hash != q.Hash:
		return nil, errReused
	}
	return &r.answer, nil
}

// Keep stores the answer, in the transaction that does what the request asks for, after Find. The
// error is too_many_idempotency_keys where the user has no room for it.
func (q *Request) Keep(tx kv.Tx, a *Answer) error {
	old, err := q.read(tx)
	if err != nil {
		return err
	}
	total, err := tx.Snapshot().Get(charged(q.User)) // many requests add to it at the same time
	if err != nil {
		return err
	}
	r := record{hash: q.Hash, ms: q.Now.UnixMilli(), answer: *a}
	value := r.append(nil)
	size := int64(len(value) + len(q.User) + overhead)
	if keyspace.Counter(total)+size > MaxBytes {
		return errTooMany
	}
	key := q.answer()
	if old != nil { // too old to be given, and not removed yet
		forget(tx, q, old.ms, int64(len(old.append(nil))+len(q.User)+overhead))
	}
	tx.Set(key, value[:min(len(value), keyspace.MaxValue)])
	for n := int64(1); len(value) > keyspace.MaxValue; n++ {
		value = value[keyspace.MaxValue:]
		tx.Set(tuple.AppendInt(slices.Clone(key), n), value[:min(len(value), keyspace.MaxValue)])
	}
	tx.Set(q.listed(r.ms), binary.AppendUvarint(nil, uint64(size)))
	keyspace.AddCounter(tx, charged(q.User), size)
	return nil
}

// forget removes an answer that was charged with so many bytes.
func forget(w kv.Writer, q *Request, ms, size int64) {
	begin, end := keyspace.Children(q.answer())
	w.ClearRange(begin, end)
	w.Clear(q.listed(ms))
	keyspace.AddCounter(w, charged(q.User), -size)
	w.Atomic(kv.CompareAndClear, charged(q.User), make([]byte, 8))
}

// read reads what is stored of the key; nil if there is nothing.
func (q *Request) read(tx kv.ReadTx) (*record, error) {
	begin, end := keyspace.Children(q.answer())
	it := tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var value []byte
	for it.Next() {
		value = append(value, it.Value()...)
	}
	if err := it.Err(); err != nil || value == nil {
		return nil, err
	}
	return parseRecord(value)
}

// record is the value of an answer.
type record struct {
	hash [sha256.Size]byte
	// When the answer was stored, milliseconds since 1970.
	ms     int64
	answer Answer
}

// append encodes: hash, time, status, ETag with its length, and the body as the rest.
func (r *record) append(dst []byte) []byte {
	dst = append(dst, r.hash[:]...)
	dst = binary.AppendUvarint(dst, uint64(r.ms))
	dst = binary.AppendUvarint(dst, uint64(r.answer.Status))
	dst = append(binary.AppendUvarint(dst, uint64(len(r.answer.ETag))), r.answer.ETag...)
	return append(dst, r.answer.Body...)
}

// parseRecord reads what append has made; kv.ErrCorrupt if it is something else. The body is part
// of value.
func parseRecord(value []byte) (*record, error) {
	r := new(record)
	if copy(r.hash[:], value) < len(r.hash) {
		return nil, keyspace.Corrupt("answer", nil)
	}
	value = value[len(r.hash):]
	var numbers [3]uint64
	for i := range numbers {
		n := 0
		if numbers[i], n = binary.Uvarint(value); n <= 0 || numbers[i] > 1<<50 {
			return nil, keyspace.Corrupt("answer", nil)
		}
		value = value[n:]
	}
	if numbers[2] > uint64(len(value)) {
		return nil, keyspace.Corrupt("answer", nil)
	}
	r.ms = int64(numbers[0])
	r.answer = Answer{Status: int(numbers[1]), ETag: string(value[:numbers[2]]), Body: value[numbers[2]:]}
	return r, nil
}

// Sweep removes answers that are older than Life.
func Sweep(ctx context.Context, engine kv.Store, now time.Time) error {
	begin := prefix(partTimes)
	end := tuple.AppendInt(slices.Clone(begin), now.Add(-Life).UnixMilli())
	for {
		n := 0
		_, err := engine.Update(kv.UseReserve(ctx), func(tx kv.Tx) error {
			n = 0
			it := tx.Range(begin, end, kv.RangeOptions{Limit: sweepBatch})
			defer it.Close()
			for it.Next() {
				q, ms, size, err := parseListed(it.Key()[len(begin):], it.Value())
				if err != nil {
					return err
				}
				forget(tx, q, ms, size)
				n++
			}
			return it.Err()
		})
		if err != nil || n < sweepBatch {
			return err
		}
	}
}

// parseListed reads an entry in the order of time; key is without the prefix.
func parseListed(key, value []byte) (q *Request, ms, size int64, err error) {
	ms, rest, err := tuple.ReadInt(key)
	if err != nil {
		return nil, 0, 0, keyspace.Corrupt("answer", err)
	}
	if q, rest, err = parseNames(rest); err != nil {
		return nil, 0, 0, err
	}
	n, read := binary.Uvarint(value)
	if len(rest) > 0 || read != len(value) || read == 0 || n > MaxBytes {
		return nil, 0, 0, keyspace.Corrupt("answer", fmt.Errorf("entry %q", key))
	}
	return q, ms, int64(n), nil
}

// parseNames reads user and key, and gives what follows.
func parseNames(key []byte) (q *Request, rest []byte, err error) {
	q = new(Request)
	if q.User, rest, err = tuple.ReadString(key); err != nil {
		return nil, nil, keyspace.Corrupt("answer", err)
	}
	name, rest, err := tuple.ReadBytes(rest)
	if err != nil {
		return nil, nil, keyspace.Corrupt("answer", err)
	}
	q.Key = string(bytes.Clone(name))
	return q, rest, nil
}
