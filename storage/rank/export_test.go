package rank

import "github.com/settee-db/settee/storage/kv"

// AddForTest adds a weight to a stored one.
func AddForTest(x *Index, tx kv.Tx, key []byte, w Weight) { x.add(tx, key, 0, w) }

// TidyForTest has stretches of more than n boundaries tidied piece by piece.
func TidyForTest(x *Index, n int) { x.tidied = n }
