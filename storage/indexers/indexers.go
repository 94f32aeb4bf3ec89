package indexers

import (
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// Join makes one Indexer of several, which are asked in turn. Those that may put a document off
// with storage.ErrPending have to come first, and there can be only one of them: the others would
// have written their part already.
func Join(list ...storage.Indexer) storage.PurgeIndexer { return indexers(list) }

type indexers []storage.Indexer

// Prepare implements Indexer.
func (l indexers) Prepare(ctx context.Context, tx *storage.Tx) (storage.IndexFunc, error) {
	var funcs []storage.IndexFunc
	for _, x := range l {
		f, err := x.Prepare(ctx, tx)
		if err != nil {
			return nil, err
		}
		if f != nil {
			funcs = append(funcs, f)
		}
	}
	if len(funcs) < 2 {
		if len(funcs) == 0 {
			return nil, nil
		}
		return funcs[0], nil
	}
	return func(ctx context.Context, tx *storage.Tx, id string, before, after *docread.Document) error {
		for _, f := range funcs {
			if err := f(ctx, tx, id, before, after); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Purged implements PurgeIndexer.
func (l indexers) Purged(ctx context.Context, tx *storage.Tx, ids []string) error {
	for _, x := range l {
		if p, ok := x.(storage.PurgeIndexer); ok {
			if err := p.Purged(ctx, tx, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// AppendHead implements HeadIndexer.
func (l indexers) AppendHead(keys [][]byte, tx *storage.Tx) [][]byte {
	for _, x := range l {
		if h, ok := x.(storage.HeadIndexer); ok {
			keys = h.AppendHead(keys, tx)
		}
	}
	return keys
}

// Fold implements FoldIndexer.
func (l indexers) Fold(ctx context.Context, db *storage.DB) error {
	for _, x := range l {
		if f, ok := x.(storage.FoldIndexer); ok {
			if err := f.Fold(ctx, db); err != nil {
				return err
			}
		}
	}
	return nil
}
