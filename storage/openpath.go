package storage

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
)

// OpenPath reads one value of the current revision of a document: path has a string for each object and an int for each array
// on the way, nothing for the whole body. The answer is canonical JSON, nil if there is no such value. In the exploded layout
// only that value is read. The error is compat.ErrMissing or compat.ErrDeleted if there is no document.
func (db *DB) OpenPath(ctx context.Context, id string, path ...any) (value []byte, err error) {
	err = db.viewOn(ctx, func(d *dbRead) (err error) {
		value, err = d.openPath(id, path)
		return err
	})
	return value, err
}

// openPath is OpenPath in a running transaction.
func (d *dbRead) openPath(id string, path kv.Tuple) ([]byte, error) {
	key, found, err := d.winnerKey(id)
	if err != nil {
		return nil, err
	}
	if !found {
		if _, err := d.openWinner(id, OpenOptions{NoBody: true}); err != nil {
			return nil, err
		}
		return nil, corrupt("live document without an entry", nil)
	}
	value, err := d.r.Get(key)
	if err != nil {
		return nil, err
	}
	_, head, err := parseEntry(value)
	if err != nil {
		return nil, err
	}
	if head.format == entryExploded {
		return d.explodedPart(key, path)
	}
	e, err := d.entryOf(key, value)
	if err != nil {
		return nil, err
	}
	return bodyPart(e.body, path)
}

// winnerKey finds the key of the entry of a live winner.
func (d *dbRead) winnerKey(id string) (key []byte, found bool, err error) {
	prefix := d.keys.doc(nil, TagDocs, id)
	begin, end := children(prefix)
	it := d.r.Range(begin, end, kv.RangeOptions{Reverse: true, Limit: 1})
	defer it.Close()
	if !it.Next() {
		return nil, false, it.Err()
	}
	deleted, _, rest, err := parseLeafKey(it.Key()[len(prefix):])
	return bytes.Clone(it.Key()[:len(it.Key())-len(rest)]), !deleted, err
}

// explodedPart reads the values at a path and below.
func (d *dbRead) explodedPart(entryKey []byte, path kv.Tuple) ([]byte, error) {
	prefix, err := path.Pack(bytes.Clone(entryKey))
	if err != nil {
		return nil, err
	}
	begin, end := children(prefix)
	if len(path) == 0 {
		begin = kv.AppendKeyAfter(nil, entryKey)
	}
	it := d.r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var b explodedBody
	for it.Next() {
		if err := b.add(it.Key()[len(prefix):], it.Value()); err != nil {
			return nil, err
		}
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	if len(b.rows) == 0 && len(path) > 0 {
		return nil, nil
	}
	return b.appendJSON(nil)
}

// bodyPart is the value at a path of a body.
func bodyPart(body []byte, path kv.Tuple) ([]byte, error) {
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(body)
	if err != nil {
		return nil, corrupt("body", err)
	}
	for _, step := range path {
		found := false
		switch step := step.(type) {
		case string:
			v, found = v.Get(step)
		case int:
			i := 0
			for element := range v.Elements() {
				if found = i == step; found {
					v = element
					break
				}
				i++
			}
		default:
			return nil, compat.Errorf(compat.KindInternal, "a path has a %T", step)
		}
		if !found {
			return nil, nil
		}
	}
	return v.AppendJSON(nil), nil
}
