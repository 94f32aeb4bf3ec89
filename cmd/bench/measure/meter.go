package measure

import (
	"context"
	"time"
)

// sampleEvery is how often resident memory is looked at.
const sampleEvery = 100 * time.Millisecond

// resources are what a server and this process used during a round.
type resources struct {
	serverCPU time.Duration
	laterCPU  time.Duration // of the server, after the round, until it came to rest
	clientCPU time.Duration
	elapsed   time.Duration
	peakRSS   int64 // of the server, bytes
}

// meter watches a server's process from start to stop. Of a server that runs elsewhere it knows
// nothing.
type meter struct {
	pid    int
	before usage
	own    time.Duration
	start  time.Time
	done   chan struct{}
	peak   chan int64
}

func startMeter(t *Target) (*meter, error) {
	m := &meter{pid: t.PID, done: make(chan struct{}), peak: make(chan int64, 1)}
	if m.pid != 0 {
		var err error
		if m.before, err = usageOf(m.pid); err != nil {
			return nil, err
		}
		go m.watch(family(m.pid))
	}
	m.start, m.own = time.Now(), ownCPU()
	return m, nil
}

// watch looks at the processes that there were at the start; those that come later show in the last
// look.
func (m *meter) watch(pids []int) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	peak := m.before.rss
	for {
		select {
		case <-m.done:
			m.peak <- peak
			return
		case <-tick.C:
			peak = max(peak, residentOf(m.pid, pids))
		}
	}
}

const (
	// restful is the part of a core that a server at rest takes at most, in one pause after the
	// other.
	restful     = 0.1
	restfulness = 3 // pauses in a row
	maxRest     = 100
)

// comeToRest waits until a server does nothing any more, or for maxRest pauses, so that what it has
// put off does not run while the other server is measured. It returns the CPU time that this took:
// it belongs to what was done before.
func comeToRest(ctx context.Context, t *Target, pause time.Duration) (later time.Duration, err error) {
	if t.PID == 0 {
		return 0, sleep(ctx, pause)
	}
	last, err := usageOf(t.PID)
	for quiet, n := 0, 0; err == nil && quiet < restfulness && n < maxRest; n++ {
		if err = sleep(ctx, pause); err != nil {
			break
		}
		var now usage
		if now, err = usageOf(t.PID); err != nil {
			break
		}
		used := now.cpu - last.cpu
		later, last = later+used, now
		if quiet++; used.Seconds() > restful*pause.Seconds() {
			quiet = 0
		}
	}
	return later, err
}

func (m *meter) stop() (resources, error) {
	r := resources{elapsed: time.Since(m.start), clientCPU: ownCPU() - m.own}
	if m.pid == 0 {
		return r, nil
	}
	close(m.done)
	peak := <-m.peak
	after, err := usageOf(m.pid)
	r.serverCPU = after.cpu - m.before.cpu
	r.peakRSS = max(peak, after.rss)
	return r, err
}
