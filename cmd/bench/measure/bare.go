package measure

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
)

// bareAnswer is the answer that a bare server gives to every request.
type bareAnswer struct {
	Header  http.Header `json:"header"`
	Body    []byte      `json:"body"`
	Chunked bool        `json:"chunked"`
}

// ServeBare answers every request with the same bytes, by net/http alone: what a Go server could
// reach that had nothing to look up. The answer comes as JSON from r. It runs until ctx ends or r,
// after the answer, is closed.
func ServeBare(ctx context.Context, listen string, r io.Reader) error {
	var answer bareAnswer
	if err := json.NewDecoder(r).Decode(&answer); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: answer}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, r) // ends with the process that started this one
		cancel()
	}()
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP answers any request.
func (a bareAnswer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
	if !a.Chunked {
		h["Content-Length"] = []string{strconv.Itoa(len(a.Body))}
	}
	_, _ = w.Write(a.Body) // the client has gone if this fails
}
