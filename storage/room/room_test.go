package room

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// share has so many bytes for those who do not wait.
type share struct{ free, held int64 }

func (s *share) Hold(_ context.Context, bytes int64) error {
	s.held = bytes
	return nil
}

func (s *share) Grow(bytes int64) error {
	if bytes > s.free {
		return errors.New("no memory")
	}
	s.held = max(s.held, bytes)
	return nil
}

func (s *share) Release() { s.held = 0 }

type result int64

func (r result) Bytes() int64 { return int64(r) }

// A transaction that lacks memory says so, and has it in its next run; results that fit stay.
func TestRoom(t *testing.T) {
	s := &share{free: 10 << 20}
	r := Room{Share: s}
	if !r.Fits(Free) || r.Fits(Free+1) || !r.Lacks() || s.held != 0 {
		t.Errorf("%+v, %+v", r, s)
	}
	if err := r.Take(t.Context()); err != nil || s.held != Free+1 || r.Lacks() || !r.Fits(Free+1) {
		t.Errorf("%v: %+v, %+v", err, r, s)
	}
	r.End()
	if r.Add(result(1 << 20)); !r.Keeps() || s.held != 4<<20 {
		t.Errorf("%+v, %+v", r, s)
	}
	if r.Add(result(2 << 20)); r.Keeps() || s.held != 4<<20 {
		t.Errorf("more than there is: %+v, %+v", r, s)
	}
	if err := r.Forgotten(t.Context()); err != nil || s.held != 24<<20 || r.results != 0 {
		t.Errorf("%v: %+v, %+v", err, r, s)
	}
	r.Add(result(1 << 20))
	if n := r.Next(64, 1); n != 5 {
		t.Errorf("%d of 64 are next", n)
	}
	r.Add("a text without a size")
	if n := r.Next(2, 1); n != 2 || !r.Keeps() {
		t.Errorf("%d of 2 are next", n)
	}
	if r.End(); s.held != 0 || r.Fits(2*Free) {
		t.Errorf("%+v, %+v", r, s)
	}
	if unbounded := (&Room{}); !unbounded.Fits(1<<60) || !unbounded.Keeps() || unbounded.Next(7, 1) != 7 {
		t.Error("a room without a share has a bound")
	}
}

// Documents of many values take more than those of long texts; small ones are free.
func TestOfText(t *testing.T) {
	text := []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
	values := []byte(`{"a":[` + strings.Repeat("1,", 1<<19) + `1]}`)
	if a, b := OfText(text), OfText(values); a < 4<<20 || a > 5<<20 || b < 50<<20 {
		t.Errorf("%d for a text, %d for values", a, b)
	}
	if n := OfText([]byte(`{"name":"a usual document","tags":["a","b"],"n":1}`)); n > Free/100 {
		t.Errorf("%d for a small document", n)
	}
}
