package jobs

import (
	"encoding/binary"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// transaction is one on the jobs of a queue. All writes of its keys are in this file.
type transaction struct {
	keys
	kv.Tx
}

// read gives the record of a job, nil if there is none.
func (k keys) read(tx kv.ReadTx, typ, id string) (*jobRecord, error) {
	value, err := tx.Get(k.job(typ, id))
	if value == nil || err != nil {
		return nil, err
	}
	return parseJobRecord(value)
}

// change writes the job's next state. before is the record as it was read in this transaction, nil
// if there was none; after is nil to remove the job.
func (t *transaction) change(typ, id string, before, after *jobRecord) {
	if before != nil {
		t.leave(typ, id, before)
	}
	if after == nil {
		t.Clear(t.job(typ, id))
		return
	}
	t.Set(t.job(typ, id), after.append(nil))
	if after.waits() {
		t.Set(t.due(typ, after, id), binary.AppendVarint(nil, after.due))
	}
	switch after.state {
	case Pending:
		t.SetVersionstampedValue(t.news(typ), make([]byte, kv.VersionstampSize), 0)
	case Running:
		t.Set(t.lease(typ, id), (&lease{run: after.run}).append(nil))
	}
}

// wait puts r into the waiting state from now on. The caller writes it with change.
func (t *transaction) wait(r *jobRecord, delay time.Duration, now time.Time) error {
	version, err := t.ReadVersion()
	if err != nil {
		return err
	}
	delay = max(delay, 0)
	r.delay, r.order, r.due = uint64(delay.Milliseconds()), version, now.Add(delay).UnixMilli()
	return nil
}

// leave removes the keys that belong to the job's old state, besides its record.
func (t *transaction) leave(typ, id string, before *jobRecord) {
	switch {
	case before.state == Running:
		t.Clear(t.lease(typ, id))
	case before.waits():
		t.Clear(t.due(typ, before, id))
	}
}

// note changes the record of a running job whose run goes on.
func (t *transaction) note(typ, id string, r *jobRecord) { t.Set(t.job(typ, id), r.append(nil)) }

// renew writes a lease of a running job; the caller has compared the token of its record in this
// transaction.
func (t *transaction) renew(typ, id string, l *lease) { t.Set(t.lease(typ, id), l.append(nil)) }
