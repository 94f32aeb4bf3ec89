package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// assault is one run of an attack: its server and database, and the statuses and faults that it has
// seen. Its methods may be called at the same time.
type assault struct {
	*target
	random *rand.Rand // only for the goroutine that runs the attack
	scale  float64    // of sizes and numbers: 1 as in the table
	db     string     // a database that the attacker administers, made by database

	mu sync.Mutex
	// how often each status came; "cut" for connections that ended, "late" for answers that did not
	// come
	seen    map[string]int
	refused bool // a request of it, so that what it would have written may be missing
	faults  []string
}

func newAssault(t *target, name string, number int, scale float64) *assault {
	return &assault{target: t, random: rand.New(rand.NewPCG(uint64(number), 11)), scale: scale, seen: map[string]int{},
		db: fmt.Sprintf("hostile-%s-%d", strings.Map(nameOfDatabase, strings.ToLower(name)), number)}
}

func nameOfDatabase(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// n scales a number; it is 1 at least.
func (a *assault) n(full int) int { return max(1, int(float64(full)*a.scale)) }

// saw counts a status.
func (a *assault) saw(status string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[status]++
}

// fault notes that the server did wrong.
func (a *assault) fault(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const enough = 5
	if text := fmt.Sprintf(format, args...); len(a.faults) < enough && !slices.Contains(a.faults, text) {
		a.faults = append(a.faults, text)
	}
}

// turnedAway notes that a request was refused or cut off.
func (a *assault) turnedAway() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = true
}

func (a *assault) wasTurnedAway() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// outcome lists the statuses with their numbers.
func (a *assault) outcome() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(a.seen)) {
		parts = append(parts, fmt.Sprintf("%s ×%d", status, a.seen[status]))
	}
	return strings.Join(parts, ", ")
}

// err is all faults as one error.
func (a *assault) err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(a.faults, "; "))
}

// database makes the assault's database, administered by the attacker, with the given documents,
// and returns what removes it again after it has checked that all acknowledged writes are in it.
func (a *assault) database(ctx context.Context, docs ...string) (remove func(), err error) {
	if err := a.makeDatabase(ctx, a.db, attackerName); err != nil {
		return nil, err
	}
	for i, doc := range docs {
		if err := a.prepare(ctx, request{method: "POST", path: "/" + a.db, body: text(doc)}); err != nil {
			return nil, fmt.Errorf("document %d of the attack: %w", i, err)
		}
	}
	return func() {
		ctx := context.WithoutCancel(ctx)
		if err := a.verifyWritten(ctx, a.db); err != nil {
			a.fault("%v", err)
			if errors.Is(err, errLost) { // whatever else becomes of this attack
				a.lose(err)
			}
		}
		if err := a.prepare(ctx, request{method: "DELETE", path: "/" + a.db, as: admin}); err != nil {
			a.fault("deleting the database afterwards: %v", err)
		}
		a.forget(a.db)
	}, nil
}

// fill puts n documents made by doc into the assault's database.
func (a *assault) fill(ctx context.Context, n int, doc func(i int) string) error {
	const batch = 1000
	for from := 0; from < n; from += batch {
		b := list(`{"docs":[`, `]}`, min(batch, n-from), func(i int) string { return doc(from + i) })
		if err := a.prepare(ctx, request{method: "POST", path: "/" + a.db + "/_bulk_docs", body: b}); err != nil {
			return fmt.Errorf("filling the database: %w", err)
		}
	}
	return nil
}

// prepare sends a request that must succeed, again and again while the server is too busy for it,
// as a good client does.
func (a *assault) prepare(ctx context.Context, r request) error {
	for {
		got, err := a.ask(ctx, r)
		switch {
		case ctx.Err() != nil:
			return errLate
		case err != nil || got.status != http.StatusServiceUnavailable:
			return unless(got, err, http.StatusOK, http.StatusCreated, http.StatusAccepted)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// errLate ends an attack whose time is over before it has begun; that is no fault.
var errLate = errors.New("no time was left")

// fullHouse is the answer of a server that has no room for one more connection. Any request may get
// it, since other attacks may hold all connections.
const fullHouse = "Too many connections"

// send performs a request of the attack, counts its status, and notes statuses that no server
// should answer with: 500, and those that are not among the expected ones, where some are named.
// After a request that was refused or cut off it may be 404, too.
func (a *assault) send(ctx context.Context, r request, expected ...int) reply {
	got, err := a.ask(ctx, r)
	switch {
	case err != nil && ctx.Err() != nil:
		a.saw("late")
		a.turnedAway()
	case err != nil:
		a.saw("cut") // as where the server has answered before the whole body came, and closed
		a.turnedAway()
	case got.status == http.StatusNotFound && a.wasTurnedAway():
		a.saw(fmt.Sprint(got.status))
	case got.status == http.StatusServiceUnavailable && strings.Contains(got.start, fullHouse):
		a.saw(fmt.Sprint(got.status))
		a.turnedAway()
	default:
		a.saw(fmt.Sprint(got.status))
		if got.status == http.StatusRequestEntityTooLarge || got.status >= http.StatusInternalServerError {
			a.turnedAway()
		}
		if len(expected) > 0 && !slices.Contains(expected, got.status) ||
			len(expected) == 0 && got.status == http.StatusInternalServerError {
			a.fault("%s %.60s: %d %.150s", r.method, r.path, got.status, got.start)
		}
	}
	return got
}

// together runs n functions at once and waits for all.
func together(n int, run func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { run(i) })
	}
	group.Wait()
}
