package kv

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses after a lost race, at most.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 2 * time.Second
)

// AfterLostRace lets somebody else go on whose commit came in between: who has changed a key is
// likely to have done, or to do soon, what the caller wants. It returns when the key does not have
// a value any more, or after a time that grows with the races lost.
func AfterLostRace(ctx context.Context, s Store, key, value []byte, lost int) error {
	pause, cancel := context.WithTimeout(ctx, racePause(lost))
	defer cancel()
	err := s.Watch(pause, key, value)
	if pause.Err() != nil {
		return ctx.Err()
	}
	return err
}

// PauseAfterLostRace is AfterLostRace where no one key tells that others are done: it waits for all
// of the time. The error is that of ctx.
func PauseAfterLostRace(ctx context.Context, lost int) error {
	timer := time.NewTimer(racePause(lost))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// racePause is random, so that those who race do not meet again.
func racePause(lost int) time.Duration { return rand.N(min(firstPause<<min(lost, 10), lastPause)) }
