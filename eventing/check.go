package eventing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/applog"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Violation is something stored that is not as the package promises.
type Violation struct {
	Subject string // a function's instance, a log, a database
	// Invariant is its number in the package's comment; 0 for those of package registry, which
	// Detail names.
	Invariant int
	Detail    string
}

// String is one line for people.
func (v Violation) String() string {
	if v.Invariant == 0 {
		return "eventing: " + v.Subject + ": " + v.Detail
	}
	return fmt.Sprintf("eventing: %s: invariant %d: %s", v.Subject, v.Invariant, v.Detail)
}

const (
	// checkWindow is how many keys Check reads from one snapshot at a time.
	checkWindow = 1000
	// enoughViolations end a check: what has so many needs no more.
	enoughViolations = 1000
)

// errManyViolations ends a check.
var errManyViolations = errors.New("eventing: too many violations")

// Check verifies invariants 8 to 13 and 17 of a store which engine is below, and those of package
// registry. What it says of the pieces of contexts and logs, and of outboxes, is right if no function
// runs meanwhile.
func Check(ctx context.Context, engine kv.Store, s *storage.Store) ([]Violation, error) {
	c := checker{engine: engine, store: s, reached: make(map[int64]reached), boxes: make(map[int64]*outbox.Checker)}
	wrong, err := registry.Check(ctx, engine)
	if err != nil {
		return nil, err
	}
	for _, text := range wrong {
		c.violate("registry", 0, "%s", text)
	}
	steps := []func(context.Context) error{c.roots, c.instances, c.progresses, c.logs, c.origins}
	for _, step := range steps {
		if err := step(ctx); errors.Is(err, errManyViolations) {
			break
		} else if err != nil {
			return c.found, err
		}
	}
	return c.found, nil
}

// checker is a running Check.
type checker struct {
	engine kv.Store
	store  *storage.Store
	found  []Violation

	deployed map[int64]*registry.Record // by instance
	reached  map[int64]reached
	boxes    map[int64]*outbox.Checker
	timers   timers.Checker
}

// reached is how far an instance has come.
type reached struct {
	source [16]byte
	seq    storage.Seq
	where  string // what has come so far
}

func (c *checker) violate(subject string, invariant int, format string, args ...any) {
	c.found = append(c.found, Violation{subject, invariant, fmt.Sprintf(format, args...)})
}

// walk reads all keys below a prefix; fn is as for kv.Walk.
func (c *checker) walk(
	ctx context.Context,
	prefix []byte,
	fn func(r kv.ReadTx, window []kv.Row) error,
) error {
	begin, end := below(prefix)
	return kv.Walk(ctx, c.engine, begin, end, checkWindow, func(r kv.ReadTx, window []kv.Row) error {
		if len(c.found) > enoughViolations {
			return errManyViolations
		}
		return fn(r, window)
	})
}

