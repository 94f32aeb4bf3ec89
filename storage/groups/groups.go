package groups

import (
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	subGroups  = 6
	subOfWhom  = 7
	partHeads  = 0
	partPieces = 1

	format = 1
)

// Groups has the keys of a database.
type Groups struct{ keys keyspace.Space }

// In gives the groups of the database whose keys these are.
func In(keys keyspace.Space) Groups { return Groups{keys} }

// Group is a group as it is stored.
type Group struct {
	Name     string
	Revision int64 // 1 for a new one, one more with each change
	Count    int   // of its members
	// Members are principals, sorted; List leaves them out.
	Members []string
	bytes   int // of what the pieces have
}

// Rev is the revision as clients know it, in the form of those of local documents.
func (g *Group) Rev() compat.Rev { return RevOf(g.Revision) }

func (g Groups) prefix(part int64) []byte {
	return tuple.AppendInt(tuple.AppendInt(g.keys.Sub(nil, keyspace.TagAccess), subGroups), part)
}

// Heads is the prefix of the keys of which each is a group's; its name follows.
func (g Groups) Heads() []byte { return g.prefix(partHeads) }

func (g Groups) head(name string) []byte { return tuple.AppendString(g.prefix(partHeads), name) }

func (g Groups) pieces(name string) []byte { return tuple.AppendString(g.prefix(partPieces), name) }

// ofMembers is the prefix of the groups of all members; a principal follows, and a group.
func (g Groups) ofMembers() []byte {
	return tuple.AppendInt(g.keys.Sub(nil, keyspace.TagAccess), subOfWhom)
}

func (g Groups) ofMember(principal string) []byte {
	return tuple.AppendString(g.ofMembers(), principal)
}

func (g Groups) member(principal, name string) []byte {
	return tuple.AppendString(g.ofMember(principal), name)
}

// parseHead reads a group without its members; kv.ErrCorrupt if it is none.
func parseHead(name string, value []byte) (Group, error) {
	r := packed.Reader{B: value}
	version := r.Byte()
	n, count, size := r.Uvarint(), r.Uvarint(), r.Uvarint()
	if version != format || n == 0 || count > MostMembers || size > 2*MostBytes || !r.Done() {
		return Group{}, keyspace.Corrupt("group", nil)
	}
	return Group{Name: name, Revision: int64(n), Count: int(count), bytes: int(size)}, nil
}

// parseMembers reads the members of a group.
func (g *Group) parseMembers(text []byte) error {
	r := packed.Reader{B: text}
	g.Members = make([]string, 0, g.Count)
	for len(r.B) > 0 {
		g.Members = append(g.Members, r.Text())
	}
	if r.Bad || len(text) != g.bytes || len(g.Members) != g.Count {
		return keyspace.Corrupt("members of a group", nil)
	}
	return nil
}

