package settings

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// longest is how long a value may be, in bytes: it is stored in one piece.
	longest = 90_000
	// longestKey is how long a section and a key may be together, in bytes: keys of FoundationDB
	// have 10,000.
	longestKey = 4000
	// changeTime bounds how long a change may take, the wait for other processes included. One that
	// is gone is waited for as long as it counts as there.
	changeTime = 20 * time.Second
	// again is how long after a failure the settings are read again.
	again = time.Second
)

// Options configure Open.
type Options struct {
	KV     kv.Store
	Prefix []byte // of all keys
	Nodes  *nodes.Members
	Config *config.Config
	Log    *slog.Logger
}

// Settings are what processes share. It is safe for concurrent use.
type Settings struct {
	o Options

	mu   sync.Mutex
	seen uint64 // the changes that the configuration has
}

// Open has the configuration take over what is shared, and send its changes there. It is called
// before the configuration is used by others; Run follows what other processes change.
func Open(ctx context.Context, o Options) (*Settings, error) {
	s := &Settings{o: o}
	if err := s.Current(ctx); err != nil {
		return nil, err
	}
	o.Config.Share(s)
	return s, nil
}

// Current returns when the configuration has all changes that were answered before it was called:
// at once, unless the others may have taken this process for gone. Then it is there first, and
// reads: a change that is made meanwhile waits for it.
func (s *Settings) Current(ctx context.Context) error {
	return s.o.Nodes.CaughtUp(ctx, func(ctx context.Context) error {
		_, err := s.refresh(ctx)
		return err
	})
}

// Run follows the changes of other processes until ctx ends.
func (s *Settings) Run(ctx context.Context) {
	for ctx.Err() == nil {
		changes, err := s.refresh(ctx)
		if err == nil {
			err = s.o.KV.Watch(ctx, s.o.Prefix, changes)
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("settings: what other processes have set could not be followed", "error", err)
			select {
			case <-time.After(again):
			case <-ctx.Done():
			}
		}
	}
}

// refresh reads what is shared, has the configuration take it over, and tells the other processes
// that it has; changes is what the count of changes was.
func (s *Settings) refresh(ctx context.Context) (changes []byte, err error) {
	var common config.Common
	err = s.o.KV.View(ctx, func(tx kv.ReadTx) error {
		value, err := tx.Get(s.o.Prefix)
		if err != nil {
			return err
		}
		changes = bytes.Clone(value)
		common, err = read(tx, s.o.Prefix)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := number(changes); n >= s.seen { // else another one has read later
		s.seen = n
		s.o.Config.Adopt(common)
		s.o.Nodes.Saw(nodes.Settings, n)
	}
	return changes, nil
}

// Change is config.Shared's.
func (s *Settings) Change(section, key string, change config.Change) (current *string, err error) {
	if change.Value != nil && len(*change.Value) > longest {
		return nil, config.ErrValue
	}
	if len(section)+len(key) > longestKey {
		return nil, config.ErrKey
	}
	ctx, cancel := context.WithTimeout(context.Background(), changeTime)
	defer cancel()
	var count uint64
	_, err = s.o.KV.Update(ctx, func(tx kv.Tx) error {
		values, err := tx.GetMany([][]byte{s.key(section, key), s.o.Prefix})
		if err != nil {
			return err
		}
		count, current = number(values[1]), change.Value
		if old := decode(values[0]); change.OnlyNew && old != nil {
			current = old
			return nil
		}
		count++
		tx.Set(s.key(section, key), encode(change.Value))
		tx.Set(s.o.Prefix, binary.LittleEndian.AppendUint64(nil, count))
		return nil
	})
	if err == nil {
		_, err = s.refresh(ctx)
	}
	if err == nil {
		err = s.o.Nodes.AwaitSeen(ctx, nodes.Settings, count)
	}
	return current, err
}

func (s *Settings) key(section, key string) []byte {
	return tuple.AppendString(tuple.AppendString(bytes.Clone(s.o.Prefix), section), key)
}

// read reads everything that is shared.
func read(tx kv.ReadTx, prefix []byte) (config.Common, error) {
	common := make(config.Common)
	begin := append(prefix[:len(prefix):len(prefix)], 0)
	it := tx.Range(begin, after(prefix), kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		section, key, err := parse(it.Key()[len(prefix):], it.Value())
		if err != nil {
			return nil, err
		}
		if common[section] == nil {
			common[section] = make(map[string]*string)
		}
		common[section][key] = decode(it.Value())
	}
	return common, it.Err()
}

// after is the end of the keys below a prefix.
func after(prefix []byte) []byte { return append(prefix[:len(prefix):len(prefix)], 0xff) }

// parse reads a key behind the prefix, and whether it has such a value. The error is kv.ErrCorrupt.
func parse(src, value []byte) (section, key string, err error) {
	section, rest, err := tuple.ReadString(src)
	if err == nil {
		key, rest, err = tuple.ReadString(rest)
	}
	if err != nil || len(rest) > 0 || len(value) == 0 || value[0] > 1 {
		return "", "", fmt.Errorf("settings: malformed key %q: %w", src, kv.ErrCorrupt)
	}
	return section, key, nil
}

// encode is the value of a setting: 1 and its text, or 0 for one that was taken away.
func encode(value *string) []byte {
	if value == nil {
		return []byte{0}
	}
	return append([]byte{1}, *value...)
}

// decode gives the value of a key: nil for a key that is absent or was deleted.
func decode(stored []byte) *string {
	if len(stored) == 0 || stored[0] == 0 {
		return nil
	}
	value := string(stored[1:])
	return &value
}

// number reads the count of changes.
func number(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}
