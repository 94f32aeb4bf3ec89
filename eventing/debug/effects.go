package debug

import (
	"encoding/json"

	"github.com/settee-db/settee/eventing/outbox"
)

// Bounds of what is kept of what a handler has done: entries, and their bytes.
const (
	maxEffects     = 1000
	maxEffectBytes = 1 << 20
)

// Effects are what the handler of a session has done so far, in the order in which it did. None of it
// is stored, and no request was made.
type Effects struct {
	Reads  []Read    `json:"reads"`
	Writes []Write   `json:"writes"`
	Timers []TimerOp `json:"timers"`
	// Published are messages, with all of their headers.
	Published  []outbox.Shown `json:"published"`
	Log        []string       `json:"log"`
	Requests   []Request      `json:"requests"`
	Statements []string       `json:"statements"`
	// LeftOff is how much more there was than is kept.
	LeftOff int `json:"left_off"`

	entries, bytes int
}

// Read is a document that the handler has asked for.
type Read struct {
	Database string `json:"database"`
	ID       string `json:"id"`
	Found    bool   `json:"found"`
}

// Write is a write or a deletion of a document.
type Write struct {
	Database string          `json:"database"`
	ID       string          `json:"id"`
	Deleted  bool            `json:"deleted,omitempty"`
	Doc      json.RawMessage `json:"doc,omitempty"`
}

// TimerOp is a timer that was set or cancelled.
type TimerOp struct {
	Callback  string          `json:"callback"`
	Reference string          `json:"reference"`
	Due       string          `json:"due,omitempty"`
	Context   json.RawMessage `json:"context,omitempty"`
	Cancelled bool            `json:"cancelled,omitempty"`
}

// Request is a request to another server, which was not made.
type Request struct {
	Binding string `json:"binding"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Body    string `json:"body,omitempty"`
}

// Note keeps something of so many bytes that the handler has done, if there is room.
func (s *Session) Note(bytes int, add func(*Effects)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &s.effects
	if e.entries >= maxEffects || e.bytes+bytes > maxEffectBytes {
		e.LeftOff++
		return
	}
	e.entries, e.bytes = e.entries+1, e.bytes+bytes
	add(e)
}

// Effects is what the handler has done so far, as JSON.
func (s *Session) Effects() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.effects
	for _, list := range []*[]string{&e.Log, &e.Statements} {
		if *list == nil {
			*list = []string{}
		}
	}
	e.Reads, e.Writes = append([]Read{}, e.Reads...), append([]Write{}, e.Writes...)
	e.Timers, e.Requests = append([]TimerOp{}, e.Timers...), append([]Request{}, e.Requests...)
	e.Published = append([]outbox.Shown{}, e.Published...)
	return json.Marshal(e)
}
