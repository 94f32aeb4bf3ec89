package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
)

// maxElement bounds an element of an answer: a document with all its leaves, or a row. It is that
// of the replicator; a server that sends more is broken, or wants the memory.
const maxElement = 512 << 20

var (
	errStream   = errors.New("the answer is not the JSON that was expected")
	errElement  = errors.New("an element of the answer is too large")
	errCutShort = errors.New("no more was asked for")
)

// elements gives the elements of the array that is the member name of an object, valid until the
// next one. An answer that ends early, or has no such member, is an error. The decoder of
// encoding/json reads no further than the element that it is at, which is what bounds the memory.
func elements(r io.Reader, name string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		within := &bounded{r: r, left: maxElement}
		dec := json.NewDecoder(within)
		var element json.RawMessage
		token := func(want json.Token) error {
			got, err := dec.Token()
			if err == nil && want != nil && got != want {
				err = errStream
			}
			return err
		}
		walk := func() error {
			if err := token(json.Delim('{')); err != nil {
				return err
			}
			found := false
			for dec.More() {
				key, err := dec.Token()
				if err != nil {
					return err
				}
				if key != name {
					within.left = maxElement
					if err := dec.Decode(&element); err != nil {
						return err
					}
					continue
				}
				found = true
				if err := token(json.Delim('[')); err != nil {
					return err
				}
				for dec.More() {
					within.left, element = maxElement, element[:0]
					if err := dec.Decode(&element); err != nil {
						return err
					}
					if !yield(element, nil) {
						return errCutShort
					}
				}
				if err := token(json.Delim(']')); err != nil {
					return err
				}
			}
			if !found {
				return errStream
			}
			return token(json.Delim('}'))
		}
		if err := walk(); err != nil && !errors.Is(err, errCutShort) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			yield(nil, err)
		}
	}
}

// bounded is a reader that gives left bytes, then errElement. Whoever reads a list sets left again
// before each element.
type bounded struct {
	r    io.Reader
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errElement
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// stream asks for a list; its elements are valid until the next one. The connection is held until
// the last one, or until the loop over them ends early.
func (e end) stream(
	ctx context.Context, method, path string, body io.Reader, name string,
) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		resp, err := e.Do(ctx, method, e.path+path, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		elements(resp.Body, name)(yield)
	}
}

// get is stream for a GET.
func (e end) get(ctx context.Context, path, name string) iter.Seq2[[]byte, error] {
	return e.stream(ctx, http.MethodGet, path, nil, name)
}

// merge walks two sorted sequences together: each is called with what is the same place in both,
// or with nil for the side that has nothing there. errCutShort of a sequence ends both.
func merge[T any](
	a, b iter.Seq2[T, error], compare func(x, y T) int, each func(x, y *T) error,
) error {
	nextA, stopA := iter.Pull2(a)
	defer stopA()
	nextB, stopB := iter.Pull2(b)
	defer stopB()
	x, errA, moreA := nextA()
	y, errB, moreB := nextB()
	for moreA || moreB {
		if err := cmp.Or(errA, errB); err != nil {
			if errors.Is(err, errCutShort) {
				return nil
			}
			return err
		}
		order := 0
		switch {
		case !moreA:
			order = 1
		case !moreB:
			order = -1
		default:
			order = compare(x, y)
		}
		var left, right *T
		if order <= 0 {
			left = &x
		}
		if order >= 0 {
			right = &y
		}
		if err := each(left, right); err != nil {
			return err
		}
		if order <= 0 {
			x, errA, moreA = nextA()
		}
		if order >= 0 {
			y, errB, moreB = nextB()
		}
	}
	return nil
}
