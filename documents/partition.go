package documents

import (
	"context"
	"iter"
	"strings"

	"github.com/settee-db/settee/compat"
)

// CheckPartitions refuses ids that name no partition where the database asks for one; ids that
// begin with an underscore need none (couch_partition:hash). The database is only asked when there
// is such an id.
func (d *Database) CheckPartitions(ctx context.Context, ids iter.Seq[string]) error {
	err := namePartitions(ids)
	if err == nil {
		return nil
	}
	partitioned, dbErr := d.db.Settings().Partitioned(ctx)
	if dbErr != nil || !partitioned {
		return dbErr
	}
	return err
}

// InPartitions returns the database with reads that refuse ids without a partition; they check in
// the snapshot in which they read.
func (d *Database) InPartitions(ids iter.Seq[string]) *Database {
	return d.beginning(func(partitioned bool) error {
		if !partitioned {
			return nil
		}
		return namePartitions(ids)
	})
}

// TellingRules returns the database with reads that call tell, before they begin, with the rules
// for ids.
func (d *Database) TellingRules(tell func(compat.IDRules)) *Database {
	return d.beginning(func(partitioned bool) error { tell(d.rules.ids(partitioned)); return nil })
}

// beginning returns a copy of the database whose reads first call check, in the snapshot that they
// read.
func (d *Database) beginning(check func(partitioned bool) error) *Database {
	own := *d
	own.db = d.db.Beginning(check)
	// The security object is read through the copy as well.
	own.access.d = &own
	return &own
}

// namePartitions is the error of the first id that names no partition and would have to.
func namePartitions(ids iter.Seq[string]) error {
	for id := range ids {
		if strings.HasPrefix(id, "_") {
			continue
		}
		if _, _, err := compat.SplitPartition(id); err != nil {
			return err
		}
	}
	return nil
}
