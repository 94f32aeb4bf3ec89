package functions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/server/call"
)

// The size of a piece of log, in bytes.
const (
	usualLog = 40_960
	maxLog   = 16 << 20
)

// getAppLog: GET /getAppLog?name=f&aggregate=true&size=40960, newest line first. Lines have
// Couchbase's form, or are JSON with format=json.
func (p *reports) getAppLog(c *call.Call) error {
	ref, err := queryRef(c)
	if err != nil {
		return err
	}
	size := int64(usualLog)
	if text, ok := c.Query.First("size"); ok {
		if size, err = strconv.ParseInt(text, 10, 64); err != nil || size < 0 {
			return definition.Errorf(definition.CodeInvalidRequest, "size: %q is no number of bytes", text)
		}
	}
	r, err := p.managed(c, ref, definition.CodeNotFound)
	if err != nil {
		return err
	}
	lines, err := p.engine.AppLog(c.Context(), r, c.Query.Is("aggregate", "true"), min(size, maxLog))
	if err != nil {
		return err
	}
	if !c.Query.Is("format", "json") {
		lines = plainLog(lines)
	}
	return text(c, "text/plain; charset=utf-8", lines)
}

// plainLog gives lines of log, each a JSON object, the form that they have in Couchbase: time,
// level and text. What is no such line stays as it is.
func plainLog(lines []byte) []byte {
	out := make([]byte, 0, len(lines))
	for line := range bytes.Lines(lines) {
		var l struct {
			Time, Level, ID, Callback, Reference, Text string
			Dropped                                    int64
		}
		switch err := json.Unmarshal(line, &l); {
		case err == nil && l.Dropped > 0:
			out = fmt.Appendf(out, "[WARNING] %d lines came too fast and are missing here\n", l.Dropped)
		case err != nil || l.Time == "":
			out = append(out, line...)
		default:
			out = fmt.Appendf(out, "%s [%s] ", l.Time, l.Level)
			event := strings.TrimSpace(l.ID + " " + l.Callback + " " + l.Reference)
			if l.Level == "ERROR" && event != "" { // what log() was given has to be as it was given
				out = append(append(out, event...), ": "...)
			}
			out = append(out, strings.ReplaceAll(l.Text, "\n", `\n`)...)
			out = append(out, '\n')
		}
	}
	return out
}

// getInsight: GET /getInsight?name=f&aggregate=true.
func (p *reports) getInsight(c *call.Call) error {
	r, err := p.running(c)
	if err != nil {
		return err
	}
	insight, err := p.engine.Insight(c.Context(), r, c.Query.Is("aggregate", "true"))
	if err != nil {
		return err
	}
	return show(c, insight)
}

// test runs a handler and shows what it would write: POST /functions/{name}/test.
func (h *Handlers) test(c *call.Call) error {
	r, err := h.byPath(c)
	if err != nil {
		return err
	}
	request, err := body(c)
	if err != nil {
		return err
	}
	if !json.Valid(request) {
		return definition.Errorf(definition.CodeUnmarshal, "the body is no JSON")
	}
	result, failed := h.engine.Test(c.Context(), r.Draft, owner(c), request)
	if failed != nil {
		return failed
	}
	return show(c, result)
}
