package answers

import (
	"bytes"
	"context"
	"fmt"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// checkWindow is how many rows Check reads from one snapshot at a time.
const checkWindow = 100

// Check reads what is kept below a prefix, keyspace.AnswersPrefix, and returns what is malformed or
// does not agree. Beside writers it may tell of what changed between its snapshots.
func Check(ctx context.Context, store kv.Store, root []byte) (violations []string, err error) {
	end := append(bytes.Clone(root), 0xff)
	charges := make(map[string]int64) // by user, less those of the entries
	err = kv.Walk(ctx, store, root, end, checkWindow, func(r kv.ReadTx, window []kv.Row) error {
		var wrong []string
		var rows []checkedRow
		var others [][]byte
		for _, row := range window {
			c, err := checkRow(row.Key[len(root):], row.Value)
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("answers: key %q: %v", row.Key, err))
				continue
			}
			if rows = append(rows, c); c.other != nil {
				others = append(others, c.other)
			}
		}
		values, err := r.GetMany(others)
		if err != nil {
			return err
		}
		for i, value := range values {
			if value == nil {
				wrong = append(wrong, fmt.Sprintf("answers: invariant 2: there is no key %q", others[i]))
			}
		}
		for _, c := range rows {
			charges[c.user] += c.charge
		}
		violations = append(violations, wrong...)
		return nil
	})
	for user, charge := range charges {
		if charge != 0 {
			violations = append(violations,
				fmt.Sprintf("answers: invariant 4: user %q is charged with %d bytes too many", user, charge))
		}
	}
	return violations, err
}

// checkedRow is what follows from a row: another key that must exist, and a number that is added up
// by user. The sum is zero where the counter and the entries agree.
type checkedRow struct {
	// The key that has to be there if this row is; the user, and by how much the row changes what
	// is charged to the user.
	other  []byte
	user   string
	charge int64
}

// checkRow reads a row of any part and tells which other one it calls for.
func checkRow(key, value []byte) (c checkedRow, err error) {
	part, rest, err := tuple.ReadInt(key)
	if err != nil {
		return c, err
	}
	switch part {
	case partTimes:
		q, _, size, err := parseListed(rest, value)
		if err != nil {
			return c, err
		}
		return checkedRow{q.answer(), q.User, -size}, nil
	case partAnswers:
		q, chunk, err := parseNames(rest)
		if err != nil || len(chunk) > 0 {
			return c, err
		}
		r, err := parseRecord(value) // of a long one the beginning
		if err != nil {
			return c, err
		}
		return checkedRow{other: q.listed(r.ms)}, nil
	case partUsers:
		if c.user, rest, err = tuple.ReadString(rest); err == nil && len(rest) == 0 && len(value) == 8 {
			c.charge = keyspace.Counter(value)
			return c, nil
		}
	}
	return c, kv.ErrCorrupt
}
