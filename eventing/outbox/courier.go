package outbox

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/eventing/alarm"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// mostDeliveries is how many messages of a function a process delivers at a time.
	mostDeliveries = 16
	// readAhead is how many messages to a destination are known that wait for their turn.
	readAhead = 100
)

// Work is what a Courier delivers, and how.
type Work struct {
	KV  kv.Store
	Box Box
	// Alarm is set whenever there is a message in one of the partitions.
	Alarm *alarm.Alarm
	Among []int // partitions
	Now   func() time.Time
	// Concurrency is how many messages are delivered to a destination at a time.
	Concurrency int
	// Deliver makes an attempt, and tells when there is to be another one, alarm.Never for none. Its
	// error ends the work.
	Deliver func(ctx context.Context, w Waiting) (again int64, err error)
	// Busy is how many messages wait for their turn or are being delivered.
	Busy *atomic.Int64
}

// Courier delivers the messages of some partitions. Messages have no order: one that has to wait holds
// up no other, and a destination that is slow no other destination. It is used by one goroutine.
type Courier struct {
	Work

	wake    chan struct{}
	known   map[string]bool      // messages that wait for their turn or are being delivered
	waiting map[string][]Waiting // by destination
	full    map[string][]int     // partitions that have more for a destination
	running map[string]int       // deliveries by destination
	all     int                  // of these
	ended   chan endedDelivery
}

// endedDelivery is a delivery that has ended; again and err are those of Work.Deliver.
type endedDelivery struct {
	Waiting

	again int64
	err   error
}

// NewCourier makes a Courier, which is woken from now on.
func NewCourier(work Work) *Courier {
	return &Courier{
		Work: work, wake: work.Alarm.Watch(work.Among), known: make(map[string]bool),
		waiting: make(map[string][]Waiting), full: make(map[string][]int),
		running: make(map[string]int), ended: make(chan endedDelivery, mostDeliveries),
	}
}

// Run delivers messages until ctx ends; then no new delivery is begun, and hard ends those that
// run.
func (c *Courier) Run(ctx, hard context.Context) (err error) {
	hard, drop := context.WithCancel(hard)
	defer drop()
	defer func() {
		for c.all > 0 {
			err = errors.Join(err, c.end(<-c.ended))
		}
	}()
	for ctx.Err() == nil {
		next, err := c.look(ctx)
		if err != nil {
			return err
		}
		c.start(hard)
		if err := c.wait(ctx, next); err != nil {
			drop()
			return err
		}
	}
	return ctx.Err()
}

// look reads what is due, and tells when the next message is.
func (c *Courier) look(ctx context.Context) (next int64, err error) {
	now := c.Now().UnixMilli()
	in, next := c.Alarm.Due(c.Among, now)
	if len(in) == 0 {
		return next, nil
	}
	var list []Waiting
	var full map[string][]int
	var nexts []int64
	err = kv.ViewAgain(ctx, c.KV, func(tx kv.ReadTx) error {
		list, full, nexts = nil, make(map[string][]int), slices.Repeat([]int64{alarm.Never}, len(in))
		if sizes, err := c.Box.Sizes(tx); err != nil || sizes.Waiting == 0 {
			return err
		}
		for i, p := range in {
			some, more, then, err := c.Box.Due(tx, p, now, func(destination string) int {
				room := readAhead - len(c.waiting[destination])
				for j := range list {
					if list[j].Destination == destination {
						room--
					}
				}
				return max(room, 0)
			}, func(id string) bool { return c.known[id] })
			if err != nil {
				return err
			}
			list, nexts[i] = append(list, some...), then
			for _, destination := range more {
				full[destination] = append(full[destination], p)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for i, p := range in {
		c.Alarm.Set(p, nexts[i])
		next = min(next, nexts[i])
	}
	for destination, partitions := range full {
		c.full[destination] = append(c.full[destination], partitions...)
	}
	for _, w := range list {
		c.known[w.ID] = true
		c.waiting[w.Destination] = append(c.waiting[w.Destination], w)
	}
	return next, nil
}

// start begins as many deliveries as there may be.
func (c *Courier) start(ctx context.Context) {
	for destination, list := range c.waiting {
		for len(list) > 0 && c.all < mostDeliveries && c.running[destination] < c.Concurrency {
			w := list[0]
			list = list[1:]
			c.all++
			c.running[destination]++
			go func() {
				again, err := c.Deliver(ctx, w)
				c.ended <- endedDelivery{w, again, err}
			}()
		}
		if c.waiting[destination] = list; len(list) == 0 {
			delete(c.waiting, destination)
			for _, p := range c.full[destination] {
				c.Alarm.Set(p, 0)
			}
			delete(c.full, destination)
		}
	}
	c.Busy.Store(int64(len(c.known)))
}

// end notes that a delivery has ended.
func (c *Courier) end(d endedDelivery) error {
	c.all--
	if c.running[d.Destination]--; c.running[d.Destination] == 0 {
		delete(c.running, d.Destination)
	}
	delete(c.known, d.ID)
	c.Alarm.Set(d.Partition, d.again)
	c.Busy.Store(int64(len(c.known)))
	return d.err
}

// wait waits until a delivery has ended, or until there is something to look at: at a time, or because
// a message was published. Where all that is due is known already, only the former helps.
func (c *Courier) wait(ctx context.Context, next int64) error {
	timer := time.NewTimer(min(time.UnixMilli(next).Sub(c.Now()), time.Hour))
	defer timer.Stop()
	select {
	case d := <-c.ended:
		return c.end(d)
	case <-timer.C:
	case <-c.wake:
	case <-ctx.Done():
	}
	return nil
}
