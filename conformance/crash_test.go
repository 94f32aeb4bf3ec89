package conformance

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	crashWriters = 8
	crashDB      = "crash"
)

// crashRounds is how often TestCrash kills the server: once, or SETTEE_CRASH_ROUNDS times (make
// crash).
func crashRounds(t *testing.T) int {
	env := os.Getenv("SETTEE_CRASH_ROUNDS")
	if env == "" {
		return 1
	}
	rounds, err := strconv.Atoi(env)
	if err != nil {
		t.Fatalf("SETTEE_CRASH_ROUNDS: %v", err)
	}
	return rounds
}

// crashData is the data directory: SETTEE_CRASH_DATA, which must not exist and stays, or one that
// goes with the test.
func crashData(t *testing.T) string {
	if dir := os.Getenv("SETTEE_CRASH_DATA"); dir != "" {
		return dir
	}
	return t.TempDir()
}

// crashBegin starts a server for a test that kills it, and says by which seed its numbers are drawn.
// The server is killed at the end of the test. env are further settings of it, as "NAME=value".
func crashBegin(t *testing.T, env ...string) (s *Server, c *client, dir string, seed uint64, random *rand.Rand) {
	t.Helper()
	seed = uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dir = crashData(t)
	s, err := Engines[0].Start(t.Context(), dir, env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	return s, clientFor(t, s.Addr), dir, seed, rand.New(rand.NewPCG(seed, 0))
}

// TestCrash kills the server while writers are at work, over and over on the same data. After each
// kill the store must pass the server's own check, and the restarted server must show every
// acknowledged write, each unanswered one wholly or not at all, and nothing else, in all its
// indexes alike (crashverify_test.go). A follower reads the changes feed across the crashes, as a
// replication with a checkpoint would, and must end up with the same picture.
func TestCrash(t *testing.T) {
	rounds := crashRounds(t)
	s, c, dir, seed, random := crashBegin(t)
	c.want(http.StatusCreated, c.do("PUT", "/"+crashDB, ""))
	writers := make([]*crashWriter, crashWriters)
	for i := range writers {
		writers[i] = newCrashWriter(i, c.base, rand.New(rand.NewPCG(seed, uint64(i+1))))
	}
	follower := &crashFollower{base: c.base, revs: map[string]string{}, since: "0"}
	for round := range rounds {
		crashRound(t, s, writers, follower, random, int64(round+1)*crashWriters)
		checkData(t, dir)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		verifyAfterCrash(t, c, writers, round == rounds-1)
		follower.verify(t, c)
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", round, seed)
		}
	}
	count := crashAcknowledged(writers)
	t.Logf("%d kills, %d acknowledged writes, 0 lost", rounds, count)
	if count < int64(rounds)*crashWriters {
		t.Error("hardly a write got through: the test shows nothing")
	}
}

// crashAcknowledged is the number of all acknowledged writes. The writers may be at work.
func crashAcknowledged(writers []*crashWriter) int64 {
	var count int64
	for _, w := range writers {
		count += w.acknowledged.Load()
	}
	return count
}

// crashRound lets all writers and the follower work for a moment and kills the server under them;
// on a machine that is so busy that fewer than enough writes have been acknowledged, in all rounds,
// it waits for them. Now and then the server was just about to stop by itself.
func crashRound(
	t *testing.T,
	s *Server,
	writers []*crashWriter,
	follower *crashFollower,
	random *rand.Rand,
	enough int64,
) {
	t.Helper()
	work, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() { w.run(work) })
	}
	group.Go(func() { follower.run(work) })
	time.Sleep(time.Duration(20+random.IntN(500)) * time.Millisecond)
	for end := time.Now().Add(20 * time.Second); crashAcknowledged(writers) < enough && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if random.IntN(8) == 0 {
		s.Interrupt()
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
	}
	s.Kill()
	stop()
	group.Wait()
	for _, w := range writers {
		if w.failure != nil {
			t.Fatalf("writer %s: %v", w.name, w.failure)
		}
	}
	if follower.failure != nil {
		t.Fatalf("follower: %v", follower.failure)
	}
}

// checkData runs the server's own check of a stopped data directory.
func checkData(t *testing.T, dir string) {
	t.Helper()
	if err := CheckData(context.WithoutCancel(t.Context()), dir); err != nil {
		t.Fatal(err)
	}
}
