package storage

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/keyspace"
)

// Security objects. Each request of a user reads the one of its database. Most are a few hundred
// bytes and are parsed each time; large ones are parsed once and shared by all requests, and have a
// bound: what can be shared is never copied for a request.

const (
	// MaxSecurity is the size of the largest security object, in bytes: some 40,000 names.
	MaxSecurity = 1 << 20
	// sharedSecurity is the size from which on objects are shared.
	sharedSecurity = 8 << 10
	// cachedSecurity is how many bytes of them are kept. What they take parsed is about five times
	// as much.
	cachedSecurity = 8 << 20
)

// sharedObject is a large security object with what it says. Nobody changes it.
type sharedObject struct {
	json   []byte
	rights compat.Security
	err    error // of rights
}

type securityHash = [sha256.Size]byte

// securities has the large security objects that were read last, by the hashes of their texts. It
// is safe for concurrent use.
type securities struct {
	objects *cache.Cache[securityHash, *sharedObject]
	loading sync.Mutex // one object at a time is read and parsed
}

func newSecurities() *securities {
	size := func(_ securityHash, o *sharedObject) int { return len(o.json) }
	return &securities{objects: cache.NewSized(cachedSecurity, size)}
}

// load gives the object with the hash, read by read unless another request has done so meanwhile.
// The error is read's.
func (s *securities) load(hash securityHash, read func() ([]byte, error)) (*sharedObject, error) {
	if o, ok := s.objects.Get(hash); ok {
		return o, nil
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	return s.objects.Load(hash, func() (*sharedObject, error) {
		json, err := read()
		if err != nil {
			return nil, err
		}
		o := &sharedObject{json: json}
		o.rights, o.err = parseSecurity(json)
		return o, nil
	})
}

// parseSecurity reads a security object, the default one for nil.
func parseSecurity(object []byte) (compat.Security, error) {
	if object == nil {
		object = []byte(compat.DefaultSecurity)
	}
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(object)
	if err != nil {
		return compat.Security{}, err
	}
	return compat.ParseSecurity(v)
}

// errSecurityTooLarge refuses an object of more than MaxSecurity bytes. CouchDB takes any, and
// holds it in memory for each open database.
var errSecurityTooLarge = compat.NewError(compat.KindDocumentTooLarge, "_security")

// ForgetParsed empties the cache of large security objects, which are then read again. It may be
// called at any time.
func (s *Store) ForgetParsed() { s.securities.objects.Purge() }

// ForgetBlocks empties the engine's cache of blocks, where it has one: what is read then comes from
// files again.
func (s *Store) ForgetBlocks() {
	if engine, ok := s.kv.(interface{ ForgetBlocks() }); ok {
		engine.ForgetBlocks()
	}
}

// Security reads the security object as it was set, nil if it never was. It is not to be changed.
func (s Settings) Security(ctx context.Context) ([]byte, error) {
	var object []byte
	err := s.db.view(ctx, func(d *dbRead) (err error) {
		object, err = d.security()
		return err
	})
	return object, err
}

// Rights are what a database says about access.
type Rights struct {
	*compat.Security                   // compat.DefaultSecurity where none was set; not to be changed
	PerDocument      bool              // each document has readers of its own
	Who              access.Principals // in such a database: who asks, with their groups
}

// Rights reads who has access, and in which groups somebody is. who is asked where principals count.
func (s Settings) Rights(ctx context.Context, who func() access.Principals) (rights Rights, err error) {
	var small []byte
	var shared *sharedObject
	err = s.db.view(ctx, func(d *dbRead) (err error) {
		rights = Rights{PerDocument: d.Rec.Access.On}
		if small, shared, err = d.securityObject(); err != nil || !rights.PerDocument {
			return err
		}
		if rights.Who = who(); d.Rec.Access.Groups && rights.Who.Len() > 0 {
			rights.Who, err = groups.In(d.Keys).Of(d.R, rights.Who)
		}
		return err
	})
	switch {
	case err != nil:
		return Rights{}, err
	case shared != nil:
		rights.Security = &shared.rights
		return rights, shared.err
	}
	parsed, err := parseSecurity(small)
	rights.Security = &parsed
	return rights, err
}

// security reads the text of the security object.
func (d *dbRead) security() ([]byte, error) {
	object, shared, err := d.securityObject()
	if shared != nil {
		object = shared.json
	}
	return object, err
}

// securityObject reads the security object: either as a text of its own, nil if there is none, or
// as a shared one.
func (d *dbRead) securityObject() (object []byte, shared *sharedObject, err error) {
	stored, err := d.StoredSecurity()
	if err != nil || stored == nil {
		return nil, nil, err
	}
	if !stored.Hashed {
		object, err = d.SecurityText(stored)
		return object, nil, err
	}
	shared, err = d.shared.load(stored.Hash, func() ([]byte, error) { return d.SecurityText(stored) })
	return nil, shared, err
}

// SetSecurity replaces the security object, which is stored as it is. The error is
// compat.KindDocumentTooLarge for more than MaxSecurity bytes.
func (s Settings) SetSecurity(ctx context.Context, object []byte) error {
	if len(object) > MaxSecurity {
		return errSecurityTooLarge
	}
	return s.db.update(ctx, func(t *dbTx) error {
		t.setSecurity(object)
		return nil
	})
}

// setSecurity stores a security object; a large one is in chunks below the key, which has its hash.
func (t *dbTx) setSecurity(object []byte) {
	key := t.Keys.Sub(nil, keyspace.TagSecurity)
	t.tx.ClearRange(keyspace.Children(key))
	apart := len(object) > sharedSecurity
	if t.tx.Set(key, formats.EncodeSecurity(object, apart)); apart {
		t.putChunks(key, object)
	}
}