// roots looks for keys below eventing's prefix that belong to no part of it.
func (c *checker) roots(ctx context.Context) error {
	prefix := keyspace.EventingPrefix()
	begin, end := below(prefix)
	return c.engine.View(ctx, func(tx kv.ReadTx) (err error) {
		if c.deployed, err = registry.Instances(tx); err != nil {
			return err
		}
		for _, gap := range [][2][]byte{
			{begin, tuple.AppendInt(bytes.Clone(prefix), 0)},
			{registry.KeysEnd(), end},
		} {
			it := tx.Range(gap[0], gap[1], kv.RangeOptions{Limit: 1})
			if it.Next() {
				c.violate("keys", 13, "key %q is of no kind", it.Key())
			}
			if err := it.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// instances checks all that is stored of instances, in windows of one snapshot each: functions may
// run meanwhile. A timer is stored by two keys, which may be in different windows; the other one is
// read in the window's snapshot (timerEntries).
func (c *checker) instances(ctx context.Context) error {
	prefix := tuple.AppendInt(keyspace.EventingPrefix(), rootInstances)
	defer func() {
		for _, box := range c.boxes {
			box.End()
		}
	}()
	return c.walk(ctx, prefix, func(r kv.ReadTx, window []kv.Row) error {
		if err := c.refresh(r, prefix, window); err != nil {
			return err
		}
		entries, others, err := timerEntries(r, prefix, window)
		if err != nil {
			return err
		}
		for i, row := range window {
			instance, rest, err := tuple.ReadInt(row.Key[len(prefix):])
			if err != nil {
				c.violate("keys", 13, "key %q is of no instance", row.Key)
				continue
			}
			subject := fmt.Sprintf("instance %d", instance)
			if c.deployed[instance] == nil {
				c.violate(subject, 9, "key %q is of no deployed function", row.Key)
				continue
			}
			tag, rest, err := tuple.ReadInt(rest)
			switch {
			case err != nil:
				c.violate(subject, 13, "key %q is of no kind", row.Key)
			case tag == tagDue, tag == tagRef:
				if err := c.timers.Row(entries[i], row, others[i]); errors.Is(err, kv.ErrCorrupt) {
					c.violate(subject, 13, "%v", err)
				} else if err != nil {
					c.violate(subject, 8, "%v", err)
				}
			case tag == tagProgress && len(rest) == 0:
				c.progress(subject, instance, row.Value)
			case tag == tagPartition, tag == tagDone:
				c.partition(subject, instance, rest, row)
			case tag == tagOwner:
				c.owner(subject, rest, row)
			case (tag == tagOwnersChanged || tag == tagResets) && len(rest) == 0:
				if len(row.Value) != len(oneMore) {
					c.violate(subject, 13, "malformed count of changes")
				}
			case tag == tagEnds:
				if id, rest, err := tuple.ReadString(rest); err != nil || len(rest) > 0 || len(id) != len(nodes.ID{}) {
					c.violate(subject, 13, "malformed end %q", row.Key)
				}
			case tag == tagOutbox:
				c.outbox(subject, instance, rest, row.Value)
			case tag == tagStats:
				if _, _, err := parseStats(rest, row.Value); err != nil {
					c.violate(subject, 13, "key %q: %v", row.Key, err)
				}
			default:
				c.violate(subject, 13, "key %q is of no kind", row.Key)
			}
		}
		return nil
	})
}

// refresh reads the records again where a window has instances that they do not have: of functions
// that were deployed meanwhile.
func (c *checker) refresh(r kv.ReadTx, prefix []byte, window []kv.Row) (err error) {
	for _, row := range window {
		if instance, _, err := tuple.ReadInt(row.Key[len(prefix):]); err == nil && c.deployed[instance] == nil {
			c.deployed, err = registry.Instances(r)
			return err
		}
	}
	return nil
}

// timerEntries reads the other entry of each timer in a window, all in one request. The results are
// by the row's place in the window: the timer's entry, nil for rows that are no timers, and what is
// stored at its other one.
func timerEntries(r kv.ReadTx, prefix []byte, window []kv.Row) ([]*timers.Entry, [][]byte, error) {
	entries, others := make([]*timers.Entry, len(window)), make([][]byte, len(window))
	var order []int
	var keys [][]byte
	for i, row := range window {
		instance, rest, err := tuple.ReadInt(row.Key[len(prefix):])
		if err != nil {
			continue
		}
		tag, rest, err := tuple.ReadInt(rest)
		switch list := spaceOf(instance).timers(); {
		case err != nil:
			continue
		case tag == tagDue:
			entries[i] = list.ByTime(rest, row.Value)
		case tag == tagRef:
			entries[i] = list.ByName(rest, row.Value)
		default:
			continue
		}
		if other := entries[i].Other; other != nil {
			order, keys = append(order, i), append(keys, other)
		}
	}
	values, err := r.GetMany(keys)
	for n := range values {
		others[order[n]] = values[n]
	}
	return entries, others, err
}

// progress checks the form of what an instance has done.
func (c *checker) progress(subject string, instance int64, value []byte) {
	r := c.reached[instance]
	if len(value) != 1+len(r.source)+keyspace.SeqSize || value[0] != 1 {
		c.violate(subject, 13, "malformed progress")
	}
	copy(r.source[:], value[min(1, len(value)):])
	c.reached[instance] = r
	if seq, err := keyspace.ParseSeq(value); err == nil {
		c.reach(instance, seq, "the progress")
	}
}

// partition checks the form of what is done of a partition.
func (c *checker) partition(subject string, instance int64, rest []byte, row kv.Row) {
	p, rest, err := tuple.ReadInt(rest)
	if err != nil || len(rest) > 0 || p < 0 || p >= partitions || len(row.Value) != keyspace.SeqSize {
		c.violate(subject, 13, "malformed partition %q", row.Key)
		return
	}
	if seq, err := keyspace.ParseSeq(row.Value); err == nil {
		c.reach(instance, seq, fmt.Sprintf("partition %d", p))
	}
}

// owner checks the form of an entry that says which process works on a partition.
func (c *checker) owner(subject string, rest []byte, row kv.Row) {
	p, rest, err := tuple.ReadInt(rest)
	if err != nil || len(rest) > 0 || p < 0 || p >= partitions || len(row.Value) != len(nodes.ID{}) {
		c.violate(subject, 13, "malformed owner %q", row.Key)
	}
}

// outbox checks a row of an instance's outbox; rest is its key behind the tag.
func (c *checker) outbox(subject string, instance int64, rest, value []byte) {
	box := c.boxes[instance]
	if box == nil {
		box = outbox.NewChecker(partitions, func(form bool, text string) {
			invariant := 17
			if form {
				invariant = 13
			}
			c.violate(subject, invariant, "%s", text)
		})
		c.boxes[instance] = box
	}
	box.Row(rest, value)
}

// reach notes how far something of an instance has come.
func (c *checker) reach(instance int64, seq storage.Seq, where string) {
	r := c.reached[instance]
	if r.seq.Before(seq) {
		r.seq, r.where = seq, where
	}
	c.reached[instance] = r
}

// progresses compares how far instances have come with their sources, which may be gone.
func (c *checker) progresses(ctx context.Context) error {
	for instance, record := range c.deployed {
		subject := fmt.Sprintf("instance %d", instance)
		r, known := c.reached[instance]
		if !known || r.source == [16]byte{} {
			if err := c.withoutProgress(ctx, subject, instance); err != nil {
				return err
			}
			continue
		}
		source := record.Running().Bindings.SourceBucket
		err := c.store.DB(source).ViewAgain(ctx, func(s *storage.Snapshot) error {
			last, err := s.LastSeq()
			if err == nil && s.UUID() == r.source && last.Before(r.seq) {
				c.violate(subject, 10, "%s has come further than the changes of %s", r.where, source)
			}
			return err
		})
		if err != nil && !errors.Is(err, compat.KindNoDatabase) {
			return err
		}
	}
	return nil
}

// withoutProgress reports an instance that was seen without a progress, if it still is there.
func (c *checker) withoutProgress(ctx context.Context, subject string, instance int64) error {
	return c.engine.View(ctx, func(tx kv.ReadTx) error {
		now, err := registry.Instances(tx)
		if err != nil || now[instance] == nil {
			return err
		}
		value, err := tx.Get(spaceOf(instance).progress())
		if err == nil && value == nil {
			c.violate(subject, 10, "there is no progress")
		}
		return err
	})
}

// logs checks what functions have logged.
func (c *checker) logs(ctx context.Context) error {
	prefix := tuple.AppendInt(keyspace.EventingPrefix(), applog.Root)
	logs := applog.Checker{Violate: func(form bool, text string) {
		invariant := 11
		if form {
			invariant = 13
		}
		c.violate("logs", invariant, "%s", text)
	}}
	defer logs.End()
	return c.walk(ctx, prefix, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			logs.Row(row.Key[len(prefix):], row.Value)
		}
		return nil
	})
}

// origins checks what databases have of where revisions come from.
func (c *checker) origins(ctx context.Context) error {
	return c.store.EachDB(ctx, func(db *storage.DB) error {
		var prefix []byte
		if err := db.ViewAgain(ctx, func(s *storage.Snapshot) error {
			prefix = s.AppendPrefix(nil, keyspace.TagEventing)
			return nil
		}); err != nil {
			return err
		}
		subject := "database " + db.Name()
		return c.walk(ctx, prefix, func(r kv.ReadTx, window []kv.Row) error {
			last, err := registry.LastInstance(r)
			if errors.Is(err, kv.ErrCorrupt) {
				last = math.MaxInt64 // it was told already
			} else if err != nil {
				return err
			}
			for _, row := range window {
				_, rest, err := tuple.ReadString(row.Key[len(prefix):])
				if err != nil || len(rest) > 0 {
					c.violate(subject, 13, "key %q is of no origin", row.Key)
					continue
				}
				var o feed.Origin
				_, value, err := keyspace.ParseRevision(row.Value)
				if err == nil {
					o, err = feed.ParseOrigin(value)
				}
				if err != nil {
					c.violate(subject, 13, "key %q: %v", row.Key, err)
				} else if o.Instance < 0 || o.Instance > last {
					c.violate(subject, 12, "key %q: instance %d, the last one is %d", row.Key, o.Instance, last)
				}
			}
			return nil
		})
	})
}
