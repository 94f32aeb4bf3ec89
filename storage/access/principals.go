package access

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// A principal is a text: UserPrefix and the name of a user, RolePrefix and the name of a role,
// GroupPrefix and the name of a group of the database, or Anyone.
const (
	UserPrefix  = "u:"
	RolePrefix  = "r:"
	GroupPrefix = "g:"
	Anyone      = "*" // every user who has a name
)

// MostOfUser is how many roles of a user count, and how many roles and groups together. Each is a
// range that lists and feeds read.
const MostOfUser = 64

// IsList reports whether a list is one of principals, as Parse makes them.
func IsList(list []string) bool {
	valid := func(p string) bool {
		role, isRole := strings.CutPrefix(p, RolePrefix)
		user, isUser := strings.CutPrefix(p, UserPrefix)
		group, isGroup := strings.CutPrefix(p, GroupPrefix)
		return p == Anyone || len(p) <= MaxEntry+2 && (isRole && role != "" || isUser && user != "" ||
			isGroup && group != "")
	}
	sorted := slices.IsSortedFunc(list, func(a, b string) int { // and has nothing twice
		return cmp.Or(strings.Compare(a, b), -1)
	})
	return sorted && len(list) <= 2*MaxEntries &&
		!slices.ContainsFunc(list, func(p string) bool { return !valid(p) })
}

// Principals are those by which lists can mean somebody. They are not changed, and safe for
// concurrent use.
type Principals struct {
	all  bool
	list []string // sorted
}

// Nobody sees no document, Everybody, which stands for the server and for administrators, all.
var (
	Nobody    = Principals{}
	Everybody = Principals{all: true}
)

// Of are the principals of a user, who has a name, with roles.
func Of(name string, roles []string) Principals {
	list := append(make([]string, 0, len(roles)+2), Anyone, UserPrefix+name)
	for _, role := range roles {
		list = append(list, RolePrefix+role)
	}
	slices.Sort(list)
	return Principals{list: slices.Compact(list)}
}

// With are these principals and others, of somebody who does not see all.
func (p Principals) With(others []string) Principals {
	list := append(slices.Clone(p.list), others...)
	slices.Sort(list)
	return Principals{list: slices.Compact(list)}
}

// SeesAll reports whether there is no list that does not mean them.
func (p Principals) SeesAll() bool { return p.all }

// User is whose local documents somebody has; nil: the database's, of whom p is nil. Who has no name
// has none.
func (p *Principals) User() *string {
	if p == nil {
		return nil
	}
	user := ""
	for one := range p.All() {
		if name, ok := strings.CutPrefix(one, UserPrefix); ok {
			user = name
		}
	}
	return &user
}

// Len is the number of All.
func (p Principals) Len() int { return len(p.list) }

// All are the principals in their order; of Everybody there are none.
func (p Principals) All() iter.Seq[string] { return slices.Values(p.list) }

// Has reports whether a principal is one of them.
func (p Principals) Has(principal string) bool {
	if p.all {
		return true
	}
	_, found := slices.BinarySearch(p.list, principal)
	return found
}

// Sees reports whether a list means one of them.
func (p Principals) Sees(list []string) bool { return p.all || slices.ContainsFunc(list, p.Has) }

// Contains reports whether all of a list are among them.
func (p Principals) Contains(list []string) bool {
	return p.all || !slices.ContainsFunc(list, func(one string) bool { return !p.Has(one) })
}
