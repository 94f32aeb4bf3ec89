package js

import (
	"sync"
	"time"

	"github.com/dop251/goja"
)

// eventClock interrupts the invocation that runs when its time is over. One timer serves all
// invocations of a batch: it looks at the deadline when it fires, and goes on to the next one.
type eventClock struct {
	mu       sync.Mutex
	vm       *goja.Runtime // that runs
	deadline time.Time     // of the invocation; zero: none runs
	timer    *time.Timer
	due      time.Time // of the timer; zero: it is not set
}

// begin starts the time of an invocation.
func (c *eventClock) begin(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = deadline
	if c.due.IsZero() || deadline.Before(c.due) {
		c.set(deadline)
	}
}

// watch says what is to be interrupted.
func (c *eventClock) watch(vm *goja.Runtime) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vm = vm
	if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		vm.Interrupt(errEventTimeout) // the timer had nothing to interrupt
	}
}

// end ends the time of the invocation: nothing is interrupted any more.
func (c *eventClock) end() {
	c.mu.Lock()
	c.vm, c.deadline = nil, time.Time{}
	c.mu.Unlock()
}

// stop ends the timer.
func (c *eventClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}

// set sets the timer. The mutex is held.
func (c *eventClock) set(due time.Time) {
	c.due = due
	if c.timer == nil {
		c.timer = time.AfterFunc(time.Until(due), c.fire)
		return
	}
	c.timer.Reset(time.Until(due))
}

func (c *eventClock) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = time.Time{}
	switch now := time.Now(); {
	case c.deadline.IsZero():
	case now.Before(c.deadline):
		c.set(c.deadline)
	case c.vm != nil:
		c.vm.Interrupt(errEventTimeout)
	}
}
