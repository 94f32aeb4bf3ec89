package datum

import "slices"

// SetMember sets a member of a list, or removes it if the value is MISSING. The list is the
// caller's, and its array may be changed.
func SetMember(members []Member, name string, v Value) []Member {
	for i := range members {
		if members[i].Name != name {
			continue
		}
		if v.Kind == KindMissing {
			return append(members[:i], members[i+1:]...)
		}
		members[i].Value = v
		return members
	}
	if v.Kind == KindMissing {
		return members
	}
	return append(members, Member{Name: name, Value: v})
}

// Members are members of an object that grows: SetMember for many.
type Members struct {
	List []Member
	at   map[string]int
}

// NewMembers begins with a copy of a list.
func NewMembers(list []Member) *Members {
	m := &Members{List: slices.Clone(list), at: make(map[string]int, len(list))}
	for i := range list {
		m.at[list[i].Name] = i
	}
	return m
}

// Set sets a member to something that is not MISSING.
func (m *Members) Set(name string, v Value) {
	if i, ok := m.at[name]; ok {
		m.List[i].Value = v
		return
	}
	m.at[name] = len(m.List)
	m.List = append(m.List, Member{Name: name, Value: v})
}

// Has reports whether there is a member of this name.
func (m *Members) Has(name string) bool {
	_, ok := m.at[name]
	return ok
}
