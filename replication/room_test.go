package replication

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// countedShare has so many bytes to give.
type countedShare struct{ bound, held, most int64 }

var errNoMemory = errors.New("no memory")

func (s *countedShare) Take(_ context.Context, bytes int64) error {
	if s.held+bytes > s.bound {
		return errNoMemory
	}
	s.held += bytes
	s.most = max(s.most, s.held)
	return nil
}

func (s *countedShare) Release() { s.held = 0 }

// What a peer's answer takes comes out of a share, which is given back when a large object has
// gone.
func TestRoomOfStreams(t *testing.T) {
	const large = 1 << 20
	text := `{"results":[` + strings.Repeat(
		`{"a":1},`,
		1000,
	) + `{"a":"` + strings.Repeat(
		"x",
		large,
	) + `"},` + strings.Repeat(
		`{"a":1},`,
		500_000,
	) + `]}`
	read := func(bound int64) (n int, s *countedShare, err error) {
		s = &countedShare{bound: bound}
		stream := newObjectStream(strings.NewReader(text), 4*large, &room{ctx: t.Context(), share: s})
		for err = stream.enter("results"); err == nil; n++ {
			_, err = stream.next()
		}
		return n - 1, s, err
	}
	n, share, err := read(1 << 30)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 501_001, n)
	require.GreaterOrEqual(t, share.most, int64(roomCopies*large))
	require.Zero(t, share.held, "small objects need none")

	n, _, err = read(roomCopies * large / 2)
	require.Equal(t, 1000, n)
	require.ErrorContains(t, err, errNoMemory.Error())
}

// The values of a text take more than the text: they come out of the share, too, and are given back
// with the next one.
func TestRoomOfValues(t *testing.T) {
	digits := `{"a":[0` + strings.Repeat(",0", 1<<20) + `]}`
	s := &countedShare{bound: 1 << 30}
	stream := newObjectStream(strings.NewReader(digits+`{"b":"`+strings.Repeat("x", 1<<20)+`"}{}`), 8<<20,
		&room{ctx: t.Context(), share: s})
	for _, most := range []int64{28 << 20, 0, 0} {
		_, err := stream.next()
		require.NoError(t, err)
		require.GreaterOrEqual(t, s.held, most)
		require.Less(t, s.held, most+(4<<20+64)*2*roomCopies)
	}
	r := &room{ctx: t.Context(), share: &countedShare{bound: 30 << 20}}
	_, err := r.readAll(strings.NewReader(digits), 8<<20)
	require.ErrorContains(t, err, errNoMemory.Error())
}

// An answer that is read as a whole takes room for all of it, and no more than its limit.
func TestRoomOfAnswers(t *testing.T) {
	read := func(size, limit int, bound int64) (string, error) {
		r := &room{ctx: t.Context(), share: &countedShare{bound: bound}}
		defer r.end()
		text, err := r.readAll(strings.NewReader(strings.Repeat("x", size)), limit)
		return string(text), err
	}
	got, err := read(1_000_000, 1_000_000, 1<<30)
	require.NoError(t, err)
	require.Len(t, got, 1_000_000)
	_, err = read(1_000_001, 1_000_000, 1<<30)
	require.ErrorIs(t, err, errItemTooLarge)
	_, err = read(1_000_000, 1_000_000, 1_000_000)
	require.ErrorContains(t, err, errNoMemory.Error())
	_, err = read(10_000, 1_000_000, 0)
	require.NoError(t, err, "a little is free")
}
