package jobs

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// recordFormat is the first byte of records and leases.
const recordFormat = 2

// tokenSize is long enough that no two random tokens are ever the same.
const tokenSize = 16

// token names a run of a job, or the life of a record.
type token [tokenSize]byte

func newToken() (t token) {
	rand.Read(t[:]) // never fails
	return t
}

// jobRecord is the value of keyJob.
type jobRecord struct {
	state    State
	birth    token  // made when the job was added where there was none
	run      token  // of the run, while running
	request  uint64 // counts what was asked for
	serving  uint64 // while running: the request that the run began with
	done     uint64 // the last request whose run has ended with the job finished
	failures uint64
	crashes  uint64 // in a row, of runs that had only begun
	delay    uint64 // ms; pending: how long to wait; finished: how long to keep
	order    uint64 // read version of the transaction that began the wait
	due      int64  // ms, by the clock of who began the wait: when it is over; finished: 0 if never
	added    int64  // ms
	began    int64  // ms
	ended    int64  // ms
	owner    string
	data     []byte
	result   []byte
	err      string
}

// lease is the value of keyLease.
type lease struct {
	run      token
	beat     uint64 // changes with every renewal
	ran      uint64 // ms that the run has lasted, by its worker's clock
	progress []byte
}

func (r *jobRecord) append(dst []byte) []byte {
	dst = append(dst, recordFormat, byte(r.state))
	dst = append(dst, r.birth[:]...)
	dst = append(dst, r.run[:]...)
	for _, n := range []uint64{r.request, r.serving, r.done, r.failures, r.crashes, r.delay, r.order} {
		dst = binary.AppendUvarint(dst, n)
	}
	for _, ms := range []int64{r.due, r.added, r.began, r.ended} {
		dst = binary.AppendVarint(dst, ms)
	}
	for _, s := range []string{r.owner, r.err} {
		dst = appendBlock(dst, []byte(s))
	}
	return appendBlock(appendBlock(dst, r.data), r.result)
}

func parseJobRecord(src []byte) (*jobRecord, error) {
	p := parser{src: src}
	var r jobRecord
	p.format()
	r.state = State(p.byte())
	p.token(&r.birth)
	p.token(&r.run)
	for _, n := range []*uint64{&r.request, &r.serving, &r.done, &r.failures, &r.crashes, &r.delay, &r.order} {
		*n = p.uvarint()
	}
	for _, ms := range []*int64{&r.due, &r.added, &r.began, &r.ended} {
		*ms = p.varint()
	}
	r.owner, r.err = string(p.block()), string(p.block())
	r.data, r.result = p.block(), p.block()
	if p.bad || len(p.src) > 0 || r.state < Pending || r.state > Finished {
		return nil, corrupt("record", nil)
	}
	return &r, nil
}

func (l *lease) append(dst []byte) []byte {
	dst = append(append(dst, recordFormat), l.run[:]...)
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, l.beat), l.ran)
	return appendBlock(dst, l.progress)
}

func parseLease(src []byte) (*lease, error) {
	p := parser{src: src}
	var l lease
	p.format()
	p.token(&l.run)
	l.beat, l.ran, l.progress = p.uvarint(), p.uvarint(), p.block()
	if p.bad || len(p.src) > 0 {
		return nil, corrupt("lease", nil)
	}
	return &l, nil
}

func appendBlock(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// waits reports whether the job has an entry in keyDue.
func (r *jobRecord) waits() bool { return r.state == Pending || r.state == Finished && r.due != 0 }

// parser takes values apart; bad is set when they are too short.
type parser struct {
	src []byte
	bad bool
}

func (p *parser) take(n uint64) []byte {
	if n > uint64(len(p.src)) {
		p.bad, p.src = true, nil
		return nil
	}
	b := p.src[:n]
	p.src = p.src[n:]
	return b
}

func (p *parser) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) format() {
	if p.byte() != recordFormat {
		p.bad = true
	}
}

func (p *parser) token(t *token) { copy(t[:], p.take(tokenSize)) }

func (p *parser) uvarint() uint64 {
	v, n := binary.Uvarint(p.src)
	p.take(width(n))
	return v
}

func (p *parser) varint() int64 {
	v, n := binary.Varint(p.src)
	p.take(width(n))
	return v
}

// width turns what encoding/binary tells of a number's length into a length that take refuses if there was no number.
func width(n int) uint64 {
	if n <= 0 {
		return 1 << 62
	}
	return uint64(n)
}

// block copies: values are valid in their transaction only. An empty block is nil.
func (p *parser) block() []byte {
	b := p.take(p.uvarint())
	if len(b) == 0 {
		return nil
	}
	return append([]byte(nil), b...)
}

func toTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
