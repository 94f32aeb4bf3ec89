package eventing

import (
	"fmt"

	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Keys of a deployed function. All of it lies below one prefix, the instance's, so that to undeploy
// is to clear one range. The numbers are on disk.
//
//	(partition, p)                    sequence up to which the effects of a partition's events are stored
//	(due, …), (ref, …)                timers in the order of time, and by their names (package timers)
//	(progress)                        uuid of the source, sequence at which the instance began
//	(owner, p)                        id of the process that works on a partition; none: nobody
//	(done, p)                         sequence up to which all events of a partition are done, with effects or not
//	(ownersChanged)                   counts changes of owners, 8 bytes little-endian; what is watched
//	(stats, node)                     what a process has counted, JSON; the zero id: those that are gone
//	(resets)                          counts resets of what was counted, 8 bytes little-endian
//	(ends, process)                   a process that ended without a shutdown while it ran the function; 1
//	(outbox, …)                       messages that handlers have published (package outbox)
const (
	rootInstances = 4 // below keyspace.EventingPrefix; package registry has the others

	tagPartition     = 0
	tagDue           = 1
	tagRef           = 2
	tagProgress      = 3
	tagOwner         = 4
	tagDone          = 5
	tagOwnersChanged = 6
	tagStats         = 7
	tagResets        = 8
	tagEnds          = 9
	tagOutbox        = 10
)

// partitions is how many lists of events a function has.
const partitions = feed.Partitions

// space is the key prefix of an instance. Its methods give keys of their own memory.
type space string

func spaceOf(instance int64) space {
	return space(tuple.AppendInt(tuple.AppendInt(keyspace.EventingPrefix(), rootInstances), instance))
}

func (s space) sub(tag int64) []byte { return tuple.AppendInt([]byte(s), tag) }

func (s space) partition(p int) []byte { return tuple.AppendInt(s.sub(tagPartition), int64(p)) }

func (s space) progress() []byte { return s.sub(tagProgress) }

func (s space) owner(p int) []byte { return tuple.AppendInt(s.sub(tagOwner), int64(p)) }

func (s space) done(p int) []byte { return tuple.AppendInt(s.sub(tagDone), int64(p)) }

func (s space) ownersChanged() []byte { return s.sub(tagOwnersChanged) }

// timers is where the timers of an instance are.
func (s space) timers() timers.List { return timers.Below(s.sub(tagDue), s.sub(tagRef)) }

// below is the range of a key and all that it begins.
func below(key []byte) (begin, end []byte) { return key, append(key[:len(key):len(key)], 0xff) }

// clearInstance forgets all that is kept of an instance.
func clearInstance(tx kv.Tx, instance int64) { tx.ClearRange(below([]byte(spaceOf(instance)))) }

// corrupt reports stored bytes that no code of ours writes.
func corrupt(what string) error { return fmt.Errorf("eventing: malformed %s: %w", what, kv.ErrCorrupt) }
