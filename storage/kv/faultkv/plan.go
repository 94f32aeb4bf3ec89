package faultkv

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Outcome is what becomes of a run of an Update's function that returned nil.
type Outcome uint8

const (
	// Commit lets the engine commit.
	Commit Outcome = iota
	// Conflict discards the run, as if another commit had written what it read; the function runs
	// again.
	Conflict
	// UnknownAborted is a commit without an answer that turns out not to have happened: after
	// Plan.Unknown the function runs again.
	UnknownAborted
	// UnknownCommitted is a commit without an answer that turns out to have happened: others see it
	// during Plan.Unknown, before Update returns.
	UnknownCommitted
	// TooOld discards the run, as if it had taken too long; the function runs again.
	TooOld
	// TooLarge fails Update with kv.ErrTooLarge.
	TooLarge
	// Full fails Update with kv.ErrFull.
	Full
)

// Read names a read: a Get, GetMany, ReadVersion, SizeEstimate or a step of an iterator.
type Read struct {
	Update bool // in an Update; else in a View
	Call   int  // of Update or View since the store was wrapped, from 1
	Run    int  // of the function within the call, from 1
	N      int  // within the run, from 1
}

// Plan decides what happens. Its functions are called by several goroutines at once; nil functions
// let everything pass.
type Plan struct {
	// Commit tells the outcome of run number run (from 1) of the Update number call (from 1). It is
	// asked only about runs whose function returned nil.
	Commit func(call, run int) Outcome
	// TooOld reports whether the read, and all later ones of the same run, fail with kv.ErrTooOld.
	TooOld func(Read) bool
	// Delay tells how long the transaction is held up, before it begins and before its commit.
	Delay func() time.Duration
	// Unknown lasts as long as the outcome of a commit is unknown; nil: some milliseconds.
	Unknown func()
}

// Script returns a Plan in which the first run of the n-th Update (from 1) has outcomes[n].
func Script(outcomes map[int]Outcome) Plan {
	return Plan{Commit: func(call, run int) Outcome {
		if run > 1 {
			return Commit
		}
		return outcomes[call]
	}}
}

// Rates are the probabilities of the events of a random plan.
type Rates struct {
	// Each is from 0 to 1; the rest of the runs go as they would.
	Conflict         float64 // per run of an Update
	UnknownAborted   float64
	UnknownCommitted float64
	TooOld           float64
	TooLarge         float64
	Full             float64

	TooOldRead float64       // per read
	MaxDelay   time.Duration // each delay is below it
}

// Random returns a Plan that follows rates with the randomness of seed. The same seed repeats the
// same decisions as long as transactions ask in the same order, which is so with one caller at a
// time.
func Random(seed uint64, rates Rates) Plan {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return rng.Float64()
	}
	table := []struct {
		outcome Outcome
		rate    float64
	}{
		{Conflict, rates.Conflict}, {UnknownAborted, rates.UnknownAborted}, {UnknownCommitted, rates.UnknownCommitted},
		{TooOld, rates.TooOld}, {TooLarge, rates.TooLarge}, {Full, rates.Full},
	}
	return Plan{
		Commit: func(int, int) Outcome {
			left := draw()
			for _, entry := range table {
				if left < entry.rate {
					return entry.outcome
				}
				left -= entry.rate
			}
			return Commit
		},
		TooOld: func(Read) bool { return rates.TooOldRead > 0 && draw() < rates.TooOldRead },
		Delay:  func() time.Duration { return time.Duration(draw() * float64(rates.MaxDelay)) },
	}
}
