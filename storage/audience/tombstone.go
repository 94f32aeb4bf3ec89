package audience

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
)

// Tombstone is the revision by which who saw a leaf is told that it is seen no more: a deleted child
// of it. No tree of the server has it. Only a server that knows the secret can make it, so that a
// client which sends it back deletes nothing, and who asks for it was told of it.
func Tombstone(secret *[32]byte, id string, leaf compat.Rev) compat.Rev {
	mac := hmac.New(sha256.New, secret[:])
	text := append([]byte("revoked"), 0)
	text = append(binary.AppendUvarint(text, uint64(len(id))), id...)
	text = append(binary.AppendVarint(text, leaf.Pos), leaf.Hash...)
	mac.Write(text)
	return compat.Rev{Pos: leaf.Pos + 1, Hash: string(mac.Sum(nil)[:16])}
}

// Tombstones knows the tombstones of all revisions of a document. It is not for concurrent use.
type Tombstones struct {
	secret *[32]byte
	id     string
	leaves []formats.Leaf
	// Those of the revisions of a depth that was asked for, by their hashes. Each revision that is
	// stored is signed once at most.
	at map[int64]map[string]Removed
}

// Removed is a revision that a tombstone stands for, on the line of a leaf.
type Removed struct {
	Rev  compat.Rev
	Line *formats.Leaf
}

// Path is the tombstone with what is above it.
func (r *Removed) Path(tombstone compat.Rev) compat.RevPath {
	above := r.Line.PathTo(r.Rev)
	return compat.RevPath{Start: tombstone.Pos, IDs: append([]string{tombstone.Hash}, above.IDs...)}
}

// NewTombstones are those of a document with all its leaves, and their lines.
func NewTombstones(secret *[32]byte, id string, leaves []formats.Leaf) *Tombstones {
	return &Tombstones{secret: secret, id: id, leaves: leaves}
}

// Of tells whose tombstone a revision is; false if it is none.
func (t *Tombstones) Of(rev compat.Rev) (r Removed, ok bool) {
	if len(rev.Hash) != 16 || rev.Pos < 2 {
		return r, false
	}
	depth := rev.Pos - 1
	if t.at[depth] == nil {
		signed := make(map[string]bool)
		found := make(map[string]Removed)
		for i := range t.leaves {
			hash, on := t.leaves[i].At(depth)
			if !on || signed[hash] {
				continue
			}
			signed[hash] = true
			above := compat.Rev{Pos: depth, Hash: hash}
			found[Tombstone(t.secret, t.id, above).Hash] = Removed{above, &t.leaves[i]}
		}
		if t.at == nil {
			t.at = make(map[int64]map[string]Removed)
		}
		t.at[depth] = found
	}
	r, ok = t.at[depth][rev.Hash]
	return r, ok
}

// IsTombstone reports whether a revision is the tombstone of one of a document with these leaves.
func IsTombstone(secret *[32]byte, id string, rev compat.Rev, leaves []formats.Leaf) bool {
	_, found := NewTombstones(secret, id, leaves).Of(rev)
	return found
}

// Leaf is a leaf that is gone with the line that it is on, or alone if no line has it any more.
func (t *Tombstones) Leaf(gone compat.Rev) Removed {
	for i := range t.leaves {
		if t.leaves[i].Has(gone) {
			return Removed{gone, &t.leaves[i]}
		}
	}
	alone := new(formats.Leaf)
	alone.Rev = gone
	return Removed{gone, alone}
}
