package debug

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/mango/selector"
)

// Kind says what kind of event a session catches; the empty one is any.
type Kind string

// The kinds of events.
const (
	Update Kind = "update"
	Delete Kind = "delete" // by a user or a function
	Expiry Kind = "expiry" // a deletion because the document's time has come
	Timer  Kind = "timer"
)

// Wanted says which event a session catches.
type Wanted struct {
	Kind Kind
	// Of is the document, or the reference of the timer; empty: any. Selector is what the document has
	// to match, or the HeldTimer of a timer; nil: anything.
	Of       string
	Selector *selector.Selector
	Time     time.Duration // how long the session lasts at most
}

// wants reports whether an event of a kind is wanted, as far as the selector is not asked.
func (w *Wanted) wants(kind Kind, id string) bool {
	return (w.Kind == "" || w.Kind == kind) && (w.Of == "" || w.Of == id)
}

// ParseWanted reads what a client says of a session that it begins, a JSON object; selectorOf reads its
// selector. The error is for clients.
func ParseWanted(request []byte, selectorOf func([]byte) (*selector.Selector, error)) (w Wanted, err error) {
	var q struct {
		Event    Kind            `json:"event"`
		ID       string          `json:"id"`
		Selector json.RawMessage `json:"selector"`
		Timeout  int64           `json:"timeout"` // seconds; 0: UsualTime
	}
	if err := json.Unmarshal(request, &q); err != nil {
		return w, definition.Errorf(definition.CodeInvalidRequest, "the request cannot be read: %v", err)
	}
	if q.Timeout < 0 || q.Timeout > int64(MostTime/time.Second) {
		return w, definition.Errorf(definition.CodeInvalidRequest, "timeout must be from 1 to %d seconds",
			int64(MostTime/time.Second))
	}
	switch q.Event {
	case "", Update, Delete, Expiry, Timer:
	default:
		return w, definition.Errorf(definition.CodeInvalidRequest, "event must be update, delete, expiry or timer")
	}
	w = Wanted{Kind: q.Event, Of: q.ID, Time: cmp.Or(time.Duration(q.Timeout)*time.Second, UsualTime)}
	w.Selector, err = selectorOf(q.Selector)
	return w, err
}

// HeldEvent is what is stored of an event while a session holds it back. Of a document's event there is
// what the handler is told besides the document, of a timer's what the timer was.
type HeldEvent struct {
	ID      string          `json:"id,omitempty"`
	Rev     string          `json:"rev,omitempty"`
	Hops    uint64          `json:"hops,omitempty"`
	Deleted bool            `json:"deleted,omitempty"`
	Expired bool            `json:"expired,omitempty"`
	Meta    json.RawMessage `json:"meta,omitempty"`

	Timer *HeldTimer `json:"timer,omitempty"`
}

// HeldTimer is a timer that has come, Due in milliseconds since 1970.
type HeldTimer struct {
	Callback  string          `json:"callback"`
	Reference string          `json:"reference"`
	Due       int64           `json:"due"`
	Context   json.RawMessage `json:"context,omitempty"`
}
