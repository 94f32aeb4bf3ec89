package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Principal is whose rights a function has: who deployed it. A process gives it the meaning that
// its users have.
type Principal struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	// External is one whom a proxy or a token has identified: with these roles, whatever is known
	// here.
	External bool `json:"external,omitempty"`
}

// Record is all that is known of a function. One that was given out is not changed.
type Record struct {
	// Version counts the changes of the record; 0 is that of a function that does not exist.
	Version uint64           `json:"version"`
	State   definition.State `json:"state"`
	// Draft is what clients see and change, Deployed what runs, or would if it were not paused; nil
	// while undeployed.
	Draft    *definition.Function `json:"draft"`
	Deployed *definition.Function `json:"deployed,omitempty"`
	// Instance numbers what was deployed; 0 while undeployed.
	Instance int64 `json:"instance,omitempty"`
	// Owner deployed or resumed it last.
	Owner Principal `json:"owner"`
	// Queries are the databases that statements in the deployed code write to.
	Queries []string `json:"queries,omitempty"`
	// Changed is when the state began, Paused when the function was paused last, of an instance
	// that was; by the clocks of who wrote them, for people and for OnDeploy.
	Changed time.Time  `json:"changed"`
	Paused  *time.Time `json:"paused,omitempty"`
	// Reason is why it was paused, where nobody has asked for that, or what has failed on the way to the
	// state that it is in; until it is deployed or resumed.
	Reason string `json:"reason,omitempty"`
}

// Ref names the function.
func (r *Record) Ref() definition.Ref { return r.Draft.Ref() }

// Running is the version that runs, else the draft.
func (r *Record) Running() *definition.Function {
	if r.Deployed != nil {
		return r.Deployed
	}
	return r.Draft
}

// flow is where changes come from and go to, of a function that is not undeployed.
func (r *Record) flow() definition.Flow { return r.Deployed.Flow(r.Queries) }

// copy is a record that can be changed. Functions are replaced, not changed.
func (r *Record) copy() *Record {
	c := *r
	return &c
}

// The tags below the prefix of eventing. Numbers are on disk: never change or reuse one.
const (
	keyChanges = iota
	keyFunction
	keyConfig
	keyNextInstance
	keyInstance
	_ // logs, which are the engine's
	keyDebugging
	keysEnd
)

// eventingPrefix is the key prefix of all that eventing keeps.
func eventingPrefix() []byte { return keyspace.EventingPrefix() }

func key(tag int64) []byte { return tuple.AppendInt(eventingPrefix(), tag) }

// InstancePrefix is the prefix of all keys of an instance; they are the engine's.
func InstancePrefix(instance int64) []byte { return tuple.AppendInt(key(keyInstance), instance) }

// KeysEnd is behind all keys of functions.
func KeysEnd() []byte { return key(keysEnd) }

// ChangesKey is the key whose value differs after each change of any function.
func ChangesKey() []byte { return key(keyChanges) }

func functionKey(ref definition.Ref) []byte { return refKey(keyFunction, ref) }

// refKey is the key of a function below a tag.
func refKey(tag int64, ref definition.Ref) []byte {
	k := tuple.AppendString(key(tag), ref.Scope.Bucket)
	return tuple.AppendString(tuple.AppendString(k, ref.Scope.Scope), ref.Name)
}

// children gives begin and end of a key and of all keys that extend it by further elements.
func children(key []byte) (begin, end []byte) { return key, append(key[:len(key):len(key)], 0xff) }

// chunkSize is the number of bytes stored in one value, below FoundationDB's limit of 100,000.
const chunkSize = 90_000

// write stores a record, in chunks where it is long.
func write(tx kv.Tx, r *Record) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // code has many of <, > and &
	if err := e.Encode(r); err != nil {
		return err
	}
	text := b.Bytes()
	base := functionKey(r.Ref())
	tx.ClearRange(children(base))
	tx.Set(base, text[:min(len(text), chunkSize)])
	for n := 1; n*chunkSize < len(text); n++ {
		tx.Set(tuple.AppendInt(base[:len(base):len(base)], int64(n)), text[n*chunkSize:min(len(text), (n+1)*chunkSize)])
	}
	return nil
}

// read gives the record of a function, nil if there is none.
func read(tx kv.ReadTx, ref definition.Ref) (*Record, error) {
	text, err := readText(tx, ref)
	if text == nil || err != nil {
		return nil, err
	}
	return parseRecord(text)
}

// readText gives the record of a function as it is stored, nil if there is none.
func readText(tx kv.ReadTx, ref definition.Ref) ([]byte, error) {
	begin, end := children(functionKey(ref))
	texts, err := scanTexts(tx, begin, end)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	return texts[0], nil
}

// parse makes the record of a text, unless the last look at all records met it: programs ask for
// the statistics of a function many times a second, and its record is some kilobytes of JSON.
func (g *Registry) parse(text []byte) (*Record, error) {
	if known := g.known.Load(); known != nil {
		if r := (*known)[string(text)]; r != nil {
			return r, nil
		}
	}
	return parseRecord(text)
}

func parseRecord(text []byte) (r *Record, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, corrupt("record", err)
	}
	if r == nil || r.Draft == nil || !r.State.Known() {
		return nil, corrupt("record", nil)
	}
	return r, nil
}

// scanAll gives all records, in the order of their keys. Only those that have changed since the
// last time are made of their texts: every change of a function makes all processes look at all of
// them.
func (g *Registry) scanAll(tx kv.ReadTx) ([]*Record, error) {
	begin, end := children(key(keyFunction))
	texts, err := scanTexts(tx, begin, end)
	if err != nil {
		return nil, err
	}
	records, known := make([]*Record, len(texts)), make(map[string]*Record, len(texts))
	for i, text := range texts {
		if records[i], err = g.parse(text); err != nil {
			return nil, err
		}
		known[string(text)] = records[i]
	}
	g.known.Store(&known)
	return records, nil
}

// scanTexts gives the records of a range as they are stored.
func scanTexts(tx kv.ReadTx, begin, end []byte) (texts [][]byte, err error) {
	it := tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		first, err := isFirstChunk(it.Key())
		if err != nil {
			return nil, err
		}
		if first {
			texts = append(texts, nil)
		} else if len(texts) == 0 {
			return nil, corrupt("record without a beginning", nil)
		}
		last := len(texts) - 1
		texts[last] = append(texts[last], it.Value()...)
	}
	return texts, it.Err()
}

// isFirstChunk reports whether a key of a function has no number of a chunk.
func isFirstChunk(k []byte) (bool, error) {
	rest := k[len(key(keyFunction)):]
	for range 3 {
		var err error
		if _, rest, err = tuple.ReadText(rest); err != nil {
			return false, corrupt("key of a function", err)
		}
	}
	return len(rest) == 0, nil
}

// corrupt reports stored bytes that no code of ours writes.
func corrupt(what string, err error) error {
	if err == nil {
		return fmt.Errorf("eventing: malformed %s: %w", what, kv.ErrCorrupt)
	}
	return fmt.Errorf("eventing: malformed %s: %v: %w", what, err, kv.ErrCorrupt)
}
