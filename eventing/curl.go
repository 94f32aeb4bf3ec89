package eventing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/settee-db/settee/js"
)

// curlAnswer is the answer to a request. If a batch has to run again, its requests are not made
// again: handlers that make the same requests get the same answers.
type curlAnswer struct {
	response js.EventResponse
	err      error
}

// answered gives the next known answer to a request. Equal requests get their answers in the order
// in which they were made.
func (h *holding) answered(key [sha256.Size]byte) (curlAnswer, bool) {
	n := h.used[key]
	h.used[key]++
	if n < len(h.answers[key]) {
		return h.answers[key][n], true
	}
	return curlAnswer{}, false
}

// mostKept bounds the answers of a batch that are kept, in bytes of bodies: later requests are made
// again.
const mostKept = 16 << 20

// keep remembers an answer, unless that is too much.
func (h *holding) keep(ctx context.Context, key [sha256.Size]byte, a curlAnswer) {
	size := int64(cap(a.response.Body))
	for _, header := range a.response.Headers {
		size += int64(len(header[0]) + len(header[1]))
	}
	if h.full = h.full || h.kept+size > mostKept || h.take(ctx, size) != nil; h.full {
		return
	}
	h.kept += size
	if h.answers == nil {
		h.answers = make(map[[sha256.Size]byte][]curlAnswer)
	}
	h.answers[key] = append(h.answers[key], a)
}

// requestKey is a hash of everything that makes a request what it is, so that only equal requests
// share answers.
func requestKey(r *js.EventRequest) (key [sha256.Size]byte) {
	h := sha256.New()
	part := func(text string) {
		_ = binary.Write(h, binary.LittleEndian, int64(len(text)))
		_, _ = io.WriteString(h, text)
	}
	for _, text := range []string{strconv.Itoa(r.Binding), r.Method, r.Path, strconv.FormatBool(r.Redirect)} {
		part(text)
	}
	for _, pairs := range [][][2]string{r.Params, r.Headers} {
		part(strconv.Itoa(len(pairs)))
		for _, p := range pairs {
			part(p[0])
			part(p[1])
		}
	}
	part(strconv.FormatBool(r.HasBody))
	_, _ = h.Write(r.Body)
	return [sha256.Size]byte(h.Sum(nil))
}

// Curl implements js.EventHost.
func (b *batch) Curl(ctx context.Context, r js.EventRequest) (js.EventResponse, error) {
	if r.Binding < 0 || r.Binding >= len(b.f.urls) {
		return js.EventResponse{}, errForged
	}
	if err := b.await(ctx); err != nil {
		return js.EventResponse{}, err
	}
	if err := b.lookAtOwner(ctx); err != nil {
		return js.EventResponse{}, err
	}
	key := requestKey(&r)
	if a, known := b.holding.answered(key); known {
		return a.response, a.err
	}
	response, err := b.f.urls[r.Binding].Do(ctx, &r, b.holding.cross)
	b.holding.keep(ctx, key, curlAnswer{response, err})
	return response, err
}
