package outbox

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// Message is what a function has published to a destination.
type Message struct {
	// ID names the message within its instance; ids are in the order of time.
	ID string `json:"-"`
	// Destination is the name of the binding that it goes to.
	Destination string `json:"destination"`
	// Key is what receivers know the message by, however often they get it: the id that the handler
	// has given, or ID.
	Key       string      `json:"key"`
	Published int64       `json:"published"` // milliseconds since 1970
	Partition int         `json:"partition"` // whose owner delivers it
	Hops      uint64      `json:"hops"`      // of the event, and one more
	Headers   [][2]string `json:"headers"`
	Body      []byte      `json:"-"`
}

// NewID makes the id of a message that is published at a time; n orders those of a millisecond.
func NewID(at time.Time, n uint16) string {
	b := make([]byte, 16)
	binary.BigEndian.PutUint64(b, uint64(at.UnixMilli())<<16|uint64(n))
	_, _ = rand.Read(b[8:]) // it never fails
	return hex.EncodeToString(b)
}

const (
	// maxPiece is how many bytes of a message are in one value.
	maxPiece = 90_000
	// overhead is what a message counts beside its own bytes, for keys and for where it waits.
	overhead = 256
)

// mostMessage is how many bytes a message may have as a worker process sends it. The prelude refuses
// larger ones, in characters.
const mostMessage = 4 << 20

// Parse reads what a worker process says of a message to a destination: headers, and a body as a text
// or in base64.
func Parse(destination string, text []byte) (*Message, error) {
	var sent struct {
		Headers [][2]string `json:"headers"`
		Text    string      `json:"text"`
		Base64  []byte      `json:"base64"`
	}
	if len(text) > mostMessage || json.Unmarshal(text, &sent) != nil {
		return nil, errors.New("a message that is none, or too large")
	}
	m := &Message{Destination: destination, Headers: sent.Headers, Body: []byte(sent.Text)}
	if len(sent.Base64) > 0 {
		m.Body = sent.Base64
	}
	return m, nil
}

// encode gives a message as it is stored, before it is cut into pieces: the length of its head, its
// head as JSON, and its body.
func (m *Message) encode() ([]byte, error) {
	head, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(make([]byte, 0, len(head)+len(m.Body)+4), uint64(len(head)))
	return append(append(b, head...), m.Body...), nil
}

// decode reads what encode has made.
func decode(id string, b []byte) (*Message, error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, corrupt("message")
	}
	m := &Message{ID: id, Body: b[n+int(size):]}
	if err := json.Unmarshal(b[n:n+int(size)], m); err != nil {
		return nil, corrupt("message")
	}
	return m, nil
}

// Size is how many bytes of an outbox the message takes.
func (m *Message) Size() (int64, error) {
	b, err := m.encode()
	return int64(len(b)) + overhead, err
}

// corrupt reports stored bytes that no code of ours writes.
func corrupt(what string) error {
	return fmt.Errorf("eventing: malformed %s of an outbox: %w", what, kv.ErrCorrupt)
}
