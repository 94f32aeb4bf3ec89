//go:build fdb

package fdbkv

import (
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
)

// statusKey is where FoundationDB gives what `fdbcli --exec "status json"` prints.
const statusKey = "\xff\xff/status/json"

// statusTimeout bounds how long it is waited for.
const statusTimeout = 3 * time.Second

// Status returns the cluster's own status, in JSON. The coordinators are asked: it works while the
// rest of the cluster does not answer, too.
func (s *Store) Status() ([]byte, error) {
	t, err := s.db.CreateTransaction()
	if err != nil {
		return nil, err
	}
	if err := t.Options().SetTimeout(statusTimeout.Milliseconds()); err != nil {
		return nil, err
	}
	return t.Get(fdb.Key(statusKey)).Get()
}
