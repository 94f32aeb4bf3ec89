package barepebble

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

const memTableSize = 16 << 20

// Store is a Pebble database.
type Store struct{ db *pebble.DB }

// Open opens the database in dir, which is created if it is missing.
func Open(dir string) (*Store, error) {
	db, err := pebble.Open(dir, &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       memTableSize,
		Logger:             quiet{pebble.DefaultLogger},
	})
	if err != nil {
		return nil, err
	}
	return &Store{db}, nil
}

// Commit writes the pairs in one batch and returns when they are durable. values must be as long as
// keys.
func (s *Store) Commit(keys, values [][]byte) error {
	b := s.db.NewBatch()
	for i, key := range keys {
		if err := b.Set(key, values[i], nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return errors.Join(b.Commit(pebble.Sync), b.Close())
}

// Close releases the store.
func (s *Store) Close() error { return s.db.Close() }

// quiet leaves out what Pebble tells about its progress.
type quiet struct{ pebble.Logger }

// Infof says nothing.
func (quiet) Infof(format string, args ...any) {}
