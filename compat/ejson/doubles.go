package ejson

import (
	"bytes"
	"hash/maphash"
)

// keyRef is a member of the object being closed.
type keyRef struct {
	hash uint64
	node uint32
	drop bool
}

// fewKeys is the number of members up to which comparing each with each is cheaper than a table.
const fewKeys = 12

var hashSeed = maphash.MakeSeed()

// dropDoubles removes all but the last of the members of equal name from the object, whose subtree
// is the end of the tape. As jiffy's dedupe_keys it compares names after unescaping.
func (p *Parser) dropDoubles(object uint32) {
	keys := p.keys[:0]
	for i := object + 1; i < uint32(len(p.nodes)); {
		keys = append(keys, keyRef{node: i})
		i += 1 + p.nodes[i+1].span
	}
	p.keys = keys
	var found bool
	if len(keys) <= fewKeys {
		found = p.markFew(keys)
	} else {
		found = p.markMany(keys)
	}
	if !found {
		return
	}
	p.dirty++
	w := object + 1
	for _, k := range keys {
		if k.drop {
			p.nodes[object].count--
			continue
		}
		w += uint32(copy(p.nodes[w:], p.nodes[k.node:k.node+1+p.nodes[k.node+1].span]))
	}
	p.nodes = p.nodes[:w]
}

// markFew marks doubles by comparing all pairs.
func (p *Parser) markFew(keys []keyRef) (found bool) {
	for i := range keys {
		keys[i].hash = p.fingerprint(keys[i].node)
		for j := range i {
			if keys[j].hash == keys[i].hash && p.sameText(keys[j].node, keys[i].node) {
				keys[j].drop = true
				found = true
			}
		}
	}
	return found
}

// fingerprint is a cheap value that is equal for equal names: length, first and last bytes.
func (p *Parser) fingerprint(key uint32) uint64 {
	n := &p.nodes[key]
	if n.flags&flagEscaped != 0 {
		var buf [64]byte
		return textFingerprint(appendUnescaped(buf[:0], p.src[n.start+1:n.end-1]))
	}
	return textFingerprint(p.src[n.start+1 : n.end-1])
}

// textFingerprint tells most different names apart by their lengths and three of their bytes,
// before they are compared.
func textFingerprint(s []byte) uint64 {
	h := uint64(len(s)) << 32
	if len(s) > 0 {
		h |= uint64(s[0])<<24 | uint64(s[len(s)/2])<<16 | uint64(s[len(s)-1])
	}
	return h
}

// markMany marks doubles with a hash table, from the last member to the first.
func (p *Parser) markMany(keys []keyRef) (found bool) {
	size := 32
	for size < 2*len(keys) {
		size *= 2
	}
	if cap(p.slots) < size {
		p.slots = make([]uint32, size)
	}
	slots := p.slots[:size] // index into keys plus one; 0 is free
	clear(slots)
	for i := len(keys) - 1; i >= 0; i-- {
		k := &keys[i]
		k.hash = p.hash(k.node)
		at := int(k.hash) & (size - 1)
		for slots[at] != 0 {
			other := &keys[slots[at]-1]
			if other.hash == k.hash && p.sameText(other.node, k.node) {
				k.drop = true
				found = true
				break
			}
			at = (at + 1) & (size - 1)
		}
		if !k.drop {
			slots[at] = uint32(i + 1)
		}
	}
	return found
}

// hash is that of a name as it means, whatever escapes it is written with.
func (p *Parser) hash(key uint32) uint64 {
	n := &p.nodes[key]
	if n.flags&flagEscaped != 0 {
		var buf [64]byte
		return maphash.Bytes(hashSeed, appendUnescaped(buf[:0], p.src[n.start+1:n.end-1]))
	}
	return maphash.Bytes(hashSeed, p.src[n.start+1:n.end-1])
}

func (p *Parser) sameText(a, b uint32) bool {
	x, y := Value{p: p, i: a}, Value{p: p, i: b}
	if (p.nodes[a].flags|p.nodes[b].flags)&flagEscaped == 0 {
		return bytes.Equal(x.TextBytes(nil), y.TextBytes(nil))
	}
	return x.Text() == y.Text()
}
