package documents

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/settee-db/settee/storage"
)

// groups tracks, for a feed with FeedOptions.Group, the commit of the last row. Rows of one commit
// are neighbours: their sequences differ in the last two bytes.
type groups struct {
	// The sequence of the row that was given last, and whether more rows of its commit may follow.
	last   storage.Seq
	inside atomic.Bool
}

// errNextCommit ends a scan before a row of another commit than the row before it.
var errNextCommit = errors.New("documents: another commit")

// CommitSize is how many bytes of a sequence, after its incarnation, are the same in all rows of a
// commit.
const CommitSize = len(storage.Seq{}.Versionstamp) - 2

// sameCommit reports whether two sequences are of one transaction: they differ only behind the
// versionstamp of the commit.
func sameCommit(a, b storage.Seq) bool {
	return a.Incarnation == b.Incarnation &&
		[CommitSize]byte(a.Versionstamp[:]) == [CommitSize]byte(b.Versionstamp[:])
}

// grouped is a scan that goes on beyond its limit until the commit of the last row has ended.
func (f *Feed) grouped(scan scanFunc) scanFunc {
	return func(ctx context.Context, since storage.Seq, limit int64, row rowFunc) (storage.ChangesEnd, error) {
		given, whole := int64(0), limit
		if limit > 0 {
			whole = -1
		}
		end, err := scan(ctx, since, whole, func(ch *storage.Change) error {
			if given > 0 && given >= limit && limit > 0 && !sameCommit(f.last, ch.Seq.Seq) {
				return errNextCommit
			}
			err := row(ch)
			if err == nil {
				given++
				f.last = ch.Seq.Seq
				f.inside.Store(true)
			}
			return err
		})
		f.inside.Store(false)
		if errors.Is(err, errNextCommit) {
			err = nil
		}
		return end, err
	}
}

// passed notes that the scan has come to a row, whether it passes the filter or not.
func (g *groups) passed(seq storage.Seq) {
	if g.inside.Load() && !sameCommit(g.last, seq) {
		g.inside.Store(false)
	}
}

// Inside reports whether more rows of the commit of the last one may come; without Group it is
// false. It may be asked while the feed is scanned.
func (g *groups) Inside() bool { return g.inside.Load() }
