package kvtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// OpenRandom is Open with options of the engine drawn from rng. A reopened store may have other options than before.
type OpenRandom func(t testing.TB, dir string, rng *rand.Rand) kv.Store

// Metamorphic runs random histories, each on the reference model and on the engine, and compares everything that the
// two tell: what each read saw, how often each function ran, and what was there in the end.
func Metamorphic(t *testing.T, open OpenRandom) {
	rounds, length := 60, 60
	if testing.Short() {
		rounds = 10
	}
	base, seed := seeded(t)
	for round := range rounds {
		if round > 0 {
			seed = base.Uint64()
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { compareHistory(t, open, seed, length) })
		if t.Failed() {
			return
		}
	}
}

// compareHistory plays the history of seed on both stores.
func compareHistory(t *testing.T, open OpenRandom, seed uint64, length int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var history []*transaction
	for range length {
		tr := randomTransaction(rng, 2)
		tr.reopen = rng.IntN(20) == 0
		history = append(history, tr)
	}
	disks := map[string]*memkv.Disk{}
	want := play(t, history, func(t testing.TB, dir string) kv.Store { return OpenMem(t, disks, dir) })
	options := rand.New(rand.NewPCG(seed, 2))
	got := play(t, history, func(t testing.TB, dir string) kv.Store { return open(t, dir, options) })
	for i := range max(len(want), len(got)) {
		if i < len(want) && i < len(got) && want[i] == got[i] {
			continue
		}
		t.Errorf("to repeat: KVTEST_SEED=%d; the histories part at line %d:\n%s", seed, i,
			strings.Join(want[max(0, min(i, len(want))-30):min(i, len(want))], "\n"))
		t.Errorf("model:  %s", strings.Join(want[min(i, len(want)):min(i+5, len(want))], "\n        "))
		t.Fatalf("engine: %s", strings.Join(got[min(i, len(got)):min(i+5, len(got))], "\n        "))
	}
}

// OpenMem opens the memkv store of dir, whose data is kept in disks. It is an [Open] for memkv with disks bound.
func OpenMem(t testing.TB, disks map[string]*memkv.Disk, dir string) kv.Store {
	if disks[dir] == nil {
		disks[dir] = memkv.NewDisk()
	}
	store, err := disks[dir].Open()
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// player plays a history on one store and writes down what it sees.
type player struct {
	*store
	lines  []string
	stamps map[string]string // engine part of a versionstamp: its place in the order of commits
}

func (p *player) saw(format string, args ...any) {
	p.lines = append(p.lines, "  "+fmt.Sprintf(format, args...))
}

// known replaces the versionstamps in b, which differ from engine to engine, by their place in the order of commits.
func (p *player) known(b []byte) []byte {
	if b == nil {
		return []byte("<nil>")
	}
	text := string(b)
	if n, ok := p.stamps[between(text, "s/\x33", 2)]; ok {
		return []byte("s/" + n + text[13:])
	}
	if n, ok := p.stamps[between(text, "<", 1)]; ok {
		return []byte("<" + n + text[11:])
	}
	if len(text) > 60 {
		return fmt.Appendf(nil, "%s…%d", text[:60], len(text))
	}
	return b
}

// between returns the versionstamp in text after prefix and before rest more bytes; "" when there is none.
func between(text, prefix string, rest int) string {
	if strings.HasPrefix(text, prefix) && len(text) >= len(prefix)+kv.VersionstampSize+rest {
		return text[len(prefix) : len(prefix)+kv.VersionstampSize]
	}
	return ""
}

func errorName(err error) string {
	if errors.Is(err, kv.ErrUnreadable) {
		return "unreadable"
	}
	return fmt.Sprint(err)
}

// play runs the history on a new store and returns what it saw, line by line.
func play(t testing.TB, history []*transaction, open Open) []string {
	p := &player{store: newStore(t, open), stamps: map[string]string{}}
	defer func() { p.Close() }()
	for _, tr := range history {
		if tr.reopen {
			p.reopen()
		}
		p.play(tr)
	}
	p.lines = append(p.lines, "in the end")
	p.view(func(tx kv.ReadTx) {
		it := tx.Range(nil, []byte("\xff"), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			p.saw("%q=%q", p.known(it.Key()), p.known(it.Value()))
		}
		p.saw("%v", errorName(it.Err()))
	})
	return p.lines
}

var errFails = errors.New("rolled back")

// play runs one transaction. What is nested in it runs only the first time, or a conflict would never end.
func (p *player) play(tr *transaction) {
	runs := 0
	run := func(tx kv.ReadTx) error {
		runs++
		p.lines = append(p.lines, fmt.Sprintf("begin view=%v run=%d", tr.view, runs))
		for _, step := range tr.actions {
			switch step := step.(type) {
			case *transaction:
				if runs == 1 {
					p.play(step)
				}
			case action:
				p.lines = append(p.lines, step.text)
				if step.read != nil {
					step.read(p, tx)
				} else {
					step.run(p, tx.(kv.Tx))
				}
			}
		}
		if tr.fails {
			return errFails
		}
		return nil
	}
	var stamp kv.Versionstamp
	var err error
	if tr.view {
		err = p.View(context.Background(), run)
	} else {
		stamp, err = p.Update(context.Background(), func(tx kv.Tx) error { return run(tx) })
	}
	if stamp != (kv.Versionstamp{}) {
		p.stamps[string(stamp[:kv.VersionstampSize])] = fmt.Sprintf("(commit %d)", len(p.stamps)+1)
	}
	p.lines = append(p.lines,
		fmt.Sprintf("end runs=%d committed=%v error=%v", runs, stamp != kv.Versionstamp{}, errorName(err)))
}
