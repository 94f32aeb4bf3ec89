package rights

import (
	"crypto/sha256"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Kept is how many bytes of objects are kept.
const Kept = 8 << 20

// Object is a security object with what it says. Nobody changes it.
type Object struct {
	JSON   []byte
	Rights compat.Security
	Err    error // of Rights
}

// Hash is the hash of an object's text.
type Hash = [sha256.Size]byte

// Parse reads a security object, the default one for nil.
func Parse(object []byte) (compat.Security, error) {
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

// Cache has the objects that were loaded last, by the hashes of their texts. The zero Cache is empty. It is safe for
// concurrent use.
type Cache struct {
	loading sync.Mutex // one at a time is read and parsed

	mu    sync.Mutex
	list  map[Hash]*Object
	order []Hash // the one that was loaded first comes first
	size  int
}

func (c *Cache) get(hash Hash) *Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list[hash]
}

// Load gives the object with the hash, read by read unless another request has done so meanwhile. The error is read's.
func (c *Cache) Load(hash Hash, read func() ([]byte, error)) (*Object, error) {
	if o := c.get(hash); o != nil {
		return o, nil
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	if o := c.get(hash); o != nil {
		return o, nil
	}
	json, err := read()
	if err != nil {
		return nil, err
	}
	o := &Object{JSON: json}
	o.Rights, o.Err = Parse(json)
	c.keep(hash, o)
	return o, nil
}

// keep remembers an object, and forgets the oldest ones for it.
func (c *Cache) keep(hash Hash, o *Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = make(map[Hash]*Object)
	}
	c.list[hash] = o
	c.order = append(c.order, hash)
	for c.size += len(o.JSON); c.size > Kept && len(c.order) > 1; c.order = c.order[1:] {
		c.size -= len(c.list[c.order[0]].JSON)
		delete(c.list, c.order[0])
	}
}

// Forget empties the cache.
func (c *Cache) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.order, c.size = nil, nil, 0
}