// Get reads a group, nil if there is none.
func (g Groups) Get(r kv.ReadTx, name string) (*Group, error) {
	value, err := r.Get(g.head(name))
	if err != nil || value == nil {
		return nil, err
	}
	group, err := parseHead(name, value)
	if err != nil {
		return nil, err
	}
	begin, end := keyspace.Children(g.pieces(name))
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	text := make([]byte, 0, group.bytes)
	for it.Next() {
		text = append(text, it.Value()...)
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	return &group, group.parseMembers(text)
}

// List calls fn for groups in the order of their names from start on, at most limit, without their
// members; a limit of 0 is none.
func (g Groups) List(r kv.ReadTx, start string, limit int, fn func(*Group) error) error {
	prefix := g.prefix(partHeads)
	_, end := keyspace.Children(prefix)
	it := r.Range(g.head(start), end, kv.RangeOptions{Limit: limit, WantAll: true})
	defer it.Close()
	for it.Next() {
		name, _, err := tuple.ReadString(it.Key()[len(prefix):])
		if err != nil {
			return keyspace.Corrupt("group's key", err)
		}
		group, err := parseHead(name, it.Value())
		if err != nil {
			return err
		}
		if err := fn(&group); err != nil {
			return err
		}
	}
	return it.Err()
}

// Put makes a group, or replaces one whose revision is over; members are sorted, and within the
// bounds of Parse. Over is 0 for a group that there is not. The error is compat.ErrConflict where
// another one is there. The caller notes in the database's record that it has groups.
func (g Groups) Put(tx kv.Tx, name string, members []string, over int64) (*Group, error) {
	old, err := g.take(tx, name, over)
	if err != nil {
		return nil, err
	}
	group := &Group{Name: name, Revision: over + 1, Count: len(members), Members: members}
	g.set(tx, group, old)
	return group, nil
}

// Restore stores a group as it is, unless there is a later one. The caller does what it does after
// Put.
func (g Groups) Restore(tx kv.Tx, group *Group) error {
	old, err := g.Get(tx, group.Name)
	if err == nil && (old == nil || old.Revision < group.Revision) {
		g.set(tx, group, old)
	}
	return err
}

// Each calls fn for all groups, with their members, in the order of their names.
func (g Groups) Each(r kv.ReadTx, fn func(*Group) error) error {
	return g.List(r, "", 0, func(group *Group) error {
		whole, err := g.Get(r, group.Name)
		if err != nil {
			return err
		}
		return fn(whole)
	})
}

// AppendJSON appends {"_rev": "0-N", "members": [entry, …]}, which Parse reads.
func (g *Group) AppendJSON(dst []byte) []byte {
	dst = g.Rev().AppendJSON(append(dst, `{"_rev":`...))
	return append(ejson.AppendStrings(append(dst, `,"members":`...), access.Entries(g.Members)), '}')
}

// Delete removes the group whose revision is over; compat.ErrMissing if there is none of the name,
// compat.ErrConflict for another revision.
func (g Groups) Delete(tx kv.Tx, name string, over int64) error {
	old, err := g.Get(tx, name)
	switch {
	case err != nil:
		return err
	case old == nil:
		return compat.ErrMissing
	case old.Revision != over:
		return compat.ErrConflict
	}
	tx.Clear(g.head(name))
	tx.ClearRange(keyspace.Children(g.pieces(name)))
	g.clearMembers(tx, old, nil)
	return nil
}

// take reads the group that is to be replaced.
func (g Groups) take(tx kv.Tx, name string, over int64) (*Group, error) {
	old, err := g.Get(tx, name)
	if err != nil {
		return nil, err
	}
	if old == nil && over != 0 || old != nil && old.Revision != over {
		return nil, compat.ErrConflict
	}
	return old, nil
}

// set stores a group in place of an old one: members of both are not written again.
func (g Groups) set(tx kv.Tx, group, old *Group) {
	var before, text []byte
	if old != nil {
		g.clearMembers(tx, old, group.Members)
		before = appendMembers(nil, old.Members)
	}
	for _, principal := range group.Members {
		if old == nil || !has(old.Members, principal) {
			tx.Set(g.member(principal, group.Name), nil)
		}
	}
	text = appendMembers(text, group.Members)
	head := binary.AppendUvarint([]byte{format}, uint64(group.Revision))
	head = binary.AppendUvarint(head, uint64(len(group.Members)))
	tx.Set(g.head(group.Name), binary.AppendUvarint(head, uint64(len(text))))
	if string(before) == string(text) && old != nil {
		return
	}
	pieces := g.pieces(group.Name)
	tx.ClearRange(keyspace.Children(pieces))
	i := int64(0)
	for piece := range slices.Chunk(text, keyspace.MaxValue) {
		tx.Set(tuple.AppendInt(slices.Clip(pieces), i), piece)
		i++
	}
}

func appendMembers(dst []byte, members []string) []byte {
	for _, principal := range members {
		dst = packed.AppendText(dst, principal)
	}
	return dst
}

// clearMembers takes a group from its members, but for those who stay.
func (g Groups) clearMembers(tx kv.Tx, old *Group, stay []string) {
	for _, principal := range old.Members {
		if !has(stay, principal) {
			tx.Clear(g.member(principal, old.Name))
		}
	}
}

func has(sorted []string, one string) bool {
	_, found := slices.BinarySearch(sorted, one)
	return found
}
