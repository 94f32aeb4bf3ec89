package jobs

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/kv/packed"
)

// recordFormat is the first byte of records and leases.
const recordFormat = 2

// tokenSize is long enough that no two random tokens are ever the same.
const tokenSize = 16

// token names a run of a job, or the life of a record.
type token [tokenSize]byte

// newToken makes a random token, which nobody else has.
func newToken() (t token) {
	rand.Read(t[:]) // never fails
	return t
}

// mark is what tokens of runs begin with that a process began, where processes know each other: the
// begin of its id.
type mark [8]byte

func markOf(id nodes.ID) mark { return mark(id[:]) }

// mark is that of the process that began the run.
func (t token) mark() mark { return mark(t[:]) }

// newRun names a run of this process.
func (q *Queue) newRun() token {
	t := newToken()
	if q.nodes != nil {
		m := markOf(q.nodes.Self())
		copy(t[:], m[:])
	}
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
	crashes  uint64 // deaths of workers in a row, each soon after the run began
	delay    uint64 // ms; pending: how long to wait; finished, or running by Do: how long to keep
	order    uint64 // the wait began after this read version of the store
	due      int64  // ms, by the clock of who began the wait: when it is over; finished: 0 if never
	added    int64  // ms
	began    int64  // ms
	ended    int64  // ms
	// The process that runs it; what the handler was given, and what it has given back.
	owner  string
	data   []byte
	result []byte
	err    string
}

// lease is the value of keyLease.
type lease struct {
	run      token
	beat     uint64 // changes with every renewal
	ran      uint64 // ms that the run has lasted, by its worker's clock
	progress []byte
}

// append encodes: format, state, tokens, then numbers and texts in a fixed order, which parseRecord
// follows.
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
		dst = packed.AppendText(dst, s)
	}
	return packed.AppendText(packed.AppendText(dst, r.data), r.result)
}

// parseJobRecord reads what append wrote. Its data and result share memory with src.
func parseJobRecord(src []byte) (*jobRecord, error) {
	p := parser{packed.Reader{B: src}}
	var r jobRecord
	p.format()
	r.state = State(p.Byte())
	p.token(&r.birth)
	p.token(&r.run)
	for _, n := range []*uint64{&r.request, &r.serving, &r.done, &r.failures, &r.crashes, &r.delay, &r.order} {
		*n = p.Uvarint()
	}
	for _, ms := range []*int64{&r.due, &r.added, &r.began, &r.ended} {
		*ms = p.Varint()
	}
	r.owner, r.err = string(p.block()), string(p.block())
	r.data, r.result = p.block(), p.block()
	if !p.Done() || r.state < Pending || r.state > Finished {
		return nil, corrupt("record", nil)
	}
	return &r, nil
}

func (l *lease) append(dst []byte) []byte {
	dst = append(append(dst, recordFormat), l.run[:]...)
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, l.beat), l.ran)
	return packed.AppendText(dst, l.progress)
}

// parseLease reads a lease as append has written it.
func parseLease(src []byte) (*lease, error) {
	p := parser{packed.Reader{B: src}}
	var l lease
	p.format()
	p.token(&l.run)
	l.beat, l.ran, l.progress = p.Uvarint(), p.Uvarint(), p.block()
	if !p.Done() {
		return nil, corrupt("lease", nil)
	}
	return &l, nil
}

// waits reports whether the job has an entry in keyDue.
func (r *jobRecord) waits() bool { return r.state == Pending || r.state == Finished && r.due != 0 }

// parser takes values apart.
type parser struct{ packed.Reader }

func (p *parser) format() {
	if p.Byte() != recordFormat {
		p.Bad = true
	}
}

func (p *parser) token(t *token) { copy(t[:], p.Take(tokenSize)) }

// block copies: values are valid in their transaction only. An empty block is nil.
func (p *parser) block() []byte {
	b := p.Bytes()
	if len(b) == 0 {
		return nil
	}
	return append([]byte(nil), b...)
}

// toTime reads a time in milliseconds since 1970; 0 is no time.
func toTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
