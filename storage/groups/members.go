package groups

import (
	"maps"
	"slices"

	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// MostDepth is how many groups lead from a user to a group at most, itself among them. Who is in
// one by more is not in it.
const MostDepth = 8

// Of are the principals of somebody with the groups that they are in, by themselves or by groups in
// groups. A group that is in itself is no matter: each is asked for once. Where groups are more than
// access.MostOfUser not all are found.
func (g Groups) Of(r kv.ReadTx, who access.Principals) (access.Principals, error) {
	found := make(map[string]bool)
	level := slices.Collect(who.All())
	for depth := 0; depth < MostDepth && len(level) > 0 && len(found) <= access.MostOfUser; depth++ {
		var err error
		if level, err = g.ofAll(r, level, found); err != nil {
			return access.Nobody, err
		}
	}
	return who.With(slices.Collect(maps.Keys(found))), nil
}

// ofAll reads the groups of members in one round trip, and gives those that were not found before.
func (g Groups) ofAll(
	r kv.ReadTx, members []string, found map[string]bool,
) (next []string, err error) {
	ranges := make([]kv.Iterator, len(members))
	prefixes := make([]int, len(members))
	for i, member := range members {
		prefix := g.ofMember(member)
		begin, end := keyspace.Children(prefix)
		ranges[i] = r.Range(begin, end, kv.RangeOptions{Limit: access.MostOfUser + 1, WantAll: true})
		prefixes[i] = len(prefix)
		defer ranges[i].Close()
	}
	for i, it := range ranges {
		for it.Next() {
			name, _, err := tuple.ReadString(it.Key()[prefixes[i]:])
			if err != nil {
				return nil, keyspace.Corrupt("member of a group", err)
			}
			if group := access.GroupPrefix + name; !found[group] {
				found[group] = true
				next = append(next, group)
			}
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
	}
	return next, nil
}
