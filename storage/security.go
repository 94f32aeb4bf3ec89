package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/rights"
)

// Security objects. Each request of a user reads the one of its database. Most are a few hundred bytes and are parsed
// each time; large ones are parsed once and shared by all requests, and have a bound: what can be shared is never
// copied for a request.
//
// Value of TagSecurity: varint length of the JSON text, the text. An object of more than sharedSecurity bytes has
// instead: a zero byte, the SHA-256 of the text, varint length; the text follows in chunks below the key. (Before 0.2:
// the length, the text's beginning, its rest in chunks.)

const (
	// MaxSecurity is the size of the largest security object, in bytes: some 40,000 names.
	MaxSecurity = 1 << 20
	// sharedSecurity is the size from which on objects are shared.
	sharedSecurity = 8 << 10
)

// errSecurityTooLarge refuses an object of more than MaxSecurity bytes. CouchDB takes any, and holds it in memory for
// each open database.
var errSecurityTooLarge = compat.NewError(compat.KindDocumentTooLarge, "_security")

// ForgetParsed empties the cache of large security objects, which are then read again. It may be called at any time.
func (s *Store) ForgetParsed() { s.securities.Forget() }

// ForgetBlocks empties the engine's cache of blocks, where it has one: what is read then comes from files again.
func (s *Store) ForgetBlocks() {
	if engine, ok := s.kv.(interface{ ForgetBlocks() }); ok {
		engine.ForgetBlocks()
	}
}

// Security reads the security object as it was set, nil if it never was. It is not to be changed.
func (db *DB) Security(ctx context.Context) ([]byte, error) {
	var object []byte
	err := db.view(ctx, func(d *dbRead) (err error) {
		object, err = d.security()
		return err
	})
	return object, err
}

// Rights reads what the security object says about access; compat.DefaultSecurity is in force where none was set. They
// are not to be changed.
func (db *DB) Rights(ctx context.Context) (*compat.Security, error) {
	var small []byte
	var shared *rights.Object
	err := db.view(ctx, func(d *dbRead) (err error) {
		small, shared, err = d.securityObject()
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case shared != nil:
		return &shared.Rights, shared.Err
	}
	parsed, err := rights.Parse(small)
	return &parsed, err
}

// security reads the text of the security object.
func (d *dbRead) security() ([]byte, error) {
	object, shared, err := d.securityObject()
	if shared != nil {
		object = shared.JSON
	}
	return object, err
}

// securityObject reads the security object: either as a text of its own, nil if there is none, or as a shared one.
func (d *dbRead) securityObject() (object []byte, shared *rights.Object, err error) {
	key := d.keys.sub(nil, TagSecurity)
	value, err := d.r.Get(key)
	if err != nil || value == nil {
		return nil, nil, err
	}
	r := packed.Reader{B: value}
	length := r.Uvarint()
	if length == 0 && !r.Bad && len(r.B) > sha256.Size {
		hash := rights.Hash(r.B)
		r.B = r.B[sha256.Size:]
		if length = r.Uvarint(); r.Bad || length > maxBlob || len(r.B) > 0 {
			return nil, nil, corrupt("security object", nil)
		}
		shared, err = d.shared.Load(hash, func() ([]byte, error) { return d.readChunks(key, int(length)) })
		return nil, shared, err
	}
	if r.Bad || length > maxBlob || len(r.B) > int(length) {
		return nil, nil, corrupt("security object", nil)
	}
	object = bytes.Clone(r.B)
	if len(object) < int(length) {
		rest, err := d.readChunks(key, int(length)-len(object))
		return append(object, rest...), nil, err
	}
	return object, nil, nil
}

// SetSecurity replaces the security object, which is stored as it is. The error is compat.KindDocumentTooLarge for more
// than MaxSecurity bytes.
func (db *DB) SetSecurity(ctx context.Context, object []byte) error {
	if len(object) > MaxSecurity {
		return errSecurityTooLarge
	}
	return db.update(ctx, func(t *dbTx) error {
		t.setSecurity(object)
		return nil
	})
}

func (t *dbTx) setSecurity(object []byte) {
	key := t.keys.sub(nil, TagSecurity)
	t.tx.ClearRange(children(key))
	if len(object) <= sharedSecurity {
		t.tx.Set(key, append(binary.AppendUvarint(nil, uint64(len(object))), object...))
		return
	}
	hash := sha256.Sum256(object)
	t.tx.Set(key, binary.AppendUvarint(append([]byte{0}, hash[:]...), uint64(len(object))))
	t.putChunks(key, object)
}
