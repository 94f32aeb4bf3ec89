package views

import (
	"bytes"
	"fmt"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// checkPieces verifies invariant 10 of a database, whose records were read in the same snapshot.
func checkPieces(snap *storage.Snapshot, indexes []*index) (found []Violation, err error) {
	violate := func(number int64, format string, args ...any) {
		if len(found) < enoughViolations {
			found = append(found, Violation{snap.Name(), number, 10, fmt.Sprintf(format, args...)})
		}
	}
	sp := spaceOf(snap)
	fresh := make(map[int64]storage.Seq) // of the indexes in pieces, by their leaders
	for _, ix := range indexes {
		lead := ix.rec.pieces
		if lead == 0 {
			continue
		}
		if ix.rec.interactive || ix.rec.levels || ix.rec.seq != (storage.Seq{}) {
			violate(ix.rec.number, "in pieces, and built otherwise too")
		}
		if other, known := fresh[lead]; known && other != ix.rec.fresh {
			violate(ix.rec.number, "its pieces end elsewhere than those of others of the same")
		}
		fresh[lead] = ix.rec.fresh
		if ix.rec.number != lead {
			continue
		}
		if err := checkSet(snap.KV(), sp, ix, violate); err != nil {
			return found, err
		}
	}
	begin, end := children(sp.sub(nil, keyPieces))
	it := snap.KV().Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		number, _, err := tuple.ReadInt(it.Key()[len(begin):])
		if err != nil {
			return found, err
		}
		if _, known := fresh[number]; !known {
			violate(number, "a key of a build in pieces that nobody makes")
		}
	}
	return found, it.Err()
}

// checkSet verifies the pieces that an index leads: they follow each other, and the last one ends
// where the index will be.
func checkSet(r kv.ReadTx, sp space, ix *index, violate func(number int64, format string, args ...any)) error {
	number := ix.rec.number
	set, err := readPieces(r, sp, number)
	if err != nil {
		return err
	}
	if set == nil || len(set.pieces) == 0 {
		violate(number, "in pieces of which there are none")
		return nil
	}
	var last storage.Seq
	for n, c := range set.pieces {
		if !bytes.Equal(c.key, sp.piece(number, int64(n))) || c.at.Before(last) || c.end.Before(c.at) ||
			!last.Before(c.end) {
			violate(number, "piece %d is not between its neighbours", n)
		}
		last = c.end
	}
	if last != ix.rec.fresh {
		violate(number, "the pieces end elsewhere than the index")
	}
	return nil
}
