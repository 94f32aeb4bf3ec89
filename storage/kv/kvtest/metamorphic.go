package kvtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// OpenRandom is Open with options of the engine drawn from rng. A reopened store may have other
// options than before.
type OpenRandom func(t testing.TB, dir string, rng *rand.Rand) kv.Store

// Metamorphic runs random histories, each on the engine and on the reference model, and compares
// all results: what each read saw, how often each function ran, and the content of the store in the
// end. Where the engine ended an attempt for a reason that allows accepts, the model ends it, too.
func Metamorphic(t *testing.T, open OpenRandom, allows Allows) {
	rounds, length := 60, 60
	if testing.Short() {
		rounds = 10
	}
	base, seed := seeded(t)
	for round := range rounds {
		if round > 0 {
			seed = base.Uint64()
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			if parted := compareHistory(t, open, allows, seed, length); parted != "" {
				t.Fatalf("to repeat: KVTEST_SEED=%d; the histories part at %s", seed, parted)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// compareHistory plays the history of seed on both stores and returns the first line in which the
// results differ; "" if they are equal.
func compareHistory(t testing.TB, open OpenRandom, allows Allows, seed uint64, length int) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var history []*transaction
	for range length {
		tr := randomTransaction(rng, 2)
		tr.reopen = rng.IntN(20) == 0
		history = append(history, tr)
	}
	options := rand.New(rand.NewPCG(seed, 2))
	store := newStore(t, func(t testing.TB, dir string) kv.Store { return open(t, dir, options) })
	engine := &player{store: store, stamps: map[string]string{}, ended: map[int]ending{}, allows: allows}
	got := engine.playAll(history)
	disks := map[string]*memkv.Disk{}
	store = newStore(t, func(t testing.TB, dir string) kv.Store { return OpenMem(t, disks, dir) })
	model := &player{store: store, stamps: map[string]string{}, ended: engine.ended, isModel: true}
	want := model.playAll(history)
	for i := range max(len(want), len(got)) {
		if i < len(want) && i < len(got) && want[i] == got[i] {
			continue
		}
		return fmt.Sprintf("line %d:\n%s\nmodel:  %s\nengine: %s", i,
			strings.Join(want[max(0, min(i, len(want))-30):min(i, len(want))], "\n"),
			strings.Join(want[min(i, len(want)):min(i+5, len(want))], "\n        "),
			strings.Join(got[min(i, len(got)):min(i+5, len(got))], "\n        "))
	}
	return ""
}

// OpenMem opens the memkv store of dir, whose data is kept in disks. It is an [Open] for memkv with
// disks bound.
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
	// What the run did and saw, a line each; two engines have to give the same.
	lines  []string
	stamps map[string]string // engine part of a versionstamp: its place in the order of commits

	isModel  bool // the engine's endings, which the model repeats
	allows   Allows
	ended    map[int]ending // by the number of the attempt
	attempts int            // transactions begun so far
	attempt  *attempt       // the attempt that runs now
}

// saw notes what an attempt saw, so that it can be taken back if the attempt did not commit.
func (p *player) saw(format string, args ...any) {
	p.attempt.saw = append(p.attempt.saw, len(p.lines))
	p.lines = append(p.lines, "  "+fmt.Sprintf(format, args...))
}

// known replaces the versionstamps in b, which differ from engine to engine, by their place in the
// order of commits.
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

// between returns the versionstamp in text after prefix and before rest more bytes; "" when there
// is none.
func between(text, prefix string, rest int) string {
	if strings.HasPrefix(text, prefix) && len(text) >= len(prefix)+kv.VersionstampSize+rest {
		return text[len(prefix) : len(prefix)+kv.VersionstampSize]
	}
	return ""
}

// errorName is what a history says of the error of a read or of a transaction.
func (p *player) errorName(err error) string {
	switch {
	case errors.Is(err, kv.ErrUnreadable):
		return "unreadable"
	case errors.Is(err, kv.ErrTooOld):
		p.attempt.tooOld = true
		return "too old"
	}
	return fmt.Sprint(err)
}

// playAll runs the history and returns what the player saw, line by line.
func (p *player) playAll(history []*transaction) []string {
	defer func() { p.Close() }()
	for _, tr := range history {
		if tr.reopen {
			p.reopen()
		}
		p.play(tr)
	}
	for last := p.attempts; ; last = p.attempts { // until it could be read
		p.play(&transaction{view: true, actions: []any{everything}})
		if p.ended[last] == 0 {
			break
		}
	}
	return slices.DeleteFunc(p.lines, func(line string) bool { return line == forgotten })
}

// everything reads the whole store.
var everything = action{text: "in the end", read: func(p *player, tx kv.ReadTx) {
	it := tx.Range(nil, []byte("\xff"), kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		p.saw("%q=%q", p.known(it.Key()), p.known(it.Value()))
	}
	p.saw("%v", p.errorName(it.Err()))
}}

var errFails = errors.New("rolled back")

// play runs one transaction. What is nested in it runs only the first time, or a conflict would
// never end.
func (p *player) play(tr *transaction) {
	outer := p.attempt
	defer func() { p.attempt = outer }()
	runs := 0
	run := func(tx kv.ReadTx) error {
		p.begin(tx, runs > 0)
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
		if err := p.mustEnd(); err != nil {
			return err
		}
		if tr.fails {
			return errFails
		}
		return nil
	}
	stamp, err := p.transact(tr.view, run)
	if stamp != (kv.Versionstamp{}) {
		p.stamps[string(stamp[:kv.VersionstampSize])] = fmt.Sprintf("(commit %d)", len(p.stamps)+1)
	}
	p.end(tr.view, err)
	p.lines = append(p.lines,
		fmt.Sprintf("end runs=%d committed=%v error=%v", runs, stamp != kv.Versionstamp{}, p.errorName(err)))
}
