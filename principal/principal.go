package principal

import "slices"

// Principal is who asks for documents: a user of a request, the owner of a replication or of a
// function. The zero value is nobody.
//
// All that a rule may look at is in it, so that a new kind of right, access to single documents for
// one, has its place here and in documents.Database.Show.
type Principal struct {
	Name  string // "" for nobody
	Roles []string
}

// IsAdmin reports whether the principal is a server admin.
func (p Principal) IsAdmin() bool { return p.HasRole("_admin") }

// HasRole reports whether the principal has a role.
func (p Principal) HasRole(role string) bool { return slices.Contains(p.Roles, role) }
