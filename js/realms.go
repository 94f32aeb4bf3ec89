package js

import (
	live "runtime/metrics"

	"github.com/settee-db/settee/compat/ejson"
)

// Realms of map and reduce functions outlive their call: one takes 1 ms to make and 240 KB to keep,
// where many a call has one document for each of twenty functions. What a function leaves in its
// realm is seen by its later calls for the same database, as it is in CouchDB for as long as one
// update of an index lasts.

// keptRealms is how many realms a worker keeps.
const keptRealms = 32

// realmKey is the place of a function's realm: what it is for, the database, the program, and which
// of its functions.
func realmKey(kind command, tenant string, program digest, at int) digest {
	var e encoder
	e.b = append(append(e.b, byte(kind)), program[:]...)
	e.uint(uint64(at))
	e.string(tenant)
	return digestOf(e.b)
}

// takeRealm takes the function that was kept at a place. It is not there any more: a call that
// fails does not give it back, since nobody knows how far it came.
func takeRealm[T any](w *worker, key digest) (f T, ok bool) {
	v, ok := w.realms.Get(key)
	if !ok {
		return f, false
	}
	w.realms.Remove(key)
	f, ok = v.(T)
	return f, ok
}

// keepRealm keeps a function for a later call.
func (w *worker) keepRealm(key digest, f interface{ rest() }) {
	f.rest()
	w.realms.Add(key, f)
}

// rest drops what a sandbox has of its last call.
func (s *sandbox) rest() {
	s.parser, s.printed, s.scratch = ejson.Parser{}, ejson.Parser{}, nil
}

// dropCrowdedRealms drops the realms where what is in use is much of what the worker may fill.
func (w *worker) dropCrowdedRealms() {
	live.Read(w.live[:])
	if w.realms.Len() > 0 && int64(w.live[0].Value.Uint64()) > w.memory/4 {
		w.realms.Purge()
	}
}
