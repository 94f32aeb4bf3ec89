package bench

import "time"

// sampleEvery is how often resident memory is looked at.
const sampleEvery = 100 * time.Millisecond

// resources are what a server and this process used during a round.
type resources struct {
	serverCPU time.Duration
	clientCPU time.Duration
	elapsed   time.Duration
	peakRSS   int64 // of the server, bytes
}

// meter watches a server's process from start to stop. Of a server that runs elsewhere it knows nothing.
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

// watch looks at the processes that there were at the start; those that come later show in the last look.
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
