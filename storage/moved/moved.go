package moved

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// looked is how many databases Is looks at. The first ones are those of the system, by their names:
// with _global_changes, which is written to soon after any other.
const looked = 100

// Is reports whether the keys of the store were brought to it from another one.
func Is(ctx context.Context, s *storage.Store, home Home) (other bool, err error) {
	if err := home.KV.View(ctx, func(r kv.ReadTx) error {
		other, err = home.isOther(r)
		return err
	}); other || err != nil {
		return other, err
	}
	var names []string
	err = s.AllDBs(ctx, storage.RangeOptions{Limit: looked}, func(name string) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, name := range names {
		moved, err := isMoved(ctx, s.DB(name), home)
		if moved || err != nil {
			return moved, err
		}
	}
	return false, nil
}

// isMoved reports whether a database is not settled.
func isMoved(ctx context.Context, db *storage.DB, home Home) (moved bool, err error) {
	err = db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		moved, err = isAhead(s, home)
		return err
	})
	if errors.Is(err, compat.KindNoDatabase) {
		return false, nil
	}
	return moved, err
}

// isAhead reports whether the last sequence of a database is one that its next ones may be below:
// because it is of the same incarnation, and above the version of the store, or other ones that
// followed it elsewhere may be.
func isAhead(s *storage.Snapshot, home Home) (bool, error) {
	now, err := s.KV().ReadVersion()
	if err != nil {
		return false, err
	}
	other, err := home.isOther(s.KV())
	if err != nil {
		return false, err
	}
	for _, last := range []func() (storage.Seq, error){s.LastSeq, s.LastPurge} {
		seq, err := last()
		if err != nil {
			return false, err
		}
		if seq.Incarnation >= s.Incarnation() && (other || binary.BigEndian.Uint64(seq.Versionstamp[:]) > now) {
			return true, nil
		}
	}
	return false, nil
}

// Settle gives all databases that were brought from another store their next incarnation, and
// returns how many these were. Before that prepare is called for each. Databases of the system are
// the last: those that Is looks at. In the end the store names its home.
func Settle(
	ctx context.Context,
	s *storage.Store,
	home Home,
	prepare func(ctx context.Context, db *storage.DB) error,
) (settled int, err error) {
	var names []string
	if err := s.AllDBs(ctx, storage.RangeOptions{Limit: -1}, func(name string) error {
		names = append(names, name)
		return nil
	}); err != nil {
		return 0, err
	}
	for _, name := range slices.Backward(names) {
		db := s.DB(name)
		moved, err := isMoved(ctx, db, home)
		if err != nil {
			return settled, err
		}
		if !moved {
			continue
		}
		err = prepare(ctx, db)
		if err == nil {
			err = db.Transact(ctx, func(tx *storage.Tx) error {
				moved, err := isAhead(tx.Snapshot(), home)
				if !moved || err != nil {
					return err
				}
				if tx.Snapshot().Incarnation() == math.MaxUint8 {
					return fmt.Errorf("database %s has moved too often for other sequences: replicate it instead", name)
				}
				tx.RaiseIncarnation()
				return nil
			})
		}
		switch {
		case err == nil:
			settled++
		case !errors.Is(err, compat.KindNoDatabase):
			return settled, err
		}
	}
	return settled, home.Keep(ctx)
}
