package functions_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
)

// fakeLetters are the dead letters of a fakeEngine.
type fakeLetters struct {
	letters  []outbox.Letter
	replayed int
	empty    bool // nothing is in any outbox
}

func (e *fakeLetters) Outbox(context.Context, *registry.Record) (outbox.Sizes, error) {
	if e.empty {
		return outbox.Sizes{}, nil
	}
	return outbox.Sizes{Waiting: 3, DeadLetters: 2, Bytes: 1000}, nil
}

func (e *fakeLetters) DeadLetters(
	_ context.Context, _ *registry.Record, behind, destination string, most int,
) (all outbox.Letters, err error) {
	for _, l := range e.letters {
		if l.ID > behind && (destination == "" || l.Destination == destination) && len(all.Letters) < most {
			all.Letters = append(all.Letters, l)
			all.Next = l.ID
		}
	}
	return all, nil
}

func (e *fakeLetters) DeadLetter(_ context.Context, _ *registry.Record, id string) (*outbox.Letter, error) {
	for _, l := range e.letters {
		if l.ID == id {
			l.Value = []byte(`{"n":1}`)
			return &l, nil
		}
	}
	return nil, nil
}

func (e *fakeLetters) ReplayDeadLetters(
	ctx context.Context, r *registry.Record, which outbox.Choice,
) (int, error) {
	n, err := e.DeleteDeadLetters(ctx, r, which)
	e.replayed += n
	return n, err
}

func (e *fakeLetters) DeleteDeadLetters(
	_ context.Context, _ *registry.Record, which outbox.Choice,
) (n int, err error) {
	e.letters = slices.DeleteFunc(e.letters, func(l outbox.Letter) bool {
		chosen := slices.Contains(which.IDs, l.ID) ||
			which.IDs == nil && (which.Destination == "" || l.Destination == which.Destination)
		if chosen {
			n++
		}
		return chosen
	})
	return n, nil
}

// TestDeadLetters: dead letters are listed, read, replayed and deleted, one or many, by who may manage
// the function.
func TestDeadLetters(t *testing.T) {
	x := newFixture(t)
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		destination := "hook"
		if id == "3" {
			destination = "other"
		}
		x.engine.letters = append(x.engine.letters, outbox.Letter{ID: id, Destination: destination})
	}
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"GET", "/functions/g/dead_letters", "", 404, 13, ""},
		{"GET", "/functions/f/dead_letters?limit=0", "", 400, 63, ""},
		{"GET", "/functions/f/dead_letters?limit=1001", "", 400, 63, ""},
		{"GET", "/functions/f/dead_letters?limit=2&after=1", "", 200, 0, `"next": "3"`},
		{"GET", "/functions/f/dead_letters?destination=other", "", 200, 0, `"id": "3"`},
		{"GET", "/functions/f/dead_letters/9", "", 404, 13, ""},
		{"GET", "/functions/f/dead_letters/2", "", 200, 0, `"value": {`},
		{"PUT", "/functions/f/dead_letters/2", "", 405, 62, ""},
		{"GET", "/functions/f/dead_letters/2/replay", "", 405, 62, ""},
		{"POST", "/functions/f/dead_letters/2/replay", "", 200, 0, `"count": 1`},
		{"POST", "/functions/f/dead_letters/2/replay", "", 404, 13, ""},
		{"DELETE", "/functions/f/dead_letters/1", "", 200, 0, `"count": 1`},
		{"DELETE", "/functions/f/dead_letters/1", "", 404, 13, ""},
		{"POST", "/functions/f/dead_letters/replay", `{"ids":["4","9"]}`, 200, 0, `"count": 1`},
		{"POST", "/functions/f/dead_letters/replay", `[`, 400, 16, ""},
		{"POST", "/functions/f/dead_letters/replay", `{"destination":"other"}`, 200, 0, `"count": 1`},
		{"DELETE", "/functions/f/dead_letters?destination=other", "", 200, 0, `"count": 0`},
		{"DELETE", "/functions/f/dead_letters", "", 200, 0, `"count": 1`},
		{"POST", "/functions/f/dead_letters/replay", "", 200, 0, `"count": 0`},
		{"GET", "/status/f", "", 200, 0, `"dead_letters": 2`},
	})
	require.Equal(t, 3, x.engine.replayed)
}
