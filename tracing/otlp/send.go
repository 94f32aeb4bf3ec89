package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/settee-db/settee/tracing"
)

const (
	patience   = 10 * time.Second // for a request and its answer
	mostAnswer = 64 << 10         // bytes of an answer and of its headers
	tellEvery  = time.Minute      // how often the log is told of failures at most
	attempts   = 2                // of a batch that the collector may take later
	again      = 5 * time.Second  // between them, unless the collector names another time
	longest    = 30 * time.Second // that it may name
)

var errEndpoint = errors.New("http://HOST:PORT or https://… is expected")

// newClient returns what requests go through. It follows nothing, and no proxy of the environment
// is asked: a collector is where the settings say.
func newClient() *http.Client {
	return &http.Client{
		Timeout: patience,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: patience}).DialContext,
			TLSHandshakeTimeout: patience, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
			DisableCompression: true, MaxResponseHeaderBytes: mostAnswer, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send sends a batch, counts what became of it, and tells the log of a failure.
func (e *Exporter) send(list []*tracing.Record) {
	var hide func(string) string
	if !e.o.Names() {
		hide = e.hide
	}
	body, err := encode(e.resource, e.o.Version, list, hide)
	var lost int
	if err == nil {
		lost, err = e.deliver(body)
	}
	if err != nil {
		e.count(failed, len(list))
		if now := time.Now(); now.Sub(e.toldAt) >= tellEvery {
			e.toldAt = now
			e.o.Log.Warn("spans were not sent", "collector", e.o.Endpoint.Host, "spans", len(list), "error", err)
		}
		return
	}
	lost = max(0, min(lost, len(list)))
	e.count(rejected, lost)
	e.count(sent, len(list)-lost)
}

// deliver posts a body, once more where the collector may take it later. lost is how many spans it
// did not take of a body that it took.
func (e *Exporter) deliver(body []byte) (lost int, err error) {
	for n := 1; ; n++ {
		lost, wait, err := e.post(body)
		if err == nil || wait == 0 || n == attempts || !e.wait(wait) {
			return lost, err
		}
	}
}

// wait returns false when the server stops first.
func (e *Exporter) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.closing:
		return false
	}
}

// post sends a body once. wait is after which time it can be sent again, 0 for never.
func (e *Exporter) post(body []byte) (lost int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.o.Endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	if h := e.o.Headers(); h != nil {
		r.Header = h
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := e.client.Do(r)
	if err != nil {
		return 0, again, err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostAnswer)) // what came of it
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted:
		return rejections(text), 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		wait = again
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			wait = min(time.Duration(min(seconds, 3600))*time.Second, longest)
		}
	}
	return 0, wait, fmt.Errorf("the collector answers %d", response.StatusCode)
}

// rejections reads how many spans an answer says were not taken (ExportTracePartialSuccess).
func rejections(answer []byte) int {
	var said struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return 0
	}
	n, _ := strconv.Atoi(said.PartialSuccess.RejectedSpans.String())
	return n
}
