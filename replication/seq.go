package replication

import (
	"github.com/settee-db/settee/compat/ejson"
)

// Sequence is a place in a source's changes, as the JSON text that the source gave: a string, a
// number or, of very old servers, an array. "" means that there is none.
type Sequence string

// FirstSequence is the start of every feed.
const FirstSequence Sequence = "0"

// Query is the sequence as the value of `since` (couch_replicator_utils:seq_encode).
func (s Sequence) Query() string {
	if len(s) > 1 && s[0] == '"' {
		if v, err := ejson.Parse([]byte(s)); err == nil {
			return v.Text()
		}
	}
	return string(s)
}

// Encoded is the sequence as lists of jobs show it: a JSON string, whatever the source gave.
func (s Sequence) Encoded() []byte {
	if s == "" || s == "null" {
		return []byte("null")
	}
	return ejson.AppendString(nil, s.Query())
}
