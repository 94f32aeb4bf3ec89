package storage

import "context"

// Indexers makes one Indexer of several, which are asked in turn. Those that may put a document off with ErrPending
// have to come first, and there can be only one of them: the others would have written their part already.
func Indexers(list ...Indexer) PurgeIndexer { return indexers(list) }

type indexers []Indexer

// Prepare implements Indexer.
func (l indexers) Prepare(ctx context.Context, tx *Tx) (IndexFunc, error) {
	var funcs []IndexFunc
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
	return func(ctx context.Context, tx *Tx, id string, before, after *Document) error {
		for _, f := range funcs {
			if err := f(ctx, tx, id, before, after); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Purged implements PurgeIndexer.
func (l indexers) Purged(ctx context.Context, tx *Tx, ids []string) error {
	for _, x := range l {
		if p, ok := x.(PurgeIndexer); ok {
			if err := p.Purged(ctx, tx, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// AppendHead implements HeadIndexer.
func (l indexers) AppendHead(keys [][]byte, tx *Tx) [][]byte {
	for _, x := range l {
		if h, ok := x.(HeadIndexer); ok {
			keys = h.AppendHead(keys, tx)
		}
	}
	return keys
}

// Fold implements FoldIndexer.
func (l indexers) Fold(ctx context.Context, db *DB) error {
	for _, x := range l {
		if f, ok := x.(FoldIndexer); ok {
			if err := f.Fold(ctx, db); err != nil {
				return err
			}
		}
	}
	return nil
}
