package txn

import (
	"github.com/settee-db/settee/storage/kv"
)

// Write is what a transaction has done to one key since its last range clear over the key.
type Write struct {
	Key   []byte
	Known bool   // Value does not depend on the snapshot
	Value []byte // with Known: the value before Ops; nil: absent
	Ops   []Op   // to be applied at commit, in order
}

// Op is a step of a Write that waits for the commit: an atomic operation, or the setting of a
// versionstamped value.
type Op struct {
	Atomic kv.AtomicOp // 0: Param is the new value, with the versionstamp at Offset
	Param  []byte
	Offset int
}

// unreadable reports whether the value depends on the commit's versionstamp.
func (w *Write) unreadable() bool {
	return len(w.Ops) > 0 && w.Ops[0].Atomic == 0 // setting a versionstamped value drops what was there
}

// Eval returns the value after the commit with stamp, over base, the value that the key has below
// it (nil: absent). It may share memory with base, and with what the transaction has written, where
// it puts the stamp: of calls with several stamps the last one counts.
func (w *Write) Eval(base, stamp []byte) []byte {
	value := base
	if w.Known {
		value = w.Value
	}
	for _, o := range w.Ops {
		if o.Atomic == 0 {
			value = o.Param
			copy(value[o.Offset:], stamp)
			continue
		}
		value = Eval(o.Atomic, value, o.Param)
	}
	return value
}
