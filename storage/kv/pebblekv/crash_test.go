package pebblekv

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
)

// crashDir, in the environment, makes the test binary the process that is killed.
const crashDir = "SETTEE_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		fmt.Fprintln(os.Stderr, crashChild(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// crashRounds is how often the crash tests crash: a few times, or SETTEE_CRASH_ROUNDS times.
func crashRounds(t *testing.T, few int) int {
	env := os.Getenv("SETTEE_CRASH_ROUNDS")
	if env == "" {
		return few
	}
	rounds, err := strconv.Atoi(env)
	if err != nil {
		t.Fatal(err)
	}
	return rounds
}

// crashOptions differ from round to round, so that crashes meet flushes and compactions, too.
func crashOptions() Options {
	opts := Options{Log: silent, MinFreeSpace: 1}
	if rand.IntN(2) == 0 {
		opts.CacheSize, opts.MemTableSize, opts.MaxGroup = 1<<20, 32<<10, 1+rand.IntN(8)
	}
	return opts
}

// crashChild writes the ledger until it is killed, and says on standard output what was
// acknowledged.
func crashChild(dir string) error {
	s, err := Open(dir, crashOptions())
	if err != nil {
		return err
	}
	if err := ledgerStart(s); err != nil {
		return err
	}
	failed := make(chan error)
	for w := range ledgerWriters {
		go func() {
			n := 0
			err := s.View(context.Background(), func(tx kv.ReadTx) (err error) {
				n, err = ledgerLast(tx, w)
				return err
			})
			for err == nil {
				n++
				var stamp kv.Versionstamp
				if stamp, err = ledgerWrite(s, w, n); err == nil {
					_, err = fmt.Fprintf(os.Stdout, "%d %d %x\n", w, n, stamp)
				}
			}
			failed <- err
		}()
	}
	return <-failed
}

// TestCrashKill kills a process that writes, again and again, and looks at what is there each time.
func TestCrashKill(t *testing.T) {
	dir := t.TempDir()
	var last [ledgerWriters]int
	for round := range crashRounds(t, 5) {
		if round%20 == 19 {
			dir, last = t.TempDir(), [ledgerWriters]int{} // checks take longer as the ledger grows
		}
		done := killed(t, dir, last)
		s, err := Open(dir, crashOptions())
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		last = ledgerCheck(t, s, done)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// killed runs a child for a moment, and returns what it acknowledged.
func killed(t *testing.T, dir string, last [ledgerWriters]int) *acks {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	done := &acks{}
	for w := range last {
		done.first[w] = last[w] + 1
	}
	lines := bufio.NewScanner(out)
	kill := time.AfterFunc(time.Minute, func() { child.Process.Kill() })
	for first := true; lines.Scan(); first = false {
		if first {
			if _, err := Open(dir, Options{Log: silent}); !errors.Is(err, kv.ErrLocked) {
				t.Errorf("opened while another process has it: %v", err)
			}
			kill.Reset(time.Duration(rand.IntN(300)) * time.Millisecond)
		}
		var w, n int
		var text string
		if count, _ := fmt.Sscanf(lines.Text(), "%d %d %s", &w, &n, &text); count != 3 || len(text) != 24 {
			break // cut off by the kill
		}
		var stamp kv.Versionstamp
		if _, err := hex.Decode(stamp[:], []byte(text)); err != nil {
			t.Fatal(err)
		}
		done.add(w, stamp)
	}
	if child.Wait(); child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v", child.ProcessState)
	}
	return done
}

// TestCrashPower takes copies of a running store's disk that lack what was not synced, or some of
// it.
func TestCrashPower(t *testing.T) {
	for round := range crashRounds(t, 10) {
		disk := vfs.NewCrashableMem()
		done := &acks{}
		for w := range done.first {
			done.first[w] = 1
		}
		opts := crashOptions()
		opts.fs = disk
		s, err := Open("/data/store", opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := ledgerStart(s); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		var writers sync.WaitGroup
		for w := range ledgerWriters {
			writers.Go(func() { writeUntil(t, s, w, done, stop) })
		}
		for range 3 {
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
			sure := done.clone()
			after := disk.CrashClone(vfs.CrashCloneCfg{
				UnsyncedDataPercent: []int{0, 50, 100}[rand.IntN(3)],
				RNG:                 rand.New(rand.NewPCG(rand.Uint64(), 0)),
			})
			checkPowerLoss(t, after, sure, done)
		}
		close(stop)
		writers.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

func writeUntil(t *testing.T, s *Store, w int, done *acks, stop chan struct{}) {
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		stamp, err := ledgerWrite(s, w, n)
		if err != nil {
			t.Error(err)
			return
		}
		done.add(w, stamp)
	}
}

// checkPowerLoss opens the copy of a disk. sure was acknowledged before the copy was made; while it
// was made, more may have been.
func checkPowerLoss(t *testing.T, disk vfs.FS, sure, later *acks) {
	t.Helper()
	opts := crashOptions()
	opts.fs = disk
	s, err := Open("/data/store", opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if told := strings.Join(s.Losses(), "\n"); strings.Contains(told, "acknowledged") {
		t.Errorf("a crash loses what was not acknowledged only: %s", told)
	}
	for w := range sure.first {
		var last int
		s.View(context.Background(), func(tx kv.ReadTx) (err error) {
			last, err = ledgerLast(tx, w)
			return err
		})
		if want := len(sure.stamp[w]); last < want {
			t.Errorf("writer %d: %d transactions after the crash, %d were acknowledged", w, last, want)
		}
	}
	ledgerCheck(t, s, &acks{first: sure.first, stamp: presentAcks(t, s, later.clone())})
}

// presentAcks cuts the acknowledged transactions to those that are there.
func presentAcks(t *testing.T, s *Store, a *acks) [ledgerWriters][]kv.Versionstamp {
	t.Helper()
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		for w := range a.stamp {
			last, err := ledgerLast(tx, w)
			if err != nil {
				return err
			}
			a.stamp[w] = a.stamp[w][:min(last, len(a.stamp[w]))]
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.stamp
}
